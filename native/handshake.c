/* The handshake over a Unix socket of type SOCK_SEQPACKET. This type keeps message boundaries, so a hello arrives whole
 * or not at all. */
#include "handshake.h"

#include "disposal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif
#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* Linux 6.5 */
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

bool handshake_works_over(int fd) {
    int domain, type;
    struct sockaddr_un peer;
    socklen_t int_bytes = sizeof domain, peer_bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &int_bytes) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &int_bytes) == 0 && type == SOCK_SEQPACKET &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) == 0;
}

void handshake_close(int fd) {
    int reason = errno;
    disposal_retry();
    shutdown(fd, SHUT_RDWR); /* the peer sees the end now, and can send nothing more */
    if (disposal_empty(fd))
        close(fd);
    else
        disposal_close_later(fd);
    errno = reason;
}

/* The maker of a socket may have set options. These would pass something else with each packet, or hide the hello
 * or the rings of the doorbell. */
static void reset_options(int fd) {
    int off = 0, start = -1;
    static const int passing[] = {SO_PASSCRED, SO_PASSSEC, SO_TIMESTAMP, SO_TIMESTAMPNS, SO_TIMESTAMPING};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        setsockopt(fd, SOL_SOCKET, passing[i], &off, sizeof off);
    setsockopt(fd, SOL_SOCKET, SO_PASSPIDFD, &off, sizeof off);
    setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &start, sizeof start);
    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &off, sizeof off); /* fails if there is none */
}

/* The claim is a name in the abstract namespace: the kernel gives a socket one name only, and all processes that have
 * the socket share it. The name is random, because two sockets cannot have the same one. Where the kernel refuses for
 * any other reason, or the socket has the name of its listener, nothing is claimed and the caller continues. */
#define CLAIM_PREFIX "crossings-end-"

bool handshake_claim(int fd) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    uint64_t random = 0;
    reset_options(fd);
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
    if (errno == EPIPE || errno == ECONNRESET)
        return HANDSHAKE_PEER_GONE;
    if (errno != EPERM)
        return HANDSHAKE_SYSTEM;
    /* Since Linux 6.16, a peer can refuse descriptors (SO_PASSRIGHTS). It is the peer if other packets can be sent. */
    if (send(fd, &hello, data.iov_len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)data.iov_len)
        return HANDSHAKE_PROTOCOL;
    errno = EPERM;
    return HANDSHAKE_SYSTEM;
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
static enum handshake_status check_hello(const struct hello *hello, int memory, uint32_t max_capacity,
                                         struct region *peer, char *reason) {
    if (hello->magic != RING_MAGIC) {
        snprintf(reason, HANDSHAKE_REASON_BYTES, "the peer does not speak the crossings protocol");
        return HANDSHAKE_PROTOCOL;
    }
    if (hello->version != RING_VERSION) {
        snprintf(reason, HANDSHAKE_REASON_BYTES, "the peer uses protocol version %u; this side uses version %u",
                 hello->version, RING_VERSION);
        return HANDSHAKE_PROTOCOL;
    }
    enum region_refusal refusal = region_map_peer(peer, memory, max_capacity);
    if (refusal == REGION_OK && peer->capacity != hello->capacity) {
        region_release(peer);
        refusal = REGION_BAD_SIZE;
    }
    if (refusal == REGION_OK) {
        if (hello->flags & RING_FLAG_AUTHENTICATED)
            peer->key = hello->key;
        return HANDSHAKE_OK;
    }
    if (refusal == REGION_TOO_LARGE) {
        snprintf(reason, HANDSHAKE_REASON_BYTES, "the peer's ring has more than %u bytes", max_capacity);
        return HANDSHAKE_TOO_LARGE;
    }
    /* A limit of this process, such as `ulimit -v` or that of locked memory: a smaller ring would fit. */
    if (refusal == REGION_NOT_MAPPED && (errno == ENOMEM || errno == EAGAIN)) {
        snprintf(reason, HANDSHAKE_REASON_BYTES, "there is no memory for the peer's ring of %u bytes", hello->capacity);
        return HANDSHAKE_TOO_LARGE;
    }
    snprintf(reason, HANDSHAKE_REASON_BYTES, "%s", region_refusal_text(refusal));
    return refusal == REGION_NOT_MAPPED ? HANDSHAKE_SYSTEM : HANDSHAKE_PROTOCOL;
}

void handshake_refuse_descriptors(int fd) {
    int off = 0;
    setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
}

/* Let the kernel refuse further descriptors, if it can, and take the packets that were sent before. False: descriptors
 * wait in the socket, or more than two packets, and errno is 0; or the system has refused a call. Nobody sleeps before
 * the end of the handshake, so no ring that is taken here was needed. */
static bool refuse_descriptors(int fd) {
    int off = 0;
    handshake_refuse_descriptors(fd);
    bool emptied = disposal_empty(fd);
    int reason = errno;
    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &off, sizeof off); /* which disposal_empty() has set */
    errno = reason;
    return emptied;
}

/* The packet is looked at before it is taken, and no more than one descriptor too many is received. So the kernel never
 * closes the last reference to a descriptor that the peer has passed, which can block this thread, and the others stay
 * in the socket; see disposal.h. */
enum handshake_status handshake_receive_most(int fd, bool authenticated, uint32_t max_capacity, struct region *peer,
                                             char *reason) {
    struct hello hello = {0};
    union {
        struct cmsghdr header; /* only for its alignment */
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    int received[DISPOSAL_MOST];
    struct iovec data = {&hello, sizeof hello};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    *peer = (struct region){.fd = -1};
    disposal_retry();
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
        disposal_drop(fd);
    if (got == 0 && count == 0)
        return HANDSHAKE_PEER_GONE;
    bool is_ours = got >= (ssize_t)hello_bytes(0) && hello.magic == RING_MAGIC && hello.version == RING_VERSION;
    size_t expected = is_ours ? hello_bytes(hello.flags) : hello_bytes(0);
    bool agreed = !is_ours || agree(fd, &hello, authenticated, reason);
    if (agreed && (got != (ssize_t)expected || message.msg_flags & MSG_TRUNC || incomplete || count != 1))
        snprintf(reason, HANDSHAKE_REASON_BYTES, "expected a hello of %zu bytes and 1 descriptor; got %zd and %s%zu",
                 expected, got, incomplete ? "more than " : "", count);
    else if (agreed)
        answer = check_hello(&hello, received[0], max_capacity, peer, reason);
    int saved_errno = errno;
    if (answer == HANDSHAKE_OK && !refuse_descriptors(fd)) {
        saved_errno = errno;
        region_release(peer); /* not the last to hold the file: its descriptor is still open */
        snprintf(reason, HANDSHAKE_REASON_BYTES, "the peer sent descriptors, or too much else, after its hello");
        answer = saved_errno ? HANDSHAKE_SYSTEM : HANDSHAKE_PROTOCOL;
    }
    disposal_close_received(received, count, answer == HANDSHAKE_OK);
    errno = saved_errno;
    return answer;
}

enum handshake_status handshake_receive(int fd, bool authenticated, struct region *peer, char *reason) {
    return handshake_receive_most(fd, authenticated, RING_MAX_CAPACITY, peer, reason);
}
