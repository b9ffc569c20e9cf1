/*
 * crossings for C programs: a shared-memory channel to another process, which may be a C program or a Node process that
 * uses require('crossings'). See examples/producer.c for an example and docs/protocol.md for the protocol.
 *
 * Sizes are in bytes and times in milliseconds (-1: no limit, 0: do not wait) unless a name says otherwise. Every
 * function that can fail returns a crossings_status. crossings_status_text() describes it; after CROSSINGS_SYSTEM,
 * errno holds the reason.
 *
 * Kernel: Linux 5.1 or later, with pages of 4 KiB. On others, each channel fails with CROSSINGS_SYSTEM (EOPNOTSUPP).
 *
 * Threads: only one thread may use a channel, or a server, at a time. Channels share no state. A call needs up to 24
 * KiB of stack. All threads that use the library must share one table of descriptors, as threads do unless one calls
 * unshare(CLONE_FILES): the library's own threads close descriptors for all of them.
 *
 * Signals: a call goes on after the handler of a signal has returned. A handler must not leave it by siglongjmp(): in
 * the middle of a call, the channel is between two states, and the next message may be torn. Set a time limit instead.
 * Nor may it call fork(), which waits for locks that the interrupted call may hold: those of this library and of
 * malloc().
 *
 * Cancellation: pthread_cancel() ends a call only while it waits, and before anything is sent, received or accepted.
 * The channel or the server can still be used. Opening a channel cannot be canceled once there is a peer. A thread must
 * not call these functions while its cancelability type is asynchronous (POSIX allows that for three functions only).
 *
 * fork(): channels and servers belong to the process that opened them. A child may only call crossings_close() and
 * crossings_unlisten(), which release its copies and leave the parent's alone. While a child keeps its copy of a
 * channel, the peer does not notice the parent's death.
 *
 * Plugins: link an object that contains this library with -z nodelete. After dlclose(), a thread of the library, which
 * closes what a peer has passed, may still be in it.
 */
#ifndef CROSSINGS_H
#define CROSSINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct crossings_channel crossings_channel;
typedef struct crossings_server crossings_server;

typedef enum {
    CROSSINGS_OK = 0,
    CROSSINGS_AGAIN,          /* no room to send now, or no message to receive now */
    CROSSINGS_END,            /* the peer has closed the channel, and every message has been read */
    CROSSINGS_TIMEOUT,        /* ERR_TIMEOUT */
    CROSSINGS_PEER_DIED,      /* ERR_PEER_DIED: the peer ended without closing the channel */
    CROSSINGS_PEER_CORRUPT,   /* ERR_PEER_CORRUPT: invalid memory or tag, or a Node peer's request; close the channel */
    CROSSINGS_PROTOCOL,       /* ERR_PROTOCOL: another version of the protocol, or only one side authenticates */
    CROSSINGS_NOT_AUTHORIZED, /* ERR_NOT_AUTHORIZED: the peer runs as another user */
    CROSSINGS_TOO_LARGE,      /* ERR_MESSAGE_TOO_LARGE: larger than crossings_max_message() or than the buffer */
    CROSSINGS_IN_USE,         /* ERR_ADDRESS_IN_USE: the path has a listener, or is not a socket */
    CROSSINGS_INVALID,        /* ERR_INVALID_ARGUMENT */
    CROSSINGS_SYSTEM,         /* ERR_SYSTEM: see errno */
    CROSSINGS_LIMIT_EXCEEDED, /* ERR_LIMIT_EXCEEDED: the peer's ring is larger than max_peer_capacity, or this process
                                 has no memory for it */
} crossings_status;

/* How a channel waits for its peer. Spinning has the lowest latency and keeps a core busy. */
typedef enum {
    CROSSINGS_SPIN_THEN_SLEEP = 0, /* spin for spin_us, then sleep until the doorbell rings */
    CROSSINGS_SPIN,                /* never sleep; the peer skips the doorbell and its check */
    CROSSINGS_SLEEP,               /* sleep without spinning */
} crossings_wait;

typedef struct {
    uint32_t capacity; /* of the outgoing ring: a power of two, 64 KiB to 1 GiB; 0: 1 MiB */
    crossings_wait wait;
    uint32_t spin_us;           /* microseconds of spinning before sleep; 0: 50 */
    int timeout_ms;             /* for connecting, handshake included; 0: 5000 */
    bool allow_other_users;     /* accept a peer of another user; a listener's socket file is then open to all */
    bool authenticate;          /* sign each message, and check the peer's; both sides must set it, or neither */
    uint32_t max_peer_capacity; /* the largest ring that a peer may have; 0: 256 MiB */
} crossings_options;

/* Listen at a path of at most 107 bytes. Only this user may connect, unless allow_other_users is set. A stale socket
 * file, one with no listener, is replaced. `options` may be NULL. */
crossings_status crossings_listen(const char *path, const crossings_options *options, crossings_server **server);
/* Wait for the next client whose handshake is done. Handshakes run side by side, so a silent client does not delay the
 * others; it is dropped after options->timeout_ms, or when there are too many. If a handshake fails, the client is
 * dropped and the status says why: CROSSINGS_PEER_DIED, CROSSINGS_PROTOCOL, CROSSINGS_NOT_AUTHORIZED or
 * CROSSINGS_LIMIT_EXCEEDED. Then call again: the server stays usable. A process that is out of descriptors waits for
 * those that it is closing, for up to 200 ms more than timeout_ms. */
crossings_status crossings_accept(crossings_server *server, int timeout_ms, crossings_channel **channel);
/* Stop listening and remove the socket file. Open channels stay open. NULL is allowed. */
void crossings_unlisten(crossings_server *server);

/* Connect to a listener, waiting up to options->timeout_ms for it to appear. */
crossings_status crossings_connect(const char *path, const crossings_options *options, crossings_channel **channel);
/* Open a channel over a connected Unix socket of type SOCK_SEQPACKET, such as an inherited one or one end of a
 * socketpair(). The peer must do the same at its end. Any other descriptor is refused with CROSSINGS_INVALID, and so is
 * an end that was opened before, also by another process that has it. The call takes ownership of the descriptor even
 * if it fails, and sets its close-on-exec flag. A refused descriptor is closed by another thread, perhaps after the
 * call has returned. */
crossings_status crossings_open(int fd, const crossings_options *options, crossings_channel **channel);

/* The size of the largest message that this channel can send. */
uint32_t crossings_max_message(const crossings_channel *channel);

/* After the peer's end, receives return CROSSINGS_END or CROSSINGS_PEER_DIED once every message sent before it was
 * received. Sends return it at once if this side knows of the end: nothing watches the socket between calls, so a
 * program that only sends learns of it when the ring is full. A program that only polls with the crossings_try_
 * functions learns of it within 16384 calls that find nothing to do. */

/* Copy one message into the ring. CROSSINGS_AGAIN: no room now. */
crossings_status crossings_try_send(crossings_channel *channel, const void *message, size_t size);
/* The same, but wait for room. */
crossings_status crossings_send(crossings_channel *channel, const void *message, size_t size, int timeout_ms);

/* Copy the next message into `buffer`, which has `room` bytes, and set *size to its size. CROSSINGS_AGAIN: no message
 * now. CROSSINGS_TOO_LARGE: the message does not fit; *size is its size, and it stays in the ring. After
 * CROSSINGS_PEER_CORRUPT, the buffer's content is worthless. */
crossings_status crossings_try_receive(crossings_channel *channel, void *buffer, size_t room, size_t *size);
/* The same, but wait for a message. */
crossings_status crossings_receive(crossings_channel *channel, void *buffer, size_t room, size_t *size, int timeout_ms);

/* Hold messages back (cork) and publish them all at once (uncork). A full ring is published in any case. */
void crossings_cork(crossings_channel *channel);
void crossings_uncork(crossings_channel *channel);

/* Close the channel. The peer can still read every message sent before, and then gets CROSSINGS_END. NULL is allowed.
 * This frees memory if the peer has ended. A hostile peer can make that take as long as it likes. */
void crossings_close(crossings_channel *channel);

/* A description of a status, in static storage. */
const char *crossings_status_text(crossings_status status);

#ifdef __cplusplus
}
#endif

#endif
