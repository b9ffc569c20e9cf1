/*
 * Servers in C at their limits: limits NAME runs one test, and limits without arguments lists them. Linked with
 * --wrap=bind, --wrap=poll, --wrap=pthread_create, --wrap=getpid, --wrap=recvmmsg and --wrap=send, for tests that must
 * act right after bind() and before poll(), count threads, or have the pid of another process.
 */
#include "../../native/crossings.h"
#include "../../native/disposal.h"
#include "../../native/doorbell.h"
#include "../../native/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static char folder[] = "/tmp/limits-XXXXXX", path[64], target[64];

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int connect_silently(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    while (connect(fd, (struct sockaddr *)&address, sizeof address))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* not listening yet */
    return fd;
}

/* Start a process that ends with this one at the latest. Returns 0 in it. */
static pid_t start(void) {
    pid_t process = fork();
    EXPECT(process >= 0);
    if (process == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return process;
}

static int end_of(pid_t process) {
    int status;
    EXPECT(waitpid(process, &status, 0) == process);
    return status;
}

/* ---- What happens between bind() and what follows ---- */

static int replace_after_bind;
static char lead_to[80]; /* where the link at `target` leads from now on, if not empty */

static bool hide_at_bind;

/* The kernel then shows a reader of the socket, by MSG_PEEK, what comes after the hello. */
static void hide_the_hello(int fd) {
    int past = 100;
    EXPECT(setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &past, sizeof past) == 0);
}

int __real_bind(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length) {
    if (lead_to[0])
        EXPECT(unlink(target) == 0 && symlink(lead_to, target) == 0);
    if (hide_at_bind)
        hide_the_hello(fd);
    int result = __real_bind(fd, address, length);
    if (replace_after_bind)
        EXPECT(unlink(path) == 0 && symlink(target, path) == 0);
    return result;
}

/* ---- What happens when a call is about to sleep ---- */

static int clients_keep_coming;   /* whenever the server looks */
static int polls;                 /* so far */
static volatile bool is_asleep;   /* a thread has begun to sleep */
static sigjmp_buf *leave_to;      /* the sleep ends as a signal handler would end it */
static crossings_channel *sender; /* sends, and its doorbell must ring */

int __real_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
    enum { KEPT = 200, TOO_LONG_SECONDS = 10 };
    static int kept[KEPT], next;
    static double since;
    if (clients_keep_coming) {
        if (clients_keep_coming++ == 1)
            since = seconds();
        EXPECT(seconds() - since < TOO_LONG_SECONDS);
        next = (next + 1) % KEPT;
        if (kept[next] > 0)
            close(kept[next]);
        kept[next] = connect_silently();
    }
    if (leave_to)
        siglongjmp(*leave_to, 1);
    is_asleep = true;
    polls++;
    if (sender) {
        EXPECT(crossings_try_send(sender, "hello", 5) == CROSSINGS_OK);
        EXPECT(__real_poll(polled, count, 0) == 1);
    }
    return __real_poll(polled, count, timeout_ms);
}

/* ---- The tests ---- */

static void accepting_times_out_while_silent_clients_keep_coming(void) {
    crossings_server *server;
    crossings_channel *channel;
    for (int timeout_ms = 0; timeout_ms <= 100; timeout_ms += 100) {
        EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
        clients_keep_coming = 1;
        EXPECT(crossings_accept(server, timeout_ms, &channel) == CROSSINGS_TIMEOUT);
        clients_keep_coming = 0;
        crossings_unlisten(server);
    }
}

static void a_limit_of_file_sizes_is_an_error(void) {
    int ends[2];
    crossings_channel *channel;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    EXPECT(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000}) == 0);
    EXPECT(crossings_open(ends[0], NULL, &channel) == CROSSINGS_SYSTEM && errno == EFBIG);
}

static void silent_clients_give_back_descriptors(void) {
    for (rlim_t limit = 14; limit < 18; limit++) {
        pid_t good, silent = start();
        if (silent == 0) {
            for (int i = 0; i < 40; i++)
                connect_silently();
            pause();
        }
        if ((good = start()) == 0) {
            crossings_channel *channel;
            crossings_options options = {.capacity = 65536, .timeout_ms = 60000};
            sleep(1); /* the silent ones come first */
            while (crossings_connect(path, &options, &channel) != CROSSINGS_OK)
                ;
            _exit(0);
        }
        crossings_server *server;
        crossings_channel *channel = NULL;
        struct rlimit before, now;
        EXPECT(getrlimit(RLIMIT_NOFILE, &before) == 0);
        now = (struct rlimit){limit, before.rlim_max};
        EXPECT(setrlimit(RLIMIT_NOFILE, &now) == 0);
        EXPECT(crossings_listen(path, &(crossings_options){.capacity = 65536, .timeout_ms = 60000}, &server) ==
               CROSSINGS_OK);
        int failed = 0;
        while (crossings_accept(server, 20000, &channel) != CROSSINGS_OK)
            EXPECT(++failed < 50);
        EXPECT(end_of(good) == 0);
        kill(silent, SIGKILL);
        end_of(silent);
        crossings_close(channel);
        crossings_unlisten(server);
        EXPECT(setrlimit(RLIMIT_NOFILE, &before) == 0);
    }
}

static void a_server_sends_nothing_to_a_silent_client(void) {
    crossings_server *server;
    crossings_channel *channel;
    EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
    int fd = connect_silently();
    EXPECT(crossings_accept(server, 100, &channel) == CROSSINGS_TIMEOUT);
    EXPECT(recv(fd, &(char){0}, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    close(fd);
    crossings_unlisten(server);
}

static void the_mode_of_another_file_is_not_changed(void) {
    crossings_server *server;
    struct stat status;
    close(open(target, O_CREAT | O_WRONLY, 0600));
    replace_after_bind = 1;
    EXPECT(crossings_listen(path, &(crossings_options){.allow_other_users = true}, &server) == CROSSINGS_SYSTEM);
    EXPECT(stat(target, &status) == 0 && (status.st_mode & 0777) == 0600);
}

static const crossings_options sleepy = {.capacity = 65536, .wait = CROSSINGS_SLEEP, .timeout_ms = 60000};

static void *open_end(void *end) {
    crossings_channel *channel;
    EXPECT(crossings_open(*(int *)end, &sleepy, &channel) == CROSSINGS_OK);
    return channel;
}

static void a_wait_that_was_left_does_not_spoil_the_next(void) {
    int ends[2];
    pthread_t thread;
    void *other;
    char text[8];
    size_t size;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    EXPECT(pthread_create(&thread, NULL, open_end, &ends[1]) == 0);
    crossings_channel *channel = open_end(&ends[0]);
    EXPECT(pthread_join(thread, &other) == 0);
    for (int sleeps = 0; sleeps < 3; sleeps++) {
        sigjmp_buf here;
        leave_to = &here;
        if (sigsetjmp(here, 1) == 0)
            crossings_receive(channel, text, sizeof text, &size, -1);
        leave_to = NULL;
        sender = other;
        EXPECT(crossings_receive(channel, text, sizeof text, &size, 60000) == CROSSINGS_OK && size == 5);
        sender = NULL;
    }
    crossings_close(other);
    crossings_close(channel);
}

/* The folder of the path is switched to one with a stale file, right before the file of a live server is looked at. */
static void a_link_that_is_switched_harms_no_live_server(void) {
    char mine[80], others[80], live[96], stale[96], through[96];
    crossings_server *server, *second;
    snprintf(mine, sizeof mine, "%s/mine", folder);
    snprintf(others, sizeof others, "%s/others", folder);
    snprintf(live, sizeof live, "%s/socket", mine);
    snprintf(stale, sizeof stale, "%s/socket", others);
    snprintf(through, sizeof through, "%s/socket", target);
    EXPECT(mkdir(mine, 0700) == 0 && mkdir(others, 0700) == 0 && symlink(mine, target) == 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, stale, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    EXPECT(__real_bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && close(fd) == 0);
    EXPECT(crossings_listen(live, NULL, &server) == CROSSINGS_OK);
    strcpy(lead_to, others);
    crossings_status status = crossings_listen(through, NULL, &second);
    lead_to[0] = '\0';
    bool alive = access(live, F_OK) == 0;
    if (status == CROSSINGS_OK)
        crossings_unlisten(second);
    crossings_unlisten(server);
    unlink(stale);
    rmdir(mine);
    rmdir(others);
    EXPECT(alive && status == CROSSINGS_IN_USE);
}

static bool same_pid; /* for all processes */

pid_t __real_getpid(void);
pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void) {
    return same_pid ? 1 : __real_getpid();
}

static void a_child_that_closes_leaves_its_parent_alone(void) {
    crossings_server *server;
    crossings_channel *channel, *peer = NULL;
    crossings_options options = {.capacity = 65536, .timeout_ms = 60000};
    char text[8];
    size_t size;
    EXPECT(crossings_listen(path, &options, &server) == CROSSINGS_OK);
    pid_t client = start();
    if (client == 0) {
        EXPECT(crossings_connect(path, &options, &peer) == CROSSINGS_OK);
        EXPECT(crossings_receive(peer, text, sizeof text, &size, 60000) == CROSSINGS_OK && size == 5);
        EXPECT(crossings_receive(peer, text, sizeof text, &size, 60000) == CROSSINGS_END);
        crossings_close(peer);
        _exit(0);
    }
    EXPECT(crossings_accept(server, 60000, &channel) == CROSSINGS_OK);
    pid_t child = start();
    if (child == 0) {
        crossings_close(channel);
        crossings_unlisten(server);
        _exit(0);
    }
    EXPECT(end_of(child) == 0);
    EXPECT(access(path, F_OK) == 0);
    EXPECT(crossings_send(channel, "hello", 5, 60000) == CROSSINGS_OK);
    crossings_close(channel);
    EXPECT(end_of(client) == 0);
    crossings_unlisten(server);
}

/* In a new pid namespace, the child of a container's first process has its parent's pid, 1. */
static void so_does_a_child_with_the_same_pid(void) {
    same_pid = true;
    a_child_that_closes_leaves_its_parent_alone();
}

/* ---- A lock that another process holds ---- */

static void ignore(int signal) {
    (void)signal;
}

static void a_timer_does_not_shorten_the_wait_for_the_lock(void) {
    crossings_server *server;
    struct itimerval often = {{0, 200}, {0, 200}};
    int lock = open(folder, O_RDONLY);
    EXPECT(flock(lock, LOCK_EX) == 0);
    signal(SIGALRM, ignore);
    EXPECT(setitimer(ITIMER_REAL, &often, NULL) == 0);
    double since = seconds();
    EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
    EXPECT(seconds() - since >= 0.9);
    crossings_unlisten(server);
    close(lock);
}

/* Such a thread's descriptors have other numbers than the first thread's. */
static void *listen_with_own_descriptors(void *unused) {
    crossings_server *server;
    EXPECT(unshare(CLONE_FILES) == 0);
    EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
    EXPECT(access(path, F_OK) == 0);
    crossings_unlisten(server);
    return unused;
}

static void a_thread_with_its_own_descriptors_listens(void) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, listen_with_own_descriptors, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
}

/* ---- Options that the maker of a pair of sockets has set, or sets later ---- */

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* Linux 6.5. Elsewhere it fails, and the tests have nothing to find. */
#endif

static int descriptors(void) {
    int open = 0;
    for (int fd = 0; fd < 256; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    return open;
}

/* Open one end here and the other one in a child. It sends 20 messages, each with a ring of the doorbell, if it is told
 * to do so through the pipe `go`. */
static crossings_status open_both(const int *pair, const int *go, crossings_channel **channel, pid_t *child) {
    crossings_options options = {.capacity = 65536, .wait = CROSSINGS_SLEEP, .timeout_ms = 60000};
    *child = start();
    if (*child == 0) {
        char word;
        close(pair[0]);
        EXPECT(crossings_open(pair[1], &options, channel) == CROSSINGS_OK);
        EXPECT(read(go[0], &word, 1) == 1);
        for (int i = 0; i < 20; i++) {
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); /* the receiver falls asleep */
            if (crossings_send(*channel, "hello", 5, 60000) != CROSSINGS_OK)
                break;
        }
        crossings_close(*channel);
        _exit(0);
    }
    close(pair[1]);
    return crossings_open(pair[0], &options, channel);
}

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
        EXPECT(fcntl(others[i], F_GETFD) < 0);
    }
}

/* ---- What a program has set for itself ---- */

/* As programs do that let nothing open files from then on. Every poll() fails. */
static void a_wait_without_descriptors_does_not_spin(void) {
    crossings_channel *channel;
    int pair[2], go[2];
    char text[8];
    size_t size;
    pid_t child;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 && pipe(go) == 0);
    EXPECT(open_both(pair, go, &channel, &child) == CROSSINGS_OK);
    EXPECT(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}) == 0);
    EXPECT(crossings_receive(channel, text, sizeof text, &size, 2000) == CROSSINGS_TIMEOUT);
    EXPECT(clock() < CLOCKS_PER_SEC); /* of processor time */
    EXPECT(write(go[1], "x", 1) == 1);
    EXPECT(crossings_receive(channel, text, sizeof text, &size, 60000) == CROSSINGS_OK && size == 5);
    crossings_close(channel);
    EXPECT(end_of(child) == 0);
}

static int refuse_calls;          /* with this error */
static sigjmp_buf *leave_send_to; /* as a signal handler that comes at the call */

int __real_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout);
int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout);
int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout) {
    if (!refuse_calls)
        return __real_recvmmsg(fd, messages, count, flags, timeout);
    errno = refuse_calls;
    return -1;
}

ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags) {
    if (leave_send_to)
        siglongjmp(*leave_send_to, 1);
    if (!refuse_calls)
        return __real_send(fd, bytes, size, flags);
    errno = refuse_calls;
    return -1;
}

/* A sandbox may refuse calls that the handshake did not need. */
static void the_doorbell_uses_other_calls(void) {
    static const int errors[] = {EPERM, ENOSYS, EACCES, EINVAL};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        int pair[2];
        refuse_calls = errors[i];
        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        struct pollfd rung = {.fd = pair[1], .events = POLLIN};
        EXPECT(doorbell_ring(pair[0]));
        EXPECT(__real_poll(&rung, 1, 0) == 1);
        EXPECT(doorbell_drain(pair[1]) == DOORBELL_OPEN);
        EXPECT(__real_poll(&rung, 1, 0) == 0);
        close(pair[0]);
        EXPECT(doorbell_drain(pair[1]) == DOORBELL_CLOSED);
        close(pair[1]);
    }
}

/* The two ends of a channel, both in this process. */
static crossings_channel *open_ends(int *ends, crossings_channel **other) {
    pthread_t thread;
    void *opened;
    EXPECT(pthread_create(&thread, NULL, open_end, &ends[1]) == 0);
    crossings_channel *channel = open_end(&ends[0]);
    EXPECT(pthread_join(thread, &opened) == 0);
    *other = opened;
    return channel;
}

static crossings_channel *open_two(crossings_channel **other) {
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    return open_ends(ends, other);
}

static void *receive_one(void *end) {
    char text[8];
    size_t size;
    EXPECT(crossings_receive(end, text, sizeof text, &size, -1) == CROSSINGS_OK && size == 5);
    return NULL;
}

/* Start a thread that receives one message, and sleeps. */
static pthread_t receive_asleep(crossings_channel *channel) {
    pthread_t thread;
    is_asleep = false;
    alarm(10); /* otherwise it might sleep for ever */
    EXPECT(pthread_create(&thread, NULL, receive_one, channel) == 0);
    while (!is_asleep)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return thread;
}

/* Both ends drop packets of one byte, as those of the doorbell are. */
static void a_filter_hides_no_ring(void) {
    int ends[2];
    crossings_channel *other;
    struct sock_filter steps[] = {{BPF_LD | BPF_W | BPF_LEN, 0, 0, 0},
                                  {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 1},
                                  {BPF_RET | BPF_K, 0, 0, 0},
                                  {BPF_RET | BPF_K, 0, 0, 0xffff}};
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    for (int end = 0; end < 2; end++)
        EXPECT(setsockopt(ends[end], SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0);
    crossings_channel *channel = open_ends(ends, &other);
    pthread_t thread = receive_asleep(other);
    EXPECT(crossings_try_send(channel, "hello", 5) == CROSSINGS_OK);
    EXPECT(pthread_join(thread, NULL) == 0);
    crossings_close(other);
    crossings_close(channel);
}

static void a_ring_that_was_left_is_made_up_for(void) {
    crossings_channel *other, *channel = open_two(&other);
    pthread_t thread = receive_asleep(other);
    sigjmp_buf here;
    leave_send_to = &here;
    if (sigsetjmp(here, 1) == 0)
        crossings_try_send(channel, "hello", 5);
    leave_send_to = NULL;
    EXPECT(crossings_try_send(channel, "hello", 5) == CROSSINGS_OK);
    EXPECT(pthread_join(thread, NULL) == 0);
    crossings_close(other);
    crossings_close(channel);
}

enum { NUMBERS = 3000 }; /* more than the ring holds */

static void *send_numbers(void *end) {
    for (uint32_t number = 0; number < NUMBERS; number++)
        EXPECT(crossings_send(end, &number, sizeof number, -1) == CROSSINGS_OK);
    return NULL;
}

static uint32_t received; /* numbers */

static void receive_number(crossings_channel *channel) {
    uint32_t number;
    size_t size;
    EXPECT(crossings_receive(channel, &number, sizeof number, &size, -1) == CROSSINGS_OK && number == received);
    received++;
}

/* It is canceled at the first system call that is a cancellation point. */
static void *receive_canceled(void *end) {
    pthread_cancel(pthread_self());
    while (received < NUMBERS)
        receive_number(end);
    return NULL;
}

static void a_canceled_call_loses_no_message(void) {
    crossings_channel *other, *channel = open_two(&other);
    pthread_t sending, receiving;
    alarm(60);
    is_asleep = false;
    EXPECT(pthread_create(&sending, NULL, send_numbers, other) == 0);
    while (!is_asleep)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* the sender waits for room */
    EXPECT(pthread_create(&receiving, NULL, receive_canceled, channel) == 0);
    EXPECT(pthread_join(receiving, NULL) == 0);
    while (received < NUMBERS)
        receive_number(channel);
    EXPECT(pthread_join(sending, NULL) == 0);
    crossings_close(other);
    crossings_close(channel);
}

/* A program that sends a heartbeat now and then, and otherwise polls. */
static void a_poller_that_also_sends_learns_of_the_end(void) {
    enum { LOOKS = 200000, LOOKS_PER_SEND = 1000 };
    crossings_channel *channel;
    crossings_status status = CROSSINGS_AGAIN;
    int pair[2], go[2];
    char text[8];
    size_t size;
    pid_t child;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 && pipe(go) == 0);
    EXPECT(open_both(pair, go, &channel, &child) == CROSSINGS_OK);
    kill(child, SIGKILL);
    end_of(child);
    for (int i = 0; i < LOOKS && status == CROSSINGS_AGAIN; i++) {
        if (i % LOOKS_PER_SEND == 0)
            crossings_try_send(channel, "alive", 5);
        status = crossings_try_receive(channel, text, sizeof text, &size);
    }
    EXPECT(status == CROSSINGS_PEER_DIED);
    crossings_close(channel);
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

static void a_mode_does_not_depend_on_the_umask(void) {
    crossings_server *server;
    struct stat status;
    for (int others = 0; others < 2; others++) {
        umask(0777);
        EXPECT(crossings_listen(path, &(crossings_options){.allow_other_users = others}, &server) == CROSSINGS_OK);
        umask(022);
        EXPECT(stat(path, &status) == 0 && (status.st_mode & 0777) == (others ? 0666 : 0600));
        crossings_unlisten(server);
    }
}

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

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"accepting times out while silent clients keep coming", accepting_times_out_while_silent_clients_keep_coming},
    {"a limit of file sizes is an error, and not the end", a_limit_of_file_sizes_is_an_error},
    {"silent clients give back the descriptors that others need", silent_clients_give_back_descriptors},
    {"a server sends nothing to a silent client", a_server_sends_nothing_to_a_silent_client},
    {"listening for other users does not follow a link", the_mode_of_another_file_is_not_changed},
    {"a wait that a signal handler left does not spoil the next", a_wait_that_was_left_does_not_spoil_the_next},
    {"a link that is switched harms no live server", a_link_that_is_switched_harms_no_live_server},
    {"sockets with descriptors in them wait for a thread that can close them", sockets_wait_for_a_thread},
    {"a pipe is closed by another thread", a_pipe_is_closed_elsewhere},
    {"many memfds are closed by another thread", many_memfds_are_closed_elsewhere},
    {"the memfd of a refused hello is closed by another thread", the_memfd_of_a_refused_hello_is_closed_elsewhere},
    {"a memfd with record locks is closed by another thread", a_memfd_with_locks_is_closed_elsewhere},
    {"descriptors for which there was no thread are closed later", descriptors_that_wait_are_closed_later},
    {"a server waits for descriptors that are being closed", a_server_waits_for_descriptors_that_are_being_closed},
    {"a forked child keeps its own descriptors", a_forked_child_keeps_its_own_descriptors},
    {"a child that closes its copies leaves its parent alone", a_child_that_closes_leaves_its_parent_alone},
    {"so does a child with the same pid", so_does_a_child_with_the_same_pid},
    {"a wait without descriptors does not spin, and gets its message", a_wait_without_descriptors_does_not_spin},
    {"where send() and recvmmsg() are refused, the doorbell uses other calls", the_doorbell_uses_other_calls},
    {"a thread with its own table of descriptors listens", a_thread_with_its_own_descriptors_listens},
    {"the mode of a socket's file does not depend on the umask", a_mode_does_not_depend_on_the_umask},
    {"a timer does not shorten the wait for the folder's lock", a_timer_does_not_shorten_the_wait_for_the_lock},
    {"no packet leaves a descriptor, whatever the maker of the socket has set", no_packet_leaves_a_descriptor},
    {"a filter that the maker of the socket has attached hides no ring", a_filter_hides_no_ring},
    {"a hello that the maker of the socket has hidden is found", a_hello_that_cannot_be_seen_is_found},
    {"opening over a full socket meets the time limit", a_full_socket_meets_the_time_limit},
    {"descriptors of other kinds are refused, and closed", other_descriptors_are_refused},
    {"a ring of the doorbell that a signal handler left is made up for", a_ring_that_was_left_is_made_up_for},
    {"a call that is canceled loses no message", a_canceled_call_loses_no_message},
    {"a program that polls and also sends learns of the end", a_poller_that_also_sends_learns_of_the_end},
    {"opening without a time limit waits for room in the socket", minus_one_waits_for_room},
    {"packets that cannot be seen are closed by another thread, whatever stack it needs",
     hidden_packets_are_closed_elsewhere},
    {"a hello that is hidden later meets the time limit, without spinning",
     a_hello_that_is_hidden_meets_the_time_limit},
    {"a peer that refuses descriptors does not look like a failed call", a_peer_that_refuses_descriptors_is_to_blame},
    {"a peer whose ring is too large is refused", a_ring_that_is_too_large_is_refused},
};

static void clean_up(void) {
    unlink(path);
    unlink(target);
    rmdir(folder);
}

int main(int count, char **arguments) {
    enum { TESTS = sizeof tests / sizeof tests[0] };
    for (int i = 0; i < TESTS; i++) {
        if (count < 2)
            puts(tests[i].name);
        else if (strcmp(tests[i].name, arguments[1]) == 0) {
            EXPECT(mkdtemp(folder));
            snprintf(path, sizeof path, "%s/socket", folder);
            snprintf(target, sizeof target, "%s/target", folder);
            atexit(clean_up);
            tests[i].run();
            return 0;
        }
    }
    return count < 2 ? 0 : 2;
}
