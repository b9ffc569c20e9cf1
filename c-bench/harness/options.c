/* Reading and refusing the command line. Each refusal names the value and what would be accepted. */
#include "options.h"

#include "message.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MESSAGES 1000000000u
#define MOST_ROUND_TRIPS 10000000u

static const char usage[] =
    "crossings-bench measures one mechanism of inter-process communication between two processes.\n"
    "Results are lines of JSON on standard output.\n"
    "\n"
    "  --mechanism NAME   which one (required); --list shows them\n"
    "  --messages N       messages of the throughput pass, 0 to 1000000000 (100000); 0: no such pass\n"
    "  --round-trips N    trips of the round-trip pass, 0 to 10000000 (10000); 0: no such pass\n"
    "  --size BYTES       bytes a message, 8 to 16777216 (64)\n"
    "  --batch N          messages shown to the receiver at once, by mechanisms that can, 1 to 1024 (1)\n"
    "  --cores A,B        the two cores to run on (chosen from the topology)\n"
    "  --no-pin           let the scheduler place both processes\n"
    "  --realtime         run both at real-time priority (needs three cores and permission)\n"
    "  --no-floors        do not measure the system call and cache-line floors\n"
    "  --stall-ms N       give up when nothing has moved for so long, 10 to 600000 (10000)\n"
    "  --parent PID       end when the process PID does, which must have started this one\n"
    "  --list             print the mechanisms and stop\n"
    "  --describe         print the cores, the clock and the compiler and stop\n"
    "  --help             print this and stop\n";

__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static uint64_t read_count(const char *option, const char *text, uint64_t least, uint64_t most) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value < least || value > most)
        refuse("%s takes a whole number from %llu to %llu, not \"%s\".", option, (unsigned long long)least,
               (unsigned long long)most, text);
    return value;
}

static void read_cores(struct plan *plan, const struct topology *topology, const char *text) {
    int used = 0;
    if (sscanf(text, "%d,%d%n", &plan->cores[0], &plan->cores[1], &used) != 2 || text[used])
        refuse("--cores takes two core numbers, as in 0,1, not \"%s\".", text);
    for (int i = 0; i < 2; i++)
        if (!topology_find(topology, plan->cores[i]))
            refuse("--cores %s: this process may not run on core %d; it may run on %d of them, from %d to %d.", text,
                   plan->cores[i], topology->count, topology->cpus[0].id, topology->cpus[topology->count - 1].id);
}

static const struct mechanism *find_mechanism(const char *name) {
    char names[512] = "";
    for (size_t i = 0; mechanisms[i]; i++) {
        if (strcmp(mechanisms[i]->name, name) == 0)
            return mechanisms[i];
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, mechanisms[i]->name, sizeof names - strlen(names) - 1);
    }
    refuse("--mechanism takes one of %s, not \"%s\".", names, name);
}

/* Two processes that spin at real-time priority never let anything else run on their cores. */
static void check_realtime(const struct plan *plan, const struct topology *topology) {
    if (!plan->pinned || plan->cores[0] == plan->cores[1])
        refuse("--realtime needs the two processes pinned to two different cores.");
    if (topology->count < 3)
        refuse("--realtime needs at least 3 cores and this process has %d: two spinning processes at real-time "
               "priority would stop the machine.",
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
    case MESSAGES: plan->messages = read_count("--messages", optarg, 0, MOST_MESSAGES); break;
    case ROUND_TRIPS: plan->round_trips = read_count("--round-trips", optarg, 0, MOST_ROUND_TRIPS); break;
    case SIZE: plan->size_bytes = read_count("--size", optarg, MESSAGE_MIN_BYTES, MESSAGE_MAX_BYTES); break;
    case BATCH: messages_a_batch = (unsigned)read_count("--batch", optarg, 1, 1024); break;
    case CORES: read_cores(plan, topology, optarg); break;
    case NO_PIN: plan->pinned = false; break;
    case REALTIME: plan->realtime = true; break;
    case NO_FLOORS: plan->floors = false; break;
    case STALL: plan->stall_ms = (unsigned)read_count("--stall-ms", optarg, 10, 600000); break;
    case PARENT: options->parent = (pid_t)read_count("--parent", optarg, 1, 1 << 30); break;
    case LIST: options->list = true; break;
    case DESCRIBE: options->describe = true; break;
    case HELP: fputs(usage, stdout); exit(0);
    default: exit(2); /* getopt has said what is wrong */
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
        refuse("Only options are accepted, not \"%s\".", arguments[optind]);
    if (options->list || options->describe)
        return;
    if (!plan->mechanism)
        refuse("--mechanism is missing; --list shows the mechanisms.");
    if (plan->realtime)
        check_realtime(plan, topology);
    if (plan->mechanism->max_size && plan->size_bytes > plan->mechanism->max_size)
        refuse("--size: %s takes messages of up to %zu bytes, not %zu.", plan->mechanism->name,
               plan->mechanism->max_size, plan->size_bytes);
}
