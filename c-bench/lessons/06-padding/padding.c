/*
 * Does it matter where in memory two processes write? First, each process adds to its own counter. Then one passes
 * messages to the other through a slot: a flag says whose turn it is, and the message is some bytes after the flag.
 */
#include "../common/pair.h"

enum { REPEAT = 1000 };

static char *memory;

/* Atomic additions: for each of them, the core must have the counter's cache line to itself. */
static void add(int distance, int unused) {
    long *counter = (long *)(memory + me * distance);
    (void)unused;
    for (int i = 0; i < REPEAT; i++)
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Plain stores: the core may put them into its store buffer and continue without the line. */
static void store(int distance, int unused) {
    volatile long *counter = (volatile long *)(memory + me * distance);
    (void)unused;
    for (int i = 0; i < REPEAT; i++)
        *counter = i;
}

/* The flag is 0 while the parent may write, and 1 while the child may read. */
static void hand_over(int distance, int size) {
    int *flag = (int *)(memory + 4096);
    char *slot = (char *)flag + distance, message[64] = {0};
    for (int i = 0; i < REPEAT; i++) {
        for (int looks = 0; __atomic_load_n(flag, __ATOMIC_ACQUIRE) != me; looks++)
            look_again(looks);
        if (me)
            memcpy(message, slot, size);
        else
            memcpy(slot, message, size);
        __asm__ volatile("" : : "r"(message) : "memory"); /* the compiler may not omit the copy */
        __atomic_store_n(flag, !me, __ATOMIC_RELEASE);
    }
}

int main(int argc, char **argv) {
    int distance = option(argc, argv, "--distance", 8, 8, 1024) & ~7; /* a multiple of 8 */
    int size = option(argc, argv, "--size", 56, 1, 64);
    check_options(argc, argv);
    static struct kind kinds[8];
    kinds[0] = (struct kind){.work = add, .a = distance};
    kinds[1] = (struct kind){.work = add, .a = 128};
    kinds[2] = (struct kind){.work = store, .a = distance};
    kinds[3] = (struct kind){.work = store, .a = 128};
    kinds[4] = (struct kind){.work = hand_over, .a = distance, .b = size};
    kinds[5] = (struct kind){.work = hand_over, .a = 64, .b = size};
    kinds[6] = (struct kind){.work = hand_over, .a = 4, .b = 64};
    kinds[7] = (struct kind){.work = hand_over, .a = 64, .b = 64};
    memory = begin_pair();
    double undisturbed = measure(kinds, 8);

    for (int i = 0; i < 8; i++)
        kinds[i].ns /= REPEAT;
    printf("Two counters, one per process, %d bytes apart and 128 bytes apart.\n", distance);
    printf("addsNear = %.2f ns\naddsApart = %.2f ns\naddsRatio = %.2f times\n", kinds[0].ns, kinds[1].ns,
           kinds[0].ns / kinds[1].ns);
    printf("storesNear = %.2f ns\nstoresApart = %.2f ns\nstoresRatio = %.2f times\n", kinds[2].ns, kinds[3].ns,
           kinds[2].ns / kinds[3].ns);
    printf("A slot with a message of %d bytes, %d bytes after the flag and 64 bytes after it.\n", size, distance);
    printf("slotNear = %.2f M/s\nslotApart = %.2f M/s\nslotRatio = %.2f times\n", 1e3 / kinds[4].ns, 1e3 / kinds[5].ns,
           kinds[5].ns / kinds[4].ns);
    printf("The slot of the article: 64 bytes, directly after the flag and on the next cache line.\n");
    printf("packed64 = %.2f M/s\npadded64 = %.2f M/s\npaddingRatio = %.2f times\n", 1e3 / kinds[6].ns,
           1e3 / kinds[7].ns, kinds[6].ns / kinds[7].ns);
    printf("distance = %d bytes\nsize = %d bytes\ncores = %d cores\nundisturbed = %.0f %%\n", distance, size, cores,
           undisturbed);
    return 0;
}
