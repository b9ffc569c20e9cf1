/* crossings-gates: tries the three gates of a channel, and prints each attempt and its answer as a line of JSON. */
#include "../gates/gates.h"
#include "../common/ndjson.h"
#include "../common/options.h"
#include "../common/signals.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: crossings-gates\n"
    "Try to write a peer's memory, and to pass it wrong positions, frames and tags. Prints each attempt, and the same\n"
    "attempt where nothing prevents it, as lines of JSON.\n"
    "\n"
    "  --parent PID   end when the parent process, which must be PID, ends\n"
    "  --help         print this help and exit\n";

int main(int count, char **arguments) {
    reset_signals();
    check_output_at_exit();
    enum { PARENT = 1, HELP };
    static const struct option options[] = {
        {"parent", required_argument, NULL, PARENT},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        switch (option) {
        case PARENT: read_parent(optarg); break;
        case HELP: fputs(usage, stdout); return 0;
        default: return 2; /* getopt has printed an error */
        }
    }
    if (optind < count)
        refuse("Unexpected argument \"%s\": crossings-gates takes none.", arguments[optind]);
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is then an error with a reason */
    if (try_memory_gate(false) && try_memory_gate(true) && try_alignment_gate() && try_tag_gate())
        return 0;
    fprintf(stderr, "Cannot try the gates: %s.\n", strerror(errno));
    return 1;
}
