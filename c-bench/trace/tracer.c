/*
 * Traces a demo with ptrace(2). Each process stops at the entry and the exit of every system call and at both ends of
 * every step. The tracer prints what happened as lines of JSON: "enter" and "leave" for a call, "step" for a step.
 *
 * Times (CLOCK_MONOTONIC): an event begins when the tracer resumes the process, and ends when the tracer sees it stop
 * again. The time of a call therefore includes the kernel's work and two switches between the processes, but not the
 * time that the tracer needs to record it.
 */
#include "tracer.h"

#include "../common/clock.h"
#include "../common/ndjson.h"
#include "../common/ptrace.h"
#include "../common/topology.h"
#include "trace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_TRACEES 4
#define LIMIT_SECONDS 60
#define PATIENCE_NS 200000 /* how long one process stays stopped to wait for the other's next stop... */
#define CHECK_NS 40000     /* ...and how often to check meanwhile whether that one sleeps */

static const char refused[] =
    "Cannot record system calls: ptrace is not permitted (%s). In a container, add --cap-add=SYS_PTRACE. Elsewhere, "
    "set /proc/sys/kernel/yama/ptrace_scope to 0 or 1. No other tracer, such as strace or a debugger, may be attached.";

static struct tracee tracees[MAX_TRACEES];
static int cores[2];
static volatile sig_atomic_t time_is_up;

struct stop {
    pid_t pid;
    int status;
    uint64_t seen_ns;
    bool begins_call, begins_step; /* when the process is resumed */
    long signal;                   /* delivered to it then; 0: none */
};

static struct tracee *find_tracee(pid_t pid) {
    for (int i = 0; i < MAX_TRACEES; i++)
        if (tracees[i].pid == pid)
            return &tracees[i];
    return NULL;
}

static struct tracee *new_tracee(pid_t pid) {
    struct tracee *tracee = find_tracee(0);
    if (!tracee || !tracee_open(tracee, pid))
        return NULL;
    pin_process(pid, cores[(tracee - tracees) % 2]); /* if that is refused, it runs where it may */
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
        uint64_t stops = tracee->stops + 1; /* including this one */
        tracee_read_state(tracee);
        print_leave(tracee, info.exit.rval, switches > stops ? switches - stops : 0, stop->seen_ns);
        tracee->in_call = false;
    }
}

/* Record the end of a step that the process stopped at. False: it did not stop at a breakpoint of the tracer. */
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

/* Record what a stop shows. The process stays stopped. */
static void record(struct tracee *tracee, struct stop *stop) {
    int signal = WSTOPSIG(stop->status), event = stop->status >> 16;
    stop->begins_call = stop->begins_step = false;
    stop->signal = 0;
    if (signal == SYSCALL_STOP) {
        at_syscall(tracee, stop);
        stop->begins_call = tracee->in_call;
        return;
    }
    tracee->stops++;
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
        unsigned long child;
        if (ptrace(PTRACE_GETEVENTMSG, tracee->pid, NULL, &child) == 0 && !find_tracee((pid_t)child))
            new_tracee((pid_t)child); /* register it before its first stop */
    } else if (!event && signal == SIGTRAP) {
        const struct step_mark *before = tracee->step;
        if (!at_breakpoint(tracee, stop))
            stop->signal = signal;
        stop->begins_step = tracee->step && tracee->step != before;
    } else if (!event) {
        stop->signal = signal; /* a signal to the process itself */
    }
}

/* Resume a stopped process. The call or step that it begins, begins now. */
static void resume(struct tracee *tracee, const struct stop *stop) {
    tracee->stopped = false;
    uint64_t now_ns = monotonic_ns();
    if (stop->begins_call)
        tracee->began_ns = now_ns;
    if (stop->begins_step)
        tracee->step_began_ns = now_ns;
    resume_tracee(tracee->pid, stop->status, stop->signal);
}

/* Get the next stop; `flags` as for waitpid(). Returns 1; 0 if there is none now; -1 if no process is left or the time
 * is up. */
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

/* True if a process is neither stopped nor asleep. */
static bool is_one_running(void) {
    for (int i = 0; i < MAX_TRACEES; i++)
        if (tracees[i].pid && !tracees[i].stopped && !tracee_sleeps(&tracees[i]))
            return true;
    return false;
}

/* Wait for at least one stop, and then for the other process's stop, unless that process sleeps or spins. So both
 * advance together, and neither runs ahead because it shares the tracer's core and is resumed faster. Each stop sends
 * SIGCHLD, which is blocked, so no stop is missed. */
static int collect(struct stop *stops, int limit, const sigset_t *child_stopped) {
    int count = next_stop(&stops[0], 0);
    if (count <= 0)
        return count;
    uint64_t patience_ns = stops[0].seen_ns + PATIENCE_NS;
    while (count < limit) {
        int more = next_stop(&stops[count], WNOHANG);
        if (more < 0)
            break;
        count += more;
        if (more)
            continue;
        if (!is_one_running() || monotonic_ns() > patience_ns)
            break;
        sigtimedwait(child_stopped, NULL, &(struct timespec){.tv_nsec = CHECK_NS});
    }
    return count;
}

/* Trace until all processes have ended. True: the first one exited with status 0. */
static bool watch_all(pid_t first) {
    bool succeeded = false;
    sigset_t child_stopped;
    sigemptyset(&child_stopped);
    sigaddset(&child_stopped, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_stopped, NULL);
    for (;;) {
        struct stop stops[MAX_TRACEES + 1];
        int count = collect(stops, MAX_TRACEES + 1, &child_stopped);
        if (count <= 0)
            return succeeded && !time_is_up;
        for (int i = 0; i < count; i++) {
            struct stop *stop = &stops[i];
            struct tracee *tracee = find_tracee(stop->pid);
            if (WIFSTOPPED(stop->status)) {
                if (!tracee)
                    tracee = new_tracee(stop->pid);
                if (tracee)
                    record(tracee, stop);
            } else if (tracee) { /* otherwise it is the cleaner */
                print_gone(tracee, stop->status, stop->seen_ns);
                tracee_close(tracee);
                if (stop->pid == first)
                    succeeded = WIFEXITED(stop->status) && WEXITSTATUS(stop->status) == 0;
            }
        }
        /* Only now, so that recording one stop does not add to the time of the other process's call. */
        for (int i = 0; i < count; i++) {
            struct tracee *tracee = WIFSTOPPED(stops[i].status) ? find_tracee(stops[i].pid) : NULL;
            if (tracee)
                resume(tracee, &stops[i]);
        }
    }
}

static void on_alarm(int signal) {
    (void)signal;
    time_is_up = 1;
}

int trace_demo(const struct demo_entry *entry, int count) {
    struct gate gate;
    int status;
    pid_t pid = prepare_demo(entry, count, &gate);
    if (pid < 0) {
        perror("Cannot start the demo");
        return 1;
    }
    if (ptrace(PTRACE_SEIZE, pid, NULL, TRACE_OPTIONS) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
        waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status) || !plant_breakpoints(pid)) {
        print_error("ERR_PTRACE_REFUSED", refused, strerror(errno));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, __WALL);
        return 1;
    }
    choose_cores(cores);
    if (!entry->spins) {
        /* The tracer resumes processes that sleep fastest if they share its core. */
        cores[1] = cores[0];
        pin_process(0, cores[0]);
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
    resume(tracee, &(struct stop){.pid = pid, .status = status});
    begin_demo(entry, pid, &gate);
    bool succeeded = watch_all(pid);
    if (time_is_up)
        print_error("ERR_STALLED", "The demo did not end within %s.", "a minute");
    return succeeded ? 0 : 1;
}
