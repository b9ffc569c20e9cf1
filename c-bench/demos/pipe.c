/*
 * Pipe: a stream of bytes in a buffer of the kernel, with an end to write to and an end to read from.
 * Each message crosses into the kernel twice and is copied twice: write() copies it in, read() copies it out again.
 */
#include "demo.h"

#include <unistd.h>

static int ends[2]; /* ends[0]: to read from; ends[1]: to write to */

static void write_messages(int count) {
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        message_begins(n);
        struct message message = make_message(n, count);
        /* 64 bytes are fewer than PIPE_BUF: they are written whole or not at all. */
        if (write(ends[1], &message, sizeof message) != sizeof message)
            fail("write");
    }
}

/* While the pipe is empty, read() puts the reader to sleep; the next write() wakes it. */
static void read_messages(int count) {
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        struct message message;
        message_begins(n);
        if (read(ends[0], &message, sizeof message) != sizeof message)
            fail("read");
        check_message(&message, n, count);
    }
}

static void be_writer(int count) {
    begin_as(WRITER);
    close(ends[0]);
    write_messages(count);
    phase(TEARDOWN);
    close(ends[1]);
    _exit(0);
}

void pipe_demo(int count) {
    phase(SETUP);
    demo.role = READER;
    if (pipe(ends))
        fail("pipe");

    pid_t writer = fork(); /* the new process has both ends, too */
    if (writer < 0)
        fail("fork");
    if (writer == 0)
        be_writer(count);
    close(ends[1]); /* a pipe ends only when nobody could write to it any more */
    read_messages(count);
    phase(TEARDOWN);
    close(ends[0]);
    wait_for(writer);
    _exit(0);
}
