/*
 * What the demos have in common: the message, and words in which a demo says where it is.
 * One way only: a writer sends `count` messages, a reader receives them and checks each.
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

#define CACHE_LINE 64 /* bytes that a processor moves between its cores at once */

/* A message as it goes through pipes and shared memory: exactly a cache line, and the same bytes in both processes. */
struct message {
    int sequence; /* 1, 2, 3 ... */
    int type;
    double value;
    char text[40];
    int done; /* 1 in the last one */
    char pad[4];
};
_Static_assert(sizeof(struct message) == CACHE_LINE, "a message fills a cache line");

/* Message number n of `count`. */
struct message make_message(int n, int count);
/* Is it that? If not, the demo ends with status 1 and a sentence. */
void check_message(const struct message *message, int n, int count);

/* The same message as a line of JSON, newline at its end: what goes through sockets. Returns its bytes. */
#define LINE_BYTES 160
size_t make_line(char line[LINE_BYTES], int n, int count);
/* Check the whole lines at the start of `bytes` bytes, counting *next up with each. Returns the bytes they take: a
 * stream may hold several lines at once, or half of one. */
size_t check_lines(const char *text, size_t bytes, int *next, int count);

/* Ends the demo, both processes, with status 1 and what failed: "the reader: read failed: ..." */
__attribute__((noreturn)) void fail(const char *what);

/* "crossings-4711": no other run's. */
const char *own_name(void);

/* Where the demo is. */
void phase(enum phase phase);
static inline void message_begins(int n) {
    demo.message = n;
}

/* The process that the demo began in. */
extern pid_t first_process;

/* A word of shared memory to be watched; one of the same name is watched no more. */
void watch(const char *name, const void *address, enum word_type type);

/* Called first in the process that fork() made: it ends when the process that made it does. */
static inline void begin_as(enum role role) {
    demo.role = role;
    demo.word_count = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != first_process)
        _exit(1); /* it has ended already */
}

/* Wait for the process that fork() made, which must have ended well. */
static inline void wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child)
        fail("waitpid");
    if (status)
        _exit(1); /* it has said why */
}

/* One turn of a loop that waits for the other process's store. */
static inline void spin_turn(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* A demo never returns: it ends its process with _exit(). */
typedef void demo_function(int count);
demo_function pipe_demo, uds_demo, tcp_demo, shm_sem_demo, shm_spin_demo, ring_demo;

#endif
