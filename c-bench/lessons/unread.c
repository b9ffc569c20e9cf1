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
static uint64_t time_is_up_ns;
static int full_ticks; /* in a row, in which the pipe had no room */
static volatile sig_atomic_t is_given_up;

/* This process may be blocked in write() because nobody reads its lines, and would end nothing. From now on they go
 * nowhere, also the one that is being written: the kernel starts that call again. A pending SIGTERM has not been read,
 * as it is whenever the guard waits for something. */
static void give_up_output(int tick) {
    (void)tick;
    int reason = errno;
    sigset_t pending;
    bool is_asked = sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
    full_ticks = poll(&(struct pollfd){STDOUT_FILENO, POLLOUT, 0}, 1, 0) == 0 ? full_ticks + 1 : 0;
    if (full_ticks >= (is_asked ? FEW_TICKS : MOST_TICKS) && (is_asked || monotonic_ns() > time_is_up_ns))
        is_given_up = dup2(nowhere, STDOUT_FILENO) >= 0;
    errno = reason;
}

void watch_output(uint64_t until_ns) {
    struct itimerval tick = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
    time_is_up_ns = until_ns;
    nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = give_up_output, .sa_flags = SA_RESTART}, NULL);
    setitimer(ITIMER_REAL, &tick, NULL);
}

bool is_output_given_up(void) {
    return is_given_up;
}
