/* Reads a stopped thread: its memory, its state and its context switches. */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

size_t tracee_read(const struct tracee *tracee, uint64_t address, void *target, size_t bytes) {
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

/* The text behind a key in its status file, in static storage; "" if there is no such key. */
static const char *status_of(const struct tracee *tracee, const char *key) {
    static char text[4096];
    ssize_t got = pread(tracee->status_fd, text, sizeof text - 1, 0);
    text[got < 0 ? 0 : got] = '\0';
    const char *found = strstr(text, key);
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
    snprintf(mask, 20, "0x%.16s", status_of(tracee, key));
}

void tracee_name(const struct tracee *tracee, char name[16]) {
    name[0] = '\0';
    sscanf(status_of(tracee, "Name:\t"), "%15[^\n]", name);
}
