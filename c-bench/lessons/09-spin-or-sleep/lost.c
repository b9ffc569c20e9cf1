/*
 * Two processes do the same at the same moment: each stores a word of its own, then loads the word of the other. One of
 * the two stores must have come first, so at least one process should see the other's. Do both ever miss it?
 */
#include "../common/pair.h"

static struct side {
    _Alignas(128) int word;   /* the number of the try: my announcement */
    _Alignas(128) int ready;  /* the last try that this process has come to */
    _Alignas(128) int missed; /* in the last try, this process did not see the other's word */
} *sides;

/* Both processes come to the same try at nearly the same moment. */
static void meet(int number) {
    __atomic_store_n(&sides[me].ready, number, __ATOMIC_RELEASE);
    for (int looks = 0; __atomic_load_n(&sides[!me].ready, __ATOMIC_ACQUIRE) < number; looks++)
        look_again(looks);
}

static void try_once(int number, int fences) {
    struct side *mine = &sides[me], *peer = &sides[!me];
    meet(2 * number);
    __atomic_store_n(&mine->word, number, __ATOMIC_RELAXED);
    if (fences)
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with the same fence in the other process */
    mine->missed = __atomic_load_n(&peer->word, __ATOMIC_RELAXED) != number;
    meet(2 * number + 1);
}

int main(int argc, char **argv) {
    int ms = option(argc, argv, "--ms", 600, 10, 2000), tries[2] = {0}, both[2] = {0}, number = 0;
    check_options(argc, argv);
    sides = (struct side *)begin_pair();
    for (int fences = 0; fences < 2; fences++) {
        double end = now_ns() + ms * 1e6;
        for (pair->stop = 0; !pair->stop;) {
            for (int i = 0; i < 500; i++) {
                try_once(++number, fences);
                both[fences] += sides[0].missed && sides[1].missed;
            }
            tries[fences] += 500;
            gate();
            if (!me)
                pair->stop = now_ns() > end;
            gate();
        }
        gate();
    }
    if (me)
        _exit(0);
    waitpid(-1, NULL, 0);
    printf("Without fences, both processes missed the other's word in %d of %d tries.\n", both[0], tries[0]);
    printf("With a fence between store and load: in %d of %d tries.\n", both[1], tries[1]);
    printf("tries = %d tries\nmissed = %d tries\nperMillion = %.2f\n", tries[0], both[0], 1e6 * both[0] / tries[0]);
    printf("fencedPerMillion = %.2f\n", 1e6 * both[1] / tries[1]);
    printf("fencedTries = %d tries\nfencedMissed = %d tries\ncores = %d cores\n", tries[1], both[1], cores);
    return 0;
}
