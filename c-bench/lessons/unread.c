/* Gives up the output of a guard if nobody reads it. */
#include "unread.h"

#include "../common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#define TICK_MS 200
#define FEW_TICKS 2   /* so long may a reader not read if the run is to end... */
#define MOST_TICKS 10 /* ...and so long once the program's time is up */

static int nowhere = -1; /* /dev/null */
static pid_t owner;
static uint64_t time_is_up_ns;
static int full_ticks[STDERR_FILENO + 1]; /* in a row, in which the pipe had no room */
static volatile sig_atomic_t is_given_up;

/* SIGTERM that is pending has not been read, as it is whenever the guard waits for something. */
static bool is_asked_to_end(void) {
    sigset_t pending;
    return getppid() != owner || (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1);
}

/* This process may be blocked in write() because nobody reads its lines, and would end nothing. From now on they go
 * nowhere, also the one that is being written: the kernel starts that call again. */
static void give_up_output(int tick) {
    (void)tick;
    int reason = errno;
    bool is_asked = is_asked_to_end();
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        full_ticks[fd] = poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 0) == 0 ? full_ticks[fd] + 1 : 0;
        if (full_ticks[fd] < (is_asked ? FEW_TICKS : MOST_TICKS) || (!is_asked && monotonic_ns() <= time_is_up_ns))
            continue;
        if (dup2(nowhere, fd) >= 0 && fd == STDOUT_FILENO)
            is_given_up = 1;
    }
    errno = reason;
}

void watch_output(pid_t asker) {
    struct itimerval tick = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
    sigset_t ticks;
    owner = asker;
    nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = give_up_output, .sa_flags = SA_RESTART}, NULL);
    sigemptyset(&ticks);
    sigaddset(&ticks, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &ticks, NULL); /* who started this program may have blocked it */
    setitimer(ITIMER_REAL, &tick, NULL);
}

void give_up_output_after(uint64_t until_ns) {
    time_is_up_ns = until_ns;
}

bool is_output_given_up(void) {
    return is_given_up;
}
