/*
 * A signal interrupts read().
 * A reader waits for a message. Meanwhile a signal arrives that has a handler, such as a timer's.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void count_signal(int number) {
    (void)number;
    signals++;
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    /* The kernel restarts read() after the handler. */
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    int ends[2];
    if (pipe(ends))
        err(3, "pipe");
    pid_t writer = fork();
    if (writer < 0)
        err(3, "fork");
    if (writer == 0) {
        usleep(200 * 1000); /* by now the reader waits */
        kill(getppid(), SIGUSR1);
        usleep(200 * 1000);
        if (write(ends[1], "hello", 5) != 5)
            err(3, "write");
        _exit(0);
    }

    char bytes[16];
    ssize_t count = read(ends[0], bytes, sizeof bytes);
    if (count < 0)
        printf("read() failed: %s.\n", strerror(errno));
    else
        printf("The reader received %zd bytes.\n", count);
    waitpid(writer, NULL, 0);
    printf("signals = %d\n", (int)signals);
    return count == 5 ? 0 : 1;
}
