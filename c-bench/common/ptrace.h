/* What crossings-count and the tracer share of ptrace(2). */
#ifndef CROSSINGS_PTRACE_H
#define CROSSINGS_PTRACE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif
#define SYSCALL_STOP (SIGTRAP | 0x80) /* the signal of a stop at a system call, by PTRACE_O_TRACESYSGOOD */

/* Trace system calls and children. EXITKILL: if the tracer is killed, the processes that it traces are killed. */
#define TRACE_OPTIONS                                                                                                  \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |     \
     PTRACE_O_EXITKILL)

/* Resume a process that stopped with `status` until its next system call, and deliver `signal` to it (0: none). A
 * process that job control stopped stays stopped until it is continued (PTRACE_LISTEN). */
static inline void resume_tracee(pid_t pid, int status, long signal) {
    bool job_control = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
    ptrace(job_control ? PTRACE_LISTEN : PTRACE_SYSCALL, pid, NULL, signal);
}

#endif
