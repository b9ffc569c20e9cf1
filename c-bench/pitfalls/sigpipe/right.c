/*
 * Writing to a pipe that no process reads.
 * The kernel sends the writer a signal, SIGPIPE, which ends it before write() can return an error.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    int ends[2];
    if (pipe(ends))
        err(3, "pipe");
    pid_t reader = fork();
    if (reader < 0)
        err(3, "fork");
    if (reader == 0)
        _exit(0); /* the reader ends early, and with it the last read end */
    close(ends[0]);
    waitpid(reader, NULL, 0);

    /* Now write() fails with EPIPE, which can be handled. MSG_NOSIGNAL does the same for one send(). */
    signal(SIGPIPE, SIG_IGN);
    printf("The reader has ended. The writer writes.\n");
    if (write(ends[1], "hello", 5) < 0)
        printf("write() failed: %s.\n", strerror(errno));
    printf("The writer saves its work and ends as planned.\n");
    return 0;
}
