/* Starting demos: what main.c and the tracer use. */
#ifndef CROSSINGS_RUN_H
#define CROSSINGS_RUN_H

#include "demo.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#define MOST_NAMES 4

struct demo_entry {
    const char *name, *title, *source;
    demo_function *run;
    bool spins;                    /* its processes wait by spinning, so each needs a core of its own */
    const char *names[MOST_NAMES]; /* files that it makes and removes; %d: the number of its first process */
};

/* Memory shared with a demo that is timed; NULL: it is not timed. */
struct demo_times {
    atomic_int ready; /* processes that have come to the messages: the first waits for the other */
    int cores[2];     /* of the writer and the reader */
    uint64_t first_sent_ns, last_received_ns; /* CLOCK_MONOTONIC */
};
extern struct demo_times *times;

/* The two cores that a demo's processes should run on; the same one twice where there is but one. Spinning needs two.
 */
void choose_cores(int cores[2]);
/* Let a process (0: this one) run on that core only. Where that is refused it runs where it may. */
void pin(pid_t pid, int core);

/* Fork the demo's first process. It waits until begin_demo(). -1 with errno. */
pid_t prepare_demo(const struct demo_entry *entry, int count, int *go);
void begin_demo(const struct demo_entry *entry, pid_t pid, int go);

/* c-bench/trace/tracer.c: run it traced and print its events. The exit status. */
int trace_demo(const struct demo_entry *entry, int count);

#endif
