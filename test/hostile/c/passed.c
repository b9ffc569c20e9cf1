/* The descriptors that a hostile peer passes. Linked with --wrap=pthread_create and pthread_mutex_timedlock. */
#include "c-tests.h"

#include "../../../native/disposal.h"
#include "../../../native/handshake.h"

#include <sys/mman.h>
#include <sys/resource.h>

/* ---- Descriptors of hostile peers ---- */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

static int threads_started;

static bool no_threads, much_thread_local;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    if (no_threads)
        return EAGAIN;
    size_t stack;
    if (much_thread_local && pthread_attr_getstacksize(attributes, &stack) == 0 && stack < 1 << 20)
        return EINVAL; /* as of a program whose thread-local variables take so much */
    threads_started++;
    return __real_pthread_create(thread, attributes, run, argument);
}

/* Send a packet with `count` descriptors. */
static void pass(int fd, const int *descriptors, size_t count) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))] = {0};
    struct iovec data = {"x", 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control};
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(rights), descriptors, count * sizeof(int));
    EXPECT(sendmsg(fd, &message, 0) == 1);
}

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

/* Without a thread, closing such a socket would wait for the descriptors in it. A client could make a server wait
 * forever, once it has brought the server to its limit of threads. */
static void sockets_wait_for_a_thread(void) {
    enum { PAIRS = 5 };
    int pairs[PAIRS][2];
    for (int i = 0; i < PAIRS; i++) {
        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pairs[i]) == 0);
        pass(pairs[i][1], &pairs[i][1], 1);
        no_threads = i < PAIRS - 1;
        handshake_close(pairs[i][0]);
        EXPECT(!no_threads || is_open(pairs[i][0]));
    }
    double until = seconds() + 60;
    for (int i = 0; i < PAIRS; i++)
        while (is_open(pairs[i][0]) && seconds() < until)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (int i = 0; i < PAIRS; i++)
        EXPECT(!is_open(pairs[i][0]));
    EXPECT(threads_started == 1);
}

/* Whoever has a copy of our end can let MSG_PEEK pass over the packets in it. */
static void hidden_packets_are_closed_elsewhere(void) {
    int pair[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0);
    pass(pair[1], &pair[1], 1);
    hide_the_hello(pair[0]);
    much_thread_local = true;
    handshake_close(pair[0]);
    EXPECT(threads_started == 1);
}

/* A peer that hangs in a write() to a pipe holds its lock, which close() and fcntl() wait for. */
static void a_pipe_is_closed_elsewhere(void) {
    int pair[2], ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0 && pipe(ends) == 0);
    pass(pair[1], ends, 1);
    struct region peer;
    char reason[HANDSHAKE_REASON_BYTES];
    EXPECT(handshake_receive(pair[0], false, &peer, reason) == HANDSHAKE_PROTOCOL);
    EXPECT(threads_started == 1);
}

/* The kernel looks through all of its locks when it is closed: 46,000 take 1.4 ms. */
static void a_memfd_with_locks_is_closed_elsewhere(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    for (int locked = 0; locked < 2; locked++) {
        int pair[2];
        struct region mine, peer;
        char reason[HANDSHAKE_REASON_BYTES];
        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0);
        EXPECT(region_create(&mine, 1 << 16, 0) == 0 && (!locked || fcntl(mine.fd, F_OFD_SETLK, &lock) == 0));
        EXPECT(handshake_send(pair[1], &mine) == HANDSHAKE_OK);
        EXPECT(handshake_receive(pair[0], false, &peer, reason) == HANDSHAKE_OK);
        EXPECT(threads_started == locked);
        region_release(&mine);
        region_release(&peer);
    }
}

/* Its last close() frees its pages and its extended attributes, of which there may be millions. */
static void the_memfd_of_a_refused_hello_is_closed_elsewhere(void) {
    int pair[2], memory = memfd_create("refused", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct region peer;
    char reason[HANDSHAKE_REASON_BYTES];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0 && memory >= 0);
    pass(pair[1], &memory, 1);
    EXPECT(handshake_receive(pair[0], false, &peer, reason) == HANDSHAKE_PROTOCOL);
    EXPECT(threads_started == 1);
}

/* Have a pair of descriptors wait for a thread. Returns the number of the first. */
static int let_descriptors_wait(int *pair) {
    int ends[2], next;
    struct region peer;
    char reason[HANDSHAKE_REASON_BYTES];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0 && pipe(ends) == 0);
    pass(pair[1], ends, 2);
    no_threads = true;
    EXPECT((next = dup(0)) >= 0 && close(next) == 0);
    EXPECT(handshake_receive(pair[0], false, &peer, reason) == HANDSHAKE_PROTOCOL && is_open(next));
    no_threads = false;
    return next;
}

static void wait_until_closed(int fd) {
    for (double until = seconds() + 60; is_open(fd) && seconds() < until;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    EXPECT(!is_open(fd));
}

/* Only the next hostile descriptor started one, and a process that had no room left could not receive it. */
static void descriptors_that_wait_are_closed_later(void) {
    int pair[2], fd = let_descriptors_wait(pair);
    struct region peer;
    char reason[HANDSHAKE_REASON_BYTES];
    EXPECT(handshake_receive(pair[0], false, &peer, reason) == HANDSHAKE_AGAIN);
    wait_until_closed(fd);
}

/* It was taken for a failure of the listener, and a program that trusts the documents ended. */
static void a_server_waits_for_descriptors_that_are_being_closed(void) {
    crossings_server *server;
    crossings_channel *channel;
    int pair[2];
    EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
    connect_silently();
    let_descriptors_wait(pair);
    no_threads = true;
    int next = dup(0);
    close(next);
    EXPECT(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, 4096}) == 0);
    EXPECT(crossings_accept(server, 100, &channel) == CROSSINGS_TIMEOUT);
    no_threads = false;
    EXPECT(crossings_accept(server, 100, &channel) == CROSSINGS_TIMEOUT); /* the client is accepted, but says nothing */
    crossings_unlisten(server);
}

static void a_forked_child_keeps_its_own_descriptors(void) {
    int pair[2], fd = let_descriptors_wait(pair);
    pid_t process = start();
    if (process == 0) {
        EXPECT(dup2(0, fd) == fd); /* its own file, with the number of one that waits in the parent */
        disposal_retry();
        EXPECT(threads_started == 1);
        int ends[2];
        EXPECT(pipe(ends) == 0);
        disposal_close_later(ends[0]);
        wait_until_closed(ends[0]); /* so the other thread has most likely ended, too */
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        EXPECT(is_open(fd));
        _exit(0);
    }
    EXPECT(end_of(process) == 0);
}

/* The pages of each are few, but 253 of them made a thread wait for a second. */
static void many_memfds_are_closed_elsewhere(void) {
    enum { COUNT = 80, BYTES = 1 << 20 };
    int pair[2], memory[COUNT];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0);
    for (int i = 0; i < COUNT; i++) {
        memory[i] = memfd_create("pages", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        EXPECT(memory[i] >= 0 && fallocate(memory[i], 0, 0, BYTES) == 0);
    }
    pass(pair[1], memory, COUNT);
    struct region peer;
    char reason[HANDSHAKE_REASON_BYTES];
    EXPECT(handshake_receive(pair[0], false, &peer, reason) == HANDSHAKE_PROTOCOL);
    EXPECT(threads_started == 1);
}

/* A full socket holds hundreds of packets, and a server that closes has a hundred clients. */
static void a_full_socket_is_emptied_elsewhere(void) {
    int pair[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0);
    while (send(pair[1], "x", 1, 0) == 1)
        ;
    handshake_close(pair[0]);
    EXPECT(threads_started == 1);
}

enum { MOST = 253 };

/* Pass as many copies of a descriptor as one packet holds. */
static void pass_most(int fd) {
    int copies[MOST];
    for (int i = 0; i < MOST; i++)
        copies[i] = fd;
    pass(fd, copies, MOST);
}

/* Four such hellos brought a process with a limit of 1024 there. */
static void few_of_many_descriptors_are_received(void) {
    int pair[2];
    struct region peer;
    char reason[HANDSHAKE_REASON_BYTES];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0);
    pass_most(pair[1]);
    no_threads = true; /* what is received stays open */
    int before = descriptors();
    EXPECT(handshake_receive(pair[0], false, &peer, reason) == HANDSHAKE_PROTOCOL);
    EXPECT(descriptors() - before < 32);
    no_threads = false;
    handshake_close(pair[0]);
    wait_until_closed(pair[0]);
    EXPECT(descriptors() < before);
}

static bool turns_are_long; /* a thread waits for its turn however long it takes */

int __real_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    return turns_are_long ? pthread_mutex_lock(mutex) : __real_pthread_mutex_timedlock(mutex, until);
}

static void threads_receive_descriptors_in_turn(void) {
    enum { SOCKETS = 16 };
    int pairs[SOCKETS][2], most = 0;
    for (int i = 0; i < SOCKETS; i++) {
        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pairs[i]) == 0);
        pass_most(pairs[i][1]);
    }
    int before = descriptors();
    turns_are_long = true;
    for (int i = 0; i < SOCKETS; i++)
        handshake_close(pairs[i][0]);
    while (disposal_unfinished() > 0) {
        int now = descriptors();
        most = now > most ? now : most;
    }
    EXPECT(most - before <= MOST);
}

static const struct test tests[] = {
    {"sockets with descriptors in them wait for a thread that can close them", sockets_wait_for_a_thread},
    {"a full socket is emptied by another thread", a_full_socket_is_emptied_elsewhere},
    {"of many descriptors, few are received", few_of_many_descriptors_are_received},
    {"threads receive descriptors in turn", threads_receive_descriptors_in_turn},
    {"a pipe is closed by another thread", a_pipe_is_closed_elsewhere},
    {"many memfds are closed by another thread", many_memfds_are_closed_elsewhere},
    {"the memfd of a refused hello is closed by another thread", the_memfd_of_a_refused_hello_is_closed_elsewhere},
    {"a memfd with record locks is closed by another thread", a_memfd_with_locks_is_closed_elsewhere},
    {"descriptors for which there was no thread are closed later", descriptors_that_wait_are_closed_later},
    {"a server waits for descriptors that are being closed", a_server_waits_for_descriptors_that_are_being_closed},
    {"a forked child keeps its own descriptors", a_forked_child_keeps_its_own_descriptors},
    {"packets that cannot be seen are closed by another thread, whatever stack it needs",
     hidden_packets_are_closed_elsewhere},
};

int main(int count, char **arguments) {
    return run_tests(tests, sizeof tests / sizeof *tests, count, arguments);
}
