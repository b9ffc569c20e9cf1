/*
 * What channel.c, server.c and messages.c share: the state of a channel, and the steps of opening one. Private: a
 * program includes crossings.h.
 */
#ifndef CROSSINGS_CHANNEL_H
#define CROSSINGS_CHANNEL_H

#include "crossings.h"
#include "handshake.h"

/* A process. A forked child usually has another pid, but in a new pid namespace it may have the same. The count does
 * not change in a child that was made without the C library (the system call clone). */
struct process {
    pid_t pid;
    unsigned forks;
};

struct crossings_channel {
    struct process owner; /* opened it; a forked child has a copy */
    int fd;               /* the socket: the doorbell, and the sign that the peer is alive */
    struct region mine, peer;
    struct ring_writer writer;
    struct ring_reader reader;
    crossings_wait wait;
    uint32_t max_peer_capacity;
    uint64_t spin_ns;
    bool corked, authenticated;
    bool unrung;  /* the doorbell could not be rung; the next calls ring it */
    bool special; /* authenticated or over: one check shows the crossings_try_ calls that more checks are needed */
    crossings_status over; /* CROSSINGS_END or CROSSINGS_PEER_DIED once it is known; CROSSINGS_OK before */
    uint32_t over_at;      /* the read position at that time */
    uint32_t empty_at;     /* the read position when the ring was last empty, or the peer was last checked */
    unsigned
        fruitless; /* crossings_try_ calls that found nothing to do, since a message came or the peer was checked */
    struct ring_auth sent, received; /* if authenticated: the keys, and how many frames there were */
};

struct process channel_this_process(void);

/* Is `owner` this process? */
bool channel_is_mine(struct process owner);

/* Check the options, and fill in the defaults. */
crossings_status channel_check_options(const crossings_options *given, crossings_options *options);

/* Start a handshake: check the peer's user. The call takes ownership of the descriptor even if it fails. */
crossings_status channel_begin_handshake(int fd, const crossings_options *options, uid_t *user,
                                         crossings_channel **result);

/* Finish a handshake: receive the peer's region, and send mine. CROSSINGS_AGAIN: the peer's has not arrived. */
crossings_status channel_finish_handshake(crossings_channel *channel, uint32_t capacity);

/* Close a channel that was never returned to the program, keeping errno, and return `status`. The peer may decide how
 * long freeing the regions takes, also the one that it was sent: another thread does it. */
crossings_status channel_give_up(crossings_channel *channel, crossings_status status);

crossings_status channel_status_of(enum handshake_status handshake);

#endif
