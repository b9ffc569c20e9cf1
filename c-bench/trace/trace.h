/*
 * The interface between the parts of the tracer. Tracer and demo are one program, and the demo is forked without exec.
 * So code and constants have the same addresses in both, and the tracer can follow the demo's pointers to them in its
 * own memory.
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
    enum role role;           /* the last role that it reported */
    bool stopped;             /* until resume() */
    bool in_call;             /* between the entry and the exit of a system call */
    uint64_t number, arguments[6];
    uint64_t switches;            /* voluntary context switches at the call's entry... */
    uint64_t stops;               /* ...and stops for the tracer since then, which count as switches, too */
    const struct step_mark *step; /* the step that has begun and not ended, or NULL */
    uint64_t began_ns, step_began_ns;
};

/* ---- process.c: reads a stopped process ---- */

bool tracee_open(struct tracee *tracee, pid_t pid);
void tracee_close(struct tracee *tracee);
/* Read `bytes` bytes of its memory. Returns the number of bytes read. */
size_t tracee_read(const struct tracee *tracee, uint64_t address, void *target, size_t bytes);
void tracee_read_state(struct tracee *tracee);
/* The number of its voluntary context switches. Call this after a ptrace request, which waits until the process has
 * left its core. */
uint64_t tracee_switches(const struct tracee *tracee);
/* True if it sleeps in a system call. */
bool tracee_sleeps(const struct tracee *tracee);
/* Add the values of the watched words to the current event, as its member "words". */
void print_words(const struct tracee *tracee);
/* Add an object for a descriptor: {"fd", "target", "device", "inode"}. Adds nothing if it is not open. */
void print_descriptor(const struct tracee *tracee, int fd);

/* ---- arguments.c: reads what a system call's arguments point to ---- */

/* Add the members "args", "fds" and "in" at a call's entry, and "made" and "out" at its exit. */
void print_entry(const struct tracee *tracee, const char *name);
void print_exit(const struct tracee *tracee, const char *name, int64_t result);

/* ---- events.c: prints one line of JSON for each event ---- */

void print_enter(const struct tracee *tracee);
void print_leave(const struct tracee *tracee, int64_t result, uint64_t sleeps, uint64_t seen_ns);
void print_step(const struct tracee *tracee, uint64_t seen_ns);
/* The end of a process, and of the system call from which it did not return. */
void print_gone(const struct tracee *tracee, int status, uint64_t seen_ns);
/* `format` contains one %s, for `reason`. */
void print_error(const char *code, const char *format, const char *reason);

/* ---- steps.c: breakpoints on steps ---- */

/* Put a breakpoint on both ends of every step of a stopped process. Its children inherit them. Returns false and sets
 * errno on failure. */
bool plant_breakpoints(pid_t pid);
/* The mark whose breakpoint stopped the process, which can then be resumed; NULL: it stopped for another reason. */
const struct step_mark *step_at(pid_t pid, uint64_t program_counter);

#endif
