/* How a recording ends: by itself, by a limit, by a signal to the tracer, or because the reader of the lines says that
 * the program is deadlocked. */
#ifndef CROSSINGS_ENDING_H
#define CROSSINGS_ENDING_H

#include "trace.h"

/* Install the signal handlers and the timer. */
void prepare_ending(void);
/* Admit them, only while waiting: a signal during a write() to a slow reader would lose what stdio has buffered. One
 * that comes before the wait is seen at the next tick. */
void admit_signals(bool admitted);
/* True when the program is being ended: nothing more is recorded. */
bool is_ending(void);
/* True when its processes are killed, also those that begin now. */
bool is_killing(void);
/* Look at the limits and the signals. `last_ns`: the last stop. False: stop tracing, because a demo's time is up, or
 * the program cannot be killed. */
bool check_ending(uint64_t last_ns, uint64_t dropped);
/* A thread beyond the limit: end it, and the program. */
void end_too_many(pid_t tid, uint64_t dropped);
/* A process of a demo has ended with this status. If it has failed, end the others: they would wait for it. */
void end_demo(int status);
/* Kill the processes that escaped the tracer (clone(2) has a flag for it), which are children of this one by now. */
void end_escaped(void);
/* "exited", "timeout", "limit", "deadlock" or "interrupted". */
const char *reason_of_ending(void);

#endif
