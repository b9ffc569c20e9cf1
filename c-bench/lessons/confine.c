/* Forks the guard, which starts the program, reads what it writes, and ends it when its time is up. */
#include "confine.h"

#include "../common/clock.h"
#include "../common/gate.h"
#include "../common/ndjson.h"
#include "descendants.h"
#include "names.h"
#include "output.h"
#include "parent.h"
#include "room.h"
#include "stream.h"
#include "unread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID_WHY 2 /* the exit status of a guard that could not run the program and has printed the reason */

#define MOST_LEFT (1 << 20) /* bytes that the program has written and the guard has not read */
#define MOST_REST_MS 2000   /* for passing them on */
#define QUIET_MS 200        /* after which nothing more comes */
#define COUNT_MS 100        /* how often processes that have ended are reaped, and the others counted */

static long now_ms(void) {
    return (long)(monotonic_ns() / 1000000);
}

/* Those that end a program. (glibc has a function for this, musl does not.) */
static const char *signal_name(int number) {
    static const char *const names[] = {
        [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",
        [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
        [SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM", [SIGXCPU] = "SIGXCPU",
        [SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS",
    };
    const char *name = number < (int)(sizeof names / sizeof *names) ? names[number] : NULL;
    return name ? name : "another signal";
}

/* `limit`: what there was too much of; NULL: it ended by itself. */
static void report_end(const struct notice *notice, const char *limit, bool ended, int left, long ms, bool truncated) {
    int status = notice->status;
    bool late = limit != NULL;
    event_begin("ended");
    event_string("how", late ? "limit" : ended && WIFSIGNALED(status) ? "signal" : "exited");
    if (late)
        event_string("limit", limit);
    if (!late && ended && WIFEXITED(status))
        event_integer("status", (uint64_t)WEXITSTATUS(status));
    if (!late && ended && WIFSIGNALED(status)) {
        event_string("signal", signal_name(WTERMSIG(status)));
    }
    event_integer("left", (uint64_t)left);
    event_integer("ms", (uint64_t)ms);
    if (truncated)
        event_integer("truncated", 1);
    event_end();
}

static bool is_ahead;

/* Where the kernel does not limit the program's processes, the guard would get its turn among thousands of them after
 * seconds. */
static void get_ahead(void) {
    is_ahead = sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) == 0;
}

static void get_in_line(void) {
    if (is_ahead)
        sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    is_ahead = false;
}

/* Children that have ended. A program may start process after process, each of which ends at once. */
static void reap_orphans(pid_t parent) {
    siginfo_t ended;
    for (int i = 0; i < MOST_REAPED; i++) {
        ended.si_pid = 0;
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) || ended.si_pid == 0 || ended.si_pid == parent)
            return;
        waitpid(ended.si_pid, NULL, WNOHANG);
    }
}

/* Pass on what ended processes have left. One that is not theirs may hold the pipe, and write for ever or keep it open.
 */
static void pass_on_rest(struct output *output, int fd) {
    int left = MOST_LEFT;
    long until = now_ms() + MOST_REST_MS;
    for (; left > 0 && now_ms() < until; left -= PASSED_AT_ONCE) {
        int ready = poll(&(struct pollfd){fd, POLLIN, 0}, 1, QUIET_MS);
        if (ready == 0 || (ready > 0 && pass_on(output, fd) == AT_END))
            return;
    }
}

/* Pass on what the program writes until it ends, its time is up, or the guard must end. */
static int watch_over(const struct confinement *how, struct pipes *pipes, pid_t parent, const struct orders *orders,
                      struct notice *notice) {
    struct output out = {.stream = "stdout"}, error = {.stream = "stderr"};
    long began = now_ms(), counted = began;
    bool counts = !notice->counted, ended = false, late = false, crowded = false;
    int from_out = stream_of(pipes->out[0]), from_error = stream_of(pipes->error[0]); /* with the usual priority */
    if (counts)
        get_ahead();
    give_up_output_after((uint64_t)(began + how->limit_ms) * 1000000);
    struct pollfd fds[] = {{from_out, POLLIN, 0},
                           {from_error, POLLIN, 0},
                           {pipes->status[0], POLLIN, 0},
                           {orders->fd, POLLIN, 0},
                           {STDOUT_FILENO, 0, 0}};
    while (!ended && !late && !crowded) {
        long rest = began + how->limit_ms - now_ms();
        if (rest > COUNT_MS)
            rest = COUNT_MS;
        if (poll(fds, 5, rest > 0 ? (int)rest : 0) < 0)
            continue; /* a tick of watch_output() */
        late = now_ms() >= began + how->limit_ms;
        if (now_ms() >= counted + COUNT_MS) {
            reap_orphans(parent);
            crowded = counts && count_descendants(getpid()) > MAX_PROCESSES + 1; /* with the parent */
            counted = now_ms();
        }
        if ((fds[3].revents && must_end(orders, parent)) || fds[4].revents & (POLLERR | POLLHUP))
            return 1; /* the process that asked for this run has ended */
        if (fds[0].revents && pass_on(&out, from_out) == AT_END)
            fds[0].fd = -1;
        if (fds[1].revents && pass_on(&error, from_error) == AT_END)
            fds[1].fd = -1;
        if (fds[2].revents) {
            ended = read(pipes->status[0], notice, sizeof *notice) == sizeof *notice;
            late = crowded = false;
            if (!ended)
                break; /* the parent was killed, and the program with it */
        }
    }
    long ms = now_ms() - began;
    if (late)
        report_descendants(parent);
    late = late || crowded;
    /* What has ended by itself was not left behind. */
    bool is_reaped = false;
    for (int i = 0; i < 2 && !is_reaped; i++) { /* the parent may end meanwhile */
        is_reaped = waitpid(parent, NULL, WNOHANG) == parent;
        reap_orphans(is_reaped ? 0 : parent);
    }
    if (!is_reaped)
        kill(parent, SIGKILL);
    int killed = kill_descendants();
    get_in_line();
    if (killed < 0)
        return 1; /* they end with this process: nobody may kill them, such as under a filter of system calls */
    if (fds[0].fd >= 0)
        pass_on_rest(&out, from_out);
    if (fds[1].fd >= 0)
        pass_on_rest(&error, from_error);
    flush_output(&out);
    flush_output(&error);
    int left = notice->left + killed - !is_reaped; /* the parent itself is one of the killed */
    report_end(notice,
               crowded ? "processes"
               : late  ? "time"
                       : NULL,
               ended, late || left < 0 ? 0 : left, ms, out.truncated || error.truncated);
    return 0;
}

__attribute__((noreturn)) static void be_guard(const struct confinement *how, pid_t owner, const char *folder) {
    static const int handled[] = {SIGTERM, SIGINT, SIGHUP, SIGCONT, SIGUSR1};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        sigaddset(&signals, handled[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN); /* a reader that has ended must not keep the guard from cleaning up */
    /* SIGCONT: somebody may have stopped the guard, and then no other signal that it can handle lets it clean up. */
    if (!signal_with_parent(owner, SIGCONT))
        _exit(1);
    watch_output(owner);
    setsid(); /* a signal to the process group of crossings-lessons must not reach the guard, which cleans up */
    adopt_orphans();
    spare_descendants(); /* none, unlike those of its parent: their numbers may be given to others */
    struct pipes pipes;
    struct notice notice = {0};
    /* Not before: from here on, this process cannot be ended together with its parent, and one of them removes it. */
    if (!make_room(folder)) {
        fprintf(stderr, "Cannot make the temporary folder %s: %s.\n", folder, strerror(errno));
        _exit(SAID_WHY);
    }
    struct orders orders = {signalfd(-1, &signals, SFD_CLOEXEC), owner};
    if (orders.fd < 0 || pipe(pipes.out) || pipe(pipes.error)) {
        fprintf(stderr, "Cannot confine the program: creating pipes: %s.\n", strerror(errno));
        remove_room(folder);
        _exit(SAID_WHY);
    }
    pid_t parent = start_parent(how, &pipes, folder, &orders, &notice);
    close(pipes.out[1]);
    close(pipes.error[1]);
    int status = parent < 0 ? SAID_WHY : parent == 0 ? 1 : watch_over(how, &pipes, parent, &orders, &notice);
    kill_descendants();
    get_in_line();
    remove_room(folder);
    bool is_lost = status == 0 && !output_is_written();
    if (status == 0 && is_output_given_up())
        fputs("Nobody read the output in time: the rest of it is lost.\n", stderr);
    _exit(is_lost || (status == 0 && is_output_given_up()) ? SAID_WHY : status);
}

int run_confined(const struct confinement *how) {
    char folder[256];
    pid_t self = getpid();
    int status;
    if (!name_room(folder, sizeof folder)) {
        perror("Cannot make a temporary folder");
        return 1;
    }
    fflush(stdout);
    begin_names();
    pass_signals_to(0);
    /* A shell may have started children before its exec. Then an orphan may be theirs, and must not be adopted. */
    if (spare_descendants() == 0)
        adopt_orphans();
    pid_t guard = fork();
    if (guard == 0)
        be_guard(how, self, folder);
    if (guard < 0) {
        fprintf(stderr, "Cannot confine the program: %s.\n", strerror(errno));
        return 1;
    }
    pass_signals_to(guard);
    bool ended = waitpid(guard, &status, 0) == guard && WIFEXITED(status);
    if (ended && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SAID_WHY))
        return WEXITSTATUS(status) == 0 ? 0 : 1;
    kill_descendants(); /* the guard was killed */
    remove_room(folder);
    fprintf(stderr, "Cannot confine the program: the process that guards it ended.\n");
    return 1;
}
