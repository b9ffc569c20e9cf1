/*
 * The seccomp filter of a proof: from filter_enter() on, the kernel kills this process at any system call of this
 * thread that is not listed. Other threads, such as those of V8, are not filtered.
 */
#ifndef CROSSINGS_FILTER_H
#define CROSSINGS_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#define FILTER_MAX_CALLS 64

/* The names of the calls that every filter permits: write(), on the descriptor of the report only, and exit_group(). */
extern const char *const filter_allowed[]; /* NULL ends it */

struct filter {
    int report_fd; /* the only descriptor that write() accepts */
    /* System calls that are permitted and counted, by number: see filter_counts(). */
    int counted[FILTER_MAX_CALLS];
    size_t counted_size;
    /* Called with the number of the forbidden call, right before the process dies. It may call write() on report_fd. */
    void (*on_forbidden)(int number);
};

/* Enter the filter. It cannot be left. False, with a phrase in *reason: the system refuses it. */
bool filter_enter(const struct filter *filter, const char **reason);

/* How often this thread has made a counted call since filter_enter(). */
unsigned long filter_count(int number);

/* Make a forbidden call, which ends the process. Returns only if the filter is not in force. */
void filter_die(void);

#endif
