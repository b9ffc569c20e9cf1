/* Forks and watches the two sides of a sample. Both end with this process, the supervisor, which also ends them if they
 * stop making progress. */
#include "sides.h"

#include "../common/gate.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILURE_REPORT_MS 200 /* time for a side to report its failure after the other one has failed */
#define TICK_MS 1000          /* between looks at the progress */

struct sample *sample_new(void) {
    struct sample *sample =
        mmap(NULL, sizeof *sample, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (sample == MAP_FAILED) {
        perror("Cannot allocate shared memory");
        exit(1);
    }
    return sample;
}

struct child {
    pid_t pid;
    const char *role; /* for error messages */
    bool ended, killed_by_us;
    int status;
};

static void fork_child(struct sample *sample, struct child *child, int index, const sigset_t *signals) {
    pid_t supervisor = getpid();
    child->role = sample->point.threads ? "measuring" : index == SENDER ? "sending" : "receiving";
    child->pid = fork();
    if (child->pid != 0)
        return;
    if (!end_with_parent(supervisor))
        _exit(1);
    signal(SIGPIPE, SIG_IGN); /* writing to a side that has ended must return EPIPE */
    sigprocmask(SIG_SETMASK, signals, NULL);
    if (sample->point.threads)
        _exit(run_threads(sample) ? 0 : 1);
    close(sample->link.ends[!index]);
    _exit(run_side(sample, (enum side)index) ? 0 : 1);
}

static bool succeeded(const struct child *child) {
    return child->ended && WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0;
}

static bool collect(struct child *children, int count, int flags) {
    int status;
    pid_t pid = waitpid(-1, &status, flags);
    for (int i = 0; pid > 0 && i < count; i++) {
        if (children[i].pid == pid) {
            children[i].ended = true;
            children[i].status = status;
        }
    }
    return pid > 0;
}

static int running(const struct child *children, int count) {
    int left = 0;
    for (int i = 0; i < count; i++)
        left += !children[i].ended;
    return left;
}

static uint64_t progress_of(const struct sample *sample) {
    return atomic_load_explicit(&sample->progress[SENDER].bytes, memory_order_relaxed) +
           atomic_load_explicit(&sample->progress[RECEIVER].bytes, memory_order_relaxed);
}

/* Wait for all children. True: they have stalled. SIGCHLD is blocked, so no end of a child is missed. */
static bool watch(const struct sample *sample, struct child *children, int count) {
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    unsigned tick_ms = sample->stall_ms < TICK_MS ? sample->stall_ms : TICK_MS, still_ms = 0;
    uint64_t seen = progress_of(sample);
    for (;;) {
        while (collect(children, count, WNOHANG))
            continue;
        if (running(children, count) == 0)
            return false;
        bool trouble = false;
        for (int i = 0; i < count; i++)
            trouble = trouble || (children[i].ended && !succeeded(&children[i]));
        unsigned wait_ms = trouble ? FAILURE_REPORT_MS : tick_ms;
        struct timespec limit = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
        if (sigtimedwait(&child_ended, NULL, &limit) >= 0 || errno != EAGAIN)
            continue;
        if (trouble)
            return false;
        still_ms = progress_of(sample) == seen ? still_ms + tick_ms : 0;
        seen = progress_of(sample);
        if (still_ms >= sample->stall_ms)
            return true;
    }
}

static void kill_remaining(struct child *children, int count) {
    bool killed = true;
    for (int i = 0; i < count; i++) {
        if (!children[i].ended) {
            children[i].killed_by_us = true;
            killed = kill_child(children[i].pid) && killed;
        }
    }
    while (killed && running(children, count) > 0 && collect(children, count, 0))
        continue;
}

__attribute__((format(printf, 3, 4))) static void set_failure(struct failure *failure, const char *code,
                                                              const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    snprintf(failure->code, sizeof failure->code, "%s", code);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    failure->failed = true;
}

/* Choose the failure to report: a side that was killed, then a cause, then a consequence. */
static void explain(const struct sample *sample, const struct child *children, int count, bool stalled,
                    struct failure *failure) {
    for (int i = 0; i < count; i++) {
        if (!children[i].ended || children[i].killed_by_us || !WIFSIGNALED(children[i].status))
            continue;
        int signal = WTERMSIG(children[i].status);
        set_failure(failure, "ERR_CHILD_DIED", "the %s process was killed by signal %d (%s)", children[i].role, signal,
                    strsignal(signal));
        return;
    }
    if (stalled) {
        set_failure(failure, "ERR_STALLED", "no progress for %u ms", sample->stall_ms);
        return;
    }
    const struct failure *sent = &sample->failure[SENDER], *received = &sample->failure[RECEIVER];
    bool surplus = sent->failed && sent->consequence && !received->failed;
    if (surplus) { /* the receiver was content and left */
        set_failure(failure, "ERR_MESSAGE_ALTERED", "all %llu bytes had arrived before the last was sent",
                    (unsigned long long)sample->total_bytes);
        return;
    }
    *failure = !sent->failed || (sent->consequence && received->failed) ? *received : *sent;
    if (!failure->failed)
        set_failure(failure, "ERR_CHILD_DIED", "a side ended without a result");
}

static void reset(struct sample *sample) {
    memset(&sample->reads, 0, sizeof sample->reads);
    memset(sample->failure, 0, sizeof sample->failure);
    atomic_store(&sample->stopped, 0);
    for (int side = 0; side < 2; side++)
        note_progress(sample, (enum side)side, 0);
}

bool sample_take(struct sample *sample, struct failure *failure) {
    const struct transport *transport = sample->point.transport;
    memset(failure, 0, sizeof *failure);
    reset(sample);
    if (!gate_create(&sample->ready) || transport->open(&sample->point, &sample->link)) {
        set_failure(failure, "ERR_SYSTEM", "cannot set up %s: %s", transport->name, strerror(errno));
        return false;
    }
    sigset_t child_ended, signals;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, &signals);

    struct child children[2] = {0};
    int count = sample->point.threads ? 1 : 2;
    for (int i = 0; i < count; i++) {
        fork_child(sample, &children[i], i, &signals);
        children[i].ended = children[i].pid < 0;
    }
    bool forked = running(children, count) == count;
    if (!forked)
        set_failure(failure, "ERR_SYSTEM", "cannot fork: %s", strerror(errno));
    close(sample->link.ends[SENDER]);
    close(sample->link.ends[RECEIVER]);
    bool stalled = forked && watch(sample, children, count);
    kill_remaining(children, count);
    close(sample->ready.wait_fd);
    close(sample->ready.open_fd);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    if (!forked)
        return false;
    for (int i = 0; i < count; i++) {
        if (!succeeded(&children[i])) {
            explain(sample, children, count, stalled, failure);
            return false;
        }
    }
    return true;
}
