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
#define MAX_RATE 1000000000u
/* A constant, not a share of the trips: crossings are counted as the slope between two numbers of trips. */
#define WARM_UP 500

static const char usage[] =
    "usage: crossings-bench --mechanism NAME [OPTION...]\n"
    "Measure one mechanism of inter-process communication. Prints the results as lines of JSON.\n"
    "\n"
    "  --mechanism NAME   the mechanism to measure (required); see --list\n"
    "  --messages N       messages of the throughput pass, 0 to 1000000000 (default 100000; 0 skips it)\n"
    "  --round-trips N    trips of the round-trip pass, 0 to 10000000 (default 10000; 0 skips it)\n"
    "  --warm-up N        untimed trips before them, 0 to 10000000 (default 500)\n"
    "  --rate N           begin N round trips per second, each at a fixed time, and time them from then on\n"
    "  --ticks            print the times of round trips in ticks of the clock, not in nanoseconds\n"
    "  --size BYTES       bytes per message, 8 to 16777216 (default 64)\n"
    "  --batch N          messages published at once, by mechanisms that support it, 1 to 1024 (default 1)\n"
    "  --cores A,B        the two cores to run on (default: chosen from the topology)\n"
    "  --no-pin           let the scheduler place both processes\n"
    "  --poll             never wait in the kernel: poll until the message is there\n"
    "  --alone            one process makes the calls of both sides (requires --messages 0,\n"
    "                     and --size up to 16384)\n"
    "  --keep-awake       keep both cores from going idle, by spinning processes of policy SCHED_IDLE\n"
    "  --realtime         run both processes at real-time priority (needs three cores and permission)\n"
    "  --mlock            lock the memory of both processes\n"
    "  --no-floors        do not measure the floors (system call, cache line, copy)\n"
    "  --no-progress      do not print progress during a pass (printing takes a system call per second)\n"
    "  --plant WHAT       add a known cost: getppid in each send, or delays of NS,NS nanoseconds in each call of the\n"
    "                     throughput pass and in each round trip (for bench --self-test)\n"
    "  --stall-ms N       fail after this long without progress, 10 to 600000 (default 10000)\n"
    "  --parent PID       end when the parent process, which must be PID, ends\n"
    "  --list             print the mechanisms and exit\n"
    "  --describe         print the cores, the clock and the compiler, and exit\n"
    "  --function-call    time a function call instead of a mechanism, and exit\n"
    "  --help             print this help and exit\n";

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

/* The options that take one thing away from a round trip. */
static void check_removals(const struct plan *plan) {
    if ((polling || plan->alone) && !plan->mechanism->billable)
        refuse("%s is not supported by %s.", polling ? "--poll" : "--alone", plan->mechanism->name);
    if (plan->alone && plan->messages)
        refuse("--alone requires --messages 0; got %llu.", (unsigned long long)plan->messages);
    if (plan->alone && plan->size_bytes > ALONE_MAX_BYTES)
        refuse("--size must be at most %d with --alone; got %zu.", ALONE_MAX_BYTES, plan->size_bytes);
    if (plan->keep_awake && !plan->pinned)
        refuse("--keep-awake and --no-pin cannot be used together.");
}

enum {
    MECHANISM = 1,
    MESSAGES,
    ROUND_TRIPS,
    WARM_UP_TRIPS,
    RATE,
    TICKS,
    SIZE,
    BATCH,
    CORES,
    NO_PIN,
    POLL,
    ALONE,
    KEEP_AWAKE,
    REALTIME,
    MLOCK,
    NO_FLOORS,
    NO_PROGRESS,
    PLANT,
    STALL,
    PARENT,
    LIST,
    DESCRIBE,
    FUNCTION_CALL,
    HELP
};

static const struct option long_options[] = {
    {"mechanism", required_argument, NULL, MECHANISM},
    {"messages", required_argument, NULL, MESSAGES},
    {"round-trips", required_argument, NULL, ROUND_TRIPS},
    {"warm-up", required_argument, NULL, WARM_UP_TRIPS},
    {"rate", required_argument, NULL, RATE},
    {"ticks", no_argument, NULL, TICKS},
    {"size", required_argument, NULL, SIZE},
    {"batch", required_argument, NULL, BATCH},
    {"cores", required_argument, NULL, CORES},
    {"no-pin", no_argument, NULL, NO_PIN},
    {"poll", no_argument, NULL, POLL},
    {"alone", no_argument, NULL, ALONE},
    {"keep-awake", no_argument, NULL, KEEP_AWAKE},
    {"realtime", no_argument, NULL, REALTIME},
    {"mlock", no_argument, NULL, MLOCK},
    {"no-floors", no_argument, NULL, NO_FLOORS},
    {"no-progress", no_argument, NULL, NO_PROGRESS},
    {"plant", required_argument, NULL, PLANT},
    {"stall-ms", required_argument, NULL, STALL},
    {"parent", required_argument, NULL, PARENT},
    {"list", no_argument, NULL, LIST},
    {"describe", no_argument, NULL, DESCRIBE},
    {"function-call", no_argument, NULL, FUNCTION_CALL},
    {"help", no_argument, NULL, HELP},
    {0},
};

static void take_option(struct options *options, const struct topology *topology, int option) {
    struct plan *plan = &options->plan;
    switch (option) {
    case MECHANISM: plan->mechanism = find_mechanism(optarg); break;
    case MESSAGES: plan->messages = read_count("--messages", optarg, 0, MAX_MESSAGES); break;
    case ROUND_TRIPS: plan->round_trips = read_count("--round-trips", optarg, 0, MAX_ROUND_TRIPS); break;
    case WARM_UP_TRIPS: plan->warm_up = read_count("--warm-up", optarg, 0, MAX_ROUND_TRIPS); break;
    case RATE: plan->rate_a_second = read_count("--rate", optarg, 1, MAX_RATE); break;
    case TICKS: plan->ticks = true; break;
    case SIZE: plan->size_bytes = read_count("--size", optarg, MESSAGE_MIN_BYTES, MESSAGE_MAX_BYTES); break;
    case BATCH: messages_a_batch = (unsigned)read_count("--batch", optarg, 1, 1024); break;
    case CORES: read_cores(optarg, topology, plan->cores); break;
    case NO_PIN: plan->pinned = false; break;
    case POLL: polling = true; break;
    case ALONE: plan->alone = true; break;
    case KEEP_AWAKE: plan->keep_awake = true; break;
    case REALTIME: plan->realtime = true; break;
    case MLOCK: plan->lock_memory = true; break;
    case NO_FLOORS: plan->floors = false; break;
    case NO_PROGRESS: plan->progress = false; break;
    case PLANT:
        options->plant = plant_read(optarg);
        options->is_planted = true;
        break;
    case STALL: plan->stall_ms = (unsigned)read_count("--stall-ms", optarg, 10, 600000); break;
    case PARENT: read_parent(optarg); break;
    case LIST: options->list = true; break;
    case DESCRIBE: options->describe = true; break;
    case FUNCTION_CALL: options->function_call = true; break;
    case HELP: fputs(usage, stdout); exit(0);
    default: exit(2); /* getopt has printed an error */
    }
}

void options_read(struct options *options, const struct topology *topology, int count, char *const *arguments) {
    struct plan *plan = &options->plan;
    *options = (struct options){.plan = {.size_bytes = 64,
                                         .messages = 100000,
                                         .round_trips = 10000,
                                         .warm_up = WARM_UP,
                                         .pinned = true,
                                         .floors = true,
                                         .progress = true,
                                         .stall_ms = 10000}};
    topology_choose(topology, plan->cores);
    for (int option; (option = getopt_long(count, arguments, "", long_options, NULL)) != -1;)
        take_option(options, topology, option);
    if (optind < count)
        refuse("Unexpected argument \"%s\".", arguments[optind]);
    if (options->list || options->describe || options->function_call)
        return;
    if (!plan->mechanism)
        refuse("--mechanism is missing. Run crossings-bench --list to see the mechanisms.");
    check_removals(plan);
    if (plan->realtime)
        check_realtime(plan, topology);
    if (plan->mechanism->max_size && plan->size_bytes > plan->mechanism->max_size)
        refuse("--size must be at most %zu for %s; got %zu.", plan->mechanism->max_size, plan->mechanism->name,
               plan->size_bytes);
}
