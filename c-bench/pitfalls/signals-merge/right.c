/*
 * Signals are not counted.
 * A child sends ten signals, one for each piece of work that it finished. The parent counts them.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECES = 10 };

static volatile sig_atomic_t counted;

static void count_signal(int number) {
    (void)number;
    counted++;
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    /* A real-time signal is queued each time. Of any other, the kernel keeps at most one pending. */
    int number = SIGRTMIN;
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    sigaction(number, &action, NULL);
    sigset_t busy, before; /* the parent does not want to be interrupted while it is busy */
    sigemptyset(&busy);
    sigaddset(&busy, number);
    sigprocmask(SIG_BLOCK, &busy, &before);

    pid_t child = fork();
    if (child < 0)
        err(3, "fork");
    if (child == 0) {
        for (int piece = 0; piece < PIECES; piece++)
            kill(getppid(), number);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sigprocmask(SIG_SETMASK, &before, NULL); /* no longer busy: what is pending is delivered now */

    printf("sent = %d signals\ncounted = %d signals\n", PIECES, (int)counted);
    printf("The child sent %d signals, and the parent counted %d.\n", PIECES, (int)counted);
    return counted == PIECES ? 0 : 1;
}
