/*
 * TCP over the loopback interface: the complete protocol, between two processes on one machine.
 * A message makes two crossings: send() copies it into the kernel, and recv() copies it out.
 */
#include "socket-stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

static int ends[2]; /* ends[side] belongs to that side */

/* Without TCP_NODELAY, a small message waits for the acknowledgment of the one before it (Nagle's algorithm). */
static int send_at_once(int fd) {
    int on = 1;
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* INADDR_LOOPBACK: only processes on this machine can connect. Port 0: the system chooses a free port. */
static int setup(size_t size) {
    (void)size;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        return -1;
    ends[SIDE_A] = socket(AF_INET, SOCK_STREAM, 0);
    if (ends[SIDE_A] < 0 || connect(ends[SIDE_A], (struct sockaddr *)&address, length))
        return -1;
    ends[SIDE_B] = accept(listener, NULL, NULL);
    if (ends[SIDE_B] < 0 || send_at_once(ends[SIDE_A]) || send_at_once(ends[SIDE_B]))
        return -1;
    return close(listener);
}

static int take(enum side side) {
    return close(ends[!side]);
}

static enum outcome tcp_send(enum side side, const void *message, size_t size) {
    return socket_send(ends[side], message, size);
}

static enum outcome tcp_receive(enum side side, void *message, size_t size) {
    return socket_receive(ends[side], message, size);
}

static void teardown(enum side side) {
    close(ends[side]);
}

const struct mechanism tcp = {
    .name = "tcp",
    .title = "TCP over loopback",
    .source = __FILE__,
    .billable = true,
    .setup = setup,
    .take = take,
    .send = tcp_send,
    .receive = tcp_receive,
    .teardown = teardown,
};
