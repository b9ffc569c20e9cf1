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

#define MAX_REPORTED 64
#define MAX_PIDS (1 << 22)            /* the kernel's largest pid_max */
#define MAX_SWEEPS 64                 /* that find further processes */
#define UNSEEN_NS 50000000ULL         /* after which children that are not in /proc are looked for by number... */
#define ENDLESS_NS 1000000000ULL      /* ...also if others are found again and again... */
#define MOST_UNSEEN_NS 10000000000ULL /* ...and after which they are given up */
#define LOOK_AGAIN_NS 100000000ULL    /* after which those that are to end are looked for again... */
#define UNKILLABLE_NS 4000000000ULL   /* ...and given up if none of them has ended */

struct process {
    pid_t pid, parent, group;
};

/* By its stat file: "PID (NAME) STATE PARENT GROUP ...". False: it has ended. A process whose first thread has ended
 * counts as a zombie there, although its other threads run. */
static bool read_living(const char *stat, struct process *process) {
    const char *rest = strrchr(stat, ')'); /* its name may contain anything */
    char state;
    int threads;
    if (!rest || sscanf(rest + 1, " %c %d %d", &state, &process->parent, &process->group) != 3)
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

/* A bit for each process id. */
typedef unsigned char pid_set[MAX_PIDS / 8];

static pid_set below, spared, asked; /* asked: SIGSTOP was sent */

static bool contains(const pid_set set, pid_t pid) {
    return pid > 0 && pid < MAX_PIDS && set[pid / 8] & 1 << pid % 8;
}

static void include(pid_set set, pid_t pid) {
    if (pid < MAX_PIDS)
        set[pid / 8] |= (unsigned char)(1 << pid % 8);
}

typedef void visitor(const struct process *process, void *context);

/* Processes that were read before their parents, as happens when the kernel's ids start again from low numbers. Visits
 * and removes those below. Returns how many it has visited. */
static int visit_early(struct process *early, int *count, visitor *visit, void *context) {
    int visited = 0, kept = 0;
    for (int i = 0; i < *count; i++) {
        if (!contains(below, early[i].parent)) {
            early[kept++] = early[i];
            continue;
        }
        include(below, early[i].pid);
        visit(&early[i], context);
        visited++;
    }
    *count = kept;
    return visited;
}

/* Calls `visit` for each process below `ancestor`, as soon as it is read: /proc lists new processes last, so a visitor
 * that stops each one overtakes a program that starts more and more. Returns their number. */
static int visit_descendants(pid_t ancestor, visitor *visit, void *context) {
    struct process *early = NULL;
    int visited = 0, count = 0, room = 0;
    DIR *proc = opendir("/proc");
    memset(below, 0, sizeof below);
    include(below, ancestor);
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        char stat[512];
        struct process process = {.pid = atoi(entry->d_name)};
        if (process.pid <= 0 || contains(spared, process.pid))
            continue;
        read_text(stat, sizeof stat, "/proc/%d/stat", (int)process.pid);
        if (!read_living(stat, &process))
            continue;
        if (contains(below, process.parent)) {
            include(below, process.pid);
            visit(&process, context);
            visited++;
            continue;
        }
        if (count == room) {
            room = room ? 2 * room : 1024;
            struct process *larger = realloc(early, (size_t)room * sizeof *early);
            if (!larger)
                break;
            early = larger;
        }
        early[count++] = process;
    }
    for (int more = 1; more > 0; visited += more)
        more = visit_early(early, &count, visit, context);
    free(early);
    if (proc)
        closedir(proc);
    return visited;
}

static void spare(const struct process *process, void *context) {
    (void)context;
    include(spared, process->pid);
}

int spare_descendants(void) {
    memset(spared, 0, sizeof spared);
    return visit_descendants(getpid(), spare, NULL);
}

static void do_nothing(const struct process *process, void *context) {
    (void)process;
    (void)context;
}

int count_descendants(pid_t ancestor) {
    return visit_descendants(ancestor, do_nothing, NULL);
}

/* A group of processes gets a signal at once: none of them can start another one meanwhile. */
static void signal_group(const struct process *process, int signal) {
    if (process->group > 1 && process->group != getpgrp())
        kill(-process->group, signal);
}

static void stop(const struct process *process, void *more) {
    if (contains(asked, process->pid))
        return;
    include(asked, process->pid);
    signal_group(process, SIGSTOP);
    kill(process->pid, SIGSTOP);
    *(bool *)more = true;
}

static pid_t largest_pid(void) {
    char text[32];
    read_text(text, sizeof text, "/proc/sys/kernel/pid_max");
    return atoi(text) > 0 ? atoi(text) : MAX_PIDS;
}

static void end(const struct process *process, void *refused) {
    signal_group(process, SIGKILL);
    if (kill(process->pid, SIGKILL) && errno != ESRCH)
        *(bool *)refused = true;
}

/* So that none starts others while some are killed. */
static void stop_descendants(void) {
    bool more = true;
    memset(asked, 0, sizeof asked);
    for (int sweep = 0; more && sweep < MAX_SWEEPS; sweep++) {
        more = false;
        visit_descendants(getpid(), stop, &more);
    }
}

/* There may be no /proc, or it may hide other processes (hidepid). The kernel says of each number whether it is that of
 * a child, and what loses its parent becomes one. False: there is none. */
static bool end_unseen_children(bool *refused) {
    bool found = false;
    siginfo_t unused;
    for (pid_t pid = 1, most = largest_pid(); pid <= most; pid++) {
        if (contains(spared, pid) || waitid(P_PID, (id_t)pid, &unused, WEXITED | WNOHANG | WNOWAIT))
            continue;
        end(&(struct process){.pid = pid}, refused);
        found = true;
    }
    return found;
}

/* Reap children until `until_ns`, or until one has ended and no other has. Returns how many have ended. */
static int reap_children(uint64_t until_ns, bool *none_left) {
    int ended = 0, status;
    for (;;) {
        pid_t pid = waitpid(-1, &status, WNOHANG);
        *none_left = pid < 0;
        if (pid > 0)
            ended += !WIFSTOPPED(status); /* one that has made this process its tracer */
        else if (pid < 0)
            return ended;
        else if (ended > 0 || monotonic_ns() >= until_ns)
            return ended;
        else
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

int kill_descendants(void) {
    static bool gave_up; /* not twice as long for the same ones */
    int ended = 0;
    uint64_t began_ns = monotonic_ns(), seen_ns = began_ns, ended_ns = began_ns;
    bool refused = false, none_left = false;
    for (;;) {
        stop_descendants();
        int count = visit_descendants(getpid(), end, &refused);
        int more = reap_children(count > 0 && !refused ? monotonic_ns() + LOOK_AGAIN_NS : 0, &none_left);
        if (refused)
            return -1;
        ended += more;
        if (none_left)
            return ended; /* no child is left, hence no descendant */
        if (more > 0)
            ended_ns = monotonic_ns();
        if (count > 0 && (gave_up || monotonic_ns() > ended_ns + UNKILLABLE_NS)) {
            gave_up = true;
            return ended;
        }
        if (count > 0)
            seen_ns = monotonic_ns();
        /* One that is not to be seen may also start others that are, again and again. Only if a child is left: there
         * are systems with four million numbers. */
        uint64_t patience_ns = count == 0 ? seen_ns + UNSEEN_NS : began_ns + ENDLESS_NS;
        bool unseen = monotonic_ns() > patience_ns && end_unseen_children(&refused);
        if (refused)
            return -1;
        if ((monotonic_ns() > seen_ns + 2 * UNSEEN_NS && !unseen) || monotonic_ns() > seen_ns + MOST_UNSEEN_NS)
            return -1;
        if (count == 0)
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

/* What descriptor `fd` of a thread is, such as "pipe:[4711]"; NULL: the call has none. */
static const char *object_of(pid_t pid, pid_t thread, const char *call, unsigned long fd) {
    static const char *const with_descriptor[] = {
        "read",    "write", "recvfrom", "sendto", "recvmsg",    "sendmsg", "accept", "accept4",
        "connect", "readv", "writev",   "fcntl",  "epoll_wait", "flock",   "splice", "epoll_pwait"};
    static char target[128];
    for (size_t i = 0; i < sizeof with_descriptor / sizeof *with_descriptor; i++) {
        if (strcmp(call, with_descriptor[i]) != 0)
            continue;
        char path[96];
        snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%lu", (int)pid, (int)thread, fd);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        return target;
    }
    return NULL;
}

/* The letters are those of /proc/PID/stat. */
static const char *state_name(char letter) {
    switch (letter) {
    case 'R': return "runs";
    case 'T':
    case 't': return "stopped"; /* by a signal, or by a tracer */
    case 'X': return "ended";
    default: return "sleeps";
    }
}

static void report(pid_t pid, pid_t thread) {
    char stat[512], call[512], name[64];
    read_text(stat, sizeof stat, "/proc/%d/task/%d/stat", (int)pid, (int)thread);
    read_text(call, sizeof call, "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    read_text(name, sizeof name, "/proc/%d/task/%d/comm", (int)pid, (int)thread);
    name[strcspn(name, "\n")] = 0;
    const char *rest = strrchr(stat, ')');
    if (rest && rest[2] == 'Z')
        return; /* the first thread, which has ended before the others */
    unsigned long number, first;
    bool in_call = sscanf(call, "%lu %lx", &number, &first) == 2 && number != -1UL; /* -1: it is blocked elsewhere */
    event_begin("process");
    event_integer("pid", (uint64_t)inner_pid(pid));
    if (thread != pid)
        event_string("thread", name);
    else if (strncmp(name, "crossings-", strlen("crossings-")) != 0)
        event_string("name", name); /* which the program gave itself by prctl() */
    event_string("state", state_name(rest ? rest[2] : 'X'));
    const char *called = in_call ? syscall_name(number) : NULL;
    const char *object = in_call ? object_of(pid, thread, called, first) : NULL;
    event_string("call", called);
    if (object) {
        event_integer("descriptor", first);
        event_string("object", object);
    }
    event_end();
}

/* What each of its threads does. */
static void report_threads(const struct process *process, void *context) {
    int *reported = context;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
    DIR *tasks = *reported < MAX_REPORTED ? opendir(path) : NULL;
    for (struct dirent *entry; tasks && *reported < MAX_REPORTED && (entry = readdir(tasks));) {
        pid_t thread = atoi(entry->d_name);
        if (thread <= 0)
            continue;
        report(process->pid, thread);
        ++*reported;
    }
    if (tasks)
        closedir(tasks);
}

void report_descendants(pid_t ancestor) {
    int reported = 0;
    visit_descendants(ancestor, report_threads, &reported);
}
