/*
 * The floors that take two processes: a round trip of a bare cache line, and the copy of a message that the other core
 * has just written. They are measured by the same processes, on the same cores and in the same seconds as the
 * mechanism.
 */
#ifndef CROSSINGS_FLOORS_H
#define CROSSINGS_FLOORS_H

#include "../mechanism.h"

#include <stdatomic.h>
#include <stdint.h>

/* Two cache lines, because processors fetch cache lines in pairs. */
#define APART 128

/* In memory that both sides share. */
struct floors {
    double syscall_ns;
    size_t count;    /* cache-line round trips; 0: none, because both sides share a core */
    uint64_t *ticks; /* `count` of them */
    double copy_ns;  /* with plan.alone: of a copy in one core's cache; 0: not measured */
    char *copied;    /* a message for the copy; NULL: do not measure it */
    struct {
        _Alignas(APART) _Atomic uint64_t turn;
    } line[2]; /* line[side] is written by that side */
};

/* Both sides call these with the same arguments, except `ticks` and `message`. `turn` counts the turns of its side over
 * all calls, from 0. */

/* `trips` round trips of one word on a cache line. Side A stores the time of each in `ticks`, unless it is NULL. */
void measure_cache_line(struct floors *floors, enum side side, uint64_t *turn, size_t trips, uint64_t *ticks);
/* Set floors->copy_ns to the median time of one memcpy of `size` bytes that the other core has just written. Side A
 * copies from `message`, side B to it. */
void measure_copy(struct floors *floors, enum side side, uint64_t *turn, char *message, size_t size);

/* The time of one memcpy of `size` bytes in this core's cache. Method: as that of syscall_floor_ns(). */
double plain_copy_ns(char *target, const char *source, size_t size);

#endif
