/*
 * read() may return less than was asked for.
 * A writer sends a message of 100,000 bytes. The reader takes what one read() returns for the whole.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 100000 };

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    static char message[SIZE];
    int ends[2];
    if (pipe(ends))
        err(3, "pipe");
    pid_t writer = fork();
    if (writer < 0)
        err(3, "fork");
    if (writer == 0) {
        memset(message, 'x', sizeof message);
        if (write(ends[1], message, sizeof message) != sizeof message)
            err(3, "write");
        _exit(0);
    }
    close(ends[1]);

    ssize_t count = read(ends[0], message, sizeof message);
    int calls = 1;
    while (count > 0 && count < SIZE) { /* read() returns what is there; the loop waits for the rest */
        ssize_t more = read(ends[0], message + count, sizeof message - count);
        if (more <= 0)
            break;
        count += more;
        calls++;
    }
    printf("asked = %d bytes\nreceived = %zd bytes\ncalls = %d\n", SIZE, count, calls);
    close(ends[0]);
    waitpid(writer, NULL, 0);
    if (count == SIZE)
        return 0;
    printf("The rest of the message is missing.\n");
    return 1;
}
