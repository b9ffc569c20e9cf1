/*
 * A queue whose reader is slow. The sender could send far more messages than the reader can use. Does a larger queue
 * help? Prints how many messages arrive per second, and how old each one is when it is read.
 */
#include "../common/pair.h"

enum { PER_ROUND = 256, KINDS = 4 };
static const int slots_of[KINDS] = {1, 4, 16, 64};

struct slot {
    _Alignas(64) int full; /* 1: it holds a message, 0: there is room for one */
    double sent;           /* the message: when it was sent */
};

static struct slot *ring;
static struct count {
    _Alignas(128) long full;  /* how often the sender found its slot full; the sender writes this */
    _Alignas(128) int rounds; /* the reader writes the rest */
    double ages[PAIR_ROUNDS]; /* from sending a message to reading it, ns: the mean of each round */
} *counts;                    /* of each kind */
static int reader_ns;         /* the reader spends this time on each message */

static void send_messages(int kind) {
    for (int n = 0; n < PER_ROUND; n++) {
        struct slot *slot = &ring[n % slots_of[kind]];
        int looks = 0;
        for (; __atomic_load_n(&slot->full, __ATOMIC_ACQUIRE); looks++) /* pairs with the release of the reader */
            look_again(looks);
        counts[kind].full += looks > 0;
        slot->sent = now_ns();
        __atomic_store_n(&slot->full, 1, __ATOMIC_RELEASE); /* pairs with the acquire of the reader */
    }
}

static void read_messages(int kind) {
    double age = 0;
    for (int n = 0; n < PER_ROUND; n++) {
        struct slot *slot = &ring[n % slots_of[kind]];
        for (int looks = 0; !__atomic_load_n(&slot->full, __ATOMIC_ACQUIRE); looks++)
            look_again(looks);
        double now = now_ns();
        age += now - slot->sent;
        __atomic_store_n(&slot->full, 0, __ATOMIC_RELEASE);
        while (now_ns() < now + reader_ns)
            continue; /* here it would use the message */
    }
    counts[kind].ages[counts[kind].rounds++] = age / PER_ROUND;
}

static void pass(int kind, int unused) {
    (void)unused;
    if (me)
        read_messages(kind);
    else
        send_messages(kind);
}

int main(int argc, char **argv) {
    reader_ns = option(argc, argv, "--reader-ns", 1000, 0, 20000);
    check_options(argc, argv);
    static struct kind kinds[KINDS];
    for (int i = 0; i < KINDS; i++)
        kinds[i] = (struct kind){.work = pass, .a = i};
    counts = share(KINDS * sizeof *counts);
    ring = (struct slot *)begin_pair();
    double undisturbed = measure(kinds, KINDS);

    printf("The reader spends %d ns on each message.\n", reader_ns);
    for (int i = 0; i < KINDS; i++) {
        printf("rate%d = %.3f M/s\n", slots_of[i], PER_ROUND * 1e3 / kinds[i].ns);
        printf("age%d = %.2f us\n", slots_of[i], median(counts[i].ages, counts[i].rounds) / 1e3);
        printf("waited%d = %.1f %%\n", slots_of[i], 100.0 * counts[i].full / PER_ROUND / counts[i].rounds);
    }
    printf("speedRatio = %.2f times\n", kinds[1].ns / kinds[3].ns);
    printf("readerNs = %d ns\nundisturbedRounds = %.0f %%\n", reader_ns, undisturbed);
    return 0;
}
