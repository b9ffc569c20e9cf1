/*
 * Closing what a peer has passed, without ever waiting. close() can wait for hours: for the unsent data of a TCP socket
 * that lingers, or for the daemon of a FUSE file system. So only the memfd of a region that was mapped is closed here;
 * everything else is closed by a thread of its own. Closing a socket also closes the descriptors that wait in it.
 */
#ifndef CROSSINGS_DISPOSAL_H
#define CROSSINGS_DISPOSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define DISPOSAL_MOST 253 /* descriptors that the kernel passes with one message (SCM_MAX_FD) */

/* Room for every descriptor that one message can pass. */
union disposal_control {
    struct cmsghdr header; /* only for its alignment */
    char bytes[CMSG_SPACE(DISPOSAL_MOST * sizeof(int))];
};

/* Add the descriptors of a received message to `fds`, which holds `count` of them. Returns their new number. */
size_t disposal_take(struct msghdr *message, int *fds, size_t count);
/* Close descriptors that a peer has passed; at most DISPOSAL_MOST. `is_mapped`: it is one, whose memory is mapped here,
 * so that closing it does not free the file. */
void disposal_close_received(const int *fds, size_t count, bool is_mapped);
/* Take the packet that was peeked at. */
void disposal_drop(int fd);
/* Take the packets that wait in a connected socket, and leave SO_PASSCRED set. False: descriptors wait in it, there are
 * more than the two packets that a peer may have reason to send, or some of them cannot be seen; then errno is 0. Or
 * the system has refused a call; then errno says why. Descriptors are never received, because a process at its limit of
 * descriptors receives them only in part, and the kernel would close the others on this thread. */
bool disposal_empty(int fd);
/* How much is left to other threads: descriptors, lists of them, and mappings? A peer can make some of it last. */
unsigned disposal_unfinished(void);
/* Start a thread for what had to wait because none could be started. Call it now and then. */
void disposal_retry(void);
/* Close a descriptor on a thread of its own. The number of a socket is free at once, if possible; any other number is
 * free when the thread has closed it. What waits in a socket is closed with it: it is not received first, so it takes
 * no numbers of this process, however long the thread waits. */
void disposal_close_later(int fd);
/* Unmap memory on a thread of its own. */
void disposal_unmap_later(void *memory, size_t bytes);
/* Start a detached thread for such work, which gets none of the program's signals. False: it cannot be started. */
bool disposal_start_thread(void *(*run)(void *), void *argument);

#endif
