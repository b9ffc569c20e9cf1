/*
 * Pipe: a byte stream through a kernel buffer, with a read end and a write end.
 * Each message crosses into the kernel twice and is copied twice: write() copies it in, and read() copies it out.
 */
#include "demo.h"

#include <unistd.h>

static int ends[2]; /* ends[0] is the read end, ends[1] the write end */

static void write_messages(int count) {
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        message_begins(n);
        struct message message = make_message(n, count);
        /* 64 bytes are less than PIPE_BUF, so the write is atomic. */
        if (write(ends[1], &message, sizeof message) != sizeof message)
            fail("write");
    }
}

/* If the pipe is empty, the reader sleeps in read() until the next write(). */
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

    pid_t writer = fork(); /* the child inherits both ends */
    if (writer < 0)
        fail("fork");
    if (writer == 0)
        be_writer(count);
    close(ends[1]); /* a reader sees the end of the pipe only after every write end is closed */
    read_messages(count);
    phase(TEARDOWN);
    close(ends[0]);
    wait_for(writer);
    _exit(0);
}
