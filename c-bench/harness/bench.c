/*
 * crossings-bench: measures one mechanism and prints the results, one JSON object a line.
 *
 * Processes: this one (it cleans up) - the supervisor (it sets up and watches) - side A and side B (they measure).
 * Kill any of them with SIGKILL and nothing remains: the sides end with the supervisor, the supervisor with this one,
 * and names that a killed supervisor could not remove any more are removed here.
 */
#include "clock.h"
#include "measure.h"
#include "ndjson.h"
#include "options.h"
#include "topology.h"

#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define MOST_NAMES 8
#define TURNS_UNPINNED 1000 /* spin this long, then let the scheduler move us apart */

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static pid_t supervisor; /* whose number the names bear */

const char *unique_name(int which) {
    static char name[64];
    snprintf(name, sizeof name, "/crossings-%d-%d", (int)supervisor, which);
    return name;
}

static void remove_names(void) {
    for (int which = 0; which < MOST_NAMES; which++) {
        sem_unlink(unique_name(which));
        shm_unlink(unique_name(which));
    }
}

/* ---- Results ---- */

static int compare_ticks(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double to_ns(uint64_t ticks) {
    return (double)ticks * clock_facts.ns_per_tick;
}

/* The smallest sample that at least `percent` of all samples do not exceed (nearest rank: exact, no interpolation). */
static double percentile_ns(const uint64_t *sorted, size_t count, double percent) {
    double rank = percent / 100 * (double)count;
    size_t index = (size_t)rank;
    if (index > 0 && (double)index == rank)
        index--;
    return to_ns(sorted[index < count ? index : count - 1]);
}

static void print_throughput(const struct pair *pair) {
    const struct plan *plan = &pair->plan;
    double seconds = (double)(pair->finished_ns - pair->started_ns) / 1e9;
    char checksum[17];
    snprintf(checksum, sizeof checksum, "%016llx", (unsigned long long)pair->report[SIDE_B].checksum);
    event_begin("throughput");
    event_integer("messages", plan->messages);
    event_integer("elapsedNs", pair->finished_ns - pair->started_ns);
    event_number("messagesPerSecond", (double)plan->messages / seconds);
    event_number("bytesPerSecond", (double)plan->messages * (double)plan->size_bytes / seconds);
    event_string("checksum", checksum);
    event_end();
}

/* Every sample, as [nanoseconds, how often], in ascending order. */
static void print_distribution(const char *key, const uint64_t *sorted, size_t count) {
    event_array(key);
    for (size_t i = 0; i < count;) {
        uint64_t ns = (uint64_t)(to_ns(sorted[i]) + 0.5);
        size_t same = 0;
        while (i < count && (uint64_t)(to_ns(sorted[i]) + 0.5) == ns)
            i++, same++;
        event_pair(ns, same);
    }
    event_array_close();
}

static void print_percentiles(const uint64_t *sorted, size_t count) {
    static const struct {
        const char *key;
        double percent;
    } wanted[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}};
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += to_ns(sorted[i]);
    event_open("ns");
    event_number("min", to_ns(sorted[0]));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        event_number(wanted[i].key, percentile_ns(sorted, count, wanted[i].percent));
    event_number("max", to_ns(sorted[count - 1]));
    event_number("mean", sum / (double)count);
    event_close();
}

static void print_round_trips(struct pair *pair) {
    size_t count = pair->plan.round_trips;
    if (pair->plan.floors) {
        event_begin("floors");
        event_number("syscallNs", pair->syscall_floor_ns);
        qsort(pair->floor_ticks, pair->floor_count, sizeof(uint64_t), compare_ticks);
        if (pair->floor_count)
            event_number("cacheLineRoundTripNs", percentile_ns(pair->floor_ticks, pair->floor_count, 50));
        else
            event_string("cacheLineRoundTripNs", NULL);
        if (pair->copy_floor_ns > 0)
            event_number("copyNs", pair->copy_floor_ns);
        event_end();
    }
    qsort(pair->trip_ticks, count, sizeof(uint64_t), compare_ticks);
    event_begin("roundTrip");
    event_integer("count", count);
    print_percentiles(pair->trip_ticks, count);
    print_distribution("values", pair->trip_ticks, count);
    event_end();
}

static void print_clock(void) {
    event_open("clock");
    event_string("source", clock_facts.source);
    event_number("overheadNs", clock_facts.overhead_ns);
    event_number("resolutionNs", clock_facts.resolution_ns);
    event_close();
}

static void print_begin(const struct plan *plan, const struct topology *topology) {
    event_begin("begin");
    event_string("mechanism", plan->mechanism->name);
    event_string("title", plan->mechanism->title);
    event_integer("sizeBytes", plan->size_bytes);
    if (plan->pinned)
        event_integers("pinnedCores", plan->cores, 2);
    event_string("placement", plan->pinned ? topology_relation(topology, plan->cores) : "not pinned");
    event_string("priority", plan->realtime ? "real-time" : "normal");
    print_clock();
    event_string("compiler", COMPILER);
    event_end();
}

static void print_error(const struct failure *failure) {
    event_begin("error");
    event_string("code", failure->code);
    event_string("message", failure->text);
    event_end();
    fprintf(stderr, "%s (%s)\n", failure->text, failure->code);
}

/* ---- The supervisor's work ---- */

static int measure(const struct options *options, const struct topology *topology) {
    const struct plan *plan = &options->plan;
    struct failure failure;
    clock_calibrate();
    turns_before_yield = !plan->pinned ? TURNS_UNPINNED : plan->cores[0] == plan->cores[1] ? 1 : 0;
    print_begin(plan, topology);
    struct pair *pair = pair_new(plan);
    if (plan->messages) {
        if (!measure_throughput(pair, &failure)) {
            print_error(&failure);
            return 1;
        }
        print_throughput(pair);
    }
    if (plan->round_trips) {
        if (!measure_round_trips(pair, &failure)) {
            print_error(&failure);
            return 1;
        }
        print_round_trips(pair);
    }
    event_begin("end");
    event_end();
    return 0;
}

/* Fork the supervisor and stay behind to tidy up after it. */
static int guard(const struct options *options, const struct topology *topology) {
    pid_t self = getpid();
    int status;
    supervisor = fork();
    if (supervisor == 0) {
        supervisor = getpid();
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* SIGTERM, not SIGKILL: see set_up() in pair.c */
        if (getppid() != self)
            exit(1);
        exit(measure(options, topology));
    }
    if (supervisor < 0) {
        perror("could not start the supervising process");
        return 1;
    }
    while (waitpid(supervisor, &status, 0) < 0)
        continue;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    remove_names();
    struct failure failure = {.code = "ERR_CHILD_DIED"};
    snprintf(failure.text, sizeof failure.text, "the supervising process was killed by signal %d (%s)",
             WTERMSIG(status), strsignal(WTERMSIG(status)));
    print_error(&failure);
    return 1;
}

/* ---- What there is ---- */

static void list(void) {
    for (size_t i = 0; mechanisms[i]; i++) {
        event_begin("mechanism");
        event_string("name", mechanisms[i]->name);
        event_string("title", mechanisms[i]->title);
        event_string("source", mechanisms[i]->source);
        event_end();
    }
}

/* The hypervisor's own name for itself (CPUID 4000_0000h, where CPUID 1 says there is one), or NULL. */
static const char *hypervisor(void) {
#if defined(__x86_64__)
    static char signature[13];
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
        return NULL;
    __cpuid(0x40000000, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    return signature;
#else
    return NULL;
#endif
}

static void describe(const struct options *options, const struct topology *topology) {
    clock_calibrate();
    event_begin("machine");
    event_array("cpus");
    for (int i = 0; i < topology->count; i++) {
        const struct cpu *cpu = &topology->cpus[i];
        event_open(NULL);
        event_integer("id", (uint64_t)cpu->id);
        event_number("package", cpu->package);
        event_number("core", cpu->core);
        event_number("l3", cpu->l3);
        event_close();
    }
    event_array_close();
    event_integers("pinnedCores", options->plan.cores, 2);
    event_string("placement", topology_relation(topology, options->plan.cores));
    event_string("hypervisor", hypervisor());
    print_clock();
    event_string("compiler", COMPILER);
    event_end();
}

int main(int count, char **arguments) {
    static struct topology topology;
    static char output[1 << 20];
    struct options options;
    /* One write a line however long it is: the number of our own system calls must not grow with the messages. */
    setvbuf(stdout, output, _IOFBF, sizeof output);
    topology_read(&topology);
    options_read(&options, &topology, count, arguments);
    if (options.parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != options.parent)
            return 1;
    }
    if (options.list) {
        list();
        return 0;
    }
    if (options.describe) {
        describe(&options, &topology);
        return 0;
    }
    return guard(&options, &topology);
}
