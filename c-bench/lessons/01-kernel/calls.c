/*
 * What does asking the kernel cost? Times a system call against a call of an ordinary function: the same loop, the same
 * processor, a moment apart. Prints the median of many batches, so that an interruption of one batch does not count.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 41
#define CALLS 20000 /* in each batch: compared with them, reading the clock costs nothing */

static int zero; /* /dev/zero: has any number of bytes */
static char buffer[65536];

/* The attribute keeps the compiler from replacing the call by its result. */
__attribute__((noinline)) static int function(int n) {
    __asm__ volatile("" : "+r"(n));
    return n;
}

static void call_function(int n) {
    function(n);
}

/* The kernel looks up which process started this one. Hardly any system call is shorter. */
static void call_getppid(int n) {
    (void)n;
    getppid();
}

/* Copies bytes from the kernel. */
static void call_read(int n) {
    (void)n;
    if (read(zero, buffer, 64) != 64)
        exit(2);
}

static void call_read_large(int n) {
    (void)n;
    if (read(zero, buffer, sizeof buffer) != sizeof buffer)
        exit(2);
}

/* Looks like a question to the kernel. */
static void call_clock(int n) {
    (void)n;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of one call. */
static double time_calls(void (*call)(int), int calls) {
    double samples[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        double began = now_ns();
        for (int n = 0; n < calls; n++)
            call(n);
        samples[batch] = (now_ns() - began) / calls;
    }
    qsort(samples, BATCHES, sizeof *samples, compare);
    return samples[BATCHES / 2];
}

int main(int argc, char **argv) {
    const char *name = "getppid";
    if (argc == 3 && strcmp(argv[1], "--call") == 0)
        name = argv[2];
    void (*call)(int) = strcmp(name, "getppid") == 0      ? call_getppid
                        : strcmp(name, "read") == 0       ? call_read
                        : strcmp(name, "read-large") == 0 ? call_read_large
                        : strcmp(name, "clock") == 0      ? call_clock
                                                          : NULL;
    if (!call || (argc != 1 && argc != 3)) {
        fprintf(stderr, "--call must be getppid, read, read-large or clock; got \"%s\".\n", argv[argc - 1]);
        return 2;
    }
    zero = open("/dev/zero", O_RDONLY);
    double function_ns = time_calls(call_function, CALLS);
    double crossing_ns = time_calls(call_getppid, CALLS);
    printf("functionNs = %.2f ns\n", function_ns);
    printf("crossingNs = %.1f ns\n", crossing_ns);
    printf("ratio = %.1f times\n", crossing_ns / function_ns);
    if (call != call_getppid)
        printf("callNs = %.1f ns\n", time_calls(call, call == call_read_large ? CALLS / 20 : CALLS));
    return 0;
}
