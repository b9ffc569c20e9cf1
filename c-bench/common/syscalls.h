/* System calls: their names on this machine, and the cost of the cheapest one. */
#ifndef CROSSINGS_SYSCALLS_H
#define CROSSINGS_SYSCALLS_H

#include <stdint.h>

#define MAX_SYSCALLS 1024 /* every number in use is below */

/* Added to the number of a call that was made by another set of numbers: a 32-bit call on x86-64, for example. The
 * kernel calls them compat calls. */
#define COMPAT_CALL (UINT64_C(1) << 32)

/* The name of a system call, "syscall_N" for an unknown number, or "compat_N"; valid until the next call. */
const char *syscall_name(uint64_t number);

/*
 * The system-call floor: the nanoseconds of getppid(), made directly, without libc's wrapper.
 * Method: the median of 20 batches of 1,000 calls. A batch makes the cost of reading the clock negligible. The median,
 * not the minimum, because the figure is compared with medians measured in the same run.
 */
double syscall_floor_ns(void);

#endif
