/*
 * crossings-bench: measures one mechanism and prints the results as lines of JSON.
 *
 * Processes: this one (guard) -> supervisor (sets up, watches) -> side A and side B (measure). Killing any of them with
 * SIGKILL leaves nothing behind: the sides end with the supervisor, and the supervisor with this process. If the
 * supervisor is killed, this process removes its names.
 */
#include "../common/clock.h"
#include "../common/ndjson.h"
#include "../common/topology.h"
#include "../harness/command-line.h"
#include "../harness/guard.h"
#include "../harness/measure.h"
#include "../harness/results.h"

#include <stdio.h>

#define TURNS_UNPINNED 1000 /* of spinning, before the scheduler may move the processes to different cores */

struct work {
    struct options options;
    struct topology topology;
};

typedef bool pass_function(struct pair *pair, struct failure *failure);

/* False: the pass failed, and its error has been printed. */
static bool run_pass(pass_function *pass, struct pair *pair) {
    struct failure failure;
    bool passed = pass(pair, &failure);
    if (!passed)
        print_error(&failure);
    return passed;
}

/* Runs in the supervisor. Returns the exit status. */
static int measure(const void *context) {
    const struct work *work = context;
    const struct plan *plan = &work->options.plan;
    clock_calibrate();
    turns_before_yield = !plan->pinned ? TURNS_UNPINNED : plan->cores[0] == plan->cores[1] ? 1 : 0;
    print_begin(plan, &work->topology);
    struct pair *pair = pair_new(plan);
    if (plan->messages) {
        if (!run_pass(measure_throughput, pair))
            return 1;
        print_throughput(pair);
    }
    if (plan->round_trips) {
        if (!run_pass(measure_round_trips, pair))
            return 1;
        print_round_trips(pair);
    }
    event_begin("end");
    event_end();
    return 0;
}

static void list(void) {
    for (size_t i = 0; mechanisms[i]; i++) {
        event_begin("mechanism");
        event_string("name", mechanisms[i]->name);
        event_string("title", mechanisms[i]->title);
        event_string("source", mechanisms[i]->source);
        event_end();
    }
}

int main(int count, char **arguments) {
    static struct work work;
    static char output[1 << 20];
    /* A buffer for the longest line: the number of our own system calls must not grow with the messages. */
    setvbuf(stdout, output, _IOFBF, sizeof output);
    topology_read(&work.topology);
    options_read(&work.options, &work.topology, count, arguments);
    if (work.options.list) {
        list();
        return 0;
    }
    if (work.options.describe) {
        clock_calibrate();
        print_machine(&work.topology, work.options.plan.cores);
        return 0;
    }
    return run_guarded(measure, &work);
}
