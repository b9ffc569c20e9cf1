/* Reads the command line of crossings-bench. */
#include "command-line.h"

#include "../common/options.h"
#include "message.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MESSAGES 1000000000u
#define MAX_ROUND_TRIPS 10000000u

static const char usage[] =
    "usage: crossings-bench --mechanism NAME [OPTION...]\n"
    "Measure one mechanism of inter-process communication. Prints the results as lines of JSON.\n"
    "\n"
    "  --mechanism NAME   the mechanism to measure (required); see --list\n"
    "  --messages N       messages of the throughput pass, 0 to 1000000000 (default 100000; 0 skips it)\n"
    "  --round-trips N    trips of the round-trip pass, 0 to 10000000 (default 10000; 0 skips it)\n"
    "  --size BYTES       bytes per message, 8 to 16777216 (default 64)\n"
    "  --batch N          messages published at once, by mechanisms that support it, 1 to 1024 (default 1)\n"
    "  --cores A,B        the two cores to run on (default: chosen from the topology)\n"
    "  --no-pin           let the scheduler place both processes\n"
    "  --realtime         run both processes at real-time priority (needs three cores and permission)\n"
    "  --no-floors        do not measure the floors (system call, cache line, copy)\n"
    "  --stall-ms N       fail after this long without progress, 10 to 600000 (default 10000)\n"
    "  --parent PID       end when the parent process, which must be PID, ends\n"
    "  --list             print the mechanisms and exit\n"
    "  --describe         print the cores, the clock and the compiler, and exit\n"
    "  --help             print this help and exit\n";

static void read_cores(struct plan *plan, const struct topology *topology, const char *text) {
    int used = 0;
    if (sscanf(text, "%d,%d%n", &plan->cores[0], &plan->cores[1], &used) != 2 || text[used])
        refuse("--cores must be two core numbers, such as 0,1; got \"%s\".", text);
    for (int i = 0; i < 2; i++)
        if (!topology_find(topology, plan->cores[i]))
            refuse("--cores %s: this process may not run on core %d, only on %d cores from %d to %d.", text,
                   plan->cores[i], topology->count, topology->cpus[0].id, topology->cpus[topology->count - 1].id);
}

static const struct mechanism *find_mechanism(const char *name) {
    char names[512] = "";
    for (size_t i = 0; mechanisms[i]; i++) {
        if (strcmp(mechanisms[i]->name, name) == 0)
            return mechanisms[i];
        append_name(names, sizeof names, mechanisms[i]->name);
    }
    refuse("--mechanism must be one of %s; got \"%s\".", names, name);
}

/* Two processes that spin at real-time priority let nothing else run on their cores. */
static void check_realtime(const struct plan *plan, const struct topology *topology) {
    if (!plan->pinned || plan->cores[0] == plan->cores[1])
        refuse("--realtime requires the processes to be pinned to two different cores.");
    if (topology->count < 3)
        refuse("--realtime requires at least 3 cores; this process has %d. Two spinning processes at real-time "
               "priority would hang the machine.",
               topology->count);
}

enum {
    MECHANISM = 1,
    MESSAGES,
    ROUND_TRIPS,
    SIZE,
    BATCH,
    CORES,
    NO_PIN,
    REALTIME,
    NO_FLOORS,
    STALL,
    PARENT,
    LIST,
    DESCRIBE,
    HELP
};

static const struct option long_options[] = {
    {"mechanism", required_argument, NULL, MECHANISM},
    {"messages", required_argument, NULL, MESSAGES},
    {"round-trips", required_argument, NULL, ROUND_TRIPS},
    {"size", required_argument, NULL, SIZE},
    {"batch", required_argument, NULL, BATCH},
    {"cores", required_argument, NULL, CORES},
    {"no-pin", no_argument, NULL, NO_PIN},
    {"realtime", no_argument, NULL, REALTIME},
    {"no-floors", no_argument, NULL, NO_FLOORS},
    {"stall-ms", required_argument, NULL, STALL},
    {"parent", required_argument, NULL, PARENT},
    {"list", no_argument, NULL, LIST},
    {"describe", no_argument, NULL, DESCRIBE},
    {"help", no_argument, NULL, HELP},
    {0},
};

static void take_option(struct options *options, const struct topology *topology, int option) {
    struct plan *plan = &options->plan;
    switch (option) {
    case MECHANISM: plan->mechanism = find_mechanism(optarg); break;
    case MESSAGES: plan->messages = read_count("--messages", optarg, 0, MAX_MESSAGES); break;
    case ROUND_TRIPS: plan->round_trips = read_count("--round-trips", optarg, 0, MAX_ROUND_TRIPS); break;
    case SIZE: plan->size_bytes = read_count("--size", optarg, MESSAGE_MIN_BYTES, MESSAGE_MAX_BYTES); break;
    case BATCH: messages_a_batch = (unsigned)read_count("--batch", optarg, 1, 1024); break;
    case CORES: read_cores(plan, topology, optarg); break;
    case NO_PIN: plan->pinned = false; break;
    case REALTIME: plan->realtime = true; break;
    case NO_FLOORS: plan->floors = false; break;
    case STALL: plan->stall_ms = (unsigned)read_count("--stall-ms", optarg, 10, 600000); break;
    case PARENT: read_parent(optarg); break;
    case LIST: options->list = true; break;
    case DESCRIBE: options->describe = true; break;
    case HELP: fputs(usage, stdout); exit(0);
    default: exit(2); /* getopt has printed an error */
    }
}

void options_read(struct options *options, const struct topology *topology, int count, char *const *arguments) {
    struct plan *plan = &options->plan;
    *options = (struct options){.plan = {.size_bytes = 64,
                                         .messages = 100000,
                                         .round_trips = 10000,
                                         .pinned = true,
                                         .floors = true,
                                         .stall_ms = 10000}};
    topology_choose(topology, plan->cores);
    for (int option; (option = getopt_long(count, arguments, "", long_options, NULL)) != -1;)
        take_option(options, topology, option);
    if (optind < count)
        refuse("Unexpected argument \"%s\".", arguments[optind]);
    if (options->list || options->describe)
        return;
    if (!plan->mechanism)
        refuse("--mechanism is missing. Run crossings-bench --list to see the mechanisms.");
    if (plan->realtime)
        check_realtime(plan, topology);
    if (plan->mechanism->max_size && plan->size_bytes > plan->mechanism->max_size)
        refuse("--size must be at most %zu for %s; got %zu.", plan->mechanism->max_size, plan->mechanism->name,
               plan->size_bytes);
}
