/*
 * Counts with ptrace(2): the kernel stops each process at every system call and notifies this one. This needs no
 * privilege, but makes each call several microseconds slower: the count is right, the timing is not.
 */
#include "../common/ptrace.h"
#include "count.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MOST_STOPS 4096 /* handled together */

struct stop {
    pid_t pid;
    int status;
};

static bool start(pid_t command, char *reason) {
    if (ptrace(PTRACE_SEIZE, command, NULL, TRACE_OPTIONS) || ptrace(PTRACE_INTERRUPT, command, NULL, NULL)) {
        snprintf(reason, REASON_BYTES, "ptrace is not permitted: %s", strerror(errno));
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

/* The signal that stopped a process, which must be delivered to it; 0: it stopped only for this tracer. */
static long own_signal(int status) {
    int signal = WSTOPSIG(status), event = status >> 16;
    return event || signal == SYSCALL_STOP ? 0 : signal;
}

/* Wait for at least one stop or end, and get all others that there are, before any of these threads is resumed: the
 * kernel reports the youngest thread first, so one that makes calls all the time would keep older ones stopped. Returns
 * their number, or -1. */
static int collect(struct stop *stops) {
    int count = 0;
    while (count < MOST_STOPS) {
        stops[count].pid = waitpid(-1, &stops[count].status, __WALL | (count > 0 ? WNOHANG : 0));
        if (stops[count].pid > 0)
            count++;
        else if (stops[count].pid == 0 || count > 0)
            break;
        else if (errno != EINTR)
            return -1;
    }
    return count;
}

static int finish(pid_t command, struct tally *tally, char *reason) {
    static struct stop stops[MOST_STOPS];
    for (bool begun = false;;) { /* when the command is executed, as with the tracepoint */
        int count = collect(stops);
        if (count < 0) {
            snprintf(reason, REASON_BYTES, "cannot wait for the command: %s", strerror(errno));
            return -1;
        }
        for (int i = 0; i < count; i++) {
            pid_t pid = stops[i].pid;
            int status = stops[i].status;
            uint64_t number;
            if (pid == command && !WIFSTOPPED(status))
                return status;
            if (!WIFSTOPPED(status))
                continue;
            begun = begun || status >> 16 == PTRACE_EVENT_EXEC;
            if (begun && WSTOPSIG(status) == SYSCALL_STOP && is_entry(pid, &number))
                tally_add(tally, number);
            resume_tracee(pid, status, own_signal(status));
        }
    }
}

const struct method ptrace_method = {"ptrace", start, finish};
