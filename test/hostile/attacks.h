/* What the hostile peer does inside a channel: steps that mutate its own region or its socket, and attacks, each a
 * mixture of steps. All choices come from one seeded generator; the races with the victim are real. */
#ifndef CROSSINGS_ATTACKS_H
#define CROSSINGS_ATTACKS_H

#include "../../native/doorbell.h"
#include "../../native/listener.h"

#define RECENT_FRAMES 64 /* a power of two */

/* Mutations are stores into the region that no correct peer makes, and packets that no correct peer sends. Frames are
 * those written correctly. */
struct attack_counts {
    uint64_t mutations, frames, answers;
};

/* One end of a channel, held by an attacker. */
struct attacker {
    int fd; /* -1: the attacker has closed its socket, and still has the memory */
    struct region mine, peer;
    struct ring_writer writer;
    struct ring_reader reader;
    const struct attack *attack;
    bool has_lied;                  /* about its read position: what it reads now may be overwritten */
    uint64_t random;                /* the generator's state */
    uint32_t recent[RECENT_FRAMES]; /* positions of the last frames written */
    uint32_t recent_count;
    uint64_t open_requests; /* that have no response yet */
    struct attack_counts counts;
};

uint64_t attack_random(uint64_t *state);
/* A number below `limit`. */
uint32_t attack_below(struct attacker *attacker, uint32_t limit);

/* The attack with this name, or NULL. */
const struct attack *attack_named(const char *name);
/* The attack at this index; NULL after the last one. */
const struct attack *attack_at(unsigned index);
const char *attack_name(const struct attack *attack);

/* Do a round of steps of the attacker's attack. False: the victim has published an invalid frame, which is a defect. */
bool attack_round(struct attacker *attacker);

/* Fill the whole ring with published frames of this kind, without an end mark: a reader never finds it empty. */
void attack_fill(struct attacker *attacker, uint32_t kind, uint32_t size);

#endif
