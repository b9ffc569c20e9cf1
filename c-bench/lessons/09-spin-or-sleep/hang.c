/*
 * Two processes hand a number to and fro. A process that has looked for it in vain announces that it sleeps, looks once
 * more, and goes to sleep. The other process wakes it if it sees the announcement. Without the two fences, one goes to
 * sleep just when the other has looked whether it sleeps. Then both wait for ever.
 */
#include "../common/pair.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#define STUCK_MS 400 /* both processes asleep and nothing new for this long: they hang */

static struct side {
    _Alignas(128) int number;   /* the last number that this process has published */
    _Alignas(128) int sleeping; /* 1: this process sleeps, or is about to */
} *sides;                       /* one for each process */

static int fences; /* 0: none, 1: only the one in publish(), 2: both */

static void fence(int number) {
    if (fences >= number)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void publish(struct side *mine, struct side *peer, int number) {
    __atomic_store_n(&mine->number, number, __ATOMIC_RELEASE); /* pairs with the acquires in await() */
    fence(1); /* publish first, then look whether the peer sleeps; pairs with the fence in await() */
    if (__atomic_load_n(&peer->sleeping, __ATOMIC_RELAXED)) {
        __atomic_store_n(&peer->sleeping, 0, __ATOMIC_RELAXED);
        syscall(SYS_futex, &peer->sleeping, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void await(struct side *mine, struct side *peer, int number, int looks) {
    for (;;) {
        while (looks-- > 0)
            if (__atomic_load_n(&peer->number, __ATOMIC_ACQUIRE) == number)
                return;
        __atomic_store_n(&mine->sleeping, 1, __ATOMIC_RELAXED);
        fence(2); /* announce first, then look once more; pairs with the fence in publish() */
        if (__atomic_load_n(&peer->number, __ATOMIC_ACQUIRE) == number) {
            __atomic_store_n(&mine->sleeping, 0, __ATOMIC_RELAXED);
            return;
        }
        syscall(SYS_futex, &mine->sleeping, FUTEX_WAIT, 1, NULL, NULL, 0); /* sleeps only while sleeping is 1 */
    }
}

/* Side 0 begins, and looks for a long time before it sleeps. Side 1 looks a different number of times in each round. */
static void play(int side) {
    struct side *mine = &sides[side], *peer = &sides[!side];
    unsigned random = 1;
    take_core(side);
    for (int number = 1;; number++) {
        if (side == 0)
            publish(mine, peer, number);
        random = random * 1103515245 + 12345;
        await(mine, peer, number, side ? random >> 16 & 511 : 200000);
        if (side == 1)
            publish(mine, peer, number);
    }
}

/* The state of a process as the kernel knows it: 'S' is asleep, 'R' is running or waiting for a core. */
static char state_of(pid_t process) {
    char path[64], line[256] = "", *state = NULL;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file && fgets(line, sizeof line, file))
        state = strrchr(line, ')');
    if (file)
        fclose(file);
    return state ? state[2] : '?';
}

int main(int argc, char **argv) {
    fences = option(argc, argv, "--fences", 0, 0, 2);
    int limit_ms = 1000 * option(argc, argv, "--seconds", 3, 1, 60), ms = 0, still_ms = 0, last = 0;
    int watches = option(argc, argv, "--watch", 1, 0, 1);
    check_options(argc, argv);
    pid_t processes[2];
    sides = share(4096);
    for (int side = 0; side < 2; side++)
        if ((processes[side] = start_child()) == 0)
            play(side);
    while (!watches && waitpid(-1, NULL, 0) > 0) /* the tracer watches them: it sees whether all processes sleep */
        continue;
    for (; ms < limit_ms && still_ms < STUCK_MS; ms += 20) { /* watch them from outside */
        usleep(20000);
        int number = __atomic_load_n(&sides[1].number, __ATOMIC_RELAXED);
        int asleep = state_of(processes[0]) == 'S' && state_of(processes[1]) == 'S';
        still_ms = asleep && number == last ? still_ms + 20 : 0;
        last = number;
    }
    int hangs = still_ms >= STUCK_MS;
    if (hangs)
        printf("After %d numbers, both processes sleep, and no process is left to wake them.\n"
               "Process 1 has published %d. Process 2 has announced that it sleeps, and has not seen it.\n",
               last, sides[0].number);
    else
        printf("The two processes passed on %d numbers and never hung.\n", last);
    printf("hangs = %d\nfences = %d fences\nnumbers = %d numbers\nms = %d ms\nusableCores = %d cores\n", hangs, fences,
           last, ms - still_ms, cores);
    for (int side = 0; side < 2; side++) {
        kill(processes[side], SIGKILL);
        waitpid(processes[side], NULL, 0);
    }
    return 0;
}
