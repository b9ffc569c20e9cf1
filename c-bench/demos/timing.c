/* Times demos. Both processes wait for each other before the first message, so the time of fork() is not part of it. */
#include "timing.h"

#include "../common/clock.h"
#include "../common/ndjson.h"
#include "../common/syscalls.h"
#include "../common/topology.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define TIME_BUDGET_NS 10000000000u

/* In memory shared with the demo. */
static struct {
    atomic_int ready; /* processes that have reached the messages */
    int cores[2];     /* of the writer and the reader */
    uint64_t first_sent_ns, last_received_ns;
} *times;

/* Called in both processes of the demo. */
static void note_time(enum phase phase, enum role role) {
    if (phase == MESSAGES) {
        pin_process(0, times->cores[role == READER]); /* if that is refused, it runs where it may */
        atomic_fetch_add(&times->ready, 1);
        while (atomic_load(&times->ready) < 2)
            sched_yield();
    }
    if (phase == MESSAGES && role == WRITER)
        times->first_sent_ns = monotonic_ns();
    if (phase == TEARDOWN && role == READER)
        times->last_received_ns = monotonic_ns();
}

int time_demo(const struct demo_entry *entry, int count, int runs) {
    static double message_ns[MAX_RUNS];
    times = mmap(NULL, sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (times == MAP_FAILED) {
        perror("Cannot allocate shared memory");
        return 1;
    }
    choose_cores(times->cores);
    phase_observer = note_time;
    /* A demo that spins takes seconds if both processes share a core: stop when the time budget is used up. */
    int done = 0;
    for (uint64_t start = monotonic_ns(); done < runs; done++) {
        if (done > 0 && monotonic_ns() - start > TIME_BUDGET_NS)
            break;
        atomic_store(&times->ready, 0);
        if (!run_demo(entry, count))
            return 1;
        message_ns[done] = (double)(times->last_received_ns - times->first_sent_ns) / count;
    }
    event_begin("timing");
    event_integer("messages", (uint64_t)count);
    event_number("syscallNs", syscall_floor_ns());
    event_array("messageNs");
    for (int i = 0; i < done; i++)
        event_number(NULL, message_ns[i]);
    event_array_close();
    event_end();
    return 0;
}
