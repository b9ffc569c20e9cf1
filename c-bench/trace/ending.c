/*
 * Ends the traced program. First a last snapshot is printed, and then nothing more. All processes get SIGTERM, and
 * those that are left after a while SIGKILL.
 */
#include "ending.h"

#include "../common/clock.h"
#include "../common/ptrace.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#define TICK_MS 100
#define QUIET_NS 1000000000ULL /* without any stop: the reader is told what all threads wait for */
#define GRACE_NS 500000000ULL  /* between SIGTERM and SIGKILL */
#define LAST_NS 2000000000ULL  /* after that, if the system refuses to kill; see check_ending() */

static volatile sig_atomic_t interrupted, deadlocked;
static const char *reason; /* NULL: it is not being ended */
static uint64_t limit_ns, kill_ns, reported_ns;
static sigset_t own_signals;
static pid_t *inherited; /* children from before, up to a 0: the program, and what a shell started before its exec */

static void on_signal(int signal) {
    if (signal == SIGUSR1)
        deadlocked = 1;
    else if (signal != SIGALRM)
        interrupted = 1;
}

/* The tick is never blocked: whatever looks at a socket in /proc, even readlink(), may be the last to use it, and then
 * waits for as long as the socket lingers, or until a signal comes. Only a wait for the program ends by it. */
static void admit_tick(bool ends_waits) {
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_signal, .sa_flags = ends_waits ? 0 : SA_RESTART}, NULL);
}

void admit_signals(bool admitted) {
    sigprocmask(admitted ? SIG_UNBLOCK : SIG_BLOCK, &own_signals, NULL);
    admit_tick(admitted);
}

/* The parent of a process, by its stat file: "PID (NAME) STATE PARENT ..."; 0 if it has ended. */
static pid_t parent_of(const char *pid) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%.16s/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    size_t got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[got] = '\0';
    int parent = 0;
    for (char *c = text + got; c > text; c--)
        if (*c == ')') {
            sscanf(c, ") %*c %d", &parent);
            break;
        }
    return parent;
}

/* Calls `visit` for each child of this process. */
static void visit_children(void (*visit)(pid_t child, void *context), void *context) {
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && (entry = readdir(processes));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == getpid())
            visit(atoi(entry->d_name), context);
    if (processes)
        closedir(processes);
}

static void inherit(pid_t child, void *context) {
    size_t *count = context;
    pid_t *more = realloc(inherited, (*count + 2) * sizeof *more);
    if (!more)
        return;
    inherited = more;
    inherited[(*count)++] = child;
    inherited[*count] = 0;
}

void prepare_ending(void) {
    static const int signals[] = {SIGUSR1, SIGINT, SIGTERM, SIGHUP};
    size_t count = front->in_step ? 0 : sizeof signals / sizeof *signals;
    sigset_t tick_only;
    struct itimerval tick = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
    limit_ns = monotonic_ns() + limits->seconds * 1000000000ULL;
    sigemptyset(&own_signals);
    for (size_t i = 0; i < count; i++) { /* no SA_RESTART: waitpid() returns */
        sigaction(signals[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
        sigaddset(&own_signals, signals[i]);
    }
    admit_signals(false);
    sigemptyset(&tick_only);
    sigaddset(&tick_only, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &tick_only, NULL); /* who started this program may have blocked it */
    setitimer(ITIMER_REAL, &tick, NULL);
    size_t children = 0;
    visit_children(inherit, &children);
    /* What loses its parent becomes a child of this process. But its parent could be one of those that are inherited.
     */
    if (!front->in_step && children <= 1)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool is_ending(void) {
    return reason != NULL;
}

bool is_killing(void) {
    return reason && monotonic_ns() > kill_ns;
}

const char *reason_of_ending(void) {
    return reason ? reason : "exited";
}

/* False: the system refuses it, such as a filter of system calls. */
static bool signal_all(int signal) {
    bool permitted = true;
    for (const struct tracee *tracee = next_tracee(NULL); tracee; tracee = next_tracee(tracee))
        if ((signal == SIGKILL || tracee->tid == tracee->pid) && kill(tracee->pid, signal) && errno != ESRCH)
            permitted = false;
    return permitted;
}

static void begin_ending(const char *why, int signal, uint64_t dropped) {
    uint64_t now_ns = monotonic_ns();
    if (reason)
        return;
    print_snapshot(why, dropped, now_ns);
    reason = why;
    kill_ns = now_ns + (signal == SIGKILL ? 0 : GRACE_NS);
    signal_all(signal);
}

/* True if all threads sleep in system calls, except those that have ended. */
static bool do_all_sleep(void) {
    for (const struct tracee *tracee = next_tracee(NULL); tracee; tracee = next_tracee(tracee))
        if (!has_ended_first(tracee) && (!tracee->in_call || tracee_state(tracee) != 'S'))
            return false;
    return true;
}

bool check_ending(uint64_t last_ns, uint64_t dropped) {
    uint64_t now_ns = monotonic_ns();
    if (front->in_step)
        return now_ns < limit_ns;
    if (reason) /* what is not killed here ends with the tracer (PTRACE_O_EXITKILL) */
        return now_ns <= kill_ns || signal_all(SIGKILL) || now_ns <= kill_ns + LAST_NS;
    if (interrupted)
        begin_ending("interrupted", SIGTERM, dropped);
    else if (deadlocked && reported_ns > last_ns)
        begin_ending("deadlock", SIGTERM, dropped);
    else if (now_ns > limit_ns)
        begin_ending("timeout", SIGTERM, dropped);
    else if (reported_ns < last_ns && now_ns > last_ns + QUIET_NS && do_all_sleep()) {
        deadlocked = 0; /* a signal from before is about an earlier report */
        print_snapshot("quiet", dropped, now_ns);
        fflush(stdout);
        reported_ns = now_ns;
    }
    return true;
}

void end_too_many(pid_t tid, uint64_t dropped) {
    kill(tid, SIGKILL);
    begin_ending("limit", SIGKILL, dropped);
}

void end_demo(int status) {
    static bool failed;
    if (failed || status == 0)
        return;
    failed = true; /* the others, which wait for it, end now */
    if (WIFSIGNALED(status)) {
        char signal[64];
        snprintf(signal, sizeof signal, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        print_error("ERR_CHILD_DIED", "A process of the demo was killed by %s.", signal);
    }
    signal_all(SIGKILL);
}

static void end_unless_inherited(pid_t child, void *found) {
    for (const pid_t *other = inherited; other && *other; other++)
        if (*other == child)
            return;
    kill(child, SIGKILL);
    *(bool *)found = true;
}

void end_escaped(void) {
    uint64_t patience_ns = monotonic_ns() + 2 * GRACE_NS;
    bool found = true;
    while (found && monotonic_ns() < patience_ns) {
        found = false;
        visit_children(end_unless_inherited, &found);
        while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
            continue;
        if (found)
            usleep(1000);
    }
}
