/* The descriptors that a hostile peer passes. Linked with --wrap=pthread_create, memfd_create, poll,
 * accept4, close and handshake_peer. */
#include "c-tests.h"

#include "../../../native/disposal.h"
#include "../../../native/handshake.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* ---- Descriptors of hostile peers ---- */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

static int threads_started; /* by the test's thread; those may start others */

static bool no_threads, much_thread_local;
static pthread_t test_thread;

__attribute__((constructor)) static void remember_test_thread(void) {
    test_thread = pthread_self();
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    if (no_threads)
        return EAGAIN;
    size_t stack;
    if (much_thread_local && pthread_attr_getstacksize(attributes, &stack) == 0 && stack < 1 << 20)
        return EINVAL; /* as of a program whose thread-local variables take so much */
    if (pthread_equal(pthread_self(), test_thread))
        threads_started++;
    return __real_pthread_create(thread, attributes, run, argument);
}

static int closed_here; /* by the test's thread */

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
    if (pthread_equal(pthread_self(), test_thread))
        closed_here++;
    return __real_close(fd);
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

/* Without a thread, closing such a socket would wait for the descriptors in it. A client could make a server wait
 * forever, once it has brought the server to its limit of threads. */
static void sockets_wait_for_a_thread(void) {
    enum { PAIRS = 5 };
    int pairs[PAIRS][2], before = descriptors();
    for (int i = 0; i < PAIRS; i++) {
        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pairs[i]) == 0);
        pass(pairs[i][1], &pairs[i][1], 1);
        no_threads = i < PAIRS - 1;
        handshake_close(pairs[i][0]);
        EXPECT(!no_threads || descriptors() == before + 2 * (i + 1)); /* open, although perhaps as another number */
    }
    for (double until = seconds() + 60; descriptors() > before + PAIRS && seconds() < until;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    EXPECT(descriptors() == before + PAIRS);
    EXPECT(threads_started == 1 || threads_started == 2); /* one for those that waited, and perhaps one for the last */
}

/* A process that has a copy of our end can let MSG_PEEK skip the packets in it. */
static void hidden_packets_are_closed_elsewhere(void) {
    int pair[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0);
    pass(pair[1], &pair[1], 1);
    hide_the_hello(pair[0]);
    much_thread_local = true;
    handshake_close(pair[0]);
    EXPECT(threads_started == 1);
}

/* Of a descriptor that crossings_open() refuses, too: its maker may have put slow ones into it. */
static void what_cannot_be_opened_is_closed_elsewhere(void) {
    crossings_channel *channel;
    int pair[2];
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    pass(pair[1], &pair[1], 1);
    EXPECT(crossings_open(pair[0], NULL, &channel) == CROSSINGS_INVALID);
    EXPECT(!is_open(pair[0]) && threads_started == 1);
}

/* A file of FUSE or NFS is flushed by each close(), also of a copy, and its daemon may never answer. */
static void a_file_is_closed_elsewhere_only(void) {
    crossings_channel *channel;
    int file = open(target, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT(file >= 0);
    EXPECT(crossings_open(file, NULL, &channel) == CROSSINGS_INVALID);
    EXPECT(closed_here == 0);
    wait_until_closed(file);
}

/* After daemon(), the child has the last copy, with what a client has put into it. */
static void a_forked_child_closes_sockets_elsewhere(void) {
    crossings_server *server;
    crossings_channel *channel;
    struct region peer;
    int pair[2];
    EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    EXPECT(region_create(&peer, 1 << 16, 0) == 0 && handshake_send(pair[1], &peer) == HANDSHAKE_OK);
    EXPECT(crossings_open(pair[0], NULL, &channel) == CROSSINGS_OK);
    for (int closes = 0; closes < 2; closes++) {
        pid_t child = start();
        if (child == 0) {
            if (closes)
                crossings_close(channel);
            else
                crossings_unlisten(server);
            _exit(threads_started == 1 ? 0 : 1);
        }
        EXPECT(end_of(child) == 0);
    }
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

static void a_server_closes_descriptors_that_wait(void) {
    crossings_server *server;
    crossings_channel *channel;
    int pair[2];
    EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
    int fd = let_descriptors_wait(pair);
    EXPECT(crossings_accept(server, 0, &channel) == CROSSINGS_TIMEOUT);
    wait_until_closed(fd);
    fd = let_descriptors_wait(pair);
    crossings_unlisten(server);
    wait_until_closed(fd);
}

/* poll() refused more descriptors than the limit, at once and each time. */
static void a_server_goes_on_if_the_program_lowers_its_limit_of_descriptors(void) {
    enum { CLIENTS = 8, LIMIT = 4 };
    crossings_server *server;
    crossings_channel *channel;
    EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
    for (int i = 0; i < CLIENTS; i++)
        connect_silently();
    EXPECT(crossings_accept(server, 50, &channel) == CROSSINGS_TIMEOUT);
    EXPECT(setrlimit(RLIMIT_NOFILE, &(struct rlimit){LIMIT, 4096}) == 0);
    EXPECT(crossings_accept(server, 50, &channel) == CROSSINGS_TIMEOUT);
    crossings_unlisten(server);
}

static void *retry(void *unused) {
    for (;;)
        disposal_retry();
    return unused;
}

static void a_forked_child_that_is_the_first_to_dispose_does_not_wait(void) {
    enum { CHILDREN = 200, LIMIT_SECONDS = 10 };
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, retry, NULL) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = start();
        if (child == 0) {
            alarm(LIMIT_SECONDS);
            disposal_close_later(dup(0));
            _exit(0);
        }
        EXPECT(end_of(child) == 0);
    }
}

static void a_forked_child_keeps_its_own_descriptors(void) {
    int pair[2], fd = let_descriptors_wait(pair);
    pid_t process = start();
    if (process == 0) {
        EXPECT(dup2(0, fd) == fd);          /* its own file, with the number of one that waits in the parent */
        EXPECT(disposal_unfinished() == 0); /* a server of the child must not wait for it */
        disposal_retry();
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
    EXPECT(descriptors() - before <= 2);
    no_threads = false;
    handshake_close(pair[0]);
    for (double until = seconds() + 60; descriptors() >= before && seconds() < until;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    EXPECT(descriptors() < before);
}

/* One whose close() waits for an hour, among many others: a TCP socket that lingers, in the queue of a Unix socket,
 * where nobody can tell it not to. */
static int slow_to_close(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct linger hour = {1, 3600};
    char bytes[65536] = {0};
    int carrier[2], listener = socket(AF_INET, SOCK_STREAM, 0), tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    EXPECT(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
    EXPECT(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    EXPECT(connect(tcp, (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS);
    EXPECT(accept(listener, NULL, NULL) >= 0); /* and never reads */
    while (send(tcp, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
    EXPECT(setsockopt(tcp, SOL_SOCKET, SO_LINGER, &hour, sizeof hour) == 0);
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, carrier) == 0);
    pass(carrier[1], &tcp, 1);
    EXPECT(close(tcp) == 0 && close(carrier[1]) == 0);
    return carrier[0];
}

static int threads(void) {
    int count = 0;
    DIR *folder_of_threads = opendir("/proc/self/task");
    EXPECT(folder_of_threads);
    for (struct dirent *entry; (entry = readdir(folder_of_threads));)
        count += entry->d_name[0] != '.';
    closedir(folder_of_threads);
    return count;
}

static void descriptors_that_are_slow_to_close_occupy_little(void) {
    int pair[2], others[MOST], before = descriptors();
    struct region peer;
    char reason[HANDSHAKE_REASON_BYTES];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == 0);
    for (int i = 0; i < MOST; i++)
        EXPECT((others[i] = i == 0 ? slow_to_close() : open("/dev/null", O_RDONLY)) >= 0);
    int kept = descriptors() - MOST; /* the listener, and its end of the connection */
    pass(pair[1], others, MOST);
    for (int i = 0; i < MOST; i++)
        EXPECT(close(others[i]) == 0);
    EXPECT(handshake_receive(pair[0], false, &peer, reason) == HANDSHAKE_PROTOCOL);
    handshake_close(pair[0]);
    wait_until_closed(pair[0]);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL); /* the threads do what they can */
    EXPECT(kept > before && descriptors() <= kept + 2);        /* those that were received: one, and one too many */
    EXPECT(threads() <= 3);                                    /* each of them, and the socket, can keep one waiting */
}

/* libuv ends a process that cannot start a thread. The memory of a hello that was refused then stayed for as long as
 * peers kept the threads waiting. */
static void few_threads_wait_for_descriptors_and_memory_for_none_of_them(void) {
    enum { SLOW = 80, MOST_THREADS = 64, MEMORY_THREADS = 4 };
    for (int i = 0; i < SLOW; i++)
        disposal_close_later(slow_to_close());
    int memory = memfd_create("refused", MFD_CLOEXEC);
    EXPECT(memory >= 0);
    disposal_close_received(&memory, 1, false);
    wait_until_closed(memory);
    EXPECT(threads() > 1 && threads() <= 1 + MOST_THREADS + MEMORY_THREADS);
    EXPECT(disposal_unfinished() > SLOW - MOST_THREADS);
}

static bool no_memfd;       /* once */
static bool no_descriptors; /* for accept4() and memfd_create() */

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags) {
    if (!no_memfd && !no_descriptors)
        return __real_memfd_create(name, flags);
    no_memfd = false;
    errno = EMFILE;
    return -1;
}

/* Its socket is not readable any more, so the server did not look at it again. */
static void a_client_whose_answer_had_no_descriptor_gets_it_later(void) {
    crossings_server *server;
    crossings_channel *channel;
    crossings_options options = {.capacity = 65536, .timeout_ms = 2000};
    int pair[2];
    EXPECT(crossings_listen(path, &options, &server) == CROSSINGS_OK);
    pid_t client = start();
    if (client == 0)
        _exit(crossings_connect(path, &options, &channel));
    let_descriptors_wait(pair);
    no_threads = no_memfd = true;
    EXPECT(crossings_accept(server, 10000, &channel) == CROSSINGS_OK && !no_memfd);
    EXPECT(end_of(client) == 0);
    crossings_close(channel);
    crossings_unlisten(server);
}

/* The program did other things until the client's time was over. The client was dropped although its hello was there.
 */
static void a_late_client_waits_for_a_descriptor_too(void) {
    crossings_server *server;
    crossings_channel *channel;
    struct region theirs;
    int pair[2];
    EXPECT(crossings_listen(path, &(crossings_options){.capacity = 65536, .timeout_ms = 100}, &server) == CROSSINGS_OK);
    int client = connect_silently();
    EXPECT(crossings_accept(server, 10, &channel) == CROSSINGS_TIMEOUT); /* it is connected, and silent */
    EXPECT(region_create(&theirs, 1 << 16, 0) == 0 && handshake_send(client, &theirs) == HANDSHAKE_OK);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    let_descriptors_wait(pair);
    no_threads = no_memfd = true;
    EXPECT(crossings_accept(server, 10000, &channel) == CROSSINGS_OK && !no_memfd);
    crossings_close(channel);
    close(client);
    crossings_unlisten(server);
}

/* Unmapping its region frees what the client has made of it: extended attributes, memory policies. */
static void the_region_of_a_client_that_has_gone_is_freed_elsewhere(void) {
    crossings_server *server;
    crossings_channel *channel;
    struct region theirs;
    EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
    int fd = connect_silently();
    EXPECT(region_create(&theirs, 1 << 16, 0) == 0 && handshake_send(fd, &theirs) == HANDSHAKE_OK);
    close(fd);
    region_release(&theirs);
    EXPECT(crossings_accept(server, 1000, &channel) != CROSSINGS_OK);
    EXPECT(threads_started > 0);
    crossings_unlisten(server);
}

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
    if (!no_descriptors)
        return __real_accept4(fd, address, size, flags);
    errno = EMFILE;
    return -1;
}

static uid_t users[4]; /* of the next clients */
static size_t next_user;

int __real_handshake_peer(int fd, uid_t *uid, pid_t *pid);
int __wrap_handshake_peer(int fd, uid_t *uid, pid_t *pid);
int __wrap_handshake_peer(int fd, uid_t *uid, pid_t *pid) {
    int result = __real_handshake_peer(fd, uid, pid);
    if (next_user < sizeof users / sizeof *users && users[next_user])
        *uid = users[next_user++];
    return result;
}

static int speaks_late = -1; /* a client, whose hello comes between poll() and accept4() */
static struct region late_region;

int __real_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
    int ready = __real_poll(polled, count, timeout_ms);
    if (ready > 0 && speaks_late >= 0) {
        EXPECT(handshake_send(speaks_late, &late_region) == HANDSHAKE_OK);
        speaks_late = -1;
        no_descriptors = true;
    }
    return ready;
}

/* The server dropped others first, and then removed the handshake that had the number of the victim. */
static void making_room_drops_the_right_client(void) {
    crossings_server *server;
    crossings_channel *channel;
    int pair[2];
    users[0] = 1;
    users[1] = users[2] = users[3] = 2;
    EXPECT(crossings_listen(path, &(crossings_options){.allow_other_users = true}, &server) == CROSSINGS_OK);
    connect_silently();
    int late = connect_silently(); /* the oldest of the user that has the most */
    connect_silently();
    EXPECT(crossings_accept(server, 50, &channel) == CROSSINGS_TIMEOUT);
    connect_silently();
    let_descriptors_wait(pair);
    no_threads = true;
    EXPECT(region_create(&late_region, 1 << 16, 0) == 0);
    speaks_late = late;
    EXPECT(crossings_accept(server, 2000, &channel) != CROSSINGS_OK && no_descriptors);
    no_descriptors = no_threads = false;
    crossings_unlisten(server);
}

static const struct test tests[] = {
    {"what cannot be opened is closed by another thread", what_cannot_be_opened_is_closed_elsewhere},
    {"a file that cannot be opened is closed by no thread but another one", a_file_is_closed_elsewhere_only},
    {"a forked child closes its copies of sockets on another thread", a_forked_child_closes_sockets_elsewhere},
    {"sockets with descriptors in them wait for a thread that can close them", sockets_wait_for_a_thread},
    {"a full socket is emptied by another thread", a_full_socket_is_emptied_elsewhere},
    {"of many descriptors, few are received", few_of_many_descriptors_are_received},
    {"descriptors that are slow to close occupy little", descriptors_that_are_slow_to_close_occupy_little},
    {"a client for whose answer there was no descriptor gets it later",
     a_client_whose_answer_had_no_descriptor_gets_it_later},
    {"a late client waits for a descriptor, too", a_late_client_waits_for_a_descriptor_too},
    {"the region of a client that has gone is freed by another thread",
     the_region_of_a_client_that_has_gone_is_freed_elsewhere},
    {"few threads wait for descriptors, and memory for none of them",
     few_threads_wait_for_descriptors_and_memory_for_none_of_them},
    {"making room drops the right client", making_room_drops_the_right_client},
    {"a pipe is closed by another thread", a_pipe_is_closed_elsewhere},
    {"many memfds are closed by another thread", many_memfds_are_closed_elsewhere},
    {"the memfd of a refused hello is closed by another thread", the_memfd_of_a_refused_hello_is_closed_elsewhere},
    {"a memfd with record locks is closed by another thread", a_memfd_with_locks_is_closed_elsewhere},
    {"descriptors for which there was no thread are closed later", descriptors_that_wait_are_closed_later},
    {"a server goes on if the program lowers its limit of descriptors",
     a_server_goes_on_if_the_program_lowers_its_limit_of_descriptors},
    {"a server closes descriptors that wait for a thread", a_server_closes_descriptors_that_wait},
    {"a server waits for descriptors that are being closed", a_server_waits_for_descriptors_that_are_being_closed},
    {"a forked child that is the first to dispose of something does not wait",
     a_forked_child_that_is_the_first_to_dispose_does_not_wait},
    {"a forked child keeps its own descriptors", a_forked_child_keeps_its_own_descriptors},
    {"packets that cannot be seen are closed by another thread, whatever stack it needs",
     hidden_packets_are_closed_elsewhere},
};

int main(int count, char **arguments) {
    return run_tests(tests, sizeof tests / sizeof *tests, count, arguments);
}
