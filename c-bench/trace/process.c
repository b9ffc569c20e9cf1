/* Reads a stopped process: its memory, the state that the demo reports there, its descriptors and context switches. */
#include "trace.h"

#include "../common/ndjson.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_proc(pid_t pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool tracee_open(struct tracee *tracee, pid_t pid) {
    *tracee = (struct tracee){.pid = pid, .memory_fd = open_proc(pid, "mem"), .status_fd = open_proc(pid, "status")};
    return tracee->memory_fd >= 0 && tracee->status_fd >= 0;
}

void tracee_close(struct tracee *tracee) {
    close(tracee->memory_fd);
    close(tracee->status_fd);
    tracee->pid = 0;
}

size_t tracee_read(const struct tracee *tracee, uint64_t address, void *target, size_t bytes) {
    ssize_t got = pread(tracee->memory_fd, target, bytes, (off_t)address);
    return got < 0 ? 0 : (size_t)got;
}

void tracee_read_state(struct tracee *tracee) {
    struct demo_state state;
    if (tracee_read(tracee, (uint64_t)(uintptr_t)&demo, &state, sizeof state) != sizeof state)
        return;
    tracee->state = state;
    if (state.role)
        tracee->role = state.role;
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

bool tracee_sleeps(const struct tracee *tracee) {
    return status_of(tracee, "\nState:\t")[0] == 'S';
}

void print_words(const struct tracee *tracee) {
    event_array("words");
    for (int i = 0; i < tracee->state.word_count && i < MAX_WORDS; i++) {
        const struct word *word = &tracee->state.words[i];
        sem_t semaphore; /* a copy of it, whose value sem_getvalue() can read */
        int value;
        void *target = word->type == WORD_SEMAPHORE ? (void *)&semaphore : (void *)&value;
        size_t bytes = word->type == WORD_SEMAPHORE ? sizeof semaphore : sizeof value;
        if (tracee_read(tracee, (uint64_t)(uintptr_t)word->address, target, bytes) != bytes)
            continue; /* it is no longer mapped */
        if (word->type == WORD_SEMAPHORE && sem_getvalue(&semaphore, &value))
            continue;
        event_open(NULL);
        event_string("name", word->name);
        event_integer("address", (uint64_t)(uintptr_t)word->address);
        event_integer("value", (uint64_t)(uint32_t)value);
        event_close();
    }
    event_array_close();
}

void print_descriptor(const struct tracee *tracee, int fd) {
    char path[64], target[256];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tracee->pid, fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0 || stat(path, &status))
        return;
    target[length] = '\0';
    event_open(NULL);
    event_integer("fd", (uint64_t)fd);
    event_string("target", target);
    event_integer("device", status.st_dev);
    event_integer("inode", status.st_ino);
    event_close();
}
