/* The program's parent, which the guard starts: it starts the program, waits for it, and reports to the guard. */
#ifndef CROSSINGS_PARENT_H
#define CROSSINGS_PARENT_H

#include "confine.h"

#include <sys/types.h>

#define MOST_REAPED 100000 /* children that have ended, in one go: a program may start more and more */

/* Sent by the program's parent to the guard. */
struct notice {
    enum { READY = 1, REFUSED, ENDED } kind;
    int status;   /* of the program, from waitpid() */
    int left;     /* processes that it left behind */
    pid_t pid;    /* of the program, in its namespace */
    bool counted; /* the kernel limits how many processes there are */
    char text[120];
};

struct pipes {
    int out[2], error[2], status[2];
};

/* What the guard obeys: a signalfd, and the process that asked for this run. */
struct orders {
    int fd;
    pid_t owner;
};

/* Start the parent, and the program with it, and print which namespaces they have. Makes pipes->status, and
 * closes its write end. Returns 0 if the process that asked for this run has ended, and -1 if the program could not be
 * started: then the reason has been printed. */
pid_t start_parent(const struct confinement *how, struct pipes *pipes, const char *folder, const struct orders *orders,
                   struct notice *notice);

/* In the guard: read a signal. SIGUSR1 is passed to the parent. At SIGTERM, the guard must end, and at SIGCONT, too, if
 * its owner has ended. */
bool must_end(const struct orders *orders, pid_t parent);

/* SIGUSR1 is on its way to the tracer: pass it on to `process`; 0: it does nothing. */
void pass_signals_to(pid_t process);

#endif
