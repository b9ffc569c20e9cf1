/*
 * Spin or sleep? Two processes hand a turn to and fro, on two cores and on one. A process that waits either looks at
 * the turn all the time, or asks the kernel to let it sleep until the turn changes.
 */
#include "../common/pair.h"

#include <linux/futex.h>
#include <sys/syscall.h>

enum { SPIN, SLEEP, TRIPS = 3000 };

static int *turn; /* 0: the parent's, 1: the child's */

static void wait_for_turn(int how) {
    for (int seen; (seen = __atomic_load_n(turn, __ATOMIC_ACQUIRE)) != me;)
        if (how == SLEEP)
            syscall(SYS_futex, turn, FUTEX_WAIT, seen, NULL, NULL, 0); /* returns at once if the turn is not `seen` */
}

static void pass_turn(int how) {
    __atomic_store_n(turn, !me, __ATOMIC_RELEASE); /* pairs with the acquire in wait_for_turn() */
    if (how == SLEEP)
        syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Pass the turn to and fro for half a second at most. Returns the median of a round trip, in microseconds. */
static double round_trip_us(int how, int child_core) {
    static double times[TRIPS];
    int trips = 0;
    take_core(me * child_core);
    *turn = pair->stop = 0;
    gate();
    double end = now_ns() + 5e8;
    while (me) { /* the child answers */
        wait_for_turn(how);
        int stop = pair->stop;
        pass_turn(how);
        if (stop)
            break;
    }
    while (!me && !pair->stop) {
        double start = now_ns();
        pair->stop = trips == TRIPS - 1 || start > end;
        pass_turn(how);
        wait_for_turn(how);
        times[trips++] = (now_ns() - start) / 1e3;
    }
    gate();
    return me ? 0 : median(times, trips);
}

/* The share of a core that a process needs to wait 200 ms for its turn, in percent. */
static double cost_of_waiting(int how) {
    struct timespec before, after;
    take_core(me);
    *turn = 0;
    gate();
    if (!me) {
        usleep(200000);
        pass_turn(how);
    } else {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
        double start = now_ns();
        wait_for_turn(how);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
        double used = (after.tv_sec - before.tv_sec) * 1e9 + (after.tv_nsec - before.tv_nsec);
        pair->ns[1] = 100 * used / (now_ns() - start);
    }
    gate();
    return pair->ns[1];
}

int main(int argc, char **argv) {
    check_options(argc, argv);
    turn = (int *)begin_pair();
    double spin_two = cores > 1 ? round_trip_us(SPIN, 1) : 0, sleep_two = cores > 1 ? round_trip_us(SLEEP, 1) : 0;
    double spin_one = round_trip_us(SPIN, 0), sleep_one = round_trip_us(SLEEP, 0);
    double spin_cost = cost_of_waiting(SPIN), sleep_cost = cost_of_waiting(SLEEP);
    if (me)
        _exit(0);
    waitpid(-1, NULL, 0);
    if (cores < 2)
        printf("Only one core is available, so there are no figures for two.\n");
    printf("spinTwoCores = %.2f us\nsleepTwoCores = %.2f us\n", spin_two, sleep_two);
    printf("spinOneCore = %.1f us\nsleepOneCore = %.2f us\noneCoreRatio = %.0f times\n", spin_one, sleep_one,
           spin_one / sleep_one);
    printf("spinCost = %.0f %%\nsleepCost = %.1f %%\nusableCores = %d cores\n", spin_cost, sleep_cost, cores);
    return 0;
}
