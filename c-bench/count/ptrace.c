/*
 * Counting by ptrace(2): the kernel stops each process at every system call and tells this one. It needs no privilege
 * over one's own processes, and makes each call several microseconds slower: the count is right, the time is not.
 */
#include "count.h"

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

/* EXITKILL: should this process be killed, so is what it traces. */
static const long trace_options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                                  PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

static bool start(pid_t command, char *reason) {
    if (ptrace(PTRACE_SEIZE, command, NULL, trace_options) || ptrace(PTRACE_INTERRUPT, command, NULL, NULL)) {
        snprintf(reason, REASON_BYTES, "ptrace was refused: %s", strerror(errno));
        return false;
    }
    return true;
}

static bool is_entry(pid_t pid, uint64_t *number) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return false;
    *number = info.entry.nr;
    return true;
}

/* Let a stopped process go on, with the signal it stopped for, if that was one of its own. */
static void go_on(pid_t pid, int status) {
    int signal = WSTOPSIG(status), event = status >> 16;
    bool job_control = signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
    if (event == PTRACE_EVENT_STOP && job_control)
        ptrace(PTRACE_LISTEN, pid, NULL, NULL);
    else
        ptrace(PTRACE_SYSCALL, pid, NULL, event || signal == SYSCALL_STOP ? 0L : (long)signal);
}

static int finish(pid_t command, struct tally *tally, char *reason) {
    for (;;) {
        int status;
        uint64_t number;
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0) {
            snprintf(reason, REASON_BYTES, "the traced command was lost: %s", strerror(errno));
            return -1;
        }
        if (pid == command && !WIFSTOPPED(status))
            return status;
        if (!WIFSTOPPED(status))
            continue;
        if (WSTOPSIG(status) == SYSCALL_STOP && is_entry(pid, &number))
            tally_add(tally, number);
        go_on(pid, status);
    }
}

const struct method ptrace_method = {"ptrace", start, finish};
