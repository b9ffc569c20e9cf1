/* The table of traced threads. */
#include "trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Beside each other, since every stop looks for its thread here. */
static pid_t ids[MAX_TASKS];
static struct tracee tracees[MAX_TASKS];
static size_t used, alive; /* slots that were ever used; threads in them */

struct tracee *find_tracee(pid_t tid) {
    for (size_t i = 0; tid && i < used; i++)
        if (ids[i] == tid)
            return &tracees[i];
    return NULL;
}

struct tracee *new_tracee(pid_t tid) {
    char path[64];
    size_t i = 0;
    while (i < used && ids[i])
        i++;
    if (i == MAX_TASKS || alive >= limits->tasks)
        return NULL;
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    struct tracee *tracee = &tracees[i];
    *tracee = (struct tracee){.tid = tid, .pid = tid, .status_fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (tracee->status_fd < 0)
        return NULL;
    ids[i] = tid;
    if (i == used)
        used++;
    alive++;
    tracee->pid = (pid_t)tracee_status(tracee, "Tgid");
    const struct tracee *process = tracee->pid == tid ? NULL : find_tracee(tracee->pid);
    const struct tracee *parent = process ? process : find_tracee((pid_t)tracee_status(tracee, "PPid"));
    tracee->foreign = parent && parent->foreign;
    return tracee;
}

void remove_tracee(struct tracee *tracee) {
    close(tracee->status_fd);
    ids[tracee - tracees] = 0;
    tracee->tid = 0;
    alive--;
}

struct tracee *next_tracee(const struct tracee *tracee) {
    for (size_t i = tracee ? (size_t)(tracee - tracees) + 1 : 0; i < used; i++)
        if (ids[i])
            return &tracees[i];
    return NULL;
}

size_t count_tracees(void) {
    return alive;
}

/* Another thread than the first of a process, or NULL. */
static const struct tracee *other_thread(pid_t pid) {
    for (size_t i = 0; i < used; i++)
        if (ids[i] && ids[i] != pid && tracees[i].pid == pid)
            return &tracees[i];
    return NULL;
}

bool has_ended_first(const struct tracee *tracee) {
    return tracee->tid == tracee->pid && other_thread(tracee->pid) && tracee_state(tracee) == 'Z';
}

const struct tracee *shown_thread(pid_t pid) {
    const struct tracee *first = find_tracee(pid);
    return !first || has_ended_first(first) ? other_thread(pid) : first;
}
