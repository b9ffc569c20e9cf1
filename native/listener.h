/*
 * Sockets at a path, over which the handshake takes place. No function here blocks: the caller polls the socket and
 * enforces the time limits.
 */
#ifndef CROSSINGS_LISTENER_H
#define CROSSINGS_LISTENER_H

#include "handshake.h"

/* The longest path of a socket, in bytes. */
#define LISTENER_MAX_PATH 107

/* A listening socket, and where its file is: the file is found again after the process has changed its directory, and
 * distinguished from the file of another listener at the same path. */
struct listener {
    int fd;     /* the socket, which is non-blocking */
    int folder; /* the folder of the file */
    char name[LISTENER_MAX_PATH + 1];
    dev_t device;
    ino_t inode;
};

/* Listen at `path`. Only this user may connect (mode 0600), or every user with `others`. A stale socket file, one with
 * no listener, is replaced; of several processes that try, one does. They take turns by a lock on the folder, which is
 * held for microseconds. HANDSHAKE_AGAIN: another process holds the lock, so try again soon. A process that cannot get
 * it for a long time passes `unlocked`, because any user who can read the folder can hold its lock. */
enum handshake_status listener_open(const char *path, bool others, bool unlocked, struct listener *listener);
/* Stop listening: remove the file, unless another listener has replaced it, and close the socket. */
void listener_close(const struct listener *listener);
/* Close the socket of a listener, with the clients that were not accepted. */
void listener_close_socket(int fd);
/* Accept the next client. HANDSHAKE_AGAIN: no client is waiting. */
enum handshake_status listener_accept(int listener, int *fd);
/* Connect to a listener. HANDSHAKE_NO_LISTENER: the caller may retry, since either side may start first. */
enum handshake_status listener_connect(const char *path, int *fd);

#endif
