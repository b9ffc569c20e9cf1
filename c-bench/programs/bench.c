/*
 * crossings-bench: measures one mechanism and prints the results as lines of JSON.
 *
 * Processes: this one (guard) -> supervisor (sets up, watches) -> side A and side B (measure). Killing any of them with
 * SIGKILL leaves nothing behind: the sides end with the supervisor, and the supervisor with this process. If the
 * supervisor is killed, this process removes its names.
 */
#include "../common/clock.h"
#include "../common/ndjson.h"
#include "../common/signals.h"
#include "../common/topology.h"
#include "../harness/command-line.h"
#include "../harness/function-call.h"
#include "../harness/guard.h"
#include "../harness/measure.h"
#include "../harness/results.h"
#include "../harness/spinners.h"

#include <math.h>
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

static bool run_passes(struct pair *pair, const struct options *options) {
    const struct plant *plant = options->is_planted ? &options->plant : NULL;
    if (plant)
        pair->plan.mechanism = plant_into(pair->plan.mechanism, plant);
    if (pair->plan.messages) {
        if (plant)
            plant_delay(plant->message_ns, true);
        if (!run_pass(measure_throughput, pair))
            return false;
        print_throughput(pair);
    }
    if (pair->plan.round_trips) {
        if (plant)
            plant_delay(plant->trip_ns, false);
        if (!run_pass(measure_round_trips, pair))
            return false;
        print_round_trips(pair);
    }
    return true;
}

/* Runs in the supervisor. Returns the exit status. */
static int measure(const void *context) {
    const struct work *work = context;
    const struct plan *plan = &work->options.plan;
    clock_calibrate();
    bool one_core = work->topology.count == 1 || (plan->pinned && plan->cores[0] == plan->cores[1]);
    turns_before_yield = one_core ? 1 : plan->pinned ? 0 : TURNS_UNPINNED;
    print_begin(plan, &work->topology);
    struct failure failure;
    bool done = (!plan->keep_awake || spinners_start(plan->cores, &failure));
    if (!done)
        print_error(&failure);
    done = done && run_passes(pair_new(plan), &work->options);
    if (plan->keep_awake && !spinners_end(&failure) && done) {
        print_error(&failure);
        done = false;
    }
    if (!done)
        return 1;
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
        event_integer("special", mechanisms[i]->special);
        event_integer("billable", mechanisms[i]->billable);
        event_end();
    }
}

static int time_function_call(const struct plan *plan) {
    if (plan->pinned && !pin_process(0, plan->cores[0])) {
        fprintf(stderr, "Cannot pin to core %d.\n", plan->cores[0]);
        return 1;
    }
    double cycles_per_ns = core_cycles_per_ns(); /* first: it also wakes the core up */
    event_begin("functionCall");
    event_integer("sizeBytes", plan->size_bytes);
    event_number("ns", function_call_ns(plan->size_bytes));
    event_number("coreCyclesPerNs", cycles_per_ns > 0 ? cycles_per_ns : NAN);
    event_end();
    return 0;
}

int main(int count, char **arguments) {
    reset_signals();
    check_output_at_exit();
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
    if (work.options.function_call) {
        clock_calibrate();
        return time_function_call(&work.options.plan);
    }
    return run_guarded(measure, &work);
}
