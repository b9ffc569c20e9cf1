/*
 * The death of a peer, as a C program sees it. `death-test` lists the tests; `death-test NAME` runs one. The peer is a
 * child process at the other end of a socket pair.
 */
#include "../../native/crossings.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY 65536
#define WORDS 500
#define BARE_LIMIT_S 20 /* of a loop that notices within milliseconds */

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static pid_t child;
static char buffer[CAPACITY];
static size_t size;

static void kill_child(void) {
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    child = 0;
}

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A channel to a child that runs `act`, then waits to be killed. */
static crossings_channel *channel_to(void (*act)(crossings_channel *channel)) {
    int ends[2];
    crossings_options options = {.capacity = CAPACITY};
    crossings_channel *channel = NULL;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        CHECK(crossings_open(ends[1], &options, &channel) == CROSSINGS_OK);
        act(channel);
        for (;;)
            pause();
    }
    atexit(kill_child);
    close(ends[1]);
    CHECK(crossings_open(ends[0], &options, &channel) == CROSSINGS_OK);
    return channel;
}

static void does_nothing(crossings_channel *channel) {
    (void)channel;
}

static void dies_soon(crossings_channel *channel) {
    (void)channel;
    sleep_ms(200);
    kill(getpid(), SIGKILL);
}

static void sends_and_dies(crossings_channel *channel) {
    for (int i = 0; i < WORDS; i++)
        CHECK(crossings_try_send(channel, &i, sizeof i) == CROSSINGS_OK);
    kill(getpid(), SIGKILL);
}

static void closes_and_dies(crossings_channel *channel) {
    CHECK(crossings_try_send(channel, "x", 1) == CROSSINGS_OK);
    crossings_close(channel);
    kill(getpid(), SIGKILL);
}

static void echoes_one(crossings_channel *channel) {
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, -1) == CROSSINGS_OK);
    CHECK(crossings_send(channel, buffer, size, -1) == CROSSINGS_OK);
}

/* ---- The tests ---- */

static void a_waiting_receive(void) {
    crossings_channel *channel = channel_to(dies_soon);
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, -1) == CROSSINGS_PEER_DIED);
    crossings_close(channel);
}

static void a_waiting_send(void) {
    crossings_channel *channel = channel_to(dies_soon);
    crossings_status status;
    while ((status = crossings_send(channel, buffer, 5000, -1)) == CROSSINGS_OK)
        ;
    CHECK(status == CROSSINGS_PEER_DIED);
    crossings_close(channel);
}

static void every_later_call(void) {
    crossings_channel *channel = channel_to(dies_soon);
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, -1) == CROSSINGS_PEER_DIED);
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, 0) == CROSSINGS_PEER_DIED);
    CHECK(crossings_try_receive(channel, buffer, sizeof buffer, &size) == CROSSINGS_PEER_DIED);
    CHECK(crossings_try_send(channel, "x", 1) == CROSSINGS_PEER_DIED);
    CHECK(crossings_send(channel, "x", 1, -1) == CROSSINGS_PEER_DIED);
    crossings_close(channel);
}

static void a_loop_of_try_receive(void) {
    crossings_channel *channel = channel_to(dies_soon);
    crossings_status status = CROSSINGS_AGAIN;
    for (time_t until = time(NULL) + BARE_LIMIT_S; status == CROSSINGS_AGAIN && time(NULL) < until;)
        status = crossings_try_receive(channel, buffer, sizeof buffer, &size);
    CHECK(status == CROSSINGS_PEER_DIED);
    crossings_close(channel);
}

static void a_loop_of_try_send(void) {
    crossings_channel *channel = channel_to(dies_soon);
    crossings_status status = CROSSINGS_OK;
    for (time_t until = time(NULL) + BARE_LIMIT_S; status <= CROSSINGS_AGAIN && time(NULL) < until;)
        status = crossings_try_send(channel, buffer, 5000);
    CHECK(status == CROSSINGS_PEER_DIED);
    crossings_close(channel);
}

static void last_words_come_first(void) {
    crossings_channel *channel = channel_to(sends_and_dies);
    waitpid(child, NULL, 0);
    child = 0;
    for (int i = 0; i < WORDS; i++) {
        int number = -1;
        CHECK(crossings_receive(channel, &number, sizeof number, &size, -1) == CROSSINGS_OK && number == i);
    }
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, -1) == CROSSINGS_PEER_DIED);
    crossings_close(channel);
}

static void last_words_come_first_to_a_sender(void) {
    crossings_channel *channel = channel_to(sends_and_dies);
    crossings_status status;
    while ((status = crossings_send(channel, buffer, 5000, -1)) == CROSSINGS_OK)
        ;
    CHECK(status == CROSSINGS_PEER_DIED);
    for (int i = 0; i < WORDS; i++) {
        int number = -1;
        CHECK(crossings_receive(channel, &number, sizeof number, &size, -1) == CROSSINGS_OK && number == i);
    }
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, -1) == CROSSINGS_PEER_DIED);
    crossings_close(channel);
}

static void a_clean_close_is_not_death(void) {
    crossings_channel *channel = channel_to(closes_and_dies);
    waitpid(child, NULL, 0);
    child = 0;
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, -1) == CROSSINGS_OK);
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, -1) == CROSSINGS_END);
    crossings_status status;
    while ((status = crossings_send(channel, buffer, 5000, -1)) == CROSSINGS_OK)
        ;
    CHECK(status == CROSSINGS_END);
    crossings_close(channel);
}

static void a_stopped_peer_is_not_dead(void) {
    crossings_channel *channel = channel_to(echoes_one);
    kill(child, SIGSTOP);
    CHECK(crossings_send(channel, "x", 1, -1) == CROSSINGS_OK);
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, 1000) == CROSSINGS_TIMEOUT);
    for (int look = 0; look < 1000000; look++)
        CHECK(crossings_try_receive(channel, buffer, sizeof buffer, &size) == CROSSINGS_AGAIN);
    kill(child, SIGCONT);
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, -1) == CROSSINGS_OK && size == 1);
    crossings_close(channel);
}

static void an_idle_peer_is_not_dead(void) {
    crossings_channel *channel = channel_to(does_nothing);
    CHECK(crossings_receive(channel, buffer, sizeof buffer, &size, 300) == CROSSINGS_TIMEOUT);
    for (int look = 0; look < 1000000; look++)
        CHECK(crossings_try_receive(channel, buffer, sizeof buffer, &size) == CROSSINGS_AGAIN);
    CHECK(crossings_try_send(channel, "x", 1) == CROSSINGS_OK);
    crossings_close(channel);
}

static void a_peer_that_dies_before_the_handshake(void) {
    int ends[2];
    crossings_options options = {.capacity = CAPACITY};
    crossings_channel *channel = NULL;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    close(ends[1]);
    CHECK(crossings_open(ends[0], &options, &channel) == CROSSINGS_PEER_DIED);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"a waiting receive", a_waiting_receive},
    {"a waiting send", a_waiting_send},
    {"every later call", every_later_call},
    {"a loop of try_receive", a_loop_of_try_receive},
    {"a loop of try_send", a_loop_of_try_send},
    {"last words come first", last_words_come_first},
    {"last words come first, also to a sender", last_words_come_first_to_a_sender},
    {"a clean close is not death", a_clean_close_is_not_death},
    {"a stopped peer is not dead", a_stopped_peer_is_not_dead},
    {"an idle peer is not dead", an_idle_peer_is_not_dead},
    {"a peer that dies before the handshake", a_peer_that_dies_before_the_handshake},
};

int main(int count, char **arguments) {
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (count == 1)
            puts(tests[i].name);
        else if (strcmp(arguments[1], tests[i].name) == 0)
            tests[i].run();
    }
    return 0;
}
