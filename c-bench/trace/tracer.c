/*
 * The loop that traces with ptrace(2). Each thread stops at the entry and the exit of every system call, and in a demo
 * at both ends of every step. The tracer prints what happened as lines of JSON.
 *
 * Times (CLOCK_MONOTONIC): an event begins when the tracer resumes the thread, and ends when the tracer sees it stop
 * again. The time of a call therefore includes the kernel's work and two switches between the processes, but not the
 * time that the tracer needs to record it.
 */
#include "../common/clock.h"
#include "../common/gate.h"
#include "../common/ndjson.h"
#include "../common/ptrace.h"
#include "../common/syscalls.h"
#include "ending.h"
#include "trace.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCH MAX_TASKS    /* stops handled together: all, because the kernel reports the youngest thread first */
#define PATIENCE_NS 200000 /* how long one process of a demo stays stopped to wait for the other's next stop... */
#define CHECK_NS 40000     /* ...and how often to check meanwhile whether that one sleeps */

const struct front *front;
const struct trace_limits *limits;

static uint64_t printed_calls, dropped_calls;
static sigset_t child_stopped;

#ifdef __x86_64__
#define TRACER_ARCH AUDIT_ARCH_X86_64 /* as the kernel reports it of each call */
#else
#define TRACER_ARCH AUDIT_ARCH_AARCH64
#endif

/* ---- Stops ---- */

/* A call that begins is recorded, unless the recording is full. */
static void enter(struct tracee *tracee) {
    tracee->printed = printed_calls < limits->events;
    if (!tracee->printed) {
        dropped_calls++;
        return;
    }
    printed_calls++;
    print_enter(tracee);
}

static void at_syscall(struct tracee *tracee, const struct stop *stop) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof info, &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        tracee->began_ns = stop->seen_ns; /* until it is resumed; the program may be ended before that */
        tracee->number = info.arch == TRACER_ARCH ? info.entry.nr : info.entry.nr | COMPAT_CALL;
        memcpy(tracee->arguments, info.entry.args, sizeof tracee->arguments);
        note_userfaultfd(tracee);
        tracee->in_call = !front->read_state || front->read_state(tracee);
        if (!tracee->in_call)
            return;
        enter(tracee);
        tracee->switches = tracee_switches(tracee);
        tracee->stops = 0;
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && tracee->in_call) {
        uint64_t switches = tracee_switches(tracee) - tracee->switches;
        uint64_t stops = tracee->stops + 1; /* including this one */
        if (front->read_state)
            front->read_state(tracee);
        if (tracee->printed)
            print_leave(tracee, info.exit.rval, switches > stops ? switches - stops : 0, stop->seen_ns);
        tracee->in_call = false;
    }
}

static struct tracee *add(pid_t tid, uint64_t seen_ns) {
    struct tracee *tracee = is_killing() ? NULL : new_tracee(tid);
    if (!tracee)
        return NULL;
    if (front->pin)
        front->pin(tid, count_tracees());
    if (!is_ending())
        print_born(tracee, seen_ns);
    return tracee;
}

/* A process has executed a program. Its other threads are gone, and the thread that called exec has the process's id.
 */
static void at_exec(struct tracee *tracee, const struct stop *stop) {
    unsigned long former = 0;
    ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &former);
    struct tracee *caller = find_tracee((pid_t)former);
    if (caller && caller != tracee) {
        tracee->in_call = caller->in_call;
        tracee->printed = false; /* its entry has the other thread's id */
        tracee->number = caller->number;
        memcpy(tracee->arguments, caller->arguments, sizeof tracee->arguments);
        print_gone(caller, 0, stop->seen_ns);
        remove_tracee(caller);
    }
    tracee->foreign = true;
    if (!is_ending())
        print_exec(tracee, stop->seen_ns);
}

/* Record what a stop shows. The thread stays stopped. */
static void record(struct tracee *tracee, struct stop *stop) {
    int signal = WSTOPSIG(stop->status), event = stop->status >> 16;
    stop->begins_call = stop->begins_step = false;
    stop->signal = 0;
    if (signal == SYSCALL_STOP) {
        if (!is_ending())
            at_syscall(tracee, stop);
        stop->begins_call = tracee->in_call && !is_ending();
        return;
    }
    tracee->stops++;
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
        unsigned long child;
        if (ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &child) == 0 && !find_tracee((pid_t)child))
            add((pid_t)child, stop->seen_ns); /* register it before its first stop */
    } else if (event == PTRACE_EVENT_EXEC) {
        at_exec(tracee, stop);
    } else if (!event) {
        const struct step_mark *before = tracee->step;
        if (signal == SIGTRAP && front->at_breakpoint && front->at_breakpoint(tracee, stop)) {
            stop->begins_step = tracee->step && tracee->step != before;
            return;
        }
        stop->signal = signal; /* a signal to the program itself */
        if (!is_ending())
            print_signal(tracee, signal, stop->seen_ns);
    }
}

/* Resume a stopped thread. The call or step that it begins, begins now. */
static void resume(struct tracee *tracee, const struct stop *stop) {
    tracee->stopped = false;
    uint64_t now_ns = monotonic_ns();
    if (stop->begins_call)
        tracee->began_ns = now_ns;
    if (stop->begins_step)
        tracee->step_began_ns = now_ns;
    resume_tracee(tracee->tid, stop->status, stop->signal);
}

static void end_child(pid_t pid) {
    if (kill_child(pid))
        waitpid(pid, NULL, __WALL);
}

/* ---- Waiting for stops ---- */

/* Get the next stop; `flags` as for waitpid(). Returns 1; 0 if there is none now; -1 if no process is left. */
static int next_stop(struct stop *stop, int flags) {
    bool waits = !(flags & WNOHANG);
    if (waits)
        admit_signals(true);
    stop->tid = waitpid(-1, &stop->status, __WALL | flags);
    int reason = errno;
    stop->seen_ns = monotonic_ns();
    if (waits)
        admit_signals(false);
    if (stop->tid < 0) {
        fflush(stdout);
        return reason == EINTR ? 0 : -1;
    }
    struct tracee *tracee = find_tracee(stop->tid);
    if (tracee)
        tracee->stopped = true;
    return stop->tid > 0;
}

/* True if a thread is neither stopped nor asleep. */
static bool is_one_running(void) {
    for (const struct tracee *tracee = next_tracee(NULL); tracee; tracee = next_tracee(tracee))
        if (!tracee->stopped && tracee_state(tracee) != 'S')
            return true;
    return false;
}

/* Wait for at least one stop, and get all others that there are. In a demo, also wait for the other process's stop,
 * unless that process sleeps or spins. So both advance together, and neither runs ahead because it shares the tracer's
 * core and is resumed faster. Each stop sends SIGCHLD, which is blocked, so no stop is missed. */
static int collect(struct stop *stops) {
    int count = next_stop(&stops[0], 0);
    if (count <= 0)
        return count;
    uint64_t patience_ns = stops[0].seen_ns + PATIENCE_NS;
    while (count < BATCH) {
        int more = next_stop(&stops[count], WNOHANG);
        if (more < 0)
            break;
        count += more;
        if (more)
            continue;
        if (!front->in_step || !is_one_running() || monotonic_ns() > patience_ns)
            break;
        sigtimedwait(&child_stopped, NULL, &(struct timespec){.tv_nsec = CHECK_NS});
    }
    return count;
}

/* Handle a stop or an end. */
static void handle(struct stop *stop, pid_t first, int *first_status) {
    struct tracee *tracee = find_tracee(stop->tid);
    if (WIFSTOPPED(stop->status)) {
        if (!tracee)
            tracee = add(stop->tid, stop->seen_ns);
        if (tracee)
            record(tracee, stop);
        else if (front->in_step)
            ptrace(PTRACE_DETACH, stop->tid, NULL, NULL);
        else
            end_too_many(stop->tid, dropped_calls);
    } else if (tracee) { /* otherwise it is the cleaner, or a child of a shell before its exec */
        print_gone(tracee, stop->status, stop->seen_ns);
        remove_tracee(tracee);
        if (stop->tid == first)
            *first_status = stop->status;
        if (front->in_step)
            end_demo(stop->status);
    }
}

int watch_all(const struct front *chosen_front, const struct trace_limits *chosen_limits, pid_t first, int status,
              void (*begin)(void *), void *argument) {
    int first_status = -1;
    front = chosen_front;
    limits = chosen_limits;
    sigemptyset(&child_stopped);
    sigaddset(&child_stopped, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_stopped, NULL);
    prepare_ending();
    struct tracee *tracee = add(first, monotonic_ns());
    if (!tracee) {
        print_error("ERR_SYSTEM", "Cannot read the status of the program in /proc: %s.", strerror(errno));
        end_child(first);
        return -1;
    }
    resume(tracee, &(struct stop){.tid = first, .status = status});
    begin(argument);
    for (uint64_t last_ns = monotonic_ns(); count_tracees() > 0;) {
        struct stop stops[BATCH];
        int count = collect(stops);
        allow_descriptors();
        if (count < 0)
            break;
        for (int i = 0; i < count; i++)
            handle(&stops[i], first, &first_status);
        /* Only now, so that recording one stop does not add to the time of the other process's call. */
        for (int i = 0; i < count; i++) {
            tracee = WIFSTOPPED(stops[i].status) ? find_tracee(stops[i].tid) : NULL;
            if (tracee)
                resume(tracee, &stops[i]);
        }
        last_ns = count > 0 ? monotonic_ns() : last_ns;
        if (check_ending(last_ns, dropped_calls))
            continue;
        if (front->in_step)
            return -1;
        first_status = first_status == -1 ? SIGKILL : first_status; /* with which it ends with the tracer */
        break;
    }
    if (!front->in_step) {
        end_escaped();
        print_end(reason_of_ending(), first_status, dropped_calls, monotonic_ns());
    }
    return first_status;
}

bool attach(pid_t pid, int *status) {
    static const char refused[] =
        "Cannot record system calls: ptrace is not permitted (%s). In a container, add --cap-add=SYS_PTRACE. "
        "Elsewhere, set /proc/sys/kernel/yama/ptrace_scope to 0 or 1. No other tracer, such as strace or a debugger, "
        "may be attached.";
    if (ptrace(PTRACE_SEIZE, pid, NULL, TRACE_OPTIONS) == 0 && ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0 &&
        waitpid(pid, status, __WALL) == pid && WIFSTOPPED(*status))
        return true;
    print_error("ERR_PTRACE_REFUSED", refused, strerror(errno));
    end_child(pid);
    return false;
}
