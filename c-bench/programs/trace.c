/*
 * crossings-trace COMMAND: runs a command and records the system calls of all its processes and threads as lines of
 * JSON on another descriptor than its output.
 *
 * SIGINT or SIGTERM ends the command and the recording. SIGUSR1 says that the last snapshot was a deadlock.
 */
#include "../common/ndjson.h"
#include "../common/options.h"
#include "../common/signals.h"
#include "../trace/tracer.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>

static const char usage[] =
    "usage: crossings-trace [OPTIONS] -- COMMAND [ARGUMENT...]\n"
    "Record the system calls of a command and of all processes that it starts, as lines of JSON.\n"
    "\n"
    "  --output FD       write the lines to this descriptor (default 3); the command keeps its own output\n"
    "  --timeout S       end the command after S seconds, 1 to 86400 (default 60)\n"
    "  --events N        record at most N calls, up to 10000000; count the others (default 200000)\n"
    "  --tasks N         end the command if it has more than N processes and threads, up to 1000 (default 256)\n"
    "  --payload BYTES   record at most BYTES of each buffer, 0 to 256 (default 256)\n"
    "  --parent PID      end when the parent process, which must be PID, ends\n"
    "  --help            print this help and exit\n";

int main(int argument_count, char **arguments) {
    reset_signals();
    check_output_at_exit();
    enum { OUTPUT = 1, TIMEOUT, EVENTS, TASKS, PAYLOAD, PARENT, HELP };
    static const struct option options[] = {
        {"output", required_argument, NULL, OUTPUT},
        {"timeout", required_argument, NULL, TIMEOUT},
        {"events", required_argument, NULL, EVENTS},
        {"tasks", required_argument, NULL, TASKS},
        {"payload", required_argument, NULL, PAYLOAD},
        {"parent", required_argument, NULL, PARENT},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    struct trace_limits limits = DEFAULT_LIMITS;
    for (int option; (option = getopt_long(argument_count, arguments, "+", options, NULL)) != -1;) {
        switch (option) {
        case OUTPUT: limits.output = (int)read_count("--output", optarg, 1, 1023); break;
        case TIMEOUT: limits.seconds = read_count("--timeout", optarg, 1, 86400); break;
        case EVENTS: limits.events = read_count("--events", optarg, 1, 10000000); break;
        case TASKS: limits.tasks = read_count("--tasks", optarg, 1, MAX_TASKS); break;
        case PAYLOAD: limits.payload_bytes = read_count("--payload", optarg, 0, MAX_PAYLOAD_BYTES); break;
        case PARENT: read_parent(optarg); break;
        case HELP: fputs(usage, stdout); return 0;
        default: return 2; /* getopt has printed an error */
        }
    }
    if (optind == argument_count)
        refuse("The command is missing. Run crossings-trace --help for help.");
    if (fcntl(limits.output, F_GETFD) < 0)
        refuse("--output must be an open descriptor, as in 3>FILE; got %d, which is not open.", limits.output);
    return trace_command(arguments + optind, &limits);
}
