/*
 * crossings-demo MECHANISM: two processes exchange a few messages. It is made to be watched: with `strace -f`, or with
 * its own tracer (--trace).
 *
 * Processes: this one (starts and traces) -> the demo's first process -> its second. If the demo creates names in the
 * file system, there is also a cleaner, which removes them after all others have ended, however they ended.
 */
#include "../common/ndjson.h"
#include "../common/options.h"
#include "../common/signals.h"
#include "../demos/run.h"
#include "../demos/timing.h"
#include "../trace/tracer.h"

#include <getopt.h>
#include <stdlib.h>

#define MAX_MESSAGES 1000

static const char usage[] =
    "usage: crossings-demo MECHANISM [--messages N] [--trace | --time RUNS]\n"
    "Send a few messages from one process to another and check each. Try: strace -f crossings-demo pipe\n"
    "\n"
    "  --messages N   number of messages, 1 to 1000 (default 10)\n"
    "  --trace        trace the demo: print its system calls and steps as lines of JSON\n"
    "  --time RUNS    run it RUNS times, 1 to 1000, untraced, and print the nanoseconds per message\n"
    "  --parent PID   end when the parent process, which must be PID, ends\n"
    "  --list         print the mechanisms and exit\n"
    "  --help         print this help and exit\n";

static const struct demo_entry *find_demo(const char *name) {
    char names[256] = "";
    for (const struct demo_entry *entry = demos; entry->name; entry++) {
        if (strcmp(entry->name, name) == 0)
            return entry;
        append_name(names, sizeof names, entry->name);
    }
    refuse("The mechanism must be one of %s; got \"%s\".", names, name);
}

static void list(void) {
    for (const struct demo_entry *entry = demos; entry->name; entry++) {
        event_begin("mechanism");
        event_string("name", entry->name);
        event_string("title", entry->title);
        event_string("source", entry->source);
        event_end();
    }
}

static int show_demo(const struct demo_entry *entry, int count) {
    if (!run_demo(entry, count))
        return 1;
    printf("%s: sent %d messages; all arrived intact and in order.\n", entry->title, count);
    return 0;
}

int main(int argument_count, char **arguments) {
    reset_signals();
    check_output_at_exit();
    enum { MESSAGE_COUNT = 1, TRACE, TIME, PARENT, LIST, HELP };
    static const struct option options[] = {
        {"messages", required_argument, NULL, MESSAGE_COUNT},
        {"trace", no_argument, NULL, TRACE},
        {"time", required_argument, NULL, TIME},
        {"parent", required_argument, NULL, PARENT},
        {"list", no_argument, NULL, LIST},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    int count = 10, runs = 0;
    bool trace = false;
    for (int option; (option = getopt_long(argument_count, arguments, "", options, NULL)) != -1;) {
        switch (option) {
        case MESSAGE_COUNT: count = (int)read_count("--messages", optarg, 1, MAX_MESSAGES); break;
        case TRACE: trace = true; break;
        case TIME: runs = (int)read_count("--time", optarg, 1, MAX_RUNS); break;
        case PARENT: read_parent(optarg); break;
        case LIST: list(); return 0;
        case HELP: fputs(usage, stdout); return 0;
        default: return 2; /* getopt has printed an error */
        }
    }
    if (optind == argument_count)
        refuse("The mechanism is missing. Run crossings-demo --list to see the mechanisms.");
    if (optind + 1 < argument_count)
        refuse("Unexpected argument \"%s\": give only one mechanism.", arguments[optind + 1]);
    const struct demo_entry *entry = find_demo(arguments[optind]);
    if (trace && runs)
        refuse("--trace and --time cannot be used together: tracing slows the demo down.");
    return trace ? trace_demo(entry, count) : runs ? time_demo(entry, count, runs) : show_demo(entry, count);
}
