/*
 * How two processes meet: a Unix socket, over which each hands the other its region. Every call returns at once or not
 * at all waits: the caller polls the socket and keeps the time limits. The socket stays open afterwards, as doorbell
 * and as proof of life.
 */
#ifndef CROSSINGS_HANDSHAKE_H
#define CROSSINGS_HANDSHAKE_H

#include "region.h"

#include <sys/types.h>

enum hand {
    HAND_AGAIN = 0, /* not yet: poll, then call again */
    HAND_OK = 1,
    HAND_GONE = -1,       /* the peer has closed its end */
    HAND_PROTOCOL = -2,   /* what came is no hello of this version */
    HAND_SYSTEM = -3,     /* errno says why */
    HAND_IN_USE = -4,     /* somebody answers at that path already */
    HAND_NOT_SOCKET = -5, /* something else than a socket stands at that path */
    HAND_NO_ONE = -6,     /* nobody listens at that path (yet) */
};

/* The longest path of a socket, in bytes. */
#define HANDSHAKE_MAX_PATH 107

/* Listen at `path`: a socket that only its owner may connect to (mode 0600), or everybody with `others`. A socket file
 * on which nobody answers is taken over. HAND_OK: *fd is the listening socket, which does not block. */
enum hand handshake_listen(const char *path, bool others, int *fd);
/* Stop listening: closes the socket and removes its file, if that is still the one made by handshake_listen(). */
void handshake_unlisten(const char *path, int fd);
/* The next client, or HAND_AGAIN. */
enum hand handshake_accept(int listener, int *fd);
/* HAND_NO_ONE when nobody listens there yet: start order is free, so try again until the time is up. */
enum hand handshake_connect(const char *path, int *fd);

/* The user at the other end, from the kernel (SO_PEERCRED). -1 with errno. */
int handshake_peer(int fd, uid_t *uid, pid_t *pid);

/* Say hello and hand over my region. Both sides do, in any order. */
enum hand handshake_send(int fd, const struct region *mine);
/* Take the peer's hello, check its region and map it read-only. `why`, of WHY_BYTES, gets a sentence when it is
 * refused. */
#define WHY_BYTES 160
enum hand handshake_receive(int fd, struct region *peer, char *why);

/* ---- The doorbell ---- */

/* Wake the peer. One that has gone cannot be woken, which is no error here. */
void doorbell_ring(int fd);
/* Take all rings that have come. False: the peer's end is closed. */
bool doorbell_drain(int fd);

#endif
