/*
 * The round-trip pass: side A sends a message and waits for side B to send it back; each trip is timed alone.
 *
 * The floors are measured by the same two processes on the same cores in the same seconds: before each tenth of the
 * trips, a thousand trips of a bare cache line, timed in the same way, since virtual machines move their cores about
 * and the floor with them.
 */
#include "measure.h"

#include "clock.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNKS 10
#define FLOOR_TRIPS_PER_CHUNK 1000
/* Fixed, never a share of the trips: crossings are counted as the slope between two numbers of trips. */
#define WARMUP_TRIPS 500

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The cheapest system call there is: getppid(), asked without libc's help. Median of 20 batches of 1,000. */
static double measure_syscall_floor_ns(void) {
    enum { BATCHES = 20, CALLS = 1000 };
    double batch_ns[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t start = clock_ticks();
        for (int i = 0; i < CALLS; i++)
            syscall(SYS_getppid);
        batch_ns[batch] = (double)(clock_ticks() - start) * clock_facts.ns_per_tick / CALLS;
    }
    qsort(batch_ns, BATCHES, sizeof *batch_ns, compare_doubles);
    return (batch_ns[BATCHES / 2 - 1] + batch_ns[BATCHES / 2]) / 2;
}

/* ---- The floor: one word on a cache line each way, nothing else ---- */

static void floor_ask(struct pair *pair, uint64_t *turn, uint64_t trips, uint64_t *ticks) {
    for (uint64_t i = 0; i < trips; i++) {
        uint64_t start = clock_ticks();
        atomic_store_explicit(&pair->floor_line[SIDE_A].turn, ++*turn,
                              memory_order_release); /* pairs with floor_answer */
        while (atomic_load_explicit(&pair->floor_line[SIDE_B].turn, memory_order_acquire) != *turn)
            spin_turn();
        uint64_t end = clock_ticks();
        if (ticks)
            ticks[i] = end - start;
    }
}

static void floor_answer(struct pair *pair, uint64_t *turn, uint64_t trips) {
    for (uint64_t i = 0; i < trips; i++) {
        ++*turn;
        while (atomic_load_explicit(&pair->floor_line[SIDE_A].turn, memory_order_acquire) != *turn)
            spin_turn();
        atomic_store_explicit(&pair->floor_line[SIDE_B].turn, *turn, memory_order_release); /* pairs with floor_ask */
    }
}

/* ---- The floor of copying: one plain memcpy of what the other core has just written ---- */

#define COPY_FLOOR_FROM_BYTES 4096 /* smaller ones are no more than a few cache lines */
#define COPIES 200

static void copy_floor_ask(struct pair *pair, uint64_t *turn, const char *message) {
    for (int i = 0; i < COPIES; i++) {
        memcpy(pair->copied, message, pair->plan.size_bytes);
        floor_ask(pair, turn, 1, NULL);
    }
}

/* The median of all copies, on side B. */
static void copy_floor_answer(struct pair *pair, uint64_t *turn, char *message) {
    double copy_ns[COPIES];
    for (int i = 0; i < COPIES; i++) {
        ++*turn;
        while (atomic_load_explicit(&pair->floor_line[SIDE_A].turn, memory_order_acquire) != *turn)
            spin_turn();
        uint64_t start = clock_ticks();
        memcpy(message, pair->copied, pair->plan.size_bytes);
        copy_ns[i] = (double)(clock_ticks() - start) * clock_facts.ns_per_tick;
        atomic_store_explicit(&pair->floor_line[SIDE_B].turn, *turn, memory_order_release); /* pairs with floor_ask */
    }
    qsort(copy_ns, COPIES, sizeof *copy_ns, compare_doubles);
    pair->copy_floor_ns = copy_ns[COPIES / 2];
}

/* ---- The mechanism's trips ---- */

struct trips {
    struct pair *pair;
    char *sent, *received;
    uint64_t number; /* of the next message */
};

static bool check(struct trips *trips, enum side side) {
    const struct plan *plan = &trips->pair->plan;
    uint64_t got = message_number(trips->received), due = trips->number;
    if (message_is(trips->received, plan->size_bytes, due))
        return true;
    const char *code = "ERR_MESSAGE_ALTERED", *what = "arrived altered";
    if (message_is(trips->received, plan->size_bytes, got) && got < due)
        code = "ERR_MESSAGE_DOUBLED", what = "was due and an earlier one arrived again";
    else if (message_is(trips->received, plan->size_bytes, got) && got <= due + plan->round_trips)
        code = "ERR_MESSAGE_LOST", what = "was lost: a later one came in its place";
    pair_fail(trips->pair, side, CERTAIN, code, "round trip: message %llu %s", (unsigned long long)due, what);
    return false;
}

static bool ask(struct trips *trips, uint64_t *ticks) {
    const struct plan *plan = &trips->pair->plan;
    message_stamp(trips->sent, plan->size_bytes, trips->number);
    uint64_t start = clock_ticks();
    enum outcome outcome = plan->mechanism->send(SIDE_A, trips->sent, plan->size_bytes);
    if (outcome == OK)
        outcome = plan->mechanism->receive(SIDE_A, trips->received, plan->size_bytes);
    uint64_t end = clock_ticks();
    if (outcome != OK) {
        pair_fail_io(trips->pair, SIDE_A, outcome, "a round trip");
        return false;
    }
    if (ticks)
        *ticks = end - start;
    if (!check(trips, SIDE_A))
        return false;
    if (memcmp(trips->sent, trips->received, plan->size_bytes)) {
        pair_fail(trips->pair, SIDE_A, CERTAIN, "ERR_MESSAGE_ALTERED", "round trip: message %llu came back altered",
                  (unsigned long long)trips->number);
        return false;
    }
    return true;
}

/* Answers first and checks after: the check runs while the answer travels. */
static bool answer(struct trips *trips) {
    const struct plan *plan = &trips->pair->plan;
    enum outcome outcome = plan->mechanism->receive(SIDE_B, trips->received, plan->size_bytes);
    if (outcome == OK)
        outcome = plan->mechanism->send(SIDE_B, trips->received, plan->size_bytes);
    if (outcome != OK) {
        pair_fail_io(trips->pair, SIDE_B, outcome, "a round trip");
        return false;
    }
    return check(trips, SIDE_B);
}

/* `count` trips, on either side; `ticks` is where side A puts their times, or NULL. */
static bool make_trips(struct trips *trips, enum side side, uint64_t count, uint64_t *ticks) {
    for (uint64_t i = 0; i < count; i++) {
        if (side == SIDE_A ? !ask(trips, ticks ? ticks + i : NULL) : !answer(trips))
            return false;
        atomic_store_explicit(&trips->pair->report[side].progress, ++trips->number, memory_order_relaxed);
    }
    return true;
}

static bool round_trip_side(struct pair *pair, enum side side) {
    messages_a_batch = 1; /* each side waits for the other's answer */
    const struct plan *plan = &pair->plan;
    struct trips trips = {pair, message_buffer(plan->size_bytes), message_buffer(plan->size_bytes), 0};
    uint64_t turn = 0, done = 0;
    if (side == SIDE_A && plan->floors)
        pair->syscall_floor_ns = measure_syscall_floor_ns();
    if (!make_trips(&trips, side, WARMUP_TRIPS, NULL))
        return false;
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        if (pair->floor_count && side == SIDE_A)
            floor_ask(pair, &turn, FLOOR_TRIPS_PER_CHUNK, pair->floor_ticks + chunk * FLOOR_TRIPS_PER_CHUNK);
        else if (pair->floor_count)
            floor_answer(pair, &turn, FLOOR_TRIPS_PER_CHUNK);
        uint64_t until = plan->round_trips * (uint64_t)(chunk + 1) / CHUNKS;
        if (!make_trips(&trips, side, until - done, side == SIDE_A ? pair->trip_ticks + done : NULL))
            return false;
        done = until;
    }
    if (pair->copied && side == SIDE_A)
        copy_floor_ask(pair, &turn, trips.sent);
    else if (pair->copied)
        copy_floor_answer(pair, &turn, trips.received);
    free(trips.sent);
    free(trips.received);
    return true;
}

bool measure_round_trips(struct pair *pair, struct failure *failure) {
    const struct plan *plan = &pair->plan;
    const struct pass pass = {"roundTrip", {"asking", "answering"}, plan->round_trips + WARMUP_TRIPS, round_trip_side};
    bool two_cores = !plan->pinned || plan->cores[0] != plan->cores[1];
    pair->trip_ticks = shared_memory(plan->round_trips * sizeof(uint64_t));
    pair->floor_count = plan->floors && two_cores ? CHUNKS * FLOOR_TRIPS_PER_CHUNK : 0;
    if (pair->floor_count)
        pair->floor_ticks = shared_memory(pair->floor_count * sizeof(uint64_t));
    if (pair->floor_count && plan->size_bytes >= COPY_FLOOR_FROM_BYTES)
        pair->copied = shared_memory(plan->size_bytes);
    return pair_run(pair, &pass, failure);
}
