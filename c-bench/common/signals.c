/* Resets what exec() has inherited. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

void reset_signals(void) {
    sigset_t used;
    sigemptyset(&used);
    sigaddset(&used, SIGCHLD); /* ignored: waitpid() returns no status of a child, only ECHILD once all have ended */
    sigaddset(&used, SIGTERM); /* ignored: processes that the kernel sends it when their parent ends would not end */
    signal(SIGCHLD, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &used, NULL);
}
