/* Counts the work of a sample in hardware, in user space and in the kernel, because the kernel does most of the work.
 */
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const counter_names[COUNTERS] = {"cacheReferences", "cacheMisses", "instructions", "cycles"};

static const uint64_t configs[COUNTERS] = {PERF_COUNT_HW_CACHE_REFERENCES, PERF_COUNT_HW_CACHE_MISSES,
                                           PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES};

static void close_first(const struct open_counters *open, int count) {
    for (int i = 0; i < count; i++)
        close(open->fds[i]);
}

bool counters_open(struct open_counters *open, char *reason) {
    for (int i = 0; i < COUNTERS; i++) {
        struct perf_event_attr attributes = {
            .type = PERF_TYPE_HARDWARE,
            .size = sizeof attributes,
            .config = configs[i],
            .disabled = 1,
            .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        };
        open->fds[i] = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (open->fds[i] < 0) {
            int refused = errno;
            close_first(open, i);
            bool missing = refused == ENOENT || refused == ENODEV || refused == EOPNOTSUPP;
            snprintf(reason, COUNTER_REASON_BYTES, "%s", missing ? "this machine has none" : strerror(refused));
            return false;
        }
    }
    return true;
}

void counters_start(const struct open_counters *open) {
    for (int i = 0; i < COUNTERS; i++)
        ioctl(open->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

bool counters_finish(struct open_counters *open, struct counters *counters) {
    for (int i = 0; i < COUNTERS; i++)
        ioctl(open->fds[i], PERF_EVENT_IOC_DISABLE, 0);
    bool counted = true;
    for (int i = 0; i < COUNTERS; i++) {
        struct {
            uint64_t value, enabled_ns, running_ns;
        } count = {0};
        ssize_t got = read(open->fds[i], &count, sizeof count);
        if (got == sizeof count && count.running_ns > 0) {
            counters->values[i] = (double)count.value * (double)count.enabled_ns / (double)count.running_ns;
        } else {
            errno = got < 0 ? errno : ENODATA;
            counted = false;
        }
    }
    close_first(open, COUNTERS);
    return counted;
}
