/* Traces a demo: two processes that advance together, with steps in user space. */
#include "../common/ndjson.h"
#include "../common/ptrace.h"
#include "../common/topology.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>

static int cores[2];

static void pin(pid_t tid, size_t count) {
    pin_process(tid, cores[(count - 1) % 2]); /* if that is refused, it runs where it may */
}

static const struct front demo_front = {
    .in_step = true,
    .pin = pin,
    .read_state = read_demo_state,
    .print_place = print_demo_place,
    .print_words = print_words,
    .at_breakpoint = at_breakpoint,
};

struct held {
    const struct demo_entry *entry;
    pid_t pid;
    struct gate gate;
};

static void begin(void *argument) {
    struct held *held = argument;
    begin_demo(held->entry, held->pid, &held->gate);
}

int trace_demo(const struct demo_entry *entry, int count) {
    static const struct trace_limits demo_limits = {
        .seconds = 60, .events = UINT64_MAX, .tasks = 4, .payload_bytes = MAX_PAYLOAD_BYTES};
    struct held held = {.entry = entry};
    int status;
    held.pid = prepare_demo(entry, count, true, &held.gate);
    if (held.pid < 0) {
        perror("Cannot start the demo");
        return 1;
    }
    if (!attach(held.pid, &status))
        return 1;
    if (!plant_breakpoints(held.pid)) {
        print_error("ERR_PTRACE_REFUSED", "Cannot set a breakpoint in the demo: %s.", "its memory cannot be written");
        return 1; /* EXITKILL ends the demo */
    }
    choose_cores(cores);
    if (!entry->spins) {
        /* The tracer resumes processes that sleep fastest if they share its core. */
        cores[1] = cores[0];
        pin_process(0, cores[0]);
    }
    event_begin("demo");
    event_string("title", entry->title);
    event_string("source", entry->source);
    event_integer("first", (uint64_t)held.pid);
    event_end();
    status = watch_all(&demo_front, &demo_limits, held.pid, status, begin, &held);
    if (status == -1) /* it ends with this process, and the cleaner afterwards */
        print_error("ERR_STALLED", "The demo did not end within %s.", "a minute");
    else
        wait_for_cleaner();
    return status == 0 ? 0 : 1;
}
