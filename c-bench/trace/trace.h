/*
 * The tracer: what its parts know of each other. Tracer and demo are one program, and the demo was forked, not
 * executed; so every address of code and of constants is the same in both, and the tracer follows the demo's pointers
 * at home.
 */
#ifndef CROSSINGS_TRACE_H
#define CROSSINGS_TRACE_H

#include "../demos/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A traced process. */
struct tracee {
    pid_t pid;
    int memory_fd, status_fd; /* /proc/PID/mem and /proc/PID/status */
    struct demo_state state;  /* as read at the last stop */
    enum role role;           /* the last that it had */
    bool stopped;             /* for this tracer, until go_on() */
    bool in_call;             /* between entry and exit of a system call */
    uint64_t number, arguments[6];
    uint64_t switches;            /* voluntary ones, at the call's entry... */
    uint64_t stops;               /* ...and the stops for this tracer since, each of which is one, too */
    const struct step_mark *step; /* begun and not ended; NULL: none */
    uint64_t began_ns, step_began_ns;
};

/* ---- process.c: what can be read of a stopped process ---- */

bool tracee_open(struct tracee *tracee, pid_t pid);
void tracee_close(struct tracee *tracee);
/* Bytes of its memory. How many could be read. */
size_t tracee_read(const struct tracee *tracee, uint64_t address, void *target, size_t bytes);
void tracee_read_state(struct tracee *tracee);
/* How often it went to sleep of itself, up to now. Call after a ptrace request, which waits until the process has
 * really left its core. */
uint64_t tracee_switches(const struct tracee *tracee);
/* Does it sleep, in a call that waits for something? */
bool tracee_sleeps(const struct tracee *tracee);
/* The values of the watched words, as the member "words" of the event under way. */
void print_words(const struct tracee *tracee);
/* What a descriptor is, as {"fd", "target", "device", "inode"}; nothing when it is none. */
void print_descriptor(const struct tracee *tracee, int fd);

/* ---- arguments.c: what a call's arguments point to ---- */

/* Members "args", "fds" and "in" of a call at its entry; "made" and "out" at its exit. */
void print_entry(const struct tracee *tracee, const char *name);
void print_exit(const struct tracee *tracee, const char *name, int64_t result);

/* ---- events.c: a line of JSON each ---- */

void print_enter(const struct tracee *tracee);
void print_leave(const struct tracee *tracee, int64_t result, uint64_t sleeps, uint64_t seen_ns);
void print_step(const struct tracee *tracee, uint64_t seen_ns);
/* The end of a process, and of the call that it never came back from. */
void print_gone(const struct tracee *tracee, int status, uint64_t seen_ns);
/* `format` has one %s, for the reason. */
void print_error(const char *code, const char *format, const char *reason);

/* ---- steps.c ---- */

/* Put a breakpoint on each end of each step, in a stopped process. Its children inherit them. False with errno. */
bool plant_breakpoints(pid_t pid);
/* The step whose breakpoint the process has stopped at, which then need only be continued; NULL: another stop. */
const struct step_mark *step_at(pid_t pid, uint64_t program_counter);

#endif
