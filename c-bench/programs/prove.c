/*
 * crossings-prove: lets two processes exchange messages under a filter that kills them at any system call, and prints
 * how each ended, as lines of JSON.
 *
 * Processes: this one (supervisor) -> the two sides, which end with it.
 */
#include "../common/clock.h"
#include "../common/ndjson.h"
#include "../common/options.h"
#include "../common/signals.h"
#include "../common/syscalls.h"
#include "../common/topology.h"
#include "../prove/filter.h"
#include "../prove/supervisor.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define MAX_MESSAGES 1000000000u

static const char usage[] =
    "usage: crossings-prove --proof NAME [OPTION...]\n"
    "Exchange messages between two processes that the kernel kills at any system call but the final report (write) "
    "and\n"
    "exit_group. Prints how they ended as lines of JSON.\n"
    "\n"
    "  --proof NAME     the proof or control to run (required); see --list\n"
    "  --messages N     messages inside the filter, an even number from 2 to 1000000000 (default 10000000)\n"
    "  --warm-up N      messages before the filter, an even number from 2 to 1000000000 (default 1000)\n"
    "  --cores A,B      the two cores to run on (default: chosen from the topology)\n"
    "  --no-pin         let the scheduler place both processes\n"
    "  --limit-ms N     stop after this long, 10 to 600000 (default 60000)\n"
    "  --stall-ms N     fail after this long without progress, 10 to 600000 (default 10000)\n"
    "  --parent PID     end when the parent process, which must be PID, ends\n"
    "  --list           print the proofs and exit\n"
    "  --help           print this help and exit\n";

static const struct proof *find_proof(const char *name) {
    char names[256] = "";
    for (size_t i = 0; proofs[i]; i++) {
        if (strcmp(proofs[i]->name, name) == 0)
            return proofs[i];
        append_name(names, sizeof names, proofs[i]->name);
    }
    refuse("--proof must be one of %s; got \"%s\".", names, name);
}

static uint64_t read_even(const char *option, const char *text) {
    uint64_t value = read_count(option, text, 2, MAX_MESSAGES);
    if (value % 2)
        refuse("%s must be an even number; got \"%s\".", option, text);
    return value;
}

static void list(void) {
    for (size_t i = 0; proofs[i]; i++) {
        event_begin("proof");
        event_string("name", proofs[i]->name);
        event_string("title", proofs[i]->title);
        event_string("wanted", proofs[i]->wanted);
        event_end();
    }
}

/* The error that kept the proof from being run, if there was one. */
static const struct ending *obstacle(const struct outcome *outcome, const char **code) {
    static const struct {
        enum fate fate;
        const char *code;
    } obstacles[] = {
        {FATE_REFUSED, "ERR_FILTER_REFUSED"}, {FATE_FAILED, "ERR_PROOF_FAILED"}, {FATE_STALLED, "ERR_STALLED"}};
    for (size_t i = 0; i < sizeof obstacles / sizeof *obstacles; i++) {
        for (int side = 0; side < 2; side++) {
            *code = obstacles[i].code;
            if (outcome->endings[side].fate == obstacles[i].fate)
                return &outcome->endings[side];
        }
    }
    return NULL;
}

static int report_obstacle(const char *code, const char *text) {
    event_begin("error");
    event_string("code", code);
    event_string("message", text);
    event_end();
    fprintf(stderr, "%s (%s)\n", text, code);
    return 1;
}

static int report(const struct plan *plan, const struct outcome *outcome) {
    static const char *const fates[] = {[FATE_STOPPED] = "stopped",
                                        [FATE_KILLED] = "killed",
                                        [FATE_SURVIVED] = "survived",
                                        [FATE_UNGUARDED] = "unguarded"};
    const struct ending *endings = outcome->endings;
    const char *code;
    const struct ending *stopped_by = obstacle(outcome, &code);
    char text[256];
    if (stopped_by) {
        snprintf(text, sizeof text, "%s: %s", plan->proof->name,
                 stopped_by->fate == FATE_STALLED ? "no message was exchanged until the time limit" : stopped_by->text);
        return report_obstacle(code, text);
    }
    event_begin("proof");
    event_string("name", plan->proof->name);
    event_number("elapsedNs", outcome->elapsed_ns > 0 ? outcome->elapsed_ns : 0.0 / 0.0);
    event_array("allowed");
    for (size_t i = 0; filter_allowed[i]; i++)
        event_string(NULL, filter_allowed[i]);
    event_array_close();
    event_array("sides");
    for (int i = 0; i < 2; i++) {
        event_open(NULL);
        event_string("fate", fates[endings[i].fate]);
        event_integer("messages", endings[i].messages);
        event_string("killedBy", endings[i].fate == FATE_KILLED ? syscall_name((uint64_t)endings[i].number) : NULL);
        event_close();
    }
    event_array_close();
    event_end();
    return 0;
}

enum { PROOF = 1, MESSAGES, WARM_UP, CORES, NO_PIN, LIMIT, STALL, PARENT, LIST, HELP };

static const struct option long_options[] = {
    {"proof", required_argument, NULL, PROOF},
    {"messages", required_argument, NULL, MESSAGES},
    {"warm-up", required_argument, NULL, WARM_UP},
    {"cores", required_argument, NULL, CORES},
    {"no-pin", no_argument, NULL, NO_PIN},
    {"limit-ms", required_argument, NULL, LIMIT},
    {"stall-ms", required_argument, NULL, STALL},
    {"parent", required_argument, NULL, PARENT},
    {"list", no_argument, NULL, LIST},
    {"help", no_argument, NULL, HELP},
    {0},
};

int main(int count, char **arguments) {
    reset_signals();
    check_output_at_exit();
    static struct topology topology;
    struct plan plan = {.messages = 10000000, .warm_up = 1000, .pinned = true, .limit_ms = 60000, .stall_ms = 10000};
    struct outcome outcome;
    topology_read(&topology);
    topology_choose(&topology, plan.cores);
    for (int option; (option = getopt_long(count, arguments, "", long_options, NULL)) != -1;) {
        switch (option) {
        case PROOF: plan.proof = find_proof(optarg); break;
        case MESSAGES: plan.messages = read_even("--messages", optarg); break;
        case WARM_UP: plan.warm_up = read_even("--warm-up", optarg); break;
        case CORES: read_cores(optarg, &topology, plan.cores); break;
        case NO_PIN: plan.pinned = false; break;
        case LIMIT: plan.limit_ms = (unsigned)read_count("--limit-ms", optarg, 10, 600000); break;
        case STALL: plan.stall_ms = (unsigned)read_count("--stall-ms", optarg, 10, 600000); break;
        case PARENT: read_parent(optarg); break;
        case LIST: list(); return 0;
        case HELP: fputs(usage, stdout); return 0;
        default: return 2; /* getopt has printed an error */
        }
    }
    if (optind < count)
        refuse("Unexpected argument \"%s\".", arguments[optind]);
    if (!plan.proof)
        refuse("--proof is missing. Run crossings-prove --list to see the proofs.");
    clock_calibrate();
    prove(&plan, &outcome);
    return report(&plan, &outcome);
}
