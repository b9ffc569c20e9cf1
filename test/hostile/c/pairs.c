/* Opening an end of a pair of sockets, whatever its maker and the peer have done with it. Linked with --wrap=bind,
 * poll, setsockopt and recvmsg.
 */
#include "c-tests.h"

#include "../../../native/handshake.h"

#include <poll.h>
#include <sys/resource.h>

static bool hide_at_bind;

int __real_bind(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length) {
    if (hide_at_bind)
        hide_the_hello(fd);
    return __real_bind(fd, address, length);
}

static int polls; /* so far */

int __real_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
    polls++;
    return __real_poll(polled, count, timeout_ms);
}

static int refuse_options, interrupt; /* as a filter of system calls: with EPERM; with EINTR, from the second call on */

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
    if (!refuse_options)
        return __real_setsockopt(fd, level, name, value, size);
    errno = EPERM;
    return -1;
}

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags) {
    if (!interrupt || interrupt++ == 1)
        return __real_recvmsg(fd, message, flags);
    errno = EINTR;
    return -1;
}

/* Send a hello to the other end, as a peer does. */
static void send_hello(int fd) {
    struct region theirs;
    EXPECT(region_create(&theirs, 1 << 16, 0) == 0 && handshake_send(fd, &theirs) == HANDSHAKE_OK);
    region_release(&theirs);
}

/* The peer was blamed for it. */
static void a_filter_that_refuses_calls_is_named(void) {
    crossings_channel *channel;
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    send_hello(ends[1]);
    refuse_options = 1;
    EXPECT(crossings_open(ends[0], NULL, &channel) == CROSSINGS_SYSTEM && errno == EPERM);
    refuse_options = 0;
    close(ends[1]);
}

static void a_filter_that_interrupts_calls_does_not_make_them_spin(void) {
    crossings_channel *channel;
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    send_hello(ends[1]);
    alarm(20);
    interrupt = 1;
    EXPECT(crossings_open(ends[0], NULL, &channel) == CROSSINGS_SYSTEM && errno == EINTR);
    interrupt = 0;
    close(ends[1]);
}

static void a_limit_of_file_sizes_is_an_error(void) {
    int ends[2];
    crossings_channel *channel;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    EXPECT(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000}) == 0);
    EXPECT(crossings_open(ends[0], NULL, &channel) == CROSSINGS_SYSTEM && errno == EFBIG);
}

/* ---- Options that the maker of a pair of sockets has set, or sets later ---- */

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* Linux 6.5. Elsewhere it fails, and the tests have nothing to find. */
#endif

static void no_packet_leaves_a_descriptor(void) {
    for (int later = 0; later < 2; later++) {
        crossings_channel *channel;
        crossings_status status;
        pid_t child;
        int pair[2], go[2], on = 1, before = descriptors();
        char text[8];
        size_t size;
        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 && pipe(go) == 0);
        int copy = dup(pair[0]);
        if (!later)
            setsockopt(copy, SOL_SOCKET, SO_PASSPIDFD, &on, sizeof on);
        EXPECT(open_both(pair, go, &channel, &child) == CROSSINGS_OK);
        if (later)
            setsockopt(copy, SOL_SOCKET, SO_PASSPIDFD, &on, sizeof on);
        close(copy); /* its end is the peer's only sign of this process */
        EXPECT(write(go[1], "x", 1) == 1);
        while ((status = crossings_receive(channel, text, sizeof text, &size, 60000)) == CROSSINGS_OK)
            ;
        EXPECT(later || status == CROSSINGS_END);
        crossings_close(channel);
        EXPECT(end_of(child) == 0);
        close(go[0]);
        close(go[1]);
        EXPECT(descriptors() == before);
    }
}

static void a_hello_that_cannot_be_seen_is_found(void) {
    crossings_channel *channel;
    pid_t child;
    int pair[2], go[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 && pipe(go) == 0);
    hide_the_hello(pair[0]);
    alarm(60); /* otherwise it might look for ever */
    EXPECT(open_both(pair, go, &channel, &child) == CROSSINGS_OK);
    EXPECT(write(go[1], "x", 1) == 1);
    crossings_close(channel);
    EXPECT(end_of(child) == 0);
}

static void a_hello_that_is_hidden_meets_the_time_limit(void) {
    crossings_channel *channel;
    crossings_options options = {.timeout_ms = 200};
    int pair[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    hide_at_bind = true;
    EXPECT(send(pair[1], "hello", 5, 0) == 5);
    alarm(60); /* without the limit, it would wait for ever */
    EXPECT(crossings_open(pair[0], &options, &channel) == CROSSINGS_TIMEOUT);
    EXPECT(polls > 1 && polls < 100); /* one every 5 ms; without a pause, tens of thousands */
}

/* Where the kernel has the option (Linux 6.16). */
static void a_peer_that_refuses_descriptors_is_to_blame(void) {
    enum { PASS_RIGHTS = 83 };
    crossings_channel *channel;
    int pair[2], off = 0;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    if (setsockopt(pair[1], SOL_SOCKET, PASS_RIGHTS, &off, sizeof off) == 0)
        EXPECT(crossings_open(pair[0], NULL, &channel) == CROSSINGS_PROTOCOL);
}

static void a_ring_that_is_too_large_is_refused(void) {
    crossings_channel *channel;
    crossings_options options = {.max_peer_capacity = 1 << 17};
    struct region peer;
    for (uint32_t capacity = 1 << 16; capacity <= 1 << 18; capacity *= 2) {
        bool allowed = capacity <= options.max_peer_capacity;
        int pair[2];
        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        EXPECT(region_create(&peer, capacity, 0) == 0 && handshake_send(pair[1], &peer) == HANDSHAKE_OK);
        EXPECT(crossings_open(pair[0], &options, &channel) == (allowed ? CROSSINGS_OK : CROSSINGS_LIMIT_EXCEEDED));
        if (allowed)
            crossings_close(channel);
        region_release(&peer);
        close(pair[1]);
    }
}

/* The process would talk to itself: one that answers each message would never sleep again. */
static void its_own_region_is_refused(void) {
    crossings_channel *channel;
    crossings_options options = {.timeout_ms = 60000};
    int pair[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    pid_t peer = start();
    if (peer == 0) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))], hello[64];
        struct iovec data = {hello, sizeof hello};
        struct msghdr message = {
            .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        ssize_t size = recvmsg(pair[1], &message, 0);
        EXPECT(size > 0);
        data.iov_len = (size_t)size;
        EXPECT(sendmsg(pair[1], &message, 0) == size);
        _exit(0);
    }
    EXPECT(crossings_open(pair[0], &options, &channel) == CROSSINGS_PROTOCOL);
    EXPECT(end_of(peer) == 0);
}

static void a_full_socket_meets_the_time_limit(void) {
    crossings_channel *channel;
    crossings_options options = {.timeout_ms = 200};
    int pair[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    while (send(pair[0], "", 1, MSG_DONTWAIT) == 1)
        ;
    EXPECT(crossings_open(pair[0], &options, &channel) == CROSSINGS_TIMEOUT);
}

static void other_descriptors_are_refused(void) {
    crossings_channel *channel;
    int sockets[] = {socket(AF_UNIX, SOCK_SEQPACKET, 0), socket(AF_UNIX, SOCK_STREAM, 0),
                     socket(AF_INET, SOCK_STREAM, 0)};
    int streams[2], datagrams[2], ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, streams) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams) == 0);
    EXPECT(pipe(ends) == 0);
    int others[] = {sockets[0], sockets[1], sockets[2], streams[0], datagrams[0], ends[0], ends[1], 1000, -1};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        crossings_status status = crossings_open(others[i], NULL, &channel);
        EXPECT(status == (i < 7 ? CROSSINGS_INVALID : CROSSINGS_SYSTEM)); /* the last two are not descriptors at all */
        wait_until_closed(others[i]);
    }
}

static int packets; /* that fill a socket */

static void *empty_and_open(void *end) {
    char byte;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* the other end finds no room */
    for (int i = 0; i < packets; i++)
        EXPECT(recv(*(int *)end, &byte, 1, 0) == 1);
    return open_end(end);
}

static void minus_one_waits_for_room(void) {
    crossings_channel *channel;
    crossings_options options = {.timeout_ms = -1};
    int pair[2];
    pthread_t thread;
    void *other;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    while (send(pair[0], "", 1, MSG_DONTWAIT) == 1)
        packets++;
    EXPECT(pthread_create(&thread, NULL, empty_and_open, &pair[1]) == 0);
    EXPECT(crossings_open(pair[0], &options, &channel) == CROSSINGS_OK);
    EXPECT(pthread_join(thread, &other) == 0);
    crossings_close(other);
    crossings_close(channel);
}

static const struct test tests[] = {
    {"a peer that sends back the region of this side is refused", its_own_region_is_refused},
    {"a filter that refuses setsockopt() is named, and not the peer", a_filter_that_refuses_calls_is_named},
    {"a filter that interrupts each recvmsg() does not make it spin",
     a_filter_that_interrupts_calls_does_not_make_them_spin},
    {"a limit of file sizes is an error, and not the end", a_limit_of_file_sizes_is_an_error},
    {"no packet leaves a descriptor, whatever the maker of the socket has set", no_packet_leaves_a_descriptor},
    {"a hello that the maker of the socket has hidden is found", a_hello_that_cannot_be_seen_is_found},
    {"opening over a full socket meets the time limit", a_full_socket_meets_the_time_limit},
    {"descriptors of other kinds are refused, and closed", other_descriptors_are_refused},
    {"opening without a time limit waits for room in the socket", minus_one_waits_for_room},
    {"a hello that is hidden later meets the time limit, without spinning",
     a_hello_that_is_hidden_meets_the_time_limit},
    {"a peer that refuses descriptors does not look like a failed call", a_peer_that_refuses_descriptors_is_to_blame},
    {"a peer whose ring is too large is refused", a_ring_that_is_too_large_is_refused},
};

int main(int count, char **arguments) {
    return run_tests(tests, sizeof tests / sizeof *tests, count, arguments);
}
