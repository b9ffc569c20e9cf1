/* Wakes a peer although ringing its doorbell fails at first. For the tests: crossings-unrung wait|poll|send. A signal
 * ends it if the peer sleeps on. */
#include "../native/channel.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 20

static int failures; /* of the next rings */

/* In place of the C library's, for the code of the channel as well. */
ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    if (failures > 0) {
        failures--;
        errno = ENOBUFS;
        return -1;
    }
    return syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
}

static crossings_channel *open_channel(int fd) {
    crossings_channel *channel;
    crossings_status status = crossings_open(fd, &(crossings_options){.wait = CROSSINGS_SLEEP, .spin_us = 1}, &channel);
    if (status == CROSSINGS_OK)
        return channel;
    fprintf(stderr, "%s\n", crossings_status_text(status));
    _exit(1);
}

/* The peer: sends back what it gets, and ends with "end". */
static int echo(int fd) {
    crossings_channel *channel = open_channel(fd);
    char message[8];
    size_t size;
    while (crossings_receive(channel, message, sizeof message, &size, -1) == CROSSINGS_OK) {
        if (size == 3 && memcmp(message, "end", 3) == 0)
            return 0;
        if (crossings_send(channel, message, size, -1) != CROSSINGS_OK)
            return 1;
    }
    return 1;
}

static void await_sleep(const crossings_channel *channel) {
    while (ring_load_acquire(&channel->peer.header->waiting_for_data) % 2 == 0)
        sched_yield();
}

enum how { WAITS, POLLS, SENDS };

/* The ring fills up while its peer sleeps on. The attempts that find no room ring again. */
static crossings_status fill(crossings_channel *channel) {
    enum { FEW = 100 }; /* attempts without room; after many more, the check of the peer would ring */
    char message[8] = "message";
    int sent = 0;
    size_t size;
    failures = 1 << 30;
    while (crossings_try_send(channel, message, sizeof message) == CROSSINGS_OK)
        sent++;
    failures = 3;
    for (int i = 0; i < FEW && failures > 0; i++)
        if (crossings_try_send(channel, message, sizeof message) == CROSSINGS_OK)
            sent++;
    crossings_status status = failures == 0 ? CROSSINGS_OK : CROSSINGS_AGAIN;
    while (status == CROSSINGS_OK && sent-- > 0)
        status = crossings_receive(channel, message, sizeof message, &size, -1);
    return status;
}

/* One message there and back. The doorbell of the first fails three times. */
static crossings_status exchange(crossings_channel *channel, enum how how) {
    char answer[8];
    size_t size;
    await_sleep(channel);
    if (how == SENDS)
        return fill(channel);
    failures = 3;
    crossings_status status = crossings_try_send(channel, "ping", 4);
    if (status != CROSSINGS_OK)
        return status;
    if (how == WAITS)
        return crossings_receive(channel, answer, sizeof answer, &size, -1);
    do
        status = crossings_try_receive(channel, answer, sizeof answer, &size);
    while (status == CROSSINGS_AGAIN);
    return status;
}

/* Two messages and no other call: the second one rings because the first one could not. */
static crossings_status send_two(crossings_channel *channel) {
    await_sleep(channel);
    failures = 1;
    crossings_status status = crossings_try_send(channel, "ping", 4);
    return status == CROSSINGS_OK ? crossings_try_send(channel, "end", 3) : status;
}

int main(int count, char **arguments) {
    int ends[2], outcome = 1;
    if (count != 2 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return 2;
    pid_t peer = fork();
    alarm(LIMIT_S); /* not a timeout of a call: it looks once more at its end, and may find the message then */
    close(ends[peer == 0 ? 0 : 1]);
    if (peer == 0)
        return echo(ends[1]);
    crossings_channel *channel = open_channel(ends[0]);
    crossings_status status = exchange(channel, strcmp(arguments[1], "wait") == 0   ? WAITS
                                                : strcmp(arguments[1], "poll") == 0 ? POLLS
                                                                                    : SENDS);
    if (status == CROSSINGS_OK && failures == 0)
        status = send_two(channel);
    if (status != CROSSINGS_OK) {
        fprintf(stderr, "%s\n", crossings_status_text(status));
        crossings_close(channel);
    }
    waitpid(peer, &outcome, 0);
    return status != CROSSINGS_OK || failures > 0 || outcome != 0;
}
