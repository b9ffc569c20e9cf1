/* Hardware counters of one side of a sample, through perf_event_open(2). Many virtual machines have none. */
#ifndef CROSSINGS_COUNTERS_H
#define CROSSINGS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTERS 4
#define COUNTER_REASON_BYTES 160

extern const char *const counter_names[COUNTERS];

struct counters {
    double values[COUNTERS]; /* scaled up if the kernel counted for only a part of the time */
};

struct open_counters {
    int fds[COUNTERS];
};

/* Open the counters of the calling thread, stopped. False: this machine has none or does not permit them, and `reason`
 * (of COUNTER_REASON_BYTES) says why. */
bool counters_open(struct open_counters *open, char *reason);
void counters_start(const struct open_counters *open);
/* Stop, read and close. False, with errno, if one cannot be read or was never counted. */
bool counters_finish(struct open_counters *open, struct counters *counters);

#endif
