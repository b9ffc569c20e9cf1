/* Reads a stopped thread: its memory, its state, its context switches, and what its files are. */
#include "trace.h"

#include "../common/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef STATX_BASIC_STATS /* an older libc */
#include <linux/stat.h>
#endif
#ifndef AT_STATX_DONT_SYNC
#define AT_STATX_DONT_SYNC 0x4000
#endif

static bool has_userfaultfd; /* some tracee */

void note_userfaultfd(const struct tracee *tracee) {
    const unsigned int make = 0xaa00; /* USERFAULTFD_IOC_NEW of /dev/userfaultfd */
    /* The numbers of calls by another set of numbers, such as 32-bit calls, are larger: any of them could be it. */
    if (tracee->number == SYS_userfaultfd || tracee->number >= MAX_SYSCALLS ||
        (tracee->number == SYS_ioctl && (unsigned int)tracee->arguments[1] == make))
        has_userfaultfd = true;
}

bool may_wait_for_page(void) {
    return has_userfaultfd;
}

/* How many of these bytes are in pages that are there. To read another page may have to wait for a thread that serves a
 * userfaultfd, and that thread may be stopped by this tracer. */
static size_t count_present(const struct tracee *tracee, uint64_t address, size_t bytes) {
    const uint64_t present = UINT64_C(1) << 63, page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t entry, at = address;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)tracee->tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && at - address < bytes &&
           pread(file, &entry, sizeof entry, (off_t)(at / page * sizeof entry)) == sizeof entry && entry & present)
        at = (at / page + 1) * page;
    if (file >= 0)
        close(file);
    return at - address < bytes ? at - address : bytes;
}

size_t tracee_read(const struct tracee *tracee, uint64_t address, void *target, size_t bytes) {
    if (has_userfaultfd)
        bytes = count_present(tracee, address, bytes);
    if (bytes == 0)
        return 0;
    struct iovec here = {target, bytes}, there = {(void *)(uintptr_t)address, bytes};
    ssize_t got = process_vm_readv(tracee->tid, &here, 1, &there, 1, 0);
    return got < 0 ? 0 : (size_t)got;
}

void tracee_read_text(const struct tracee *tracee, uint64_t address, char *target, size_t bytes) {
    size_t got = 0;
    /* Page by page: the memory after the string may not be readable. */
    while (got < bytes - 1) {
        size_t page = 4096 - (address + got) % 4096, room = bytes - 1 - got;
        size_t more = tracee_read(tracee, address + got, target + got, page < room ? page : room);
        size_t text = strnlen(target + got, more);
        got += text;
        if (more == 0 || text < more)
            break;
    }
    target[got] = '\0';
}

/* Its status file, in static storage. A line with all groups of the process, of which there can be 65,536, comes before
 * the signals and the switches. The kernel returns as much as fits, and continues where it stopped. */
static const char *read_status(const struct tracee *tracee) {
    static char *text;
    static size_t size;
    for (size_t length = 0;;) {
        if (length + 1 >= size) {
            char *larger = realloc(text, size ? 2 * size : 4096);
            if (!larger)
                return text ? text : "";
            text = larger;
            size = size ? 2 * size : 4096;
        }
        size_t room = size - 1 - length;
        ssize_t got = pread(tracee->status_fd, text + length, room, (off_t)length);
        length += got > 0 ? (size_t)got : 0;
        text[length] = '\0';
        if (got < 0 || (size_t)got < room)
            return text;
    }
}

/* The text behind a key in its status file, in static storage; "" if there is no such key. */
static const char *status_of(const struct tracee *tracee, const char *key) {
    const char *found = strstr(read_status(tracee), key);
    return found ? found + strlen(key) : "";
}

uint64_t tracee_switches(const struct tracee *tracee) {
    return strtoull(status_of(tracee, "\nvoluntary_ctxt_switches:"), NULL, 10);
}

char tracee_state(const struct tracee *tracee) {
    return status_of(tracee, "\nState:\t")[0];
}

long tracee_status(const struct tracee *tracee, const char *key) {
    char line[32];
    snprintf(line, sizeof line, "\n%s:", key);
    return strtol(status_of(tracee, line), NULL, 10);
}

void tracee_mask(const struct tracee *tracee, const char *key, char mask[20]) {
    snprintf(mask, 20, "0x%llx", strtoull(status_of(tracee, key), NULL, 16));
}

void tracee_name(const struct tracee *tracee, char name[16]) {
    name[0] = '\0';
    sscanf(status_of(tracee, "Name:\t"), "%15[^\n]", name);
}

int stat_cached(const char *path, struct stat *status) {
    struct statx seen;
    if (syscall(SYS_statx, AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &seen))
        return errno == ENOSYS || errno == EPERM ? stat(path, status) : -1; /* older containers refuse it */
    *status = (struct stat){.st_mode = seen.stx_mode, .st_uid = seen.stx_uid, .st_nlink = seen.stx_nlink};
    status->st_dev = makedev(seen.stx_dev_major, seen.stx_dev_minor);
    status->st_ino = seen.stx_ino;
    return 0;
}
