/*
 * One process writes messages into shared memory: 64 bytes, eight times the same number. The other copies them out. A
 * copy with two different numbers is torn: part of one message and part of another. Tried with three protocols.
 */
#include "../common/pair.h"

enum { WORDS = 8, NONE = 0, RELAXED = 1, ORDERED = 2 };

static struct slot {
    _Alignas(128) int full; /* 0: the writer may write, 1: the reader may read */
    _Alignas(128) long words[WORDS];
    _Alignas(128) int done;
} *slot;

/* volatile: the compiler copies each word once and in this order. The processor still may not. */
static void copy(volatile long *to, volatile long *from) {
    for (int i = 0; i < WORDS; i++)
        to[i] = from[i];
}

static int is_full(int protocol) {
    return protocol == ORDERED ? __atomic_load_n(&slot->full, __ATOMIC_ACQUIRE)
                               : __atomic_load_n(&slot->full, __ATOMIC_RELAXED);
}

static void set_full(int protocol, int full) {
    if (protocol == ORDERED)
        __atomic_store_n(&slot->full, full, __ATOMIC_RELEASE); /* pairs with the acquire in is_full() */
    else
        __atomic_store_n(&slot->full, full, __ATOMIC_RELAXED);
}

/* Wait for my turn. False: the measurement is over. */
static int my_turn(int protocol) {
    for (int looks = 0; protocol != NONE && is_full(protocol) != !me; looks++) {
        look_again(looks);
        if (__atomic_load_n(&slot->done, __ATOMIC_RELAXED))
            return 0;
    }
    return !__atomic_load_n(&slot->done, __ATOMIC_RELAXED);
}

static void write_messages(int protocol) {
    long message[WORDS];
    for (long number = 1; my_turn(protocol); number++) {
        for (int i = 0; i < WORDS; i++)
            message[i] = number;
        copy(slot->words, message);
        set_full(protocol, 1);
    }
}

/* Returns how many of the copies were torn. */
static long read_messages(int protocol, double end, long *reads) {
    long torn = 0, message[WORDS];
    for (*reads = 0; my_turn(protocol); ++*reads) {
        copy(message, slot->words);
        set_full(protocol, 0);
        int differs = 0;
        for (int i = 1; i < WORDS; i++)
            differs |= message[i] != message[0];
        torn += differs;
        if (*reads % 64 == 0 && now_ns() > end)
            __atomic_store_n(&slot->done, 1, __ATOMIC_RELAXED);
    }
    return torn;
}

int main(int argc, char **argv) {
    int ms = option(argc, argv, "--ms", 300, 10, 1500);
    check_options(argc, argv);
    long reads[3], torn[3];
    slot = (struct slot *)begin_pair();
    for (int protocol = NONE; protocol <= ORDERED; protocol++) {
        gate();
        slot->done = slot->full = 0;
        memset(slot->words, 0, sizeof slot->words);
        gate();
        if (me)
            write_messages(protocol);
        else
            torn[protocol] = read_messages(protocol, now_ns() + ms * 1e6, &reads[protocol]);
    }
    if (me)
        _exit(0);
    waitpid(-1, NULL, 0);
    printf("No protocol: %ld of %ld copies were torn.\n", torn[NONE], reads[NONE]);
    printf("A flag without order: %ld of %ld copies were torn.\n", torn[RELAXED], reads[RELAXED]);
    printf("A flag with acquire and release: %ld of %ld copies were torn.\n", torn[ORDERED], reads[ORDERED]);
    printf("reads = %ld copies\ntorn = %ld copies\ntornPercent = %.4f %%\n", reads[NONE], torn[NONE],
           100.0 * torn[NONE] / reads[NONE]);
    printf("flagReads = %ld copies\nflagTorn = %ld copies\nflagTornPercent = %.4f %%\n", reads[RELAXED], torn[RELAXED],
           100.0 * torn[RELAXED] / reads[RELAXED]);
    printf("orderedReads = %ld copies\norderedTorn = %ld copies\norderedTornPercent = %.4f %%\n", reads[ORDERED],
           torn[ORDERED], 100.0 * torn[ORDERED] / reads[ORDERED]);
#if defined __x86_64__ || defined __i386__
    printf("x86 = 1\n");
#else
    printf("x86 = 0\n");
#endif
    printf("cores = %d cores\n", cores);
    return 0;
}
