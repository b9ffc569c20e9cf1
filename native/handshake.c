/* Meeting over a Unix socket of type SOCK_SEQPACKET: it keeps message boundaries, so that a hello comes whole or not.
 */
#include "handshake.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define MOST_RINGS 64 /* taken at a time: a peer that rings without end holds nobody up */

/* What each side sends first, with the descriptor of its region beside it. */
struct hello {
    uint32_t magic, version, capacity, flags;
};

static bool make_address(struct sockaddr_un *address, const char *path) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) > HANDSHAKE_MAX_PATH || path[0] == '\0') {
        errno = path[0] ? ENAMETOOLONG : ENOENT;
        return false;
    }
    strcpy(address->sun_path, path);
    return true;
}

static int new_socket(void) {
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Closes without losing errno. */
static enum hand give_up(int fd, enum hand answer) {
    int reason = errno;
    close(fd);
    errno = reason;
    return answer;
}

enum hand handshake_connect(const char *path, int *fd) {
    struct sockaddr_un address;
    if (!make_address(&address, path))
        return HAND_SYSTEM;
    *fd = new_socket();
    if (*fd < 0)
        return HAND_SYSTEM;
    if (connect(*fd, (struct sockaddr *)&address, sizeof address) == 0)
        return HAND_OK;
    /* EAGAIN: the listener's queue is full; it is there, so coming back later is right. EPROTOTYPE: a socket of another
     * type, so certainly not one of ours. */
    bool later = errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN;
    return give_up(*fd, later ? HAND_NO_ONE : HAND_SYSTEM);
}

/* Something stands at the path. May it be taken away? */
static enum hand clear_stale(const char *path) {
    struct stat status;
    int fd;
    if (lstat(path, &status))
        return errno == ENOENT ? HAND_OK : HAND_SYSTEM;
    if (!S_ISSOCK(status.st_mode))
        return HAND_NOT_SOCKET;
    enum hand answer = handshake_connect(path, &fd);
    if (answer == HAND_OK) {
        close(fd);
        return HAND_IN_USE;
    }
    if (errno != ECONNREFUSED) /* only this says that nobody holds it any more */
        return errno == ENOENT ? HAND_OK : errno == EAGAIN || errno == EPROTOTYPE ? HAND_IN_USE : HAND_SYSTEM;
    return unlink(path) && errno != ENOENT ? HAND_SYSTEM : HAND_OK;
}

enum hand handshake_listen(const char *path, bool others, int *fd) {
    struct sockaddr_un address;
    if (!make_address(&address, path))
        return HAND_SYSTEM;
    *fd = new_socket();
    if (*fd < 0)
        return HAND_SYSTEM;
    /* The file's mode is that of the socket before bind() less the umask: it is never open to others, not even for the
     * moment between bind() and a chmod(). */
    if (fchmod(*fd, others ? 0666 : 0600))
        return give_up(*fd, HAND_SYSTEM);
    int bound = bind(*fd, (struct sockaddr *)&address, sizeof address);
    if (bound && errno == EADDRINUSE) {
        enum hand cleared = clear_stale(path);
        if (cleared != HAND_OK)
            return give_up(*fd, cleared);
        bound = bind(*fd, (struct sockaddr *)&address, sizeof address);
    }
    if (bound)
        return give_up(*fd, errno == EADDRINUSE ? HAND_IN_USE : HAND_SYSTEM);
    if ((others && chmod(path, 0666)) || listen(*fd, BACKLOG)) {
        int reason = errno;
        unlink(path);
        errno = reason;
        return give_up(*fd, HAND_SYSTEM);
    }
    return HAND_OK;
}

void handshake_unlisten(const char *path, int fd) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    struct stat status;
    bool ours = getsockname(fd, (struct sockaddr *)&address, &length) == 0 && strcmp(address.sun_path, path) == 0;
    /* Closed first: if another has already taken the path over, it answers there now, and the file stays. */
    close(fd);
    if (ours && lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        clear_stale(path);
}

enum hand handshake_accept(int listener, int *fd) {
    *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (*fd >= 0)
        return HAND_OK;
    return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR ? HAND_AGAIN : HAND_SYSTEM;
}

int handshake_peer(int fd, uid_t *uid, pid_t *pid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length))
        return -1;
    *uid = credentials.uid;
    *pid = credentials.pid;
    return 0;
}

union control {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(8 * sizeof(int))];
};

enum hand handshake_send(int fd, const struct region *mine) {
    struct hello hello = {RING_MAGIC, RING_VERSION, mine->capacity, mine->flags};
    union control control = {.bytes = {0}};
    struct iovec data = {&hello, sizeof hello};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes};
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &mine->fd, sizeof(int));
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == (ssize_t)sizeof hello)
        return HAND_OK;
    if (errno == EAGAIN || errno == EINTR)
        return HAND_AGAIN;
    return errno == EPIPE || errno == ECONNRESET ? HAND_GONE : HAND_SYSTEM;
}

/* Keep the first descriptor that came and close all others: a peer may send as many as it likes. -1: there was none. */
static int take_descriptor(struct msghdr *message, int *count) {
    int kept = -1;
    *count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < here; i++, ++*count) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (kept < 0)
                kept = fd;
            else
                close(fd);
        }
    }
    return kept;
}

enum hand handshake_receive(int fd, struct region *peer, char *why) {
    struct hello hello;
    union control control;
    struct iovec data = {&hello, sizeof hello};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control};
    int count;
    *peer = (struct region){.fd = -1};
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0) {
        if (errno == EAGAIN || errno == EINTR)
            return HAND_AGAIN;
        return errno == ECONNRESET ? HAND_GONE : HAND_SYSTEM;
    }
    int memory = take_descriptor(&message, &count);
    enum hand answer = HAND_PROTOCOL;
    if (got == 0 && memory < 0) {
        return HAND_GONE;
    } else if (got != (ssize_t)sizeof hello || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || count != 1) {
        snprintf(why, WHY_BYTES, "its hello has %zd bytes and %d descriptors, not %zu and 1", got, count, sizeof hello);
    } else if (hello.magic != RING_MAGIC) {
        snprintf(why, WHY_BYTES, "it does not speak the protocol of crossings");
    } else if (hello.version != RING_VERSION) {
        snprintf(why, WHY_BYTES, "it speaks version %u of the protocol, this is version %u", hello.version,
                 RING_VERSION);
    } else {
        enum region_refusal refusal = region_map_peer(peer, memory);
        if (refusal == REGION_OK && peer->capacity != hello.capacity) {
            region_release(peer);
            refusal = REGION_BAD_SIZE;
        }
        snprintf(why, WHY_BYTES, "%s", region_refusal_text(refusal));
        answer = refusal == REGION_OK ? HAND_OK : refusal == REGION_NOT_MAPPED ? HAND_SYSTEM : HAND_PROTOCOL;
    }
    int reason = errno;
    if (memory >= 0)
        close(memory);
    errno = reason;
    return answer;
}

void doorbell_ring(int fd) {
    char ring = 1;
    ssize_t sent;
    do
        sent = send(fd, &ring, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    /* EAGAIN: so many rings wait already that one more says nothing new. EPIPE: it has gone, as its end will tell. */
}

bool doorbell_drain(int fd) {
    char rings[16];
    for (int i = 0; i < MOST_RINGS; i++) {
        ssize_t got = recv(fd, rings, sizeof rings, MSG_DONTWAIT);
        if (got == 0)
            return false;
        if (got < 0 && errno != EINTR)
            return errno == EAGAIN;
    }
    return true;
}
