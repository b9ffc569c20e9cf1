/*
 * False sharing: two processes, two counters, one cache line.
 * Each process adds to its own counter. The counters are not shared, but the cache line that holds both is.
 */
#define _GNU_SOURCE 1 /* for sched_setaffinity() */
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DISTANCE = 8 /* bytes between the counters */ };
enum { CHUNK = 10000 /* additions */, CHUNKS = 1000, LIMIT_MS = 1500 };

static double now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Stay on one of the cores that this process may use: the first (0) or the second (1). */
static void pin(const cpu_set_t *cores, int number) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, cores) && number-- == 0)
            CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one))
        err(3, "sched_setaffinity");
}

static void add_chunk(long *counter) {
    for (int n = 0; n < CHUNK; n++)
        __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * The median nanoseconds per addition to `counter`. Only those chunks count in which this process was not preempted and
 * the neighbor, if there is one, added too.
 */
static double cost(long *counter, volatile long *neighbor) {
    static double ns[CHUNKS];
    int chunks = 0;
    double end = now_ns(CLOCK_MONOTONIC) + LIMIT_MS * 1e6;
    while (chunks < CHUNKS && now_ns(CLOCK_MONOTONIC) < end) {
        long before = neighbor ? *neighbor : -1;
        double start = now_ns(CLOCK_MONOTONIC), busy = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        add_chunk(counter);
        busy = now_ns(CLOCK_PROCESS_CPUTIME_ID) - busy;
        double spent = now_ns(CLOCK_MONOTONIC) - start;
        if (busy > 0.8 * spent && (!neighbor || *neighbor != before))
            ns[chunks++] = spent / CHUNK;
    }
    if (chunks == 0)
        errx(3, "The two processes never ran at the same time: the machine is too busy");
    qsort(ns, chunks, sizeof *ns, by_value);
    return ns[chunks / 2];
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores))
        err(3, "sched_getaffinity");
    if (CPU_COUNT(&cores) < 2) {
        printf("Only one core is available: the processes take turns, so the cache line never moves.\n");
        return 0;
    }
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        err(3, "mmap");
    long *mine = (long *)page, *neighbors = (long *)(page + DISTANCE);
    int *start = (int *)(page + 2048), *stop = (int *)(page + 2052);

    pid_t neighbor = fork();
    if (neighbor < 0)
        err(3, "fork");
    if (neighbor == 0) {
        pin(&cores, 1);
        while (!__atomic_load_n(start, __ATOMIC_RELAXED))
            usleep(1000);
        while (!__atomic_load_n(stop, __ATOMIC_RELAXED))
            add_chunk(neighbors);
        _exit(0);
    }
    pin(&cores, 0);
    double alone = cost(mine, NULL);
    __atomic_store_n(start, 1, __ATOMIC_RELAXED);
    double together = cost(mine, neighbors);
    __atomic_store_n(stop, 1, __ATOMIC_RELAXED);
    waitpid(neighbor, NULL, 0);

    printf("distance = %d bytes\nalone = %.2f ns\ntogether = %.2f ns\nratio = %.2f\n", DISTANCE, alone, together,
           together / alone);
    printf("An addition took %.1f ns alone, and %.1f ns while another process added to its own counter.\n", alone,
           together);
    return together < 1.5 * alone ? 0 : 1;
}
