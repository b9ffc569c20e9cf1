/*
 * The round-trip pass: side A sends a message and waits for side B to send it back; each trip is timed on its own.
 * The floors are measured along with it: 1,000 trips of a bare cache line before each tenth of the mechanism's trips,
 * because virtual machines move between cores and the floor changes when they do.
 */
#include "measure.h"

#include "../common/clock.h"
#include "../common/syscalls.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

#define CHUNKS 10
#define FLOOR_TRIPS_PER_CHUNK 1000
#define COPY_FLOOR_FROM_BYTES 4096 /* smaller messages are only a few cache lines */
/* A constant, not a share of the trips: crossings are counted as the slope between two numbers of trips. */
#define WARMUP_TRIPS 500

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
        code = "ERR_MESSAGE_DOUBLED", what = "was expected, but an earlier one arrived again";
    else if (message_is(trips->received, plan->size_bytes, got) && got <= due + plan->round_trips)
        code = "ERR_MESSAGE_LOST", what = "was lost; a later one arrived instead";
    pair_fail(trips->pair, side, CERTAIN, code, "round trip: message %llu %s", (unsigned long long)due, what);
    return false;
}

static bool request(struct trips *trips, uint64_t *ticks) {
    const struct plan *plan = &trips->pair->plan;
    message_stamp(trips->sent, plan->size_bytes, trips->number);
    uint64_t start = clock_ticks();
    enum outcome outcome = plan->mechanism->send(SIDE_A, trips->sent, plan->size_bytes);
    if (outcome == OK)
        outcome = plan->mechanism->receive(SIDE_A, trips->received, plan->size_bytes);
    uint64_t end = clock_ticks();
    if (outcome != OK) {
        pair_fail_io(trips->pair, SIDE_A, outcome, "round trip");
        return false;
    }
    if (ticks)
        *ticks = end - start;
    if (!check(trips, SIDE_A))
        return false;
    if (memcmp(trips->sent, trips->received, plan->size_bytes)) {
        pair_fail(trips->pair, SIDE_A, CERTAIN, "ERR_MESSAGE_ALTERED", "round trip: message %llu returned altered",
                  (unsigned long long)trips->number);
        return false;
    }
    return true;
}

/* Answer first and check afterwards, so that the check is not part of the round trip. */
static bool answer(struct trips *trips) {
    const struct plan *plan = &trips->pair->plan;
    enum outcome outcome = plan->mechanism->receive(SIDE_B, trips->received, plan->size_bytes);
    if (outcome == OK)
        outcome = plan->mechanism->send(SIDE_B, trips->received, plan->size_bytes);
    if (outcome != OK) {
        pair_fail_io(trips->pair, SIDE_B, outcome, "round trip");
        return false;
    }
    return check(trips, SIDE_B);
}

/* Make `count` trips, on either side. Side A stores their times in `ticks`, unless it is NULL. */
static bool make_trips(struct trips *trips, enum side side, uint64_t count, uint64_t *ticks) {
    for (uint64_t i = 0; i < count; i++) {
        if (side == SIDE_A ? !request(trips, ticks ? ticks + i : NULL) : !answer(trips))
            return false;
        atomic_store_explicit(&trips->pair->report[side].progress, ++trips->number, memory_order_relaxed);
    }
    return true;
}

static bool round_trip_side(struct pair *pair, enum side side) {
    messages_a_batch = 1; /* each side waits for the other's answer */
    const struct plan *plan = &pair->plan;
    struct trips trips = {pair, message_buffer(plan->size_bytes), message_buffer(plan->size_bytes), 0};
    struct floors *floors = &pair->floors;
    uint64_t turn = 0, done = 0;
    if (side == SIDE_A && plan->floors)
        pair->floors.syscall_ns = syscall_floor_ns();
    if (!make_trips(&trips, side, WARMUP_TRIPS, NULL))
        return false;
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        if (floors->count)
            measure_cache_line(floors, side, &turn, FLOOR_TRIPS_PER_CHUNK,
                               floors->ticks + chunk * FLOOR_TRIPS_PER_CHUNK);
        uint64_t until = plan->round_trips * (uint64_t)(chunk + 1) / CHUNKS;
        if (!make_trips(&trips, side, until - done, side == SIDE_A ? pair->trip_ticks + done : NULL))
            return false;
        done = until;
    }
    if (floors->copied)
        measure_copy(floors, side, &turn, side == SIDE_A ? trips.sent : trips.received, plan->size_bytes);
    free(trips.sent);
    free(trips.received);
    return true;
}

bool measure_round_trips(struct pair *pair, struct failure *failure) {
    const struct plan *plan = &pair->plan;
    const struct pass pass = {
        "roundTrip", {"requesting", "answering"}, plan->round_trips + WARMUP_TRIPS, round_trip_side};
    bool two_cores = !plan->pinned || plan->cores[0] != plan->cores[1];
    pair->trip_ticks = shared_memory(plan->round_trips * sizeof(uint64_t));
    pair->floors.count = plan->floors && two_cores ? CHUNKS * FLOOR_TRIPS_PER_CHUNK : 0;
    if (pair->floors.count)
        pair->floors.ticks = shared_memory(pair->floors.count * sizeof(uint64_t));
    if (pair->floors.count && plan->size_bytes >= COPY_FLOOR_FROM_BYTES)
        pair->floors.copied = shared_memory(plan->size_bytes);
    return pair_run(pair, &pass, failure);
}
