/* Traces a function of this program. */
#include "../common/ndjson.h"
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct front function_front = {
    .read_state = read_function_state,
    .print_place = print_function_place,
    .print_words = print_words,
    .at_breakpoint = at_breakpoint,
};

int trace_function(int (*function)(int, char **), int argument_count, char **arguments,
                   const struct trace_limits *limits) {
    struct gate gate;
    pid_t pid = fork_program(&gate, limits->output);
    if (pid == 0)
        exit(function(argument_count, arguments));
    if (pid < 0) {
        redirect_output(limits->output);
        print_error("ERR_PROGRAM", "Cannot start a process: %s.", strerror(errno));
        return 1;
    }
    return trace_child(&function_front, pid, &gate, limits) == -1 ? 1 : 0;
}
