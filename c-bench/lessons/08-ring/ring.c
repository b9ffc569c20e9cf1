/*
 * How many slots does a queue need? One process sends messages of 56 bytes to the other through a ring of slots. Each
 * slot has a flag. If the next slot is still full, the sender waits: this is back-pressure.
 */
#include "../common/pair.h"

enum { PER_ROUND = 2048, KINDS = 7, BATCHED = 6 };
static const int slots_of[KINDS] = {1, 4, 16, 64, 256, 1024, 64}, batch_of[KINDS] = {1, 1, 1, 1, 1, 1, 16};

struct slot {
    _Alignas(64) int full; /* 1: it holds a message, 0: there is room for one */
    char message[56];
};

static struct slot *ring;
static struct count {
    long full,
        sent; /* how often the sender found its slot full, and how many messages it sent: the sender writes this */
} *counts;    /* of each kind */

/* The flag of a batch's first message is set last: the reader, which takes the slots in turn, gets the batch at once.
 */
static void send_messages(int kind) {
    char message[56] = {0};
    for (int n = 0; n < PER_ROUND; n += batch_of[kind]) {
        for (int i = batch_of[kind] - 1; i >= 0; i--) {
            struct slot *slot = &ring[(n + i) % slots_of[kind]];
            int looks = 0;
            for (; __atomic_load_n(&slot->full, __ATOMIC_ACQUIRE); looks++) /* pairs with the release of the reader */
                look_again(looks);
            counts[kind].full += looks > 0;
            memcpy(slot->message, message, sizeof message);
            __atomic_store_n(&slot->full, 1, __ATOMIC_RELEASE); /* pairs with the acquire of the reader */
        }
    }
    counts[kind].sent += PER_ROUND;
}

static void read_messages(int kind) {
    char message[56];
    for (int n = 0; n < PER_ROUND; n++) {
        struct slot *slot = &ring[n % slots_of[kind]];
        for (int looks = 0; !__atomic_load_n(&slot->full, __ATOMIC_ACQUIRE); looks++)
            look_again(looks);
        memcpy(message, slot->message, sizeof message);
        __asm__ volatile("" : : "r"(message) : "memory"); /* the compiler may not omit the copy */
        __atomic_store_n(&slot->full, 0, __ATOMIC_RELEASE);
    }
}

static void pass(int kind, int unused) {
    (void)unused;
    if (me)
        read_messages(kind);
    else
        send_messages(kind);
}

int main(int argc, char **argv) {
    check_options(argc, argv);
    static struct kind kinds[KINDS];
    for (int i = 0; i < KINDS; i++)
        kinds[i] = (struct kind){.work = pass, .a = i};
    counts = share(KINDS * sizeof *counts);
    ring = (struct slot *)begin_pair();
    double undisturbed = measure(kinds, KINDS);

    printf("Millions of messages per second, through rings of 1 to 1024 slots.\n");
    for (int i = 0; i < KINDS; i++) {
        const char *batch = i == BATCHED ? "Batched" : "";
        printf("slots%d%s = %.3g M/s\n", slots_of[i], batch, PER_ROUND * 1e3 / kinds[i].ns);
        printf("full%d%s = %.1f %%\n", slots_of[i], batch, 100.0 * counts[i].full / counts[i].sent);
    }
    int best = 0;
    for (int i = 1; i < BATCHED; i++)
        best = kinds[i].ns < kinds[best].ns ? i : best;
    printf("bestSlots = %d slots\nratio64 = %.2f times\n", slots_of[best], kinds[0].ns / kinds[3].ns);
    printf("batchRatio = %.2f times\n", kinds[3].ns / kinds[BATCHED].ns);
    printf("cores = %d cores\nundisturbed = %.0f %%\n", cores, undisturbed);
    return 0;
}
