/* Finds descendants in /proc. What a process does there is read from the outside, without stopping it. */
#include "descendants.h"

#include "../common/clock.h"
#include "../common/ndjson.h"
#include "../common/syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_FOUND 4096 /* descendants */
#define MAX_REPORTED 64
#define UNSEEN_NS 500000000ULL /* how long kill_descendants() waits for children that it does not find */

struct found {
    pid_t pid, parent;
};

/* By its stat file: "PID (NAME) STATE PARENT ...". False: it has ended. A process whose first thread has ended counts
 * as a zombie there, although its other threads run. */
static bool read_living(const char *stat, pid_t *parent) {
    const char *rest = strrchr(stat, ')'); /* its name may contain anything */
    char state;
    int threads;
    if (!rest || sscanf(rest + 1, " %c %d", &state, parent) != 2)
        return false;
    for (int field = 2; rest && field < 20; field++)
        rest = strchr(rest + 1, ' ');
    threads = rest ? atoi(rest + 1) : 1;
    return state != 'X' && (state != 'Z' || threads > 1);
}

void adopt_orphans(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* A file of /proc as text; empty if it cannot be read. */
static void read_text(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void read_text(char *text, size_t bytes, const char *format, ...) {
    char path[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, bytes - 1);
    text[got > 0 ? got : 0] = 0;
    if (file >= 0)
        close(file);
}

/* All processes of the machine. Returns their number; free(*all). */
static int find_all(struct found **all) {
    int count = 0, room = 0;
    DIR *proc = opendir("/proc");
    *all = NULL;
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        char stat[512];
        pid_t pid = atoi(entry->d_name), parent;
        if (pid <= 0)
            continue;
        read_text(stat, sizeof stat, "/proc/%d/stat", (int)pid);
        if (!read_living(stat, &parent))
            continue;
        if (count == room) {
            room = room ? 2 * room : 1024;
            struct found *larger = realloc(*all, (size_t)room * sizeof **all);
            if (!larger)
                break;
            *all = larger;
        }
        (*all)[count++] = (struct found){pid, parent};
    }
    if (proc)
        closedir(proc);
    return count;
}

/* The processes below `ancestor`. Parents have no fixed place in /proc, so look until nothing new is found. */
static int find_descendants(pid_t ancestor, pid_t *below, int most) {
    struct found *all;
    int count = find_all(&all), found = 0;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < count; i++) {
            bool is_below = all[i].parent == ancestor;
            for (int j = 0; j < found && !is_below; j++)
                is_below = below[j] == all[i].parent;
            if (!all[i].pid || !is_below || found == most)
                continue;
            below[found++] = all[i].pid;
            all[i].pid = 0;
            again = true;
        }
    }
    free(all);
    return found;
}

int count_descendants(pid_t ancestor) {
    static pid_t below[MAX_FOUND];
    return find_descendants(ancestor, below, MAX_FOUND);
}

int kill_descendants(void) {
    pid_t below[MAX_FOUND];
    int ended = 0;
    uint64_t unseen_ns = 0; /* since when */
    bool refused = false;
    for (;;) {
        int count = find_descendants(getpid(), below, MAX_FOUND);
        for (int i = 0; i < count; i++) /* so that none forks while others are killed */
            kill(below[i], SIGSTOP);
        for (int i = 0; i < count; i++)
            refused = (kill(below[i], SIGKILL) && errno == EPERM) || refused;
        pid_t pid = waitpid(-1, NULL, count > 0 && !refused ? 0 : WNOHANG);
        for (; pid > 0; pid = waitpid(-1, NULL, WNOHANG))
            ended++;
        if (refused)
            return -1;
        if (pid < 0)
            return ended; /* no child is left, hence no descendant */
        if (count > 0) {
            unseen_ns = 0;
            continue;
        }
        if (unseen_ns == 0)
            unseen_ns = monotonic_ns();
        if (monotonic_ns() > unseen_ns + UNSEEN_NS)
            return -1; /* such as without /proc */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Its id in its own namespace, which it prints itself. */
static int inner_pid(pid_t pid) {
    char status[2048];
    read_text(status, sizeof status, "/proc/%d/status", (int)pid);
    const char *line = strstr(status, "\nNSpid:");
    if (!line)
        return pid;
    const char *end = strchr(line + 1, '\n'), *last = line;
    for (const char *c = line; c < end; c++)
        if (*c == '\t')
            last = c;
    return atoi(last);
}

/* What descriptor `fd` is, such as "pipe:[4711]"; NULL: the call has none. */
static const char *object_of(pid_t pid, const char *call, unsigned long fd) {
    static const char *const with_descriptor[] = {
        "read",    "write", "recvfrom", "sendto", "recvmsg",    "sendmsg", "accept", "accept4",
        "connect", "readv", "writev",   "fcntl",  "epoll_wait", "flock",   "splice", "epoll_pwait"};
    static char target[128];
    for (size_t i = 0; i < sizeof with_descriptor / sizeof *with_descriptor; i++) {
        if (strcmp(call, with_descriptor[i]) != 0)
            continue;
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%lu", (int)pid, fd);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        return target;
    }
    return NULL;
}

static void report(pid_t pid, pid_t thread) {
    char stat[512], call[512], name[64];
    read_text(stat, sizeof stat, "/proc/%d/task/%d/stat", (int)pid, (int)thread);
    read_text(call, sizeof call, "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    read_text(name, sizeof name, "/proc/%d/task/%d/comm", (int)pid, (int)thread);
    name[strcspn(name, "\n")] = 0;
    const char *rest = strrchr(stat, ')');
    unsigned long number, first;
    bool in_call = sscanf(call, "%lu %lx", &number, &first) == 2;
    event_begin("process");
    event_integer("pid", (uint64_t)inner_pid(pid));
    if (thread != pid)
        event_string("thread", name);
    else if (strncmp(name, "crossings-", strlen("crossings-")) != 0)
        event_string("name", name); /* which the program gave itself by prctl() */
    event_string("state", !rest ? "ended" : rest[2] == 'R' ? "runs" : rest[2] == 'T' ? "stopped" : "sleeps");
    const char *called = in_call ? syscall_name(number) : NULL;
    const char *object = in_call ? object_of(pid, called, first) : NULL;
    event_string("call", called);
    if (object) {
        event_integer("descriptor", first);
        event_string("object", object);
    }
    event_end();
}

void report_descendants(pid_t ancestor) {
    pid_t below[MAX_FOUND];
    int count = find_descendants(ancestor, below, MAX_FOUND), reported = 0;
    for (int i = 0; i < count && reported < MAX_REPORTED; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task", (int)below[i]);
        DIR *tasks = opendir(path);
        for (struct dirent *entry; tasks && reported < MAX_REPORTED && (entry = readdir(tasks));) {
            pid_t thread = atoi(entry->d_name);
            if (thread <= 0)
                continue;
            report(below[i], thread);
            reported++;
        }
        if (tasks)
            closedir(tasks);
    }
}
