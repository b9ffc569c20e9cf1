/* Servers in C at their limits. Linked with --wrap=bind, poll, getpid, recvmsg and accept4. */
#include "c-tests.h"

#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

static int replace_after_bind;

static pid_t forked_in_bind; /* -1: fork there, as another thread of the program might */

static char lead_to[80]; /* where the link at `target` leads from now on, if not empty */

int __real_bind(int fd, const struct sockaddr *address, socklen_t length);

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length);

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length) {
    if (lead_to[0])
        EXPECT(unlink(target) == 0 && symlink(lead_to, target) == 0);
    int result = __real_bind(fd, address, length);
    if (forked_in_bind < 0) {
        forked_in_bind = start();
        if (forked_in_bind == 0)
            pause();
    }
    if (replace_after_bind)
        EXPECT(unlink(path) == 0 && symlink(target, path) == 0);
    return result;
}

static int polls; /* so far */

static int clients_keep_coming; /* whenever the server looks */

int __real_poll(struct pollfd *polled, nfds_t count, int timeout_ms);

int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms);

int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
    enum { KEPT = 200, TOO_LONG_SECONDS = 10 };
    static int kept[KEPT], next;
    static double since;
    polls++;
    if (clients_keep_coming) {
        if (clients_keep_coming++ == 1)
            since = seconds();
        EXPECT(seconds() - since < TOO_LONG_SECONDS);
        next = (next + 1) % KEPT;
        if (kept[next] > 0)
            close(kept[next]);
        kept[next] = connect_silently();
    }
    return __real_poll(polled, count, timeout_ms);
}

static int hide_clients, hide_packets; /* as a filter of system calls that always answers EAGAIN */

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
    if (!hide_clients)
        return __real_accept4(fd, address, size, flags);
    errno = EAGAIN;
    return -1;
}

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags) {
    if (!hide_packets)
        return __real_recvmsg(fd, message, flags);
    errno = EAGAIN;
    return -1;
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

static void a_server_does_not_spin_where_a_filter_hides_what_comes(void) {
    enum { MOST_POLLS = 500 }; /* 200 in a second, one every 5 ms, and some after the time */
    int *const hidden[] = {&hide_clients, &hide_packets};
    for (int i = 0; i < 2; i++) {
        crossings_server *server;
        crossings_channel *channel;
        EXPECT(crossings_listen(path, &sleepy, &server) == CROSSINGS_OK);
        int client = connect_silently();
        EXPECT(send(client, "x", 1, 0) == 1);
        *hidden[i] = 1;
        polls = 0;
        EXPECT(crossings_accept(server, 1000, &channel) == CROSSINGS_TIMEOUT);
        EXPECT(polls < MOST_POLLS);
        *hidden[i] = 0;
        EXPECT(crossings_accept(server, 1000, &channel) == CROSSINGS_PROTOCOL); /* the server sees the client again */
        close(client);
        crossings_unlisten(server);
    }
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

static void a_hello_that_arrived_between_two_calls_is_served(void) {
    crossings_server *server;
    crossings_channel *channel;
    int go[2];
    EXPECT(pipe(go) == 0);
    EXPECT(crossings_listen(path, &(crossings_options){.timeout_ms = 300}, &server) == CROSSINGS_OK);
    pid_t client = start();
    if (client == 0) {
        int fd = connect_silently();
        EXPECT(read(go[0], &(char){0}, 1) == 1);
        EXPECT(crossings_open(fd, &sleepy, &channel) == CROSSINGS_OK);
        _exit(0);
    }
    EXPECT(crossings_accept(server, 100, &channel) == CROSSINGS_TIMEOUT); /* it is connected, and silent */
    EXPECT(write(go[1], "", 1) == 1);
    sleep(1); /* the program does other things */
    EXPECT(crossings_accept(server, 60000, &channel) == CROSSINGS_OK);
    EXPECT(end_of(client) == 0);
    crossings_close(channel);
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

/* The child has a copy of each descriptor. */
static void a_child_that_is_forked_does_not_keep_the_lock(void) {
    crossings_server *server, *second;
    EXPECT(crossings_listen(path, NULL, &server) == CROSSINGS_OK);
    forked_in_bind = -1;
    EXPECT(crossings_listen(path, NULL, &second) == CROSSINGS_IN_USE);
    EXPECT(forked_in_bind > 0);
    int lock = open(folder, O_RDONLY);
    EXPECT(flock(lock, LOCK_EX | LOCK_NB) == 0);
    close(lock);
    EXPECT(kill(forked_in_bind, SIGKILL) == 0);
    crossings_unlisten(server);
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

static const struct test tests[] = {
    {"accepting times out while silent clients keep coming", accepting_times_out_while_silent_clients_keep_coming},
    {"a server does not spin where a filter hides what comes", a_server_does_not_spin_where_a_filter_hides_what_comes},
    {"silent clients give back the descriptors that others need", silent_clients_give_back_descriptors},
    {"a server sends nothing to a silent client", a_server_sends_nothing_to_a_silent_client},
    {"a hello that arrived between two calls of crossings_accept() is served",
     a_hello_that_arrived_between_two_calls_is_served},
    {"listening for other users does not follow a link", the_mode_of_another_file_is_not_changed},
    {"a link that is switched harms no live server", a_link_that_is_switched_harms_no_live_server},
    {"a child that closes its copies leaves its parent alone", a_child_that_closes_leaves_its_parent_alone},
    {"so does a child with the same pid", so_does_a_child_with_the_same_pid},
    {"a thread with its own table of descriptors listens", a_thread_with_its_own_descriptors_listens},
    {"the mode of a socket's file does not depend on the umask", a_mode_does_not_depend_on_the_umask},
    {"a child that is forked meanwhile does not keep the folder's lock", a_child_that_is_forked_does_not_keep_the_lock},
    {"a timer does not shorten the wait for the folder's lock", a_timer_does_not_shorten_the_wait_for_the_lock},
};

int main(int count, char **arguments) {
    return run_tests(tests, sizeof tests / sizeof *tests, count, arguments);
}
