/* The handshake over a Unix socket of type SOCK_SEQPACKET. This type keeps message boundaries, so a hello arrives whole
 * or not at all. */
#include "handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define MAX_DRAINED 8 /* rings taken by one call; more stay in the socket, which then stays readable */

/* The first packet of each side, sent with the descriptor of its region. */
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

/* Close `fd`, keeping errno, and return `answer`. */
static enum handshake_status give_up(int fd, enum handshake_status answer) {
    int reason = errno;
    close(fd);
    errno = reason;
    return answer;
}

enum handshake_status handshake_connect(const char *path, int *fd) {
    struct sockaddr_un address;
    if (!make_address(&address, path))
        return HANDSHAKE_SYSTEM;
    *fd = new_socket();
    if (*fd < 0)
        return HANDSHAKE_SYSTEM;
    if (connect(*fd, (struct sockaddr *)&address, sizeof address) == 0)
        return HANDSHAKE_OK;
    /* EAGAIN: the listener's backlog is full, so a later attempt can succeed. EPROTOTYPE (a socket of another type) is
     * not retried: it is not one of ours. */
    bool later = errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN;
    return give_up(*fd, later ? HANDSHAKE_NO_LISTENER : HANDSHAKE_SYSTEM);
}

/* Remove a socket file that no process holds any more. HANDSHAKE_OK: the path is free. */
static enum handshake_status clear_stale(const char *path, const struct handshake_listener *listener) {
    struct stat status;
    int fd;
    if (fstatat(listener->folder, listener->name, &status, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? HANDSHAKE_OK : HANDSHAKE_SYSTEM;
    if (!S_ISSOCK(status.st_mode))
        return HANDSHAKE_NOT_SOCKET;
    enum handshake_status answer = handshake_connect(path, &fd);
    if (answer == HANDSHAKE_OK) {
        close(fd);
        return HANDSHAKE_IN_USE;
    }
    if (errno != ECONNREFUSED) /* only ECONNREFUSED proves that no process holds it */
        return errno == ENOENT                          ? HANDSHAKE_OK
               : errno == EAGAIN || errno == EPROTOTYPE ? HANDSHAKE_IN_USE
                                                        : HANDSHAKE_SYSTEM;
    return unlinkat(listener->folder, listener->name, 0) && errno != ENOENT ? HANDSHAKE_SYSTEM : HANDSHAKE_OK;
}

/* Open the folder of `path`, and lock it if the file system can. A folder that this process may not read is not locked.
 */
static enum handshake_status open_folder(const char *path, bool unlocked, struct handshake_listener *listener) {
    char copy[HANDSHAKE_MAX_PATH + 1];
    strcpy(copy, path); /* fits: make_address() has checked its length */
    const char *slash = strrchr(path, '/');
    strcpy(listener->name, slash ? slash + 1 : path);
    const char *folder = dirname(copy);
    listener->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (listener->folder < 0 && errno == EACCES) {
        listener->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        unlocked = true;
    }
    if (listener->folder < 0)
        return HANDSHAKE_SYSTEM;
    if (!unlocked && flock(listener->folder, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return give_up(listener->folder, HANDSHAKE_AGAIN);
    return HANDSHAKE_OK;
}

/* Bind and listen. On failure, no file is left. */
static enum handshake_status bind_and_listen(const struct sockaddr_un *address, bool others,
                                             struct handshake_listener *listener) {
    struct stat status;
    const char *path = address->sun_path;
    /* bind() gives the file the socket's mode, less the umask. Setting it first leaves no moment between bind() and
     * chmod() in which other users could connect. */
    if (fchmod(listener->fd, others ? 0666 : 0600))
        return HANDSHAKE_SYSTEM;
    int bound = bind(listener->fd, (const struct sockaddr *)address, sizeof *address);
    if (bound && errno == EADDRINUSE) {
        enum handshake_status cleared = clear_stale(path, listener);
        if (cleared != HANDSHAKE_OK)
            return cleared;
        bound = bind(listener->fd, (const struct sockaddr *)address, sizeof *address);
    }
    if (bound)
        return errno == EADDRINUSE ? HANDSHAKE_IN_USE : HANDSHAKE_SYSTEM;
    if ((others && chmod(path, 0666)) || listen(listener->fd, BACKLOG) ||
        fstatat(listener->folder, listener->name, &status, AT_SYMLINK_NOFOLLOW)) {
        int reason = errno;
        unlinkat(listener->folder, listener->name, 0);
        errno = reason;
        return HANDSHAKE_SYSTEM;
    }
    listener->device = status.st_dev;
    listener->inode = status.st_ino;
    return HANDSHAKE_OK;
}

enum handshake_status handshake_listen(const char *path, bool others, bool unlocked,
                                       struct handshake_listener *listener) {
    struct sockaddr_un address;
    if (!make_address(&address, path))
        return HANDSHAKE_SYSTEM;
    enum handshake_status status = open_folder(path, unlocked, listener);
    if (status != HANDSHAKE_OK)
        return status;
    listener->fd = new_socket();
    status = listener->fd < 0 ? HANDSHAKE_SYSTEM : bind_and_listen(&address, others, listener);
    if (status == HANDSHAKE_OK) {
        flock(listener->folder, LOCK_UN);
        return status;
    }
    if (listener->fd >= 0)
        give_up(listener->fd, status);
    return give_up(listener->folder, status); /* which unlocks it */
}

void handshake_unlisten(const struct handshake_listener *listener) {
    struct stat status;
    /* The file first: as long as the socket listens, no other listener takes over the path. */
    if (fstatat(listener->folder, listener->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode)
        unlinkat(listener->folder, listener->name, 0);
    close(listener->fd);
    close(listener->folder);
}

enum handshake_status handshake_accept(int listener, int *fd) {
    *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (*fd >= 0)
        return HANDSHAKE_OK;
    return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR ? HANDSHAKE_AGAIN : HANDSHAKE_SYSTEM;
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
    struct cmsghdr header; /* only for its alignment */
    char bytes[CMSG_SPACE(8 * sizeof(int))];
};

enum handshake_status handshake_send(int fd, const struct region *mine) {
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
        return HANDSHAKE_OK;
    if (errno == EAGAIN || errno == EINTR)
        return HANDSHAKE_AGAIN;
    return errno == EPIPE || errno == ECONNRESET ? HANDSHAKE_PEER_GONE : HANDSHAKE_SYSTEM;
}

/* Take the first descriptor received, or -1, and close all others: a peer may send any number. */
static int take_descriptor(struct msghdr *message, int *count) {
    int first = -1;
    *count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < here; i++, ++*count) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (first < 0)
                first = fd;
            else
                close(fd);
        }
    }
    return first;
}

enum handshake_status handshake_receive(int fd, struct region *peer, char *reason) {
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
            return HANDSHAKE_AGAIN;
        return errno == ECONNRESET ? HANDSHAKE_PEER_GONE : HANDSHAKE_SYSTEM;
    }
    int memory = take_descriptor(&message, &count);
    enum handshake_status answer = HANDSHAKE_PROTOCOL;
    if (got == 0 && memory < 0 && !(message.msg_flags & MSG_CTRUNC)) {
        return HANDSHAKE_PEER_GONE;
    } else if (count == 0 && message.msg_flags & MSG_CTRUNC) {
        /* The peer sent descriptors, and this process could not take even one: it has reached its own limit. */
        errno = EMFILE;
        return HANDSHAKE_SYSTEM;
    } else if (got != (ssize_t)sizeof hello || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || count != 1) {
        snprintf(reason, HANDSHAKE_REASON_BYTES, "expected a hello of %zu bytes and 1 descriptor; got %zd and %d",
                 sizeof hello, got, count);
    } else if (hello.magic != RING_MAGIC) {
        snprintf(reason, HANDSHAKE_REASON_BYTES, "the peer does not speak the crossings protocol");
    } else if (hello.version != RING_VERSION) {
        snprintf(reason, HANDSHAKE_REASON_BYTES, "the peer speaks protocol version %u; this is version %u",
                 hello.version, RING_VERSION);
    } else {
        enum region_refusal refusal = region_map_peer(peer, memory);
        if (refusal == REGION_OK && peer->capacity != hello.capacity) {
            region_release(peer);
            refusal = REGION_BAD_SIZE;
        }
        snprintf(reason, HANDSHAKE_REASON_BYTES, "%s", region_refusal_text(refusal));
        answer = refusal == REGION_OK           ? HANDSHAKE_OK
                 : refusal == REGION_NOT_MAPPED ? HANDSHAKE_SYSTEM
                                                : HANDSHAKE_PROTOCOL;
    }
    int saved_errno = errno;
    if (memory >= 0)
        close(memory);
    errno = saved_errno;
    return answer;
}

void doorbell_ring(int fd) {
    char ring = 1;
    ssize_t sent;
    do
        sent = send(fd, &ring, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    /* EAGAIN: rings that the peer has not taken yet fill the socket, so it will wake anyway. EPIPE: the peer has closed
     * its end, which the next read reports. */
}

/* One call takes every ring that waits, up to MAX_DRAINED. Waking is on the way of a message, so a second call that
 * only finds the socket empty would be paid by each. */
bool doorbell_drain(int fd) {
    char rings[MAX_DRAINED];
    struct iovec parts[MAX_DRAINED];
    struct mmsghdr messages[MAX_DRAINED];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < MAX_DRAINED; i++) {
        parts[i] = (struct iovec){.iov_base = &rings[i], .iov_len = 1};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    int got;
    do
        got = recvmmsg(fd, messages, MAX_DRAINED, MSG_DONTWAIT, NULL);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN;
    for (int i = 0; i < got; i++)
        if (messages[i].msg_len == 0)
            return false; /* the end: the peer's socket is closed */
    return true;
}
