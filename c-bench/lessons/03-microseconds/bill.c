/*
 * Where do the microseconds of a round trip through two pipes go? Measures it, then removes one thing at a time:
 * first the other process, then the pipes. The time that each step saves is the cost of the removed thing.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 21
#define TRIPS 1000 /* in each batch */

static int there[2], back[2]; /* two pipes */
static char message[65536];
static size_t size = 64;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static void put(int fd) {
    if (write(fd, message, size) != (ssize_t)size)
        exit(2);
}

static void take(int fd) {
    for (size_t got = 0; got < size;) {
        ssize_t bytes = read(fd, message, size - got);
        if (bytes <= 0)
            exit(2);
        got += (size_t)bytes;
    }
}

/* A message to the other process and back: four system calls, four copies, and two processes that wait for each other.
 */
static void round_trip(void) {
    put(there[1]);
    take(back[0]);
}

/* The same four calls in one process: no process has to be woken. */
static void alone(void) {
    put(there[1]);
    take(there[0]);
    put(back[1]);
    take(back[0]);
}

/* Four system calls that do nothing. */
static void crossings(void) {
    getppid();
    getppid();
    getppid();
    getppid();
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of one turn: the median of the batches. */
static double time_turns(void (*turn)(void)) {
    double samples[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        double began = now_ns();
        for (int n = 0; n < TRIPS; n++)
            turn();
        samples[batch] = (now_ns() - began) / TRIPS;
    }
    qsort(samples, BATCHES, sizeof *samples, compare);
    return samples[BATCHES / 2];
}

/* Let this process run on one core only, the first or the last of those it may use. */
static void pin(int last) {
    cpu_set_t all, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof all, &all);
    int chosen = -1;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &all) && (last || chosen < 0))
            chosen = core;
    CPU_SET(chosen, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv) {
    int one_core = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--cores") == 0)
            one_core = atoi(argv[i + 1]) == 1;
        else if (strcmp(argv[i], "--size") == 0)
            size = (size_t)atoi(argv[i + 1]);
    }
    if (argc % 2 == 0 || size < 1 || size > sizeof message) {
        fprintf(stderr, "Arguments: --cores 1|2, --size BYTES (1 to 65536).\n");
        return 2;
    }
    if (pipe(there) || pipe(back))
        return 2;
    double alone_ns = time_turns(alone), crossings_ns = time_turns(crossings);
    pid_t other = fork();
    if (other == 0) {
        pin(!one_core);
        close(there[1]);
        for (;;) { /* until take() sees the end of the pipe and ends the process */
            take(there[0]);
            put(back[1]);
        }
    }
    pin(0);
    double trip_ns = time_turns(round_trip);
    close(there[1]);
    waitpid(other, NULL, 0);
    printf("roundTripUs = %.2f us\n", trip_ns / 1000);
    printf("crossingsUs = %.2f us\n", crossings_ns / 1000);
    printf("pipesUs = %.2f us\n", (alone_ns - crossings_ns) / 1000);
    printf("waitingUs = %.2f us\n", (trip_ns - alone_ns) / 1000);
    printf("waitingPercent = %.0f %%\n", 100 * (trip_ns - alone_ns) / trip_ns);
    return 0;
}
