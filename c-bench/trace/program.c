/* What tracing a command and tracing a function share: the child, and where the lines of JSON go. */
#include "program.h"

#include "../common/ndjson.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void open_gate(void *argument) {
    struct gate *gate = argument;
    gate_open(gate);
    close(gate->open_fd);
}

bool redirect_output(int output) {
    bool done = output == STDOUT_FILENO || dup2(output, STDOUT_FILENO) >= 0;
    if (done && output != STDOUT_FILENO)
        close(output);
    struct rlimit files; /* the tracer needs one for each thread */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    event_buffer(); /* or every event would wake the reader; flushed with each tick of the timer */
    return done;
}

pid_t fork_program(struct gate *gate, int output) {
    fflush(stdout);
    pid_t pid = fork_held(gate);
    if (pid == 0) {
        if (output > STDERR_FILENO)
            close(output);
        prctl(PR_SET_PDEATHSIG, 0); /* the tracer's death kills it all the same (EXITKILL) */
    }
    return pid;
}

int trace_child(const struct front *front, pid_t pid, struct gate *gate, const struct trace_limits *limits) {
    int status;
    if (!redirect_output(limits->output) || !attach(pid, &status))
        return -1;
    event_begin("program");
    event_integer("first", (uint64_t)pid);
    event_end();
    return watch_all(front, limits, pid, status, open_gate, gate);
}
