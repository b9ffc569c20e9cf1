/*
 * Tracing a demo by ptrace(2): each process stops at the entry and the exit of each system call and at the two ends of
 * each step, and what it did is printed as lines of JSON: "enter" and "leave" for a call, "step" for a step.
 *
 * Times, CLOCK_MONOTONIC: something begins when its process is let go on, and ends when the process is seen to have
 * stopped. So a call's time holds the kernel's work and the two switches to and from this process, but none of the time
 * that the recording itself takes.
 */
#include "trace.h"

#include "../demos/run.h"
#include "../harness/clock.h"
#include "../harness/ndjson.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif
#define SYSCALL_STOP (SIGTRAP | 0x80)
#define MOST_TRACEES 4
#define LIMIT_SECONDS 60
#define PATIENCE_NS 200000 /* how long one process stays stopped for the other's next stop... */
#define LOOK_NS 40000      /* ...and how often to look whether that one has fallen asleep meanwhile */

/* EXITKILL: should this process be killed, so is what it traces. */
static const long trace_options =
    PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;

static const char refused[] =
    "System calls cannot be recorded here, because ptrace was refused (%s). In a container, start it with "
    "--cap-add=SYS_PTRACE; elsewhere, /proc/sys/kernel/yama/ptrace_scope must be 0 or 1; and nothing else, such as "
    "strace or a debugger, may trace this already.";

static struct tracee tracees[MOST_TRACEES];
static int cores[2];
static volatile sig_atomic_t time_is_up;

struct stop {
    pid_t pid;
    int status;
    uint64_t seen_ns;
    bool begins_call, begins_step; /* when the process goes on */
    long passed_on;                /* the signal that it gets then */
};

static struct tracee *find_tracee(pid_t pid) {
    for (int i = 0; i < MOST_TRACEES; i++)
        if (tracees[i].pid == pid)
            return &tracees[i];
    return NULL;
}

static struct tracee *new_tracee(pid_t pid) {
    struct tracee *tracee = find_tracee(0);
    if (!tracee || !tracee_open(tracee, pid))
        return NULL;
    pin(pid, cores[(tracee - tracees) % 2]);
    return tracee;
}

/* ---- Stops ---- */

static bool recording(const struct tracee *tracee) {
    return tracee->state.phase != BEFORE;
}

static void at_syscall(struct tracee *tracee, const struct stop *stop) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->pid, sizeof info, &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        tracee_read_state(tracee);
        tracee->in_call = recording(tracee);
        if (!tracee->in_call)
            return;
        tracee->number = info.entry.nr;
        memcpy(tracee->arguments, info.entry.args, sizeof tracee->arguments);
        print_enter(tracee);
        tracee->switches = tracee_switches(tracee);
        tracee->stops = 0;
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && tracee->in_call) {
        uint64_t switches = tracee_switches(tracee) - tracee->switches;
        uint64_t stops = tracee->stops + 1; /* and this one */
        tracee_read_state(tracee);
        print_leave(tracee, info.exit.rval, switches > stops ? switches - stops : 0, stop->seen_ns);
        tracee->in_call = false;
    }
}

/* Is it one of our breakpoints? */
static bool at_breakpoint(struct tracee *tracee, const struct stop *stop) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->pid, sizeof info, &info) <= 0)
        return false;
    const struct step_mark *mark = step_at(tracee->pid, info.instruction_pointer);
    if (!mark)
        return false;
    tracee_read_state(tracee);
    if (!recording(tracee))
        return true;
    if (!mark->is_end) {
        tracee->step = mark;
    } else if (tracee->step) {
        print_step(tracee, stop->seen_ns);
        tracee->step = NULL;
    }
    return true;
}

/* Note all that a stop tells. The process stays stopped. */
static void note(struct tracee *tracee, struct stop *stop) {
    int signal = WSTOPSIG(stop->status), event = stop->status >> 16;
    stop->begins_call = stop->begins_step = false;
    stop->passed_on = 0;
    if (signal == SYSCALL_STOP) {
        at_syscall(tracee, stop);
        stop->begins_call = tracee->in_call;
        return;
    }
    tracee->stops++;
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
        unsigned long child;
        if (ptrace(PTRACE_GETEVENTMSG, tracee->pid, NULL, &child) == 0 && !find_tracee((pid_t)child))
            new_tracee((pid_t)child); /* known before it stops for the first time */
    } else if (!event && signal == SIGTRAP) {
        const struct step_mark *before = tracee->step;
        if (!at_breakpoint(tracee, stop))
            stop->passed_on = signal;
        stop->begins_step = tracee->step && tracee->step != before;
    } else if (!event) {
        stop->passed_on = signal; /* one of its own */
    }
}

/* Let a stopped process go on. What it begins, begins now. */
static void go_on(struct tracee *tracee, const struct stop *stop) {
    int signal = WSTOPSIG(stop->status);
    bool job_control = stop->status >> 16 == PTRACE_EVENT_STOP && signal != SIGTRAP;
    tracee->stopped = false;
    uint64_t now_ns = monotonic_ns();
    if (stop->begins_call)
        tracee->began_ns = now_ns;
    if (stop->begins_step)
        tracee->step_began_ns = now_ns;
    /* LISTEN: it stays stopped until it is continued. */
    ptrace(job_control ? PTRACE_LISTEN : PTRACE_SYSCALL, tracee->pid, NULL, stop->passed_on);
}

/* One stop, if there is one; `flags` as for waitpid(). -1: nobody is left, or the time is up; 0: not now. */
static int next_stop(struct stop *stop, int flags) {
    for (;;) {
        stop->pid = waitpid(-1, &stop->status, __WALL | flags);
        stop->seen_ns = monotonic_ns();
        if (stop->pid >= 0 || errno != EINTR || time_is_up)
            break;
    }
    struct tracee *tracee = stop->pid > 0 ? find_tracee(stop->pid) : NULL;
    if (tracee)
        tracee->stopped = true;
    return stop->pid > 0 ? 1 : stop->pid;
}

/* Is there a process that neither has stopped nor sleeps? */
static bool one_is_under_way(void) {
    for (int i = 0; i < MOST_TRACEES; i++)
        if (tracees[i].pid && !tracees[i].stopped && !tracee_sleeps(&tracees[i]))
            return true;
    return false;
}

/* Wait for stops: at least one, and then for the other process's, unless it sleeps or spins. So the two go on in step,
 * and none runs ahead only because it happens to be on this process's core and is let go on faster. SIGCHLD, which each
 * stop sends, is blocked, so none is missed. */
static int collect(struct stop *stops, int most, const sigset_t *child_stopped) {
    int count = next_stop(&stops[0], 0);
    if (count <= 0)
        return count;
    uint64_t patience_ns = stops[0].seen_ns + PATIENCE_NS;
    while (count < most) {
        int more = next_stop(&stops[count], WNOHANG);
        if (more < 0)
            break;
        count += more;
        if (more)
            continue;
        if (!one_is_under_way() || monotonic_ns() > patience_ns)
            break;
        sigtimedwait(child_stopped, NULL, &(struct timespec){.tv_nsec = LOOK_NS});
    }
    return count;
}

/* Watch until all processes have ended. True: the first one ended well. */
static bool watch_all(pid_t first) {
    bool well = false;
    sigset_t child_stopped;
    sigemptyset(&child_stopped);
    sigaddset(&child_stopped, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_stopped, NULL);
    for (;;) {
        struct stop stops[MOST_TRACEES + 1];
        int count = collect(stops, MOST_TRACEES + 1, &child_stopped);
        if (count <= 0)
            return well && !time_is_up;
        for (int i = 0; i < count; i++) {
            struct stop *stop = &stops[i];
            struct tracee *tracee = find_tracee(stop->pid);
            if (WIFSTOPPED(stop->status)) {
                if (!tracee)
                    tracee = new_tracee(stop->pid);
                if (tracee)
                    note(tracee, stop);
            } else if (tracee) { /* else it is the cleaner */
                print_gone(tracee, stop->status, stop->seen_ns);
                tracee_close(tracee);
                if (stop->pid == first)
                    well = WIFEXITED(stop->status) && WEXITSTATUS(stop->status) == 0;
            }
        }
        /* Only now, so that noting one's stop takes no time from the other's call. */
        for (int i = 0; i < count; i++) {
            struct tracee *tracee = WIFSTOPPED(stops[i].status) ? find_tracee(stops[i].pid) : NULL;
            if (tracee)
                go_on(tracee, &stops[i]);
        }
    }
}

static void on_alarm(int signal) {
    (void)signal;
    time_is_up = 1;
}

int trace_demo(const struct demo_entry *entry, int count) {
    int go, status;
    pid_t pid = prepare_demo(entry, count, &go);
    if (pid < 0) {
        perror("the demo could not be started");
        return 1;
    }
    if (ptrace(PTRACE_SEIZE, pid, NULL, trace_options) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
        waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status) || !plant_breakpoints(pid)) {
        print_error("ERR_PTRACE_REFUSED", refused, strerror(errno));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, __WALL);
        return 1;
    }
    choose_cores(cores);
    if (!entry->spins) {
        /* Processes that wait asleep are let go on fastest on this process's own core. */
        cores[1] = cores[0];
        pin(0, cores[0]);
    }
    struct tracee *tracee = new_tracee(pid);
    if (!tracee) {
        print_error("ERR_PTRACE_REFUSED", refused, strerror(errno));
        return 1; /* EXITKILL ends the demo */
    }
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm}, NULL);
    alarm(LIMIT_SECONDS);
    event_begin("demo");
    event_string("title", entry->title);
    event_string("source", entry->source);
    event_integer("first", (uint64_t)pid);
    event_end();
    go_on(tracee, &(struct stop){.pid = pid, .status = status});
    begin_demo(entry, pid, go);
    bool well = watch_all(pid);
    if (time_is_up)
        print_error("ERR_STALLED", "the demo did not end within %s", "a minute");
    return well ? 0 : 1;
}
