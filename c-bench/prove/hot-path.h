/*
 * The hot path: everything that the two processes of a proof execute between their first and their last message.
 * hot-path.c compiles each function on its own, so that its instructions can be shown beside its source.
 */
#ifndef CROSSINGS_HOT_PATH_H
#define CROSSINGS_HOT_PATH_H

#include "../../native/ring.h"

#include <stdatomic.h>

#define APART 128 /* bytes between words that different processes write */

/* 64 bytes. The receiver checks both numbers, which are at the two ends of the message. */
struct message {
    uint64_t number, last, filler[5], inverse;
};

/* The slot of shm-spin: one message and a flag, on lines of their own. */
struct slot {
    _Alignas(APART) atomic_int full; /* 0: the sender may write; 1: the receiver may read */
    _Alignas(APART) struct message message;
};

/* What one process needs to exchange messages. A proof uses the ring, the two slots or the two pipes. */
struct end {
    struct ring_writer writer;
    struct ring_reader reader;
    struct slot *outgoing, *incoming;
    int write_fd, read_fd;
    uint64_t hidden_at;      /* the message before which a control makes its hidden system call */
    _Atomic uint64_t *done;  /* messages that this process has sent and received, for the supervisor */
    const atomic_bool *stop; /* set by the supervisor when the time is up */
};

/* Send or receive one message, waiting as long as necessary. False: the exchange has failed. */
typedef bool put_message(struct end *end, const struct message *message);
typedef bool take_message(struct end *end, struct message *message);
put_message ring_put, spin_put;
take_message ring_take, spin_take;

/* Exchange `messages` messages, or fewer if the supervisor stops it. One way: one process sends all, and the other
 * receives all. Round trips: one process asks, and the other answers each message. The receiving process learns from
 * the message that it is the last. False: a message was lost, repeated or altered. */
typedef bool exchange(struct end *end, uint64_t messages);
exchange ring_send_all, ring_receive_all, ring_ask_all, ring_answer_all;
exchange spin_send_all, spin_receive_all;

#endif
