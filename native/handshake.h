/*
 * The handshake: over a Unix socket, each process sends the other its region. No function here blocks: the caller polls
 * the socket and enforces the time limits. The socket stays open after the handshake. It is the doorbell, and its end
 * of file reports the peer's death.
 */
#ifndef CROSSINGS_HANDSHAKE_H
#define CROSSINGS_HANDSHAKE_H

#include "region.h"

#include <sys/types.h>

enum handshake_status {
    HANDSHAKE_AGAIN = 0, /* not yet: poll the socket, then call again */
    HANDSHAKE_OK = 1,
    HANDSHAKE_PEER_GONE = -1,   /* the peer has closed its end */
    HANDSHAKE_PROTOCOL = -2,    /* the peer did not send a valid hello of this version */
    HANDSHAKE_SYSTEM = -3,      /* see errno */
    HANDSHAKE_IN_USE = -4,      /* another socket is listening at the path */
    HANDSHAKE_NOT_SOCKET = -5,  /* the path exists and is not a socket */
    HANDSHAKE_NO_LISTENER = -6, /* no socket is listening at the path (yet) */
    HANDSHAKE_TOO_LARGE = -7,   /* the peer's ring is larger than this side allows */
};

/* Is this a socket that the handshake works over: a Unix socket of type SOCK_SEQPACKET that has a peer? */
bool handshake_works_over(int fd);
/* Close a socket that is connected to a peer, no matter what the peer has sent, and without waiting. The peer sees the
 * end now, even if another process holds the socket too. */
void handshake_close(int fd);
/* Claim an inherited end of a socket pair, before the hello is sent. False: it was claimed before, by this process or
 * another one that has the same end. Two of them would share one handshake, and each could get half of it. */
bool handshake_claim(int fd);

/* Get the peer's user and process from the kernel (SO_PEERCRED). Returns 0, or -1 and sets errno. */
int handshake_peer(int fd, uid_t *uid, pid_t *pid);

/* Send the hello, with my region's descriptor and, if it is authenticated, its key. Each side sends one and receives
 * one, in any order. HANDSHAKE_PROTOCOL: the peer refuses descriptors. */
enum handshake_status handshake_send(int fd, const struct region *mine);
/* Receive the peer's hello, check its region and map it read-only. HANDSHAKE_SYSTEM with EMFILE: this process has no
 * descriptor left for the peer's region; the hello can be received later. On HANDSHAKE_PROTOCOL and
 * HANDSHAKE_TOO_LARGE, `reason` (of HANDSHAKE_REASON_BYTES) gets a phrase that says why. `authenticated`: my region has
 * RING_FLAG_AUTHENTICATED, or will have it. The peer's must have it too, or must not have it. */
#define HANDSHAKE_REASON_BYTES 160
enum handshake_status handshake_receive(int fd, bool authenticated, struct region *peer, char *reason);
/* The same, but refuse a ring of more than `max_capacity` bytes. */
enum handshake_status handshake_receive_most(int fd, bool authenticated, uint32_t max_capacity, struct region *peer,
                                             char *reason);

/* Let the kernel refuse descriptors that are sent to this socket from now on, and to those that a listener accepts, if
 * it can (Linux 6.16). */
void handshake_refuse_descriptors(int fd);

#endif
