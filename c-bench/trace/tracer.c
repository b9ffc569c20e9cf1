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
#define MAX_SYSCALLS 1024

/* EXITKILL: should this process be killed, so is what it traces. */
static const long trace_options =
    PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;

static const char *const syscall_names[MAX_SYSCALLS] = {
#include "syscall-names.inc"
};

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

/* ---- Printing ---- */

static const char *syscall_name(uint64_t number) {
    static char unnamed[32];
    if (number < MAX_SYSCALLS && syscall_names[number])
        return syscall_names[number];
    snprintf(unnamed, sizeof unnamed, "syscall_%llu", (unsigned long long)number);
    return unnamed;
}

static void print_place(const struct demo_state *state) {
    static const char *const phases[] = {NULL, "setup", "message", "teardown"};
    event_string("phase", phases[state->phase]);
    if (state->message)
        event_integer("message", (uint64_t)state->message);
    else
        event_string("message", NULL);
}

static void print_enter(struct tracee *tracee) {
    const struct call_site *site = tracee->state.site; /* a constant of this program: the same here as there */
    event_begin("enter");
    event_integer("pid", (uint64_t)tracee->pid);
    event_string("name", syscall_name(tracee->number));
    print_place(&tracee->state);
    event_string("file", site ? site->file : NULL);
    event_integer("line", site ? (uint64_t)site->line : 0);
    event_string("call", site ? site->function : NULL);
    print_entry(tracee, syscall_name(tracee->number));
    event_end();
}

static void print_leave(const struct tracee *tracee, int64_t result, uint64_t sleeps, uint64_t seen_ns) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)result);
    event_begin("leave");
    event_integer("pid", (uint64_t)tracee->pid);
    event_integer("t", tracee->began_ns);
    event_integer("end", seen_ns);
    event_string("result", text);
    if (result < 0 && result > -4096)
        event_string("error", strerror((int)-result));
    event_integer("sleeps", sleeps);
    print_exit(tracee, syscall_name(tracee->number), result);
    print_words(tracee);
    event_end();
}

static void print_step(const struct tracee *tracee, uint64_t seen_ns) {
    static const char *const kinds[] = {NULL, "store", "load", "release", "see"};
    const struct step_mark *step = tracee->step;
    event_begin("step");
    event_integer("pid", (uint64_t)tracee->pid);
    event_integer("t", tracee->step_began_ns);
    event_integer("end", seen_ns);
    event_string("name", (const char *)(uintptr_t)step->name);
    event_string("step", kinds[step->kind]);
    event_integer("bytes", step->bytes);
    event_integer("address", (uint64_t)(uintptr_t)tracee->state.step_address);
    event_string("file", (const char *)(uintptr_t)step->file);
    event_integer("line", step->line);
    print_place(&tracee->state);
    print_words(tracee);
    event_end();
}

/* The end of a process, and of the call that it never came back from. */
static void print_gone(const struct tracee *tracee, const struct stop *stop) {
    event_begin("gone");
    event_integer("pid", (uint64_t)stop->pid);
    event_string("role", tracee->role == READER ? "reader" : "writer");
    event_integer("t", tracee->in_call ? tracee->began_ns : stop->seen_ns);
    event_string("killedBy", WIFSIGNALED(stop->status) ? strsignal(WTERMSIG(stop->status)) : NULL);
    event_end();
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

/* Let a stopped process go on, with the signal that it stopped for if that was one of its own. */
static void go_on(struct tracee *tracee, long signal) {
    tracee->stopped = false;
    tracee->began_ns = monotonic_ns();
    ptrace(PTRACE_SYSCALL, tracee->pid, NULL, signal);
}

static void at_stop(struct tracee *tracee, const struct stop *stop) {
    int signal = WSTOPSIG(stop->status), event = stop->status >> 16;
    bool begins = false;
    long passed_on = 0;
    tracee->stops += signal != SYSCALL_STOP;
    if (signal == SYSCALL_STOP) {
        at_syscall(tracee, stop);
    } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
        tracee->stopped = false;
        ptrace(PTRACE_LISTEN, tracee->pid, NULL, NULL); /* stopped by job control, until it is continued */
        return;
    } else if (!event && signal == SIGTRAP) {
        const struct step_mark *before = tracee->step;
        if (!at_breakpoint(tracee, stop))
            passed_on = signal;
        begins = tracee->step && tracee->step != before;
    } else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
        unsigned long child;
        if (ptrace(PTRACE_GETEVENTMSG, tracee->pid, NULL, &child) == 0 && !find_tracee((pid_t)child))
            new_tracee((pid_t)child); /* known before it stops for the first time */
    } else if (!event) {
        passed_on = signal;
    }
    uint64_t call_began_ns = tracee->began_ns;
    go_on(tracee, passed_on);
    if (begins)
        tracee->step_began_ns = tracee->began_ns;
    /* A stop in the middle of a call (a fork, a signal) does not begin it anew. */
    if (tracee->in_call && signal != SYSCALL_STOP)
        tracee->began_ns = call_began_ns;
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
            const struct stop *stop = &stops[i];
            struct tracee *tracee = find_tracee(stop->pid);
            if (WIFSTOPPED(stop->status)) {
                if (!tracee)
                    tracee = new_tracee(stop->pid);
                if (tracee)
                    at_stop(tracee, stop);
            } else if (tracee) { /* else it is the cleaner */
                print_gone(tracee, stop);
                tracee_close(tracee);
                if (stop->pid == first)
                    well = WIFEXITED(stop->status) && WEXITSTATUS(stop->status) == 0;
            }
        }
    }
}

static void on_alarm(int signal) {
    (void)signal;
    time_is_up = 1;
}

static void print_error(const char *code, const char *format, const char *reason) {
    char sentence[512];
    snprintf(sentence, sizeof sentence, format, reason);
    event_begin("error");
    event_string("code", code);
    event_string("message", sentence);
    event_end();
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
    go_on(tracee, 0);
    begin_demo(entry, pid, go);
    bool well = watch_all(pid);
    if (time_is_up)
        print_error("ERR_STALLED", "the demo did not end within %s", "a minute");
    return well ? 0 : 1;
}
