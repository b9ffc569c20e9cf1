/* The descendants of this process: what they do, and their end. */
#ifndef CROSSINGS_DESCENDANTS_H
#define CROSSINGS_DESCENDANTS_H

#include <sys/types.h>

/* Call first: orphans among the descendants become children of this process. */
void adopt_orphans(void);

/* What is below this process now is not touched by the functions below. Returns how many there are. */
int spare_descendants(void);

/* Print an event for each process below `ancestor`: whether it sleeps, and in which system call on which descriptor. */
void report_descendants(pid_t ancestor);

/* How many processes are below `ancestor`. */
int count_descendants(pid_t ancestor);

/* Kill all descendants, also those that they start meanwhile, and wait for them, but not for ever: one may be
 * unkillable, because it waits for a lock of the kernel. Returns how many have ended; -1: the system refuses it, and
 * nobody has waited for those that are left. */
int kill_descendants(void);

#endif
