/*
 * Two processes add to one counter in shared memory, and additions are lost.
 * Adding is three steps: load, add, store. Between them, the other process may store.
 */
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ADDITIONS = 20000000 }; /* per process */

struct region {
    volatile int started;
    volatile long counter;
};

static void add(struct region *region) {
    __atomic_add_fetch(&region->started, 1, __ATOMIC_SEQ_CST);
    while (region->started < 2) /* both begin together */
        sched_yield();
    for (int n = 0; n < ADDITIONS; n++)
        __atomic_add_fetch(&region->counter, 1, __ATOMIC_RELAXED); /* one step that no other process can divide */
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    struct region *region = mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED)
        err(3, "mmap");
    pid_t child = fork();
    if (child < 0)
        err(3, "fork");
    add(region);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);

    long expected = 2L * ADDITIONS, lost = expected - region->counter;
    printf("expected = %ld\ncounted = %ld\nlostPercent = %.1f %%\n", expected, region->counter,
           100.0 * lost / expected);
    printf("%ld of %ld additions were lost.\n", lost, expected);
    return lost == 0 ? 0 : 1;
}
