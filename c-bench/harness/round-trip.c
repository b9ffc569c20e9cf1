/*
 * The round-trip pass: side A sends a message and waits for side B to send it back; each trip is timed on its own.
 * Each trip begins when the last one has ended, or, with plan.rate_a_second, at a fixed time of its own: then a trip
 * that had to wait because another one was late is timed from when it was due, so the wait counts.
 * The floors are measured along with it: 1,000 trips of a bare cache line before each tenth of the mechanism's trips,
 * because virtual machines move between cores and the floor changes when they do.
 *
 * With plan.alone, side A makes side B's calls, too, so that every message is there before it is received.
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
struct trips {
    struct pair *pair;
    char *message, *received;
    uint64_t number; /* of the next message */
    uint64_t began;  /* ticks: when this chunk's schedule began, with plan.rate_a_second */
    uint64_t sent;   /* timed trips of this chunk */
};

/* Where to store the times of a trip, in ticks. NULL: nowhere. */
struct times {
    uint64_t *trip;    /* from when it was due, or, without a schedule, from sending */
    uint64_t *service; /* from sending, with a schedule */
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

/* Side B's part of a round trip. */
static enum outcome echo(struct trips *trips) {
    const struct plan *plan = &trips->pair->plan;
    enum outcome outcome = plan->mechanism->receive(SIDE_B, trips->received, plan->size_bytes);
    return outcome == OK ? plan->mechanism->send(SIDE_B, trips->received, plan->size_bytes) : outcome;
}

/* When the next trip of the schedule is due. */
static uint64_t due_ticks(const struct trips *trips) {
    double interval_ns = 1e9 / (double)trips->pair->plan.rate_a_second;
    return trips->began + (uint64_t)((double)trips->sent * interval_ns / clock_facts.ns_per_tick);
}

/* Wait for `due`, if it is not over. Returns the time now. */
static uint64_t wait_until_due(uint64_t due) {
    uint64_t now;
    while ((now = clock_ticks()) < due)
        spin_turn();
    return now;
}

static bool request(struct trips *trips, struct times times) {
    const struct plan *plan = &trips->pair->plan;
    message_stamp(trips->message, plan->size_bytes, trips->number);
    uint64_t due = times.service ? due_ticks(trips) : 0;
    uint64_t start = wait_until_due(due);
    enum outcome outcome = plan->mechanism->send(SIDE_A, trips->message, plan->size_bytes);
    if (outcome == OK && plan->alone)
        outcome = echo(trips);
    if (outcome == OK)
        outcome = plan->mechanism->receive(SIDE_A, trips->received, plan->size_bytes);
    uint64_t end = clock_ticks();
    if (outcome != OK) {
        pair_fail_io(trips->pair, SIDE_A, outcome, "round trip");
        return false;
    }
    if (times.trip)
        *times.trip = end - (due ? due : start);
    if (times.service)
        *times.service = end - start;
    trips->sent++;
    if (!check(trips, SIDE_A))
        return false;
    if (memcmp(trips->message, trips->received, plan->size_bytes)) {
        pair_fail(trips->pair, SIDE_A, CERTAIN, "ERR_MESSAGE_ALTERED", "round trip: message %llu returned altered",
                  (unsigned long long)trips->number);
        return false;
    }
    return true;
}

/* Answer first and check afterwards, so that the check is not part of the round trip. */
static bool answer(struct trips *trips) {
    enum outcome outcome = echo(trips);
    if (outcome != OK) {
        pair_fail_io(trips->pair, SIDE_B, outcome, "round trip");
        return false;
    }
    return check(trips, SIDE_B);
}

/* Make `count` trips, on either side. Side A stores their times from `times` on. */
static bool make_trips(struct trips *trips, enum side side, uint64_t count, struct times times) {
    trips->sent = 0;
    trips->began = clock_ticks();
    for (uint64_t i = 0; i < count; i++) {
        struct times next = {times.trip ? times.trip + i : NULL, times.service ? times.service + i : NULL};
        if (side == SIDE_A ? !request(trips, next) : !answer(trips))
            return false;
        atomic_store_explicit(&trips->pair->report[side].progress, ++trips->number, memory_order_relaxed);
    }
    if (times.trip)
        trips->pair->elapsed_ticks += clock_ticks() - trips->began;
    return true;
}

static bool round_trip_side(struct pair *pair, enum side side) {
    messages_a_batch = 1; /* each side waits for the other's answer */
    const struct plan *plan = &pair->plan;
    if (plan->alone && side == SIDE_B)
        return true;
    struct trips trips = {pair, message_buffer(plan->size_bytes), message_buffer(plan->size_bytes), 0, 0, 0};
    struct floors *floors = &pair->floors;
    uint64_t turn = 0, done = 0;
    if (side == SIDE_A && plan->floors)
        pair->floors.syscall_ns = syscall_floor_ns();
    if (!make_trips(&trips, side, plan->warm_up, (struct times){NULL, NULL}))
        return false;
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        if (floors->count)
            measure_cache_line(floors, side, &turn, FLOOR_TRIPS_PER_CHUNK,
                               floors->ticks + chunk * FLOOR_TRIPS_PER_CHUNK);
        uint64_t until = plan->round_trips * (uint64_t)(chunk + 1) / CHUNKS;
        struct times times = {NULL, NULL};
        if (side == SIDE_A)
            times = (struct times){pair->trip_ticks + done, pair->service_ticks ? pair->service_ticks + done : NULL};
        if (!make_trips(&trips, side, until - done, times))
            return false;
        done = until;
    }
    if (plan->alone && plan->floors)
        floors->copy_ns = plain_copy_ns(trips.received, trips.message, plan->size_bytes);
    else if (floors->copied)
        measure_copy(floors, side, &turn, side == SIDE_A ? trips.message : trips.received, plan->size_bytes);
    free(trips.message);
    free(trips.received);
    return true;
}

bool measure_round_trips(struct pair *pair, struct failure *failure) {
    const struct plan *plan = &pair->plan;
    const struct pass pass = {
        "roundTrip", {"requesting", "answering"}, plan->round_trips + plan->warm_up, round_trip_side};
    bool two_cores = !plan->alone && (!plan->pinned || plan->cores[0] != plan->cores[1]);
    pair->trip_ticks = shared_memory(plan->round_trips * sizeof(uint64_t));
    if (plan->rate_a_second)
        pair->service_ticks = shared_memory(plan->round_trips * sizeof(uint64_t));
    pair->floors.count = plan->floors && two_cores ? CHUNKS * FLOOR_TRIPS_PER_CHUNK : 0;
    if (pair->floors.count)
        pair->floors.ticks = shared_memory(pair->floors.count * sizeof(uint64_t));
    if (pair->floors.count && plan->size_bytes >= COPY_FLOOR_FROM_BYTES)
        pair->floors.copied = shared_memory(plan->size_bytes);
    return pair_run(pair, &pass, failure);
}
