/*
 * Shared memory that is slower than a pipe, because its reader and its writer wait for each other at every message.
 * The same messages go through a pipe, and through shared memory with two semaphores.
 */
#include <err.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 64, ROUNDS = 5 };
/* The two processes wait for each other once per batch, and the messages cost only the copying. */
enum { BATCH = 500 }; /* messages per use of a semaphore */

static int count = 10000; /* messages; an argument is another number, for a single round */

static struct {
    sem_t free, filled;
    char slots[BATCH][SIZE];
} *shared;
static int ends[2];

static void pipe_send(const char *message, int n) {
    (void)n;
    if (write(ends[1], message, SIZE) != SIZE)
        err(3, "write");
}

static void pipe_receive(char *message, int n) {
    (void)n;
    if (read(ends[0], message, SIZE) != SIZE)
        err(3, "read");
}

static void shared_send(const char *message, int n) {
    if (n % BATCH == 0)
        sem_wait(&shared->free);
    memcpy(shared->slots[n % BATCH], message, SIZE);
    if (n % BATCH == BATCH - 1)
        sem_post(&shared->filled);
}

static void shared_receive(char *message, int n) {
    if (n % BATCH == 0)
        sem_wait(&shared->filled);
    memcpy(message, shared->slots[n % BATCH], SIZE);
    if (n % BATCH == BATCH - 1)
        sem_post(&shared->free);
}

/* How often this process and its ended children gave up the processor to wait. */
static long count_sleeps(void) {
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return own.ru_nvcsw + children.ru_nvcsw;
}

/* Send all messages to a child. Returns the nanoseconds per message, and adds to *sleeps. */
static double run(void (*put)(const char *, int), void (*take)(char *, int), long *sleeps) {
    struct timespec begin, end;
    char message[SIZE] = {0};
    long before = count_sleeps();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t reader = fork();
    if (reader < 0)
        err(3, "fork");
    if (reader == 0) {
        for (int n = 0; n < count; n++)
            take(message, n);
        _exit(0);
    }
    for (int n = 0; n < count; n++)
        put(message, n);
    waitpid(reader, NULL, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    *sleeps += count_sleeps() - before;
    return ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / count;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    setlinebuf(stdout);
    int rounds = argc > 1 ? 1 : ROUNDS;
    if (argc > 1)
        count = atoi(argv[1]);
    if (count < 1 || count % BATCH)
        errx(2, "The number of messages must be a multiple of %d; got \"%s\"", BATCH, argv[1]);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || sem_init(&shared->free, 1, 1) || sem_init(&shared->filled, 1, 0) || pipe(ends))
        err(3, "setup");
    double pipe_ns[ROUNDS], shared_ns[ROUNDS];
    long pipe_sleeps = 0, shared_sleeps = 0;
    for (int round = 0; round < rounds; round++) {
        pipe_ns[round] = run(pipe_send, pipe_receive, &pipe_sleeps);
        shared_ns[round] = run(shared_send, shared_receive, &shared_sleeps);
    }
    qsort(pipe_ns, rounds, sizeof *pipe_ns, by_value);
    qsort(shared_ns, rounds, sizeof *shared_ns, by_value);
    double through_pipe = pipe_ns[rounds / 2], through_memory = shared_ns[rounds / 2];
    printf("pipe = %.0f ns\nsharedMemory = %.0f ns\n", through_pipe, through_memory);
    printf("pipeSleeps = %.3f per message\n", (double)pipe_sleeps / count / rounds);
    printf("sharedMemorySleeps = %.3f per message\n", (double)shared_sleeps / count / rounds);
    printf("A message took %.0f ns through the pipe, and %.0f ns through shared memory.\n", through_pipe,
           through_memory);
    return through_memory < through_pipe ? 0 : 1;
}
