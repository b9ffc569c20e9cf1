/*
 * One process waits for a flag in shared memory, and the other sets it. If the flag is a plain variable, the compiler
 * may read it once and never again: no other thread exists in its view of the program. Then the wait never ends.
 */
#include "../common/pair.h"

/* Each function is in its own section, so that the program can print its machine code. */
#define PLAIN __attribute__((noinline, section("stale_plain")))
#define ATOMIC __attribute__((noinline, section("stale_atomic")))
extern const unsigned char __start_stale_plain[], __stop_stale_plain[], __start_stale_atomic[], __stop_stale_atomic[];

PLAIN static void wait_plain(int *flag) {
    while (*flag == 0)
        continue;
}

ATOMIC static void wait_atomic(int *flag) {
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) /* pairs with the release in sees() */
        continue;
}

/* Does a process in this loop see the flag, which is set `delay` milliseconds after it has begun? It gets
 * `limit` milliseconds for that. Returns the milliseconds it took, or -1. */
static double sees(void (*wait)(int *), int *flag, int delay, int limit) {
    int *begun = flag + 64;
    *begun = 0;
    *flag = delay == 0; /* set before the other process begins */
    pid_t child = start_child();
    if (child == 0) {
        __atomic_store_n(begun, 1, __ATOMIC_RELEASE);
        wait(flag);
        _exit(0);
    }
    while (!__atomic_load_n(begun, __ATOMIC_ACQUIRE))
        sched_yield();
    usleep(delay * 1000); /* the other process is in its loop now */
    double set = now_ns(), ms = -1;
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    while (ms < 0 && now_ns() < set + limit * 1e6) {
        if (waitpid(child, NULL, WNOHANG) == child)
            return (now_ns() - set) / 1e6;
        usleep(200);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return -1;
}

/* Print the machine code, and count the jumps to themselves in it: on x86-64 `jmp .`, on arm64 `b .`. */
static int print_code(const char *name, const unsigned char *code, const unsigned char *end) {
    int jumps = 0;
    printf("The machine code of %s():", name);
    for (const unsigned char *at = code; at < end; at++) {
        printf(" %02x", *at);
#ifdef __x86_64__
        jumps += at + 1 < end && at[0] == 0xeb && at[1] == 0xfe;
#elif defined __aarch64__
        jumps += (at - code) % 4 == 0 && !memcmp(at, "\0\0\0\x14", 4);
#endif
    }
    printf("\n");
    return jumps;
}

int main(int argc, char **argv) {
    int delay = option(argc, argv, "--delay", 50, 0, 500), *flag = share(4096);
    check_options(argc, argv);
    double plain = sees(wait_plain, flag, delay, 1000), atomic = sees(wait_atomic, flag, delay, 5000);
    printf("The plain loop %s the flag. The loop with an atomic load %s it.\n", plain < 0 ? "never saw" : "saw",
           atomic < 0 ? "did not see" : "saw");
    int jumps = print_code("wait_plain", __start_stale_plain, __stop_stale_plain);
    int atomic_jumps = print_code("wait_atomic", __start_stale_atomic, __stop_stale_atomic);
    printf("plainSees = %d\nplainJumps = %d\n", plain >= 0, jumps);
    printf("atomicSees = %d\natomicJumps = %d\natomicMs = %.1f ms\n", atomic >= 0, atomic_jumps, atomic);
    return 0;
}
