/*
 * Counts with the kernel's tracepoint raw_syscalls:sys_enter, through perf_event_open(2). Every process that the
 * command starts inherits one event per CPU. The command runs at nearly its usual speed. Each system call adds a record
 * with its number to a ring buffer. A plain counter detects lost records.
 */
#include "../common/topology.h"
#include "count.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER_PAGES 256 /* per CPU; a power of two */
#define ID_OFFSET 8      /* of the system call's number in a record (see the tracepoint's `format` file) */

struct event {
    int fd;
    struct perf_event_mmap_page *page; /* followed by the records */
};

static struct event events[MAX_CPUS];
static int event_count;

/* ---- The tracepoint's id ---- */

/* Mount tracefs on a descriptor only: the mount has no path and ends when the descriptor is closed. Returns -1 and sets
 * errno on failure. */
static int open_private_tracefs(void) {
#if defined(SYS_fsopen) && defined(SYS_fsmount)
    int context = (int)syscall(SYS_fsopen, "tracefs", 1 /* FSOPEN_CLOEXEC */);
    if (context < 0)
        return -1;
    int mount = -1;
    if (syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0) == 0)
        mount = (int)syscall(SYS_fsmount, context, 1 /* FSMOUNT_CLOEXEC */, 0);
    int reason = errno;
    close(context);
    errno = reason;
    return mount;
#else
    errno = ENOSYS;
    return -1;
#endif
}

static long read_id(int directory, const char *path) {
    char text[32] = "";
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    return got > 0 ? strtol(text, NULL, 10) : -1;
}

static long tracepoint_id(char *reason) {
    static const char event[] = "events/raw_syscalls/sys_enter/id";
    static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    long id = -1;
    int refused = ENOENT;
    for (int i = 0; i < 2 && id < 0; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%s", mounts[i], event);
        id = read_id(AT_FDCWD, path);
        if (id < 0 && errno != ENOENT)
            refused = errno;
    }
    if (id >= 0)
        return id;
    int mount = open_private_tracefs();
    if (mount >= 0) {
        id = read_id(mount, event);
        close(mount);
    }
    if (id < 0)
        snprintf(reason, REASON_BYTES, "cannot read the tracepoint raw_syscalls:sys_enter: %s",
                 strerror(refused == ENOENT ? errno : refused));
    return id;
}

/* ---- The events ---- */

static void close_events(void) {
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < event_count; i++) {
        munmap(events[i].page, (BUFFER_PAGES + 1) * page_bytes);
        close(events[i].fd);
    }
    event_count = 0;
}

static bool open_event(pid_t command, int cpu, long id) {
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof attributes,
        .config = (uint64_t)id,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_RAW,
        .disabled = 1,
        .enable_on_exec = 1,
        .inherit = 1,
        .watermark = 1,
        .wakeup_watermark = (uint32_t)(BUFFER_PAGES * page_bytes / 4),
    };
    int fd = (int)syscall(SYS_perf_event_open, &attributes, command, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno == ENODEV; /* the CPU is offline and makes no system calls */
    void *page = mmap(NULL, (BUFFER_PAGES + 1) * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        close(fd);
        return false;
    }
    events[event_count++] = (struct event){fd, page};
    return true;
}

static bool start(pid_t command, char *reason) {
    long id = tracepoint_id(reason);
    if (id < 0)
        return false;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < cpus && cpu < MAX_CPUS; cpu++) {
        if (!open_event(command, cpu, id)) {
            snprintf(reason, REASON_BYTES, "perf_event_open is not permitted: %s", strerror(errno));
            close_events();
            return false;
        }
    }
    return true;
}

/* Copy out the record at `offset`, which may wrap around the end of the buffer. */
static void copy_record(const struct event *event, uint64_t offset, void *record, size_t bytes) {
    const char *buffer = (const char *)event->page + sysconf(_SC_PAGESIZE);
    size_t size = (size_t)(BUFFER_PAGES * sysconf(_SC_PAGESIZE));
    size_t at = offset % size, first = bytes < size - at ? bytes : size - at;
    memcpy(record, buffer + at, first);
    memcpy((char *)record + first, buffer, bytes - first);
}

static void drain(struct event *event, struct tally *tally) {
    struct {
        struct perf_event_header header;
        uint32_t raw_bytes;
        char raw[ID_OFFSET + sizeof(uint64_t)];
    } __attribute__((packed)) sample;
    /* Pairs with the kernel's release of data_head: the records before it are complete. */
    uint64_t head = __atomic_load_n(&event->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = event->page->data_tail;
    while (tail < head) {
        copy_record(event, tail, &sample.header, sizeof sample.header);
        if (sample.header.type == PERF_RECORD_SAMPLE) {
            uint64_t number;
            copy_record(event, tail, &sample, sizeof sample);
            memcpy(&number, sample.raw + ID_OFFSET, sizeof number);
            tally_add(tally, number);
        }
        tail += sample.header.size;
    }
    /* Pairs with the kernel's load of data_tail: the kernel may now overwrite the records that were read. */
    __atomic_store_n(&event->page->data_tail, tail, __ATOMIC_RELEASE);
}

static uint64_t counted_by_kernel(void) {
    uint64_t total = 0, count;
    for (int i = 0; i < event_count; i++)
        if (read(events[i].fd, &count, sizeof count) == sizeof count)
            total += count;
    return total;
}

static int finish(pid_t command, struct tally *tally, char *reason) {
    struct pollfd polled[MAX_CPUS];
    int status = -1;
    for (int i = 0; i < event_count; i++)
        polled[i] = (struct pollfd){.fd = events[i].fd, .events = POLLIN};
    pid_t ended = 0;
    while (ended == 0) {
        poll(polled, (nfds_t)event_count, 20 /* ms, then check whether the command has ended */);
        ended = waitpid(command, &status, WNOHANG);
        for (int i = 0; i < event_count; i++)
            drain(&events[i], tally);
    }
    if (ended < 0) {
        snprintf(reason, REASON_BYTES, "cannot wait for the command: %s", strerror(errno));
        close_events();
        return -1;
    }
    for (int i = 0; i < event_count; i++) { /* processes that outlive the command go on making calls */
        ioctl(events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
        drain(&events[i], tally);
    }
    uint64_t counted = counted_by_kernel();
    close_events();
    if (counted != tally->total) {
        snprintf(reason, REASON_BYTES,
                 "the kernel counted %llu system calls, but only %llu records arrived; the command makes calls faster "
                 "than this machine records them now, so use --method ptrace, which makes each call slower",
                 (unsigned long long)counted, (unsigned long long)tally->total);
        return -1;
    }
    return status;
}

const struct method tracepoint_method = {"tracepoint", start, finish};
