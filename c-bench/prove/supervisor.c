/* Forks the two processes of a proof, watches them, and finds out how each ended. */
#include "supervisor.h"

#include "../common/clock.h"
#include "../common/gate.h"
#include "../common/ndjson.h"
#include "../common/syscalls.h"
#include "../common/topology.h"
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* When one process has ended, the other gets this long without progress: in a proof to end as well, in a control to
 * make its own system call, if it makes any. */
#define PROOF_GRACE_MS 5000
#define CONTROL_GRACE_MS 500
#define TICK_MS 500        /* between progress reports */
#define MOST_BEFORE 100000 /* messages before the hidden call: slow machines must reach it in time, too */
#define NOT_KILLED (-1)

/* The final report of a process: the only thing that it writes inside the filter. */
struct report {
    uint64_t messages, ticks; /* ticks: 0 where reading the clock might be a system call */
};

/* What one process shares with the others. Only that process writes it. */
struct side {
    _Alignas(APART) _Atomic uint64_t done;
    _Alignas(APART) atomic_bool ready;
    atomic_int killed_by; /* the number of the forbidden call; NOT_KILLED so far */
    bool refused, failed;
    char text[160];
};

/* Memory of all processes. */
static struct shared {
    struct side sides[2];
    _Alignas(APART) atomic_bool stop;
} *shared;
static struct side *sides; /* shared->sides */
static int me;             /* in a side: its index */

static void fail_side(int side, const char *doing, const char *why) {
    sides[side].failed = true;
    snprintf(sides[side].text, sizeof sides[side].text, "%s: %s", doing, why);
}

static void fail(const char *doing, const char *why) {
    fail_side(me, doing, why);
}

/* ---- One side ---- */

static void note_forbidden(int number) {
    atomic_store(&sides[me].killed_by, number);
}

static void wait_for_peer(void) {
    atomic_store_explicit(&sides[me].ready, true, memory_order_release); /* pairs with the acquire below */
    while (!atomic_load_explicit(&sides[!me].ready, memory_order_acquire))
        ring_pause();
}

/* Everything that is done inside the filter. Makes no system call but the final write. */
static void run_filtered(const struct plan *plan, struct end *end, int report_fd) {
    atomic_store_explicit(&sides[me].done, 0, memory_order_relaxed);
    wait_for_peer();
    uint64_t began = clock_uses_counter ? clock_ticks() : 0;
    if (!plan->proof->run[me](end, plan->messages)) {
        fail("exchanging messages", "a message was lost, repeated or altered");
        return;
    }
    uint64_t messages = atomic_load_explicit(&sides[me].done, memory_order_relaxed);
    struct report report = {messages, clock_uses_counter ? clock_ticks() - began : 0};
    if (write(report_fd, &report, sizeof report) == sizeof report)
        filter_die();
}

static void run_side(const struct plan *plan, struct end *end, int report_fd) {
    const struct proof *proof = plan->proof;
    struct filter filter = {.report_fd = report_fd, .on_forbidden = note_forbidden};
    const char *reason;
    end->done = &sides[me].done;
    end->stop = &shared->stop;
    end->hidden_at = UINT64_MAX;
    if (plan->pinned && !pin_process(0, plan->cores[me]))
        return fail("pinning", strerror(errno));
    if (proof->take(end, me))
        return fail("connecting", strerror(errno));
    if (!proof->run[me](end, plan->warm_up))
        return fail("warming up", "a message was lost, repeated or altered");
    end->hidden_at = plan->messages / 2 < MOST_BEFORE ? plan->messages / 2 : MOST_BEFORE;
    if (!filter_enter(&filter, &reason)) {
        sides[me].refused = true;
        snprintf(sides[me].text, sizeof sides[me].text, "%s", reason);
        return;
    }
    run_filtered(plan, end, report_fd);
}

static pid_t fork_side(const struct plan *plan, struct end *end, int side, const int report[2]) {
    pid_t supervisor = getpid();
    pid_t child = fork();
    if (child != 0)
        return child;
    me = side;
    close(report[0]);
    if (end_with_parent(supervisor))
        run_side(plan, end, report[1]);
    _exit(0); /* exit_group: permitted */
}

/* ---- The supervisor ---- */

struct watched {
    pid_t pid;
    bool ended, stopped;
    int status;
};

static void collect(struct watched children[2], int flags) {
    for (int i = 0; i < 2; i++)
        if (!children[i].ended)
            children[i].ended = waitpid(children[i].pid, &children[i].status, flags) == children[i].pid;
}

static uint64_t progress(void) {
    return atomic_load_explicit(&sides[0].done, memory_order_relaxed) +
           atomic_load_explicit(&sides[1].done, memory_order_relaxed);
}

static void print_progress(const struct plan *plan) {
    event_begin("progress");
    event_integer("done", progress() / 2);
    event_integer("of", plan->messages);
    event_end();
}

/* Wait for both. True: they have stalled. SIGCHLD is blocked, so no end is missed. */
static bool watch(const struct plan *plan, struct watched children[2]) {
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    unsigned tick_ms = plan->stall_ms < TICK_MS ? plan->stall_ms : TICK_MS, still_ms = 0;
    uint64_t seen = 0, began_ns = 0; /* 0: the warm-up goes on */
    for (;;) {
        if (began_ns == 0 && atomic_load(&sides[0].ready) && atomic_load(&sides[1].ready))
            began_ns = monotonic_ns();
        if (began_ns > 0 && monotonic_ns() - began_ns > plan->limit_ms * 1000000ull)
            atomic_store_explicit(&shared->stop, true, memory_order_relaxed);
        collect(children, WNOHANG);
        if (children[0].ended && children[1].ended)
            return false;
        bool one_left = children[0].ended || children[1].ended;
        unsigned wait_ms = !one_left ? tick_ms : plan->proof->wanted ? CONTROL_GRACE_MS : PROOF_GRACE_MS;
        struct timespec limit = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
        if (sigtimedwait(&child_ended, NULL, &limit) >= 0 || errno != EAGAIN)
            continue;
        still_ms = progress() == seen ? still_ms + wait_ms : 0;
        seen = progress();
        if (one_left && still_ms > 0)
            return false;
        if (still_ms >= plan->stall_ms)
            return true;
        print_progress(plan);
    }
}

static void stop(struct watched children[2]) {
    bool killed = true;
    for (int i = 0; i < 2; i++) {
        children[i].stopped = !children[i].ended;
        if (children[i].stopped)
            killed = kill_child(children[i].pid) && killed;
    }
    if (killed)
        collect(children, 0);
}

static struct ending ending_of(int index, const struct watched *child, const struct report *report, bool stalled) {
    const struct side *side = &sides[index];
    int number = atomic_load(&side->killed_by);
    bool by_filter = WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGSYS && number != NOT_KILLED;
    struct ending ending = {.fate = FATE_UNKNOWN, .messages = atomic_load(&side->done), .number = number};
    snprintf(ending.text, sizeof ending.text, "%s", side->text);
    if (child->stopped)
        ending.fate = stalled ? FATE_STALLED : FATE_STOPPED;
    else if (side->refused)
        ending.fate = FATE_REFUSED;
    else if (side->failed)
        ending.fate = FATE_FAILED;
    else if (report->messages > 0)
        ending.fate = by_filter ? FATE_SURVIVED : FATE_UNGUARDED;
    else if (by_filter)
        ending.fate = FATE_KILLED;
    if (ending.fate == FATE_UNKNOWN) {
        ending.fate = FATE_FAILED;
        bool killed = WIFSIGNALED(child->status);
        snprintf(ending.text, sizeof ending.text,
                 killed ? "it was killed by signal %d" : "it ended with exit status %d",
                 killed ? WTERMSIG(child->status) : WEXITSTATUS(child->status));
    }
    return ending;
}

static void give_up(const char *doing) {
    fprintf(stderr, "Cannot %s: %s\n", doing, strerror(errno));
    exit(1);
}

void prove(const struct plan *plan, struct outcome *outcome) {
    static struct end ends[2];
    int reports[2][2];
    struct report report[2] = {{0}};
    struct watched children[2] = {{0}};
    sigset_t child_ended;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (shared == MAP_FAILED)
        give_up("allocate shared memory");
    sides = shared->sides;
    /* Reading a report does not wait: a process that could not be killed still holds the pipes. */
    if (plan->proof->set_up(ends) || pipe2(reports[0], O_NONBLOCK) || pipe2(reports[1], O_NONBLOCK))
        give_up("set up the proof");
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, NULL);
    for (int i = 0; i < 2; i++) {
        atomic_store(&sides[i].killed_by, NOT_KILLED);
        children[i].pid = fork_side(plan, &ends[i], i, reports[i]);
        children[i].ended = children[i].pid < 0;
        if (children[i].ended)
            fail_side(i, "starting a process", strerror(errno));
    }
    bool forked = !children[0].ended && !children[1].ended;
    bool stalled = forked && watch(plan, children);
    stop(children);
    for (int i = 0; i < 2; i++) {
        close(reports[i][1]);
        if (read(reports[i][0], &report[i], sizeof report[i]) != sizeof report[i])
            report[i] = (struct report){0};
        close(reports[i][0]);
        outcome->endings[i] = ending_of(i, &children[i], &report[i], stalled);
    }
    outcome->elapsed_ns = (double)report[1].ticks * clock_facts.ns_per_tick;
}
