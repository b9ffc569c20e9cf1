/*
 * Unix domain socket: a connected pair of stream sockets in the kernel, which work in both directions.
 * A message makes two crossings: send() copies it into the kernel, and recv() copies it out.
 * socketpair() creates the same sockets as bind(), listen(), connect() and accept(), without a name in the file system.
 */
#include "socket-stream.h"

#include <unistd.h>

static int ends[2]; /* ends[side] belongs to that side */

static int setup(size_t size) {
    (void)size;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int take(enum side side) {
    return close(ends[!side]);
}

static enum outcome uds_send(enum side side, const void *message, size_t size) {
    return socket_send(ends[side], message, size);
}

static enum outcome uds_receive(enum side side, void *message, size_t size) {
    return socket_receive(ends[side], message, size);
}

static void teardown(enum side side) {
    close(ends[side]);
}

const struct mechanism uds = {
    .name = "uds",
    .title = "Unix domain socket",
    .source = __FILE__,
    .billable = true,
    .setup = setup,
    .take = take,
    .send = uds_send,
    .receive = uds_receive,
    .teardown = teardown,
};
