/* Reads the command line of crossings-sweep, and has the table of the mechanisms. */
#include "command-line.h"

#include "../common/options.h"
#include "streams.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct transport ring_transport;

const struct transport *const transports[] = {&pipe_transport, &socketpair_transport, &uds_transport,
                                              &tcp_transport,  &ring_transport,       NULL};

static const char usage[] =
    "usage: crossings-sweep [OPTION...] MECHANISM:MODE:BUFFERS:BYTES...\n"
    "Move a fixed number of bytes through a mechanism, with a buffer of the given size, once for each point and in "
    "the\n"
    "given order. Prints one line of JSON per point.\n"
    "\n"
    "  MECHANISM          pipe, socketpair, uds, tcp or ring\n"
    "  MODE               process or thread: what the two sides are\n"
    "  BUFFERS            default or matched: the kernel's buffers (matched: pipe, socketpair and ring only)\n"
    "  BYTES              of the buffer, 8 to 16777216\n"
    "  --total BYTES      moved per sample, 8 to 1073741824 (default 16777216)\n"
    "  --max-writes N     with a small buffer, move only N times its size (a quarter if matched),\n"
    "                     0 to 1000000000 (default 0: no limit)\n"
    "  --cores A,B        the two cores to run on (default: chosen from the topology)\n"
    "  --no-pin           let the scheduler place both sides\n"
    "  --counters         count cache misses in hardware; fails where that is not possible\n"
    "  --probe            print whether hardware counters can be used, and exit\n"
    "  --stall-ms N       fail after this long without progress, 10 to 600000 (default 10000)\n"
    "  --parent PID       end when the parent process, which must be PID, ends\n"
    "  --help             print this help and exit\n";

static const struct transport *find_transport(const char *name) {
    char names[128] = "";
    for (size_t i = 0; transports[i]; i++) {
        if (strcmp(transports[i]->name, name) == 0)
            return transports[i];
        append_name(names, sizeof names, transports[i]->name);
    }
    refuse("The mechanism of a point must be one of %s; got \"%s\".", names, name);
}

/* True if `text` is `yes`, false if it is `no`. */
static bool read_choice(const char *what, const char *text, const char *no, const char *yes) {
    if (strcmp(text, yes) && strcmp(text, no))
        refuse("The %s of a point must be %s or %s; got \"%s\".", what, no, yes, text);
    return strcmp(text, yes) == 0;
}

struct point read_point(const char *text) {
    char mechanism[16], mode[16], buffers[16], bytes[16];
    int used = 0;
    if (sscanf(text, "%15[^:]:%15[^:]:%15[^:]:%15[^:]%n", mechanism, mode, buffers, bytes, &used) != 4 || text[used])
        refuse("A point must be MECHANISM:MODE:BUFFERS:BYTES, such as pipe:process:default:4096; got \"%s\".", text);
    struct point point = {
        .transport = find_transport(mechanism),
        .threads = read_choice("mode", mode, "process", "thread"),
        .matched = read_choice("buffers", buffers, "default", "matched"),
        .size_bytes = read_count("The size of a point", bytes, MIN_SIZE_BYTES, MAX_SIZE_BYTES),
    };
    if (point.matched && !point.transport->matches)
        refuse("The buffers of %s cannot be matched; got \"%s\".", mechanism, text);
    return point;
}

void options_read(struct options *options, int count, char *const *arguments) {
    enum { TOTAL = 1, MAX_WRITES, CORES, NO_PIN, COUNTERS_ON, PROBE, STALL, PARENT, HELP };
    static const struct option long_options[] = {
        {"total", required_argument, NULL, TOTAL},
        {"max-writes", required_argument, NULL, MAX_WRITES},
        {"cores", required_argument, NULL, CORES},
        {"no-pin", no_argument, NULL, NO_PIN},
        {"counters", no_argument, NULL, COUNTERS_ON},
        {"probe", no_argument, NULL, PROBE},
        {"stall-ms", required_argument, NULL, STALL},
        {"parent", required_argument, NULL, PARENT},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    static struct topology topology;
    topology_read(&topology);
    *options = (struct options){.total_bytes = 16u << 20, .pinned = true, .stall_ms = 10000};
    topology_choose(&topology, options->cores);
    for (int option; (option = getopt_long(count, arguments, "", long_options, NULL)) != -1;) {
        switch (option) {
        case TOTAL: options->total_bytes = read_count("--total", optarg, 8, 1u << 30); break;
        case MAX_WRITES: options->max_writes = read_count("--max-writes", optarg, 0, 1000000000); break;
        case CORES: read_cores(optarg, &topology, options->cores); break;
        case NO_PIN: options->pinned = false; break;
        case COUNTERS_ON: options->count_hardware = true; break;
        case PROBE: options->probe = true; break;
        case STALL: options->stall_ms = (unsigned)read_count("--stall-ms", optarg, 10, 600000); break;
        case PARENT: read_parent(optarg); break;
        case HELP: fputs(usage, stdout); exit(0);
        default: exit(2); /* getopt has printed an error */
        }
    }
    options->points = arguments + optind;
    options->point_count = count - optind;
    if (options->probe)
        return;
    if (options->point_count == 0)
        refuse("A point is missing, such as pipe:process:default:4096.");
    for (int i = 0; i < options->point_count; i++)
        read_point(options->points[i]);
}
