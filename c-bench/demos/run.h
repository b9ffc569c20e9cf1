/* Running a demo: the table of all demos, and starting one, held until the caller lets it begin. */
#ifndef CROSSINGS_RUN_H
#define CROSSINGS_RUN_H

#include "../common/gate.h"
#include "demo.h"

#define MAX_NAMES 4

struct demo_entry {
    const char *name, *title, *source;
    demo_function *run;
    bool spins;                   /* its processes wait by spinning, so each needs its own core */
    const char *names[MAX_NAMES]; /* files that it creates and removes; %d: the PID of its first process */
};

/* The table, in demos.c; an entry without a name ends it. */
extern const struct demo_entry demos[];

/* Fork the demo's first process and hold it at the gate until begin_demo(). If it is not traced, it ends if its second
 * process is killed. Returns its PID, or -1 and sets errno. */
pid_t prepare_demo(const struct demo_entry *entry, int count, bool is_traced, struct gate *gate);
/* Let the demo begin. `gate` is closed. If the demo creates names, a cleaner process, which is a child of this one,
 * removes them when the demo has ended. */
void begin_demo(const struct demo_entry *entry, pid_t pid, struct gate *gate);
/* Wait until the names of the last demo are removed. */
void wait_for_cleaner(void);
/* Run a demo to its end. False: it failed and has printed the reason. */
bool run_demo(const struct demo_entry *entry, int count);

#endif
