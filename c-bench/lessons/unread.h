/* Lines that nobody reads: a guard that is blocked in write() would neither keep its program's time limit nor end. */
#ifndef CROSSINGS_UNREAD_H
#define CROSSINGS_UNREAD_H

#include <stdbool.h>
#include <stdint.h>

/* From now on, SIGALRM comes several times a second, and interrupts poll(). If standard output has had no room for a
 * while and SIGTERM is pending, or the time `until_ns` (CLOCK_MONOTONIC) is over, all further output goes nowhere.
 * SIGTERM must be blocked. */
void watch_output(uint64_t until_ns);

bool is_output_given_up(void);

#endif
