/*
 * The interface between the parts of the tracer.
 *
 * A demo, or a function, is forked without exec: tracer and traced program are one program. So code and constants have
 * the same addresses in both, and the tracer can follow the program's pointers to them in its own memory. A command is
 * executed, and then only the kernel's interface is known of it.
 */
#ifndef CROSSINGS_TRACE_H
#define CROSSINGS_TRACE_H

#include "../demos/state.h"
#include "tracer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A traced thread; a process with one thread is one of these. */
struct tracee {
    pid_t tid, pid;          /* of the thread, and of its process */
    int status_fd;           /* /proc/TID/status */
    bool foreign;            /* it has executed another program, so its addresses mean nothing here */
    struct demo_state state; /* as read at the last stop */
    enum role role;          /* the last role that it reported */
    bool stopped;            /* until resume() */
    bool in_call;            /* between the entry and the exit of a system call */
    bool printed;            /* the entry of that call is in the recording */
    uint64_t number, arguments[6];
    uint64_t switches;            /* voluntary context switches at the call's entry... */
    uint64_t stops;               /* ...and stops for the tracer since then, which count as switches, too */
    const struct step_mark *step; /* the step that has begun and not ended, or NULL */
    uint64_t began_ns, step_began_ns;
};

struct stop {
    pid_t tid;
    int status;
    uint64_t seen_ns;
    bool begins_call, begins_step; /* when the thread is resumed */
    long signal;                   /* delivered to it then; 0: none */
};

/* What differs between tracing a demo, a function and a command. Functions may be NULL. */
struct front {
    bool in_step;                     /* a demo: its processes advance together, and its time limit is an error */
    void (*pin)(pid_t, size_t count); /* a new process, the how manieth */
    /* Read the state that the program reports. False: it is not to be recorded yet. */
    bool (*read_state)(struct tracee *);
    void (*print_place)(const struct tracee *); /* members for an entry: the line of the source */
    void (*print_words)(const struct tracee *); /* a member for an exit: words of shared memory */
    bool (*at_breakpoint)(struct tracee *, const struct stop *);
};

/* ---- tracer.c: the loop ---- */

/* Trace all processes from `first` on, which is attached and stopped with `status`, until they have ended. `begin` lets
 * it begin. Returns the first process's wait status, or -1 if the time was up. */
int watch_all(const struct front *front, const struct trace_limits *limits, pid_t first, int status,
              void (*begin)(void *), void *argument);
/* Attach to a process that is held at a gate, and stop it. On failure prints the event "error" and kills the process.
 */
bool attach(pid_t pid, int *status);
/* The front and the limits of the trace in progress. */
extern const struct front *front;
extern const struct trace_limits *limits;

/* ---- tasks.c: the traced threads ---- */

struct tracee *find_tracee(pid_t tid);
/* Add a thread. NULL: there are too many. */
struct tracee *new_tracee(pid_t tid);
void remove_tracee(struct tracee *tracee);
/* The next one after `tracee` (NULL: the first), or NULL. */
struct tracee *next_tracee(const struct tracee *tracee);
size_t count_tracees(void);
/* True for the first thread of a process that has ended while others go on. The kernel reports its end after theirs. */
bool has_ended_first(const struct tracee *tracee);
/* The thread through which /proc shows the descriptors of a process: its first, or another if that has ended. */
const struct tracee *shown_thread(pid_t pid);

/* ---- process.c: reads a stopped process ---- */

/* Call first at the entry of each system call: it may be the one that makes a userfaultfd. */
void note_userfaultfd(const struct tracee *tracee);
/* True after that: a system call may wait for a thread that is stopped, and keep what it uses locked meanwhile. */
bool may_wait_for_page(void);
/* Read `bytes` bytes of its memory. Returns the number of bytes read. */
size_t tracee_read(const struct tracee *tracee, uint64_t address, void *target, size_t bytes);
/* Read a string of at most `bytes` - 1 bytes. */
void tracee_read_text(const struct tracee *tracee, uint64_t address, char *target, size_t bytes);
/* The number of its voluntary context switches. Call this after a ptrace request, which waits until the thread has left
 * its core. */
uint64_t tracee_switches(const struct tracee *tracee);
/* Its state as a letter: S asleep, R running, D asleep without signals, T stopped, t traced, Z ended. */
char tracee_state(const struct tracee *tracee);
/* A number in its status file, such as "Tgid" or "PPid". */
long tracee_status(const struct tracee *tracee, const char *key);
/* A set of signals in its status file, such as "\nSigCgt:\t", as hexadecimal; "0x0" if it is not there. */
void tracee_mask(const struct tracee *tracee, const char *key, char mask[20]);
/* Its name, of at most 15 bytes. */
void tracee_name(const struct tracee *tracee, char name[16]);
/* Like stat(2) for a file of its in /proc, with the mode, user, number of names, inode and device only. It does not ask
 * the file system, which may be on a network, or be served (FUSE) by a process that this tracer has stopped. */
int stat_cached(const char *path, struct stat *status);

/* ---- descriptors.c: what descriptors refer to ---- */

/* Add an object for a descriptor: {"fd", "target", "device", "inode", ...}. Adds nothing if it is not open. */
void print_descriptor(const struct tracee *tracee, int fd);
/* The same with its access mode, whether exec closes it, and the addresses of a socket. */
void print_full_descriptor(const struct tracee *tracee, int fd);
/* Add an array of all its descriptors; or of the first ones, and then "listedTo", the number of the last. */
void print_all_descriptors(const struct tracee *tracee, const char *key);
/* Signals were admitted: that may list as many again. Otherwise it lists one of each process. */
void allow_descriptors(void);

/* ---- arguments.c: reads what a system call's arguments point to ---- */

/* Add the members "args", "fds" and "in" at a call's entry, and "made" and "out" at its exit. */
void print_entry(const struct tracee *tracee, const char *name);
void print_exit(const struct tracee *tracee, const char *name, int64_t result);

/* ---- outside.c: what processes that are not traced could use to wake a thread ---- */

/* Forget what the functions below found for the last snapshot. */
void begin_looking(void);
/* Add the signals that the process catches and those that the thread blocks: "caught" and "blocked". */
void print_signals(const struct tracee *tracee);
/* Add "sharing" if the address is in a shared mapping: its path, and whether processes that are not traced have it. */
void print_sharing(const struct tracee *tracee, uint64_t address);
/* Add "locks" if the call waits for a lock: who holds locks of the file, and whether these are all of its locks. */
void print_locks(const struct tracee *tracee, const char *call);

/* ---- events.c: prints one line of JSON for each event ---- */

void print_enter(const struct tracee *tracee);
void print_leave(const struct tracee *tracee, int64_t result, uint64_t sleeps, uint64_t seen_ns);
/* The end of a thread, and of the system call from which it did not return. */
void print_gone(const struct tracee *tracee, int status, uint64_t seen_ns);
void print_born(const struct tracee *tracee, uint64_t seen_ns);
void print_exec(const struct tracee *tracee, uint64_t seen_ns);
void print_signal(const struct tracee *tracee, int signal, uint64_t seen_ns);
/* Every thread, its call, and every descriptor: why nothing happens, or how far the program had come at its end. */
void print_snapshot(const char *why, uint64_t dropped, uint64_t now_ns);
void print_end(const char *why, int status, uint64_t dropped, uint64_t now_ns);
/* `format` contains one %s, for `reason`. */
void print_error(const char *code, const char *format, const char *reason);

/* ---- state.c, steps.c: only of programs that were forked without exec ---- */

bool read_demo_state(struct tracee *tracee);     /* a demo says when it begins */
bool read_function_state(struct tracee *tracee); /* a function is recorded from its first call on */
void print_demo_place(const struct tracee *tracee);
void print_function_place(const struct tracee *tracee);
/* Add the values of the watched words to the current event, as its member "words". */
void print_words(const struct tracee *tracee);
/* Put a breakpoint on both ends of every step of a stopped process. Its children inherit them. Returns false and sets
 * errno on failure. */
bool plant_breakpoints(pid_t pid);
/* Record the begin or the end of a step that the process stopped at. False: it did not stop at one of our breakpoints.
 */
bool at_breakpoint(struct tracee *tracee, const struct stop *stop);

#endif
