/*
 * Two processes that fill each other's pipe.
 * The parent sends 256 KiB to a child that sends each byte back. A pipe holds 64 KiB.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOTAL = 256 * 1024, CHUNK = 4096 };

/* The child: what it reads, it writes. */
static void echo(int from, int to) {
    prctl(PR_SET_NAME, "child");
    char bytes[CHUNK];
    ssize_t count;
    while ((count = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, count) != count)
            err(3, "write");
    _exit(0);
}

static void read_chunk(int fd, char *bytes, int *received) {
    for (int count = 0; count < CHUNK;) {
        ssize_t more = read(fd, bytes, CHUNK - count);
        if (more <= 0)
            err(3, "read");
        count += more;
        *received += more;
    }
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    prctl(PR_SET_NAME, "parent");
    int request[2], answer[2];
    if (pipe(request) || pipe(answer))
        err(3, "pipe");
    pid_t child = fork();
    if (child < 0)
        err(3, "fork");
    if (child == 0) {
        close(request[1]);
        echo(request[0], answer[1]);
    }
    close(request[0]);
    close(answer[1]);

    char bytes[CHUNK] = {0};
    int received = 0;
    printf("The parent sends %d bytes.\n", TOTAL);
    for (int sent = 0; sent < TOTAL; sent += CHUNK) {
        if (write(request[1], bytes, CHUNK) != CHUNK)
            err(3, "write");
    }
    close(request[1]);
    while (received < TOTAL)
        read_chunk(answer[0], bytes, &received);
    waitpid(child, NULL, 0);
    printf("The parent sent %d bytes and received %d.\n", TOTAL, received);
    return received == TOTAL ? 0 : 1;
}
