/*
 * Two writers, one pipe, and messages that mix.
 * POSIX promises that a write of at most PIPE_BUF bytes (4096 on Linux) is not interleaved with another. Not more.
 */
#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = PIPE_BUF + 1 };

static int count = 500; /* messages of each writer; an argument is another number */

/* Every byte of a message is the same letter. */
static void write_messages(int fd, char letter) {
    char message[SIZE];
    memset(message, letter, sizeof message);
    for (int n = 0; n < count; n++)
        if (write(fd, message, sizeof message) != sizeof message)
            err(3, "write");
    _exit(0);
}

/* Read a whole message. Returns 0 at end of file. */
static int read_message(int fd, char message[SIZE]) {
    for (int got = 0; got < SIZE;) {
        ssize_t more = read(fd, message + got, SIZE - got);
        if (more <= 0)
            return 0;
        got += more;
    }
    return 1;
}

int main(int argc, char **argv) {
    setlinebuf(stdout);
    if (argc > 1)
        count = atoi(argv[1]);
    if (count < 1)
        errx(2, "The number of messages must be at least 1; got \"%s\"", argv[1]);
    int ends[2];
    if (pipe(ends))
        err(3, "pipe");
    for (char letter = 'A'; letter <= 'B'; letter++) {
        pid_t writer = fork();
        if (writer < 0)
            err(3, "fork");
        if (writer == 0)
            write_messages(ends[1], letter);
    }
    close(ends[1]);
    usleep(20000); /* a slow reader: the pipe becomes full */

    static char message[SIZE];
    int received = 0, mixed = 0;
    while (read_message(ends[0], message)) {
        received++;
        int first = 1; /* bytes of the same letter */
        while (first < SIZE && message[first] == message[0])
            first++;
        if (first < SIZE && mixed++ == 0)
            printf("Message %d begins with %d times %c, then comes %c.\n", received, first, message[0], message[first]);
    }
    while (wait(NULL) > 0)
        ;
    printf("messageBytes = %d bytes\nreceived = %d messages\nmixed = %d messages\n", SIZE, received, mixed);
    printf("Of %d messages of %d bytes, %d were a mixture of both writers.\n", received, SIZE, mixed);
    return mixed == 0 ? 0 : 1;
}
