/*
 * crossings-lessons NAME [ARGUMENTS]: runs a program of a lesson or of a pitfall, as it is or confined. The programs
 * are the files c-bench/lessons/NN-name/FILE.c and c-bench/pitfalls/NAME/FILE.c.
 */
#include "../common/ndjson.h"
#include "../common/options.h"
#include "../common/signals.h"
#include "../lessons/confine.h"
#include "../lessons/programs.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef main

#define MOST_TASKS 200 /* the tracer needs a descriptor for each, and has as many as the program */

static const char usage[] =
    "usage: crossings-lessons [--confine] NAME [ARGUMENTS]\n"
    "Run a program of a lesson or a pitfall, such as: crossings-lessons 01-kernel/calls\n"
    "\n"
    "  --confine        run it with limits, isolated from other processes; print lines of JSON\n"
    "  --limit-ms N     end it after N milliseconds, 100 to 600000 (default 20000); with --confine,\n"
    "                   without --trace\n"
    "  --memory-mb N    its memory in MiB, 16 to 65536 (default 1024); with --confine\n"
    "  --no-namespaces  do not try to create namespaces; with --confine\n"
    "  --exec           NAME is the path of another program, such as node; with --confine\n"
    "  --trace          record its system calls, as lines of JSON on another descriptor; with --confine. Its options:\n"
    "                   --output FD, --timeout S, --events N, --tasks N, --payload BYTES, as crossings-trace has them\n"
    "  --parent PID     end when the parent process, which must be PID, ends\n"
    "  --list           print the programs and exit\n"
    "  --help           print this help and exit\n";

static void list(void) {
    for (const struct program *program = first_program(); program; program = program->next) {
        char name[128];
        name_of(program, name, sizeof name);
        event_begin("program");
        event_string("name", name);
        event_end();
    }
}

int main(int argument_count, char **arguments) {
    reset_signals();
    check_output_at_exit();
    enum {
        CONFINE = 1,
        LIMIT,
        MEMORY,
        PLAIN,
        EXEC,
        TRACE,
        OUTPUT,
        TIMEOUT,
        EVENTS,
        TASKS,
        PAYLOAD,
        PARENT,
        LIST,
        HELP
    };
    static const struct option options[] = {
        {"confine", no_argument, NULL, CONFINE},
        {"limit-ms", required_argument, NULL, LIMIT},
        {"memory-mb", required_argument, NULL, MEMORY},
        {"no-namespaces", no_argument, NULL, PLAIN},
        {"exec", no_argument, NULL, EXEC},
        {"trace", no_argument, NULL, TRACE},
        {"output", required_argument, NULL, OUTPUT},
        {"timeout", required_argument, NULL, TIMEOUT},
        {"events", required_argument, NULL, EVENTS},
        {"tasks", required_argument, NULL, TASKS},
        {"payload", required_argument, NULL, PAYLOAD},
        {"parent", required_argument, NULL, PARENT},
        {"list", no_argument, NULL, LIST},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    bool confine = false, executes = false, limited = false;
    struct confinement how = {.limit_ms = 20000, .memory_mb = 1024};
    struct trace_limits trace = DEFAULT_LIMITS;
    trace.tasks = MOST_TASKS;
    for (int option; (option = getopt_long(argument_count, arguments, "+", options, NULL)) != -1;) {
        switch (option) {
        case CONFINE: confine = true; break;
        case LIMIT:
            limited = true;
            how.limit_ms = (int)read_count("--limit-ms", optarg, 100, 600000);
            break;
        case MEMORY: how.memory_mb = (int)read_count("--memory-mb", optarg, 16, 65536); break;
        case PLAIN: how.plain = true; break;
        case EXEC: executes = true; break;
        case TRACE: how.trace = &trace; break;
        case OUTPUT: trace.output = (int)read_count("--output", optarg, 3, 63); break;
        case TIMEOUT: trace.seconds = read_count("--timeout", optarg, 1, 590); break;
        case EVENTS: trace.events = read_count("--events", optarg, 1, 10000000); break;
        case TASKS: trace.tasks = read_count("--tasks", optarg, 1, MOST_TASKS); break;
        case PAYLOAD: trace.payload_bytes = read_count("--payload", optarg, 0, MAX_PAYLOAD_BYTES); break;
        case PARENT: read_parent(optarg); break;
        case LIST: list(); return 0;
        case HELP: fputs(usage, stdout); return 0;
        default: return 2; /* getopt has printed an error */
        }
    }
    if (optind == argument_count)
        refuse("The name of the program is missing. Run crossings-lessons --list to see the programs.");
    how.argc = argument_count - optind;
    how.argv = arguments + optind;
    if (executes && !confine)
        refuse("--exec runs a confined program only: add --confine.");
    const struct program *program = executes ? NULL : find_program(how.argv[0]);
    if (!executes && !program)
        refuse("Unknown program \"%s\". Run crossings-lessons --list to see the programs.", how.argv[0]);
    if (how.trace && !confine)
        refuse("--trace records confined programs only: add --confine.");
    if (how.trace && limited)
        refuse("--limit-ms and --trace cannot be used together: the limit of a recording is --timeout.");
    if (how.trace && fcntl(trace.output, F_GETFD) < 0)
        refuse("--output must be an open descriptor, as in 3>FILE; got %d, which is not open.", trace.output);
    if (how.trace) /* the tracer ends the program; the guard ends a tracer that does not */
        how.limit_ms = (int)trace.seconds * 1000 + 5000;
    if (!confine)
        return program->run(how.argc, how.argv);
    how.run = program ? program->run : NULL;
    return run_confined(&how);
}
