/*
 * crossings for C programs: a channel in shared memory to another process, which may be a C program or a Node process
 * that called require('crossings'). See examples/producer.c, and docs/protocol.md for what happens underneath.
 *
 * Sizes are bytes, times milliseconds (-1: no limit, 0: do not wait) unless a name says otherwise. Every function that
 * can fail answers a crossings_status; crossings_status_text() says it in words, and errno holds the system's reason
 * after CROSSINGS_SYSTEM.
 *
 * Threads: a channel is used by one thread at a time. Different channels share nothing.
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
    CROSSINGS_AGAIN,        /* no room now, or nothing there now */
    CROSSINGS_END,          /* the peer has closed its end and everything was read */
    CROSSINGS_TIMEOUT,      /* ERR_TIMEOUT */
    CROSSINGS_PEER_DIED,    /* ERR_PEER_DIED: the peer ended without closing */
    CROSSINGS_PEER_CORRUPT, /* ERR_PEER_CORRUPT: its memory holds what no peer writes; the channel is of no more use */
    CROSSINGS_PROTOCOL,     /* ERR_PROTOCOL: what answered is no peer of this version */
    CROSSINGS_NOT_AUTHORIZED, /* ERR_NOT_AUTHORIZED: the peer belongs to another user */
    CROSSINGS_TOO_LARGE,      /* ERR_MESSAGE_TOO_LARGE: larger than crossings_max_message(), or than the room given */
    CROSSINGS_IN_USE,         /* ERR_ADDRESS_IN_USE: somebody listens at that path, or it is no socket */
    CROSSINGS_INVALID,        /* ERR_INVALID_ARGUMENT */
    CROSSINGS_SYSTEM,         /* ERR_SYSTEM: errno says why */
} crossings_status;

/* How a channel waits for its peer. Spinning answers soonest and burns a core. */
typedef enum {
    CROSSINGS_SPIN_THEN_SLEEP = 0, /* spin for spin_us, then sleep until the doorbell rings */
    CROSSINGS_SPIN,                /* never sleep: the peer need never look, and never rings */
    CROSSINGS_SLEEP,               /* sleep at once */
} crossings_wait;

typedef struct {
    uint32_t capacity; /* of my outgoing ring: a power of two, 64 KiB to 1 GiB; 0: 1 MiB */
    crossings_wait wait;
    uint32_t spin_us;       /* microseconds; 0: 50 */
    int timeout_ms;         /* of connecting and of the handshake; 0: 5000 */
    bool allow_other_users; /* accept a peer of another user; its socket file is then open to all */
} crossings_options;

/* Listen at a path (at most 107 bytes). The socket file is for this user only unless allow_other_users; one that nobody
 * answers on any more is taken over. `options` may be NULL. */
crossings_status crossings_listen(const char *path, const crossings_options *options, crossings_server **server);
/* Wait for the next client and shake hands with it. A client that fails to is dropped, and the status says why; the
 * server stays usable. */
crossings_status crossings_accept(crossings_server *server, int timeout_ms, crossings_channel **channel);
/* Stop listening and remove the socket file. Channels stay open. NULL is allowed. */
void crossings_unlisten(crossings_server *server);

/* Connect to a listener, waiting for it to appear for as long as options->timeout_ms. */
crossings_status crossings_connect(const char *path, const crossings_options *options, crossings_channel **channel);
/* Make a channel of a connected socket of type SOCK_SEQPACKET, such as one end of a socketpair() or one inherited. Both
 * ends must do so. The descriptor belongs to the channel from then on, whatever the status. */
crossings_status crossings_open(int fd, const crossings_options *options, crossings_channel **channel);

/* The largest message that can be sent on this channel. */
uint32_t crossings_max_message(const crossings_channel *channel);

/* Send one message, copied from `message`. CROSSINGS_AGAIN: no room now. */
crossings_status crossings_try_send(crossings_channel *channel, const void *message, size_t size);
/* The same, waiting for room. */
crossings_status crossings_send(crossings_channel *channel, const void *message, size_t size, int timeout_ms);

/* Receive one message into `buffer`, which has `room` bytes; *size is how many it has. CROSSINGS_AGAIN: nothing there.
 * CROSSINGS_TOO_LARGE: *size says how large the message is; it stays where it is. */
crossings_status crossings_try_receive(crossings_channel *channel, void *buffer, size_t room, size_t *size);
/* The same, waiting for a message. */
crossings_status crossings_receive(crossings_channel *channel, void *buffer, size_t room, size_t *size, int timeout_ms);

/* Hold messages back (cork) and show them to the peer all at once (uncork). A ring that is full shows them anyway. */
void crossings_cork(crossings_channel *channel);
void crossings_uncork(crossings_channel *channel);

/* Close this end: what was sent can still be read by the peer, which then sees CROSSINGS_END. NULL is allowed. */
void crossings_close(crossings_channel *channel);

/* A status as a sentence, in static storage. */
const char *crossings_status_text(crossings_status status);

#ifdef __cplusplus
}
#endif

#endif
