/* Forks, pins, starts and watches the two processes of a measurement. */
#include "pair.h"

#include "../common/gate.h"
#include "../common/ndjson.h"
#include "../common/topology.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILURE_REPORT_MS 200 /* time for a side to report its failure after its peer has failed */
#define TICK_MS 1000          /* between progress reports of a long pass */

unsigned turns_before_yield;
unsigned messages_a_batch = 1;
bool polling;

void *shared_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "Cannot allocate %zu bytes of shared memory: %s\n", bytes, strerror(errno));
        exit(1);
    }
    return memory;
}

struct pair *pair_new(const struct plan *plan) {
    struct pair *pair = shared_memory(sizeof *pair);
    pair->plan = *plan;
    return pair;
}

void pair_fail(struct pair *pair, enum side side, enum certainty certainty, const char *code, const char *format, ...) {
    struct failure *failure = &pair->report[side].failure;
    va_list arguments;
    va_start(arguments, format);
    failure->certainty = certainty;
    snprintf(failure->code, sizeof failure->code, "%s", code);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
}

void pair_fail_io(struct pair *pair, enum side side, enum outcome outcome, const char *doing) {
    if (outcome == ENDED)
        pair_fail(pair, side, PEER_LEFT, "ERR_PEER_LEFT", "%s: the other process has exited", doing);
    else
        pair_fail(pair, side, CERTAIN, "ERR_SYSTEM", "%s failed: %s", doing, strerror(errno));
}

/* ---- One side ---- */

/* The sides open `ready`; the supervisor opens `go` once for each side. */
struct gates {
    struct gate ready, go;
};

static bool prepare(struct pair *pair, enum side side, const struct gates *gates) {
    const struct plan *plan = &pair->plan;
    if (plan->pinned && !pin_process(0, plan->cores[side])) {
        pair_fail(pair, side, CERTAIN, "ERR_SYSTEM", "cannot pin to core %d: %s", plan->cores[side], strerror(errno));
        return false;
    }
    if (!plan->alone && plan->mechanism->take(side)) {
        pair_fail(pair, side, CERTAIN, "ERR_SYSTEM", "cannot prepare %s: %s", plan->mechanism->name, strerror(errno));
        return false;
    }
    if (plan->lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE)) {
        pair_fail(pair, side, CERTAIN, "ERR_MLOCK", "cannot lock memory (mlockall): %s", strerror(errno));
        return false;
    }
    bool started = gate_open(&gates->ready);
    close(gates->ready.open_fd);
    started = started && gate_wait(&gates->go);
    /* Not before: a child that a pinned real-time parent forks never runs. */
    if (started && plan->realtime && sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 50})) {
        pair_fail(pair, side, CERTAIN, "ERR_SYSTEM", "cannot set real-time priority: %s", strerror(errno));
        return false;
    }
    return started;
}

static pid_t fork_side(struct pair *pair, enum side side, side_work work, const struct gates *gates,
                       const sigset_t *signals) {
    pid_t supervisor = getpid();
    pid_t child = fork();
    if (child != 0)
        return child;
    if (!end_with_parent(supervisor))
        _exit(1);
    signal(SIGPIPE, SIG_IGN); /* writing to a peer that has exited must return EPIPE */
    sigprocmask(SIG_SETMASK, signals, NULL);
    bool worked = prepare(pair, side, gates) && work(pair, side);
    pair->plan.mechanism->teardown(side);
    _exit(worked ? 0 : 1);
}

/* ---- The supervisor ---- */

struct watched {
    pid_t pid;
    bool ended, killed_by_us;
    int status;
};

static bool collect(struct watched sides[2], int flags) {
    int status;
    pid_t pid = waitpid(-1, &status, flags);
    for (int i = 0; pid > 0 && i < 2; i++) {
        if (sides[i].pid == pid) {
            sides[i].ended = true;
            sides[i].status = status;
        }
    }
    return pid > 0;
}

static bool succeeded(const struct watched *side) {
    return side->ended && WIFEXITED(side->status) && WEXITSTATUS(side->status) == 0;
}

static void kill_remaining(struct watched sides[2]) {
    bool killed = true;
    for (int i = 0; i < 2; i++) {
        if (!sides[i].ended) {
            sides[i].killed_by_us = true;
            killed = kill_child(sides[i].pid) && killed;
        }
    }
    while (killed && !(sides[0].ended && sides[1].ended) && collect(sides, 0))
        continue;
}

static uint64_t progress(const struct pair *pair) {
    return atomic_load_explicit(&pair->report[0].progress, memory_order_relaxed) +
           atomic_load_explicit(&pair->report[1].progress, memory_order_relaxed);
}

static void print_progress(const char *pass, uint64_t done, uint64_t of) {
    event_begin("progress");
    event_string("pass", pass);
    event_integer("done", done);
    event_integer("of", of);
    event_end();
}

/* Wait for both sides. True: they have stalled. SIGCHLD is blocked, so no end of a side is missed. The supervisor
 * sleeps, except to print one line of progress per second, and so does not disturb the measurement. */
static bool watch(struct pair *pair, const struct pass *pass, struct watched sides[2]) {
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    bool ticks = pair->plan.progress && pair->plan.stall_ms > TICK_MS;
    unsigned tick_ms = ticks ? TICK_MS : pair->plan.stall_ms, still_ms = 0;
    uint64_t seen = progress(pair);
    for (;;) {
        while (collect(sides, WNOHANG))
            continue;
        if (sides[0].ended && sides[1].ended)
            return false;
        bool trouble = (sides[0].ended && !succeeded(&sides[0])) || (sides[1].ended && !succeeded(&sides[1]));
        unsigned wait_ms = trouble ? FAILURE_REPORT_MS : tick_ms;
        struct timespec limit = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
        if (sigtimedwait(&child_ended, NULL, &limit) >= 0 || errno != EAGAIN)
            continue;
        if (trouble)
            return false;
        still_ms = progress(pair) == seen ? still_ms + tick_ms : 0;
        if (still_ms >= pair->plan.stall_ms)
            return true;
        seen = progress(pair);
        if (pair->plan.progress)
            print_progress(pass->name, seen / 2, pass->count); /* both sides count each message */
    }
}

/* Choose the failure to report. */
static void explain(const struct pair *pair, const struct pass *pass, const struct watched sides[2], bool stalled,
                    struct failure *failure) {
    for (int i = 0; i < 2; i++) {
        if (sides[i].ended && !sides[i].killed_by_us && WIFSIGNALED(sides[i].status)) {
            failure->certainty = CERTAIN;
            snprintf(failure->code, sizeof failure->code, "ERR_CHILD_DIED");
            snprintf(failure->text, sizeof failure->text, "the %s process was killed by signal %d (%s)", pass->roles[i],
                     WTERMSIG(sides[i].status), strsignal(WTERMSIG(sides[i].status)));
            return;
        }
    }
    const struct failure *a = &pair->report[0].failure, *b = &pair->report[1].failure;
    *failure = a->certainty > b->certainty ? *a : *b;
    if (failure->certainty >= SUSPECTED || (failure->certainty == PEER_LEFT && !stalled))
        return;
    bool one_finished = succeeded(&sides[0]) || succeeded(&sides[1]);
    failure->certainty = CERTAIN;
    snprintf(failure->code, sizeof failure->code, one_finished ? "ERR_MESSAGE_LOST" : "ERR_STALLED");
    snprintf(failure->text, sizeof failure->text,
             one_finished ? "a message was lost: one process has finished, the other has waited for %u ms"
                          : "no progress for %u ms",
             pair->plan.stall_ms);
}

/* The mechanism's setup, with SIGTERM blocked: if the program is killed meanwhile, this process still removes the names
 * that setup() has just made, and ends afterwards. */
static int set_up(const struct plan *plan) {
    sigset_t terminate, before;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    sigprocmask(SIG_BLOCK, &terminate, &before);
    int result = plan->mechanism->setup(plan->size_bytes);
    int reason = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return result;
}

/* errno's sentence. */
static void cannot(struct failure *failure, const char *doing, const char *what) {
    failure->certainty = CERTAIN;
    snprintf(failure->code, sizeof failure->code, "ERR_SYSTEM");
    snprintf(failure->text, sizeof failure->text, "cannot %s %s: %s", doing, what, strerror(errno));
}

/* With --alone, a message that does not fit would never be sent. */
static bool has_room(const struct plan *plan, struct failure *failure) {
    const struct mechanism *mechanism = plan->mechanism;
    size_t room = plan->alone && mechanism->room ? mechanism->room() : SIZE_MAX;
    if (plan->size_bytes <= room)
        return true;
    failure->certainty = CERTAIN;
    snprintf(failure->code, sizeof failure->code, "ERR_NO_ROOM");
    snprintf(
        failure->text, sizeof failure->text,
        "a message of %zu bytes does not fit into this %s, which holds %zu bytes (it is small if its user has many)",
        plan->size_bytes, mechanism->name, room);
    return false;
}

bool pair_run(struct pair *pair, const struct pass *pass, struct failure *failure) {
    const struct mechanism *mechanism = pair->plan.mechanism;
    struct gates gates;
    memset(failure, 0, sizeof *failure);
    memset(pair->report, 0, sizeof pair->report);
    atomic_store(&pair->receiver_ready, 0);

    print_progress(pass->name, 0, pass->count);
    if (!gate_create(&gates.ready) || !gate_create(&gates.go) || set_up(&pair->plan)) {
        cannot(failure, "set up", mechanism->name);
        return false;
    }
    if (!has_room(&pair->plan, failure))
        return false;
    sigset_t child_ended, signals;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, &signals);

    struct watched sides[2] = {{.ended = true}, {.ended = true}};
    bool forked = true;
    for (int i = 0; i < 2 && forked; i++) {
        sides[i].pid = fork_side(pair, (enum side)i, pass->work, &gates, &signals);
        sides[i].ended = sides[i].pid < 0;
        forked = !sides[i].ended;
        if (!forked)
            cannot(failure, "start", "a process");
    }

    /* Close the supervisor's descriptors, so that each side sees the other's end of file. */
    mechanism->teardown(SIDE_A);
    mechanism->teardown(SIDE_B);
    close(gates.ready.open_fd);
    close(gates.go.wait_fd);

    bool both_ready = forked && gate_wait(&gates.ready) && gate_wait(&gates.ready);
    bool stalled = false;
    if (both_ready && gate_open(&gates.go) && gate_open(&gates.go))
        stalled = watch(pair, pass, sides);
    else if (forked)
        usleep(FAILURE_REPORT_MS * 1000);
    while (collect(sides, WNOHANG))
        continue;
    kill_remaining(sides);
    close(gates.ready.wait_fd);
    close(gates.go.open_fd);
    sigprocmask(SIG_SETMASK, &signals, NULL);

    if (!forked)
        return false;
    if (succeeded(&sides[0]) && succeeded(&sides[1])) {
        print_progress(pass->name, pass->count, pass->count);
        return true;
    }
    explain(pair, pass, sides, stalled, failure);
    return false;
}
