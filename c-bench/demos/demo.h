/*
 * What the demos share: the message, and the functions with which a demo reports its progress to the tracer.
 * Messages go one way: a writer sends `count` messages, and a reader receives and checks each.
 */
#ifndef CROSSINGS_DEMO_H
#define CROSSINGS_DEMO_H

#include "state.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CACHE_LINE 64 /* bytes: the unit in which processors move data between cores */

/* A message in a pipe or in shared memory: exactly one cache line, with the same layout in both processes. */
struct message {
    int sequence; /* 1, 2, 3 ... */
    int type;
    double value;
    char text[40];
    int done; /* 1 in the last one */
    char pad[4];
};
_Static_assert(sizeof(struct message) == CACHE_LINE, "a message fills one cache line");

/* Make message n of `count`. */
struct message make_message(int n, int count);
/* Check that `message` is message n of `count`. If not, end the demo with an error. */
void check_message(const struct message *message, int n, int count);

/* Make the same message as a line of JSON, for sockets. Returns its size in bytes, newline included. */
#define LINE_BYTES 160
size_t make_line(char line[LINE_BYTES], int n, int count);
/* Check the complete lines in `bytes` bytes of a stream, which may end in the middle of a line. Increments *next for
 * each line, and returns the bytes of all complete lines. */
size_t check_lines(const char *text, size_t bytes, int *next, int count);

/* End both processes with status 1 and an error: "The reader failed: read: ..." */
__attribute__((noreturn)) void fail(const char *what);

/* A name that no other run uses, such as "crossings-4711". */
const char *own_name(void);

/* Report the current phase and message. */
void phase(enum phase phase);
/* Called by phase(), if it is set. timing.c sets it in a demo that is timed. */
extern void (*phase_observer)(enum phase phase, enum role role);
static inline void message_begins(int n) {
    demo.message = n;
}

/* The demo's first process. */
extern pid_t first_process;

/* Let the tracer show a word of shared memory. It replaces an earlier word of the same name. */
void watch(const char *name, const void *address, enum word_type type);

/* Called first in the process that fork() created. That process ends when its parent ends. */
static inline void begin_as(enum role role) {
    demo.role = role;
    demo.word_count = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != first_process)
        _exit(1); /* the parent has already ended */
}

/* Wait for the child process, which must exit with status 0. */
static inline void wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child)
        fail("waitpid");
    if (status)
        _exit(1); /* the child has printed the reason */
}

/* One turn of a loop that waits for a store by the other process. */
static inline void spin_turn(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* A demo does not return: it ends its process with _exit(). */
typedef void demo_function(int count);
demo_function pipe_demo, uds_demo, tcp_demo, shm_sem_demo, shm_spin_demo, ring_demo;

#endif
