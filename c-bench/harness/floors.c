/* Measures the cache-line floor and the copy floor. */
#include "floors.h"

#include "../common/clock.h"
#include "../common/median.h"

#include <string.h>

#define COPIES 200
#define PLAIN_BATCHES 20
#define PLAIN_COPIES 1000 /* per batch */

static void wait_for_turn(struct floors *floors, enum side side, uint64_t turn) {
    /* Pairs with the release in take_turn. */
    while (atomic_load_explicit(&floors->line[side].turn, memory_order_acquire) != turn)
        spin_turn();
}

static void take_turn(struct floors *floors, enum side side, uint64_t turn) {
    atomic_store_explicit(&floors->line[side].turn, turn, memory_order_release); /* pairs with wait_for_turn */
}

void measure_cache_line(struct floors *floors, enum side side, uint64_t *turn, size_t trips, uint64_t *ticks) {
    for (size_t i = 0; i < trips; i++) {
        ++*turn;
        if (side == SIDE_B) {
            wait_for_turn(floors, SIDE_A, *turn);
            take_turn(floors, SIDE_B, *turn);
            continue;
        }
        uint64_t start = clock_ticks();
        take_turn(floors, SIDE_A, *turn);
        wait_for_turn(floors, SIDE_B, *turn);
        uint64_t end = clock_ticks();
        if (ticks)
            ticks[i] = end - start;
    }
}

void measure_copy(struct floors *floors, enum side side, uint64_t *turn, char *message, size_t size) {
    double copy_ns[COPIES];
    for (int i = 0; i < COPIES; i++) {
        if (side == SIDE_A) {
            memcpy(floors->copied, message, size);
            measure_cache_line(floors, SIDE_A, turn, 1, NULL);
            continue;
        }
        wait_for_turn(floors, SIDE_A, ++*turn);
        uint64_t start = clock_ticks();
        memcpy(message, floors->copied, size);
        copy_ns[i] = (double)(clock_ticks() - start) * clock_facts.ns_per_tick;
        take_turn(floors, SIDE_B, *turn);
    }
    if (side == SIDE_B)
        floors->copy_ns = median(copy_ns, COPIES);
}

double plain_copy_ns(char *target, const char *source, size_t size) {
    double batch_ns[PLAIN_BATCHES];
    for (int batch = 0; batch < PLAIN_BATCHES; batch++) {
        uint64_t start = clock_ticks();
        for (int i = 0; i < PLAIN_COPIES; i++) {
            memcpy(target, source, size);
            __asm__ volatile("" ::: "memory"); /* the compiler must make every copy */
        }
        batch_ns[batch] = (double)(clock_ticks() - start) * clock_facts.ns_per_tick / PLAIN_COPIES;
    }
    return median(batch_ns, PLAIN_BATCHES);
}
