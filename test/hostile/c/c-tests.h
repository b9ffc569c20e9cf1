/*
 * What the tests of the C library share: PROGRAM NAME runs one test, and PROGRAM without arguments lists them. Each
 * program is linked with the options --wrap that its first comment lists.
 */
#ifndef C_TESTS_H
#define C_TESTS_H

#include "../../../native/crossings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

struct test {
    const char *name;
    void (*run)(void);
};

/* Of this test: its folder, and the paths of a socket and of another file in it. */
static char folder[] = "/tmp/c-tests-XXXXXX", path[64], target[64];

static inline double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline int connect_silently(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    while (connect(fd, (struct sockaddr *)&address, sizeof address))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* not listening yet */
    return fd;
}

/* Start a process that ends with this one at the latest. Returns 0 in it. */
static inline pid_t start(void) {
    pid_t process = fork();
    EXPECT(process >= 0);
    if (process == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return process;
}

static inline int end_of(pid_t process) {
    int status;
    EXPECT(waitpid(process, &status, 0) == process);
    return status;
}

static inline bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

static inline void wait_until_closed(int fd) {
    for (double until = seconds() + 60; is_open(fd) && seconds() < until;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    EXPECT(!is_open(fd));
}

/* How many are open in this process. */
static inline int descriptors(void) {
    int open = 0;
    for (int fd = 0; fd < 4096; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    return open;
}

/* The kernel then shows a reader of the socket, by MSG_PEEK, what comes after the hello. */
static inline void hide_the_hello(int fd) {
    int past = 100;
    EXPECT(setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &past, sizeof past) == 0);
}

static const crossings_options sleepy = {.capacity = 65536, .wait = CROSSINGS_SLEEP, .timeout_ms = 60000};

static inline void *open_end(void *end) {
    crossings_channel *channel;
    EXPECT(crossings_open(*(int *)end, &sleepy, &channel) == CROSSINGS_OK);
    return channel;
}

/* The two ends of a channel, both in this process. */
static inline crossings_channel *open_ends(int *ends, crossings_channel **other) {
    pthread_t thread;
    void *opened;
    EXPECT(pthread_create(&thread, NULL, open_end, &ends[1]) == 0);
    crossings_channel *channel = open_end(&ends[0]);
    EXPECT(pthread_join(thread, &opened) == 0);
    *other = opened;
    return channel;
}

static inline crossings_channel *open_two(crossings_channel **other) {
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    return open_ends(ends, other);
}

/* ---- A peer in a child ---- */

/* Open one end here and the other one in a child. It sends 20 messages, each with a ring of the doorbell, if it is told
 * to do so through the pipe `go`. */
static inline crossings_status open_both(const int *pair, const int *go, crossings_channel **channel, pid_t *child) {
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

static inline void clean_up(void) {
    unlink(path);
    unlink(target);
    rmdir(folder);
}

/* What main() does. */
static inline int run_tests(const struct test *tests, size_t most, int count, char **arguments) {
    for (size_t i = 0; i < most; i++) {
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

#endif
