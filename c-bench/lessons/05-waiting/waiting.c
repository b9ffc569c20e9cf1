/*
 * A round trip of 64 bytes in three ways: through two pipes; through shared memory, with a semaphore that signals "your
 * turn"; and through the same shared memory, with a flag that each side reads until it changes.
 */
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 11
#define TRIPS 1000 /* in each batch */

struct shared {
    char message[64];
    sem_t your_turn[2]; /* for either side */
    atomic_int turn;    /* 0: the first process may write, 1: the second */
};

static struct shared *shared;
static int there[2], back[2];
static char own[64];
static int looks_most = 1000; /* then let another process have the core */

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static void pass_through_pipe(int out, int in) {
    if (out >= 0 && write(out, own, sizeof own) != sizeof own)
        exit(2);
    if (in >= 0 && read(in, own, sizeof own) != sizeof own)
        exit(2);
}

/* Sleeps in the kernel until the other side posts. */
static void wait_by_semaphore(int side) {
    while (sem_wait(&shared->your_turn[side]))
        continue;
}

/* Looks until it is this side's turn. Makes no system call, unless it has looked for a long time. */
static void wait_by_looking(int side) {
    for (int looks = 0; atomic_load_explicit(&shared->turn, memory_order_acquire) != side; looks++)
        if (looks >= looks_most) {
            sched_yield(); /* on one core, the other side cannot run while this one looks */
            looks = 0;
        }
}

/* One turn of a side: take the message, write the next. */
static void copy_message(void) {
    memcpy(own, shared->message, sizeof own);
    own[0]++;
    memcpy(shared->message, own, sizeof own);
}

static void turn_by_pipe(int side) {
    if (side == 0)
        pass_through_pipe(there[1], back[0]);
    else {
        pass_through_pipe(-1, there[0]);
        pass_through_pipe(back[1], -1);
    }
}

static void turn_by_semaphore(int side) {
    if (side == 0)
        sem_post(&shared->your_turn[1]);
    wait_by_semaphore(side);
    copy_message();
    if (side == 1)
        sem_post(&shared->your_turn[0]);
}

static void turn_by_looking(int side) {
    if (side == 0)
        atomic_store_explicit(&shared->turn, 1, memory_order_release);
    wait_by_looking(side);
    copy_message();
    if (side == 1)
        atomic_store_explicit(&shared->turn, 0, memory_order_release);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Microseconds of one round trip: the median of the batches. */
static double time_trips(void (*turn)(int side), int trips) {
    double samples[BATCHES];
    fflush(stdout);
    pid_t other = fork();
    if (other == 0) {
        for (int n = 0; n < BATCHES * trips; n++)
            turn(1);
        _exit(0);
    }
    for (int batch = 0; batch < BATCHES; batch++) {
        double began = now_ns();
        for (int n = 0; n < trips; n++)
            turn(0);
        samples[batch] = (now_ns() - began) / trips / 1000;
    }
    waitpid(other, NULL, 0);
    qsort(samples, BATCHES, sizeof *samples, compare);
    return samples[BATCHES / 2];
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--looks") == 0)
        looks_most = atoi(argv[2]);
    else if (argc != 1) {
        fprintf(stderr, "The only argument is --looks NUMBER: how often to look before letting others run.\n");
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe(there) || pipe(back))
        return 2;
    sem_init(&shared->your_turn[0], 1, 0);
    sem_init(&shared->your_turn[1], 1, 0);
    double pipe_us = time_trips(turn_by_pipe, TRIPS);
    double semaphore_us = time_trips(turn_by_semaphore, TRIPS);
    double looking_us = time_trips(turn_by_looking, TRIPS);
    printf("pipeUs = %.2f us\n", pipe_us);
    printf("semaphoreUs = %.2f us\n", semaphore_us);
    printf("lookingUs = %.2f us\n", looking_us);
    printf("gain = %.1f times\n", semaphore_us / looking_us);
    return 0;
}
