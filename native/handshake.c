/* The handshake over a Unix socket of type SOCK_SEQPACKET. This type keeps message boundaries, so a hello arrives whole
 * or not at all. */
#include "handshake.h"

#include "disposal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define MAX_DRAINED 8 /* rings taken by one call */
#define MAX_DRAINS 64 /* calls at a time; a socket holds fewer rings */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

/* The first packet of each side, sent with the descriptor of its region. The key is sent only with
 * RING_FLAG_AUTHENTICATED. */
struct hello {
    uint32_t magic, version, capacity, flags;
    struct siphash_key key;
};

static size_t hello_bytes(uint32_t flags) {
    return flags & RING_FLAG_AUTHENTICATED ? sizeof(struct hello) : offsetof(struct hello, key);
}

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
        handshake_close(fd);
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

/* Make the address of a listener's file one in its opened folder. A user who can write to a folder on the path could
 * lead the path elsewhere between two calls. The path stays if the name is too long for this, or where /proc is
 * missing. */
static void keep_to_folder(struct sockaddr_un *address, const struct handshake_listener *listener) {
    char through[sizeof address->sun_path];
    int length = snprintf(through, sizeof through, "/proc/self/fd/%d/%s", listener->folder, listener->name);
    if (listener->name[0] != '\0' && length <= HANDSHAKE_MAX_PATH && access("/proc/self/fd", X_OK) == 0)
        strcpy(address->sun_path, through);
}

/* Let every user connect. The mode is set on the file itself: a user who can write to the folder may have put a link in
 * the place of its name since, and chmod() would follow it. */
static int open_to_others(const struct handshake_listener *listener) {
    struct stat status;
    char itself[sizeof "/proc/self/fd/" + 3 * sizeof(int)];
    int file = openat(listener->folder, listener->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return -1;
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", file);
    int failed = fstat(file, &status);
    if (!failed && (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())) {
        errno = EPERM; /* it is not ours */
        failed = -1;
    }
    if (!failed)
        failed = chmod(itself, 0666);
    give_up(file, HANDSHAKE_SYSTEM);
    return failed;
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
    if ((others && open_to_others(listener)) || listen(listener->fd, BACKLOG) ||
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
    keep_to_folder(&address, listener);
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

void handshake_close(int fd) {
    int reason = errno;
    shutdown(fd, SHUT_RDWR); /* the peer sees the end now, and can send nothing more */
    if (disposal_empty(fd))
        close(fd);
    else
        disposal_close_elsewhere(disposal_run_socket, &fd, 1);
    errno = reason;
}

void handshake_close_listener(int fd) {
    int client;
    shutdown(fd, SHUT_RD); /* no client can connect any more */
    while ((client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        handshake_close(client);
    if (errno == EMFILE || errno == ENFILE)
        disposal_close_elsewhere(disposal_run, &fd, 1); /* with the clients that still wait in it */
    else
        close(fd);
}

void handshake_unlisten(const struct handshake_listener *listener) {
    struct stat status;
    /* The file first: as long as the socket listens, no other listener takes over the path. */
    if (fstatat(listener->folder, listener->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode)
        unlinkat(listener->folder, listener->name, 0);
    handshake_close_listener(listener->fd);
    close(listener->folder);
}

enum handshake_status handshake_accept(int listener, int *fd) {
    *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (*fd >= 0)
        return HANDSHAKE_OK;
    return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR ? HANDSHAKE_AGAIN : HANDSHAKE_SYSTEM;
}

/* The claim is a name in the abstract namespace: the kernel gives a socket one name only, and all processes that have
 * the socket share it. The name is random, because two sockets cannot have the same one. Where the kernel refuses for
 * any other reason, or the socket has the name of its listener, nothing is claimed and the caller continues. */
#define CLAIM_PREFIX "crossings-end-"

bool handshake_claim(int fd) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        return true;
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, CLAIM_PREFIX "%016" PRIx64, random);
    if (bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) ==
            0 ||
        errno != EINVAL)
        return true;
    struct sockaddr_un taken = {.sun_family = AF_UNIX};
    socklen_t size = sizeof taken;
    return getsockname(fd, (struct sockaddr *)&taken, &size) != 0 ||
           memcmp(taken.sun_path, "\0" CLAIM_PREFIX, sizeof "\0" CLAIM_PREFIX - 1) != 0;
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

/* Room for every descriptor that one message can pass. */
union control {
    struct cmsghdr header; /* only for its alignment */
    char bytes[CMSG_SPACE(DISPOSAL_MOST * sizeof(int))];
};

enum handshake_status handshake_send(int fd, const struct region *mine) {
    struct hello hello = {RING_MAGIC, RING_VERSION, mine->capacity, mine->flags, mine->key};
    union {
        struct cmsghdr header; /* only for its alignment */
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec data = {&hello, hello_bytes(mine->flags)};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes};
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &mine->fd, sizeof(int));
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == (ssize_t)data.iov_len)
        return HANDSHAKE_OK;
    if (errno == EAGAIN || errno == EINTR)
        return HANDSHAKE_AGAIN;
    return errno == EPIPE || errno == ECONNRESET ? HANDSHAKE_PEER_GONE : HANDSHAKE_SYSTEM;
}

/* Does the peer ask for authenticated frames if and only if this side does? If not, send the peer a hello without a
 * descriptor, which reports this: it may not have this side's hello yet. */
static bool agree(int fd, const struct hello *hello, bool authenticated, char *reason) {
    if (authenticated == !!(hello->flags & RING_FLAG_AUTHENTICATED))
        return true;
    struct hello mine = {RING_MAGIC, RING_VERSION, 0, authenticated ? RING_FLAG_AUTHENTICATED : 0, {{0}}};
    send(fd, &mine, hello_bytes(0), MSG_NOSIGNAL | MSG_DONTWAIT);
    snprintf(reason, HANDSHAKE_REASON_BYTES,
             authenticated ? "this side has set the option authenticate; the peer has not"
                           : "the peer has set the option authenticate; this side has not");
    return false;
}

/* Check the hello and map the region behind `memory`. */
static enum handshake_status check_hello(const struct hello *hello, int memory, struct region *peer, char *reason) {
    if (hello->magic != RING_MAGIC) {
        snprintf(reason, HANDSHAKE_REASON_BYTES, "the peer does not speak the crossings protocol");
        return HANDSHAKE_PROTOCOL;
    }
    if (hello->version != RING_VERSION) {
        snprintf(reason, HANDSHAKE_REASON_BYTES, "the peer uses protocol version %u; this side uses version %u",
                 hello->version, RING_VERSION);
        return HANDSHAKE_PROTOCOL;
    }
    enum region_refusal refusal = region_map_peer(peer, memory);
    if (refusal == REGION_OK && peer->capacity != hello->capacity) {
        region_release(peer);
        refusal = REGION_BAD_SIZE;
    }
    if (refusal == REGION_OK) {
        if (hello->flags & RING_FLAG_AUTHENTICATED)
            peer->key = hello->key;
        return HANDSHAKE_OK;
    }
    snprintf(reason, HANDSHAKE_REASON_BYTES, "%s", region_refusal_text(refusal));
    return refusal == REGION_NOT_MAPPED ? HANDSHAKE_SYSTEM : HANDSHAKE_PROTOCOL;
}

/* Let the kernel refuse further descriptors, if it can, and take the packets that were sent before. False: descriptors
 * wait in the socket. Nobody sleeps before the end of the handshake, so no ring that is taken here was needed. */
static bool refuse_descriptors(int fd) {
    int off = 0;
    setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
    bool emptied = disposal_empty(fd);
    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &off, sizeof off); /* which disposal_empty() has set */
    return emptied;
}

/* The packet is looked at before it is taken. So the kernel never closes the last reference to a descriptor that the
 * peer has passed, which can block this thread; see disposal.h. */
enum handshake_status handshake_receive(int fd, bool authenticated, struct region *peer, char *reason) {
    struct hello hello = {0};
    union control control;
    int received[DISPOSAL_MOST];
    struct iovec data = {&hello, sizeof hello};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    *peer = (struct region){.fd = -1};
    ssize_t got = recvmsg(fd, &message, MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0) {
        if (errno == EAGAIN || errno == EINTR)
            return HANDSHAKE_AGAIN;
        return errno == ECONNRESET ? HANDSHAKE_PEER_GONE : HANDSHAKE_SYSTEM;
    }
    size_t count = disposal_take(&message, received, 0);
    bool incomplete = message.msg_flags & MSG_CTRUNC;
    enum handshake_status answer = HANDSHAKE_PROTOCOL;
    if (count == 0 && incomplete) {
        /* The peer sent descriptors, and this process could not take even one: it has reached its own limit. The hello
         * stays in the socket. */
        errno = EMFILE;
        return HANDSHAKE_SYSTEM;
    }
    if (!incomplete)
        recv(fd, NULL, 0, MSG_DONTWAIT);
    if (got == 0 && count == 0)
        return HANDSHAKE_PEER_GONE;
    bool is_ours = got >= (ssize_t)hello_bytes(0) && hello.magic == RING_MAGIC && hello.version == RING_VERSION;
    size_t expected = is_ours ? hello_bytes(hello.flags) : hello_bytes(0);
    bool agreed = !is_ours || agree(fd, &hello, authenticated, reason);
    if (agreed && (got != (ssize_t)expected || message.msg_flags & MSG_TRUNC || incomplete || count != 1))
        snprintf(reason, HANDSHAKE_REASON_BYTES, "expected a hello of %zu bytes and 1 descriptor; got %zd and %zu",
                 expected, got, count);
    else if (agreed)
        answer = check_hello(&hello, received[0], peer, reason);
    int saved_errno = errno;
    disposal_close_received(received, count);
    if (answer == HANDSHAKE_OK && !refuse_descriptors(fd)) {
        region_release(peer);
        snprintf(reason, HANDSHAKE_REASON_BYTES, "the peer sent descriptors after its hello");
        answer = HANDSHAKE_PROTOCOL;
    }
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

/* Take up to MAX_DRAINED rings. *taken: their number. */
static enum doorbell_state take_rings(int fd, int *taken) {
    char rings[MAX_DRAINED];
    union control controls[MAX_DRAINED]; /* see disposal.h */
    struct iovec parts[MAX_DRAINED];
    struct mmsghdr messages[MAX_DRAINED];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < MAX_DRAINED; i++) {
        parts[i] = (struct iovec){.iov_base = &rings[i], .iov_len = 1};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_control = controls[i].bytes;
        messages[i].msg_hdr.msg_controllen = sizeof controls[i].bytes;
    }
    int got;
    do
        got = recvmmsg(fd, messages, MAX_DRAINED, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, NULL);
    while (got < 0 && errno == EINTR);
    *taken = got;
    if (got < 0)
        return errno == EAGAIN ? DOORBELL_OPEN : DOORBELL_CLOSED;
    enum doorbell_state state = DOORBELL_OPEN;
    for (int i = 0; i < got; i++) {
        int received[DISPOSAL_MOST];
        size_t count = disposal_take(&messages[i].msg_hdr, received, 0);
        disposal_close_received(received, count);
        if (count > 0 || messages[i].msg_hdr.msg_flags & MSG_CTRUNC)
            state = DOORBELL_BROKEN;
        else if (messages[i].msg_len == 0 && state == DOORBELL_OPEN)
            state = DOORBELL_CLOSED; /* the end: the peer's socket is closed */
    }
    return state;
}

/* One call takes every ring that waits, up to MAX_DRAINED. Waking is on the way of a message, so a second call that
 * only finds the socket empty would be paid by each. More calls follow only if there may be more rings: a peer that has
 * rung often must not hide its end behind them. Descriptors that a peer has attached are received, so that the kernel
 * does not close them on this thread. (Before Linux 6.16 it still does if this process has too few left.) */
enum doorbell_state doorbell_drain(int fd) {
    enum doorbell_state state = DOORBELL_OPEN;
    int taken = MAX_DRAINED;
    for (int calls = 0; calls < MAX_DRAINS && taken == MAX_DRAINED && state == DOORBELL_OPEN; calls++)
        state = take_rings(fd, &taken);
    return state;
}
