/*
 * Pipe: a byte stream through a kernel buffer. There is one pipe for each direction.
 * A message makes two crossings: write() copies it into the kernel, and read() copies it out.
 */
#include "mechanism.h"

#include <fcntl.h>
#include <unistd.h>

/* pipes[side] is the pipe that this side writes to: [0] is its read end, [1] its write end. */
static int pipes[2][2];

static int setup(size_t size) {
    (void)size;
    int flags = polling ? O_NONBLOCK : 0;
    return pipe2(pipes[SIDE_A], flags) || pipe2(pipes[SIDE_B], flags) ? -1 : 0;
}

/* A reader sees the end of a pipe only after every write end is closed, so each side closes the ends it does not use.
 */
static int take(enum side side) {
    return close(pipes[side][0]) || close(pipes[!side][1]) ? -1 : 0;
}

static enum outcome pipe_send(enum side side, const void *message, size_t size) {
    const char *next = message;
    while (size > 0) {
        ssize_t written = write(pipes[side][1], next, size);
        if (written < 0 && call_again())
            continue;
        if (written < 0)
            return errno == EPIPE ? ENDED : FAILED;
        next += written;
        size -= (size_t)written;
    }
    return OK;
}

/* A pipe has no message boundaries: read until the message is complete. */
static enum outcome pipe_receive(enum side side, void *message, size_t size) {
    char *next = message;
    while (size > 0) {
        ssize_t got = read(pipes[!side][0], next, size);
        if (got < 0 && call_again())
            continue;
        if (got <= 0)
            return got == 0 ? ENDED : FAILED;
        next += got;
        size -= (size_t)got;
    }
    return OK;
}

/* Usually 64 KiB; new pipes of a user who has many have only 8 KiB (pipe(7): pipe-user-pages-soft). */
static size_t room(void) {
    int a = fcntl(pipes[SIDE_A][1], F_GETPIPE_SZ), b = fcntl(pipes[SIDE_B][1], F_GETPIPE_SZ);
    int least = a < b ? a : b;
    return least < 0 ? 0 : (size_t)least;
}

static void teardown(enum side side) {
    close(pipes[side][1]);
    close(pipes[!side][0]);
}

const struct mechanism pipe_mechanism = {
    .name = "pipe",
    .title = "Pipe",
    .source = __FILE__,
    .billable = true,
    .setup = setup,
    .take = take,
    .send = pipe_send,
    .receive = pipe_receive,
    .teardown = teardown,
    .room = room,
};
