/* The proofs and controls in C: how the two processes of each are connected, and which loops they run. */
#ifndef CROSSINGS_PROOFS_H
#define CROSSINGS_PROOFS_H

#include "hot-path.h"

struct proof {
    const char *name;   /* "c-ring" */
    const char *title;  /* in tables */
    const char *wanted; /* the system call that must end a control; NULL: a proof, which must survive */

    /* Once, before the processes exist. Returns 0, or -1 and sets errno. */
    int (*set_up)(struct end ends[2]);
    /* Once in each process. Returns 0, or -1 and sets errno. */
    int (*take)(struct end *end, int side);
    exchange *run[2]; /* of the two processes */
};

/* NULL ends the table. */
extern const struct proof *const proofs[];

#endif
