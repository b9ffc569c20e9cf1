/* Lines that nobody reads: a guard that is blocked in write() would neither keep its program's time limit nor end. */
#ifndef CROSSINGS_UNREAD_H
#define CROSSINGS_UNREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From now on, SIGALRM comes several times a second, and interrupts poll(). Standard output or error that has had no
 * room for a while goes nowhere if this process is asked to end: by SIGTERM, which must be blocked, or by the end of
 * its parent `asker`. */
void watch_output(pid_t asker);

/* ...or if the time `until_ns` (CLOCK_MONOTONIC) is over, which it is at first. */
void give_up_output_after(uint64_t until_ns);

bool is_output_given_up(void);

#endif
