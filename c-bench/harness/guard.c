/* Forks the supervisor, and removes what a killed supervisor leaves behind. */
#include "guard.h"

#include "../common/gate.h"
#include "results.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_NAMES 8

static pid_t supervisor; /* its PID is part of every name */

const char *unique_name(int which) {
    static char name[64];
    snprintf(name, sizeof name, "/crossings-%d-%d", (int)supervisor, which);
    return name;
}

static void remove_names(void) {
    for (int which = 0; which < MAX_NAMES; which++) {
        sem_unlink(unique_name(which));
        shm_unlink(unique_name(which));
    }
}

int run_guarded(int (*measure)(const void *context), const void *context) {
    pid_t self = getpid();
    int status;
    supervisor = fork();
    if (supervisor == 0) {
        supervisor = getpid();
        /* SIGTERM, not SIGKILL: set_up() in pair.c blocks it while names exist. */
        exit(signal_with_parent(self, SIGTERM) ? measure(context) : 1);
    }
    if (supervisor < 0) {
        perror("Cannot start the supervisor process");
        return 1;
    }
    while (waitpid(supervisor, &status, 0) < 0) {
        if (errno == EINTR)
            continue;
        perror("Cannot wait for the supervisor process");
        return 1;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    remove_names();
    struct failure failure = {.code = "ERR_CHILD_DIED"};
    snprintf(failure.text, sizeof failure.text, "the supervisor process was killed by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
    print_error(&failure);
    return 1;
}
