/*
 * Chains of processes in sessions of their own: each starts its successor, and ends. So no process lives long enough to
 * be looked for. What still runs after 8 seconds says so. Argument: the number of chains.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SECONDS = 8 };

static _Noreturn void hop(time_t end) {
    for (;;) {
        if (time(NULL) > end) {
            puts("not ended");
            exit(0);
        }
        if (fork() > 0)
            _exit(0);
        setsid();
    }
}

int main(int count, char **arguments) {
    time_t end = time(NULL) + MOST_SECONDS;
    for (int chains = count > 1 ? atoi(arguments[1]) : 1; chains > 0; chains--)
        if (fork() == 0)
            hop(end);
    sleep(2 * MOST_SECONDS);
    return 0;
}
