/*
 * What a process that is not traced could use to wake a sleeping thread: memory that it can map, too, a lock of a file,
 * and a signal. lib/trace/program/outside.js decides what follows.
 */
#include "trace.h"

#include "../common/ndjson.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define F_OFD_SETLKW_NUMBER 38 /* some headers do not declare it */
#define MAX_LOCKS 64           /* of one file */
#define LOCK_TEXT 160
#define MAX_LOCK_READS 64 /* of /proc/locks, for one snapshot */
#define LOCK_PIECE 4096
#define MAX_LOCK_LINE 256
#define FIRST_PID_NAMESPACE 0xEFFFFFFC /* PROC_PID_INIT_INO of the kernel */
#define MAX_HOLDERS 256
#define MAX_LOOKS 100000 /* at descriptors and mappings of processes, for one snapshot */

/* Each thread may wait for another file, and for each file all descriptors of all processes are looked at. No signal is
 * admitted meanwhile, nor the time limit looked at, so a snapshot looks at a limited number. What it has not looked at
 * counts as what somebody else holds: then the thread may be woken. */
static int looks;

static bool may_look(void) {
    return looks > 0 && looks-- > 0;
}

/* ---- Signals ---- */

void print_signals(const struct tracee *tracee) {
    char mask[20];
    tracee_mask(tracee, "\nSigCgt:\t", mask);
    event_string("caught", mask);
    tracee_mask(tracee, "\nSigBlk:\t", mask);
    event_string("blocked", mask);
}

/* ---- Shared memory ---- */

struct mapping {
    uint64_t first, end;
    bool by_file; /* a futex in it is that of the file: in what is shared, or private and cannot be written */
    unsigned int major, minor;
    unsigned long long inode;
    char path[256]; /* "" if it has none */
};

static bool parse_mapping(const char *line, struct mapping *mapping) {
    unsigned long long from, to;
    char mode[5];
    int at = 0;
    mapping->path[0] = '\0';
    if (sscanf(line, "%llx-%llx %4s %*x %x:%x %llu %n", &from, &to, mode, &mapping->major, &mapping->minor,
               &mapping->inode, &at) < 6)
        return false;
    mapping->first = from;
    mapping->end = to;
    mapping->by_file = mode[3] == 's' || mode[1] != 'w';
    snprintf(mapping->path, sizeof mapping->path, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    return true;
}

/* The mapping that an address is in. */
static bool find_mapping(const struct tracee *tracee, uint64_t address, struct mapping *mapping, bool *is_readable) {
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)tracee->tid);
    FILE *file = fopen(path, "re");
    *is_readable = file;
    while (file && !found && may_look() && fgets(line, sizeof line, file))
        found = parse_mapping(line, mapping) && address >= mapping->first && address < mapping->end;
    if (file)
        fclose(file);
    return found;
}

static bool maps_file(const char *pid, const struct mapping *wanted) {
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%.16s/maps", pid);
    FILE *file = fopen(path, "re");
    struct mapping mapping;
    while (file && !found && may_look() && fgets(line, sizeof line, file))
        found = parse_mapping(line, &mapping) && mapping.by_file && mapping.inode == wanted->inode &&
                mapping.major == wanted->major && mapping.minor == wanted->minor;
    if (file)
        fclose(file);
    return found;
}

static bool is_number(const char *text) {
    return isdigit((unsigned char)text[0]);
}

static bool is_file_of(const struct stat *status, const struct mapping *mapping) {
    return status->st_ino == mapping->inode && status->st_dev == makedev(mapping->major, mapping->minor);
}

static bool has_open(const char *pid, const struct mapping *wanted) {
    char path[128];
    struct stat status;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && may_look() && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/%.16s/fd/%.16s", pid, entry->d_name);
        found = is_number(entry->d_name) && stat_cached(path, &status) == 0 && is_file_of(&status, wanted);
    }
    if (folder)
        closedir(folder);
    return found;
}

/* False in a namespace of processes, such as that of a container: /proc shows no process outside it. */
static bool sees_all_processes(void) {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == FIRST_PID_NAMESPACE;
}

/* True if a process that is not traced maps a file or has it open, as far as /proc may be read. */
static bool is_used_outside(const struct mapping *mapping) {
    DIR *processes = opendir("/proc");
    bool found = false;
    for (struct dirent *entry; processes && !found && may_look() && (entry = readdir(processes));)
        found = is_number(entry->d_name) && !find_tracee(atoi(entry->d_name)) &&
                (maps_file(entry->d_name, mapping) || has_open(entry->d_name, mapping));
    if (processes)
        closedir(processes);
    return found || looks == 0 || !sees_all_processes();
}

/* True if a file whose name was removed has another one: sem_open() links a new file to its name, and removes the
 * first. Without the privilege to follow /proc/PID/map_files, only the folder of the file is searched. */
static bool has_other_name(const struct tracee *tracee, const struct mapping *mapping) {
    char path[512];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", (int)tracee->tid, (unsigned long long)mapping->first,
             (unsigned long long)mapping->end);
    if (stat_cached(path, &status) == 0)
        return status.st_nlink > 0;
    snprintf(path, sizeof path, "%s", mapping->path);
    *strrchr(path, '/') = '\0';
    DIR *folder = opendir(path[0] ? path : "/");
    bool found = false;
    for (struct dirent *entry; folder && !found && may_look() && (entry = readdir(folder));)
        found = entry->d_ino == mapping->inode &&
                fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                is_file_of(&status, mapping);
    if (folder)
        closedir(folder);
    return found;
}

/* The file that was looked for last: many threads wait in the same one, and a look at all processes takes long. */
static struct {
    bool known, outside;
    struct mapping mapping;
} looked_for;

static bool is_reached(const struct tracee *tracee, const struct mapping *mapping) {
    const struct mapping *last = &looked_for.mapping;
    if (!looked_for.known || last->inode != mapping->inode || last->major != mapping->major ||
        last->minor != mapping->minor) {
        looked_for.outside = has_other_name(tracee, mapping) || is_used_outside(mapping);
        looked_for.mapping = *mapping;
        looked_for.known = true;
    }
    return looked_for.outside;
}

void print_sharing(const struct tracee *tracee, uint64_t address) {
    struct mapping mapping;
    bool is_readable;
    if (!find_mapping(tracee, address, &mapping, &is_readable)) {
        if (looks > 0 && is_readable)
            return;
        /* Not found because this snapshot looks at no more, or may not (PR_SET_DUMPABLE): it may be shared with
         * anybody. */
        mapping = (struct mapping){.by_file = true, .path = "/dev/zero"};
    }
    if (!mapping.by_file || mapping.path[0] != '/')
        return;
    size_t length = strlen(mapping.path), suffix = sizeof " (deleted)" - 1;
    bool removed = length > suffix && strcmp(mapping.path + length - suffix, " (deleted)") == 0;
    event_open("sharing");
    event_string("path", mapping.path);
    /* A file without a name can only be mapped by a process that has it already. Memory without a file has the path
     * /dev/zero; only descendants of the process that mapped it have it. */
    if (looks == 0 || !is_readable ||
        (removed && strncmp(mapping.path, "/dev/zero", 9) != 0 && is_reached(tracee, &mapping)))
        event_integer("outside", 1);
    event_close();
}

/* ---- Locks of files ---- */

struct lock {
    char text[LOCK_TEXT]; /* such as "FLOCK ADVISORY WRITE 12 fd:01:345 0 EOF" */
    bool known;           /* a traced process holds it */
    int count;            /* how many have the same text */
};

/* The text of a lock without its number and with single spaces. False: it waits, or is of another kind or file. */
static bool parse_lock(const char *line, const char *kind, uint64_t inode, char text[LOCK_TEXT]) {
    char kinds[16], mode[16], access[16], pid[16], file[48], first[24], last[24];
    if (sscanf(line, "%*d: %15s %15s %15s %15s %47s %23s %23s", kinds, mode, access, pid, file, first, last) != 7)
        return false;
    const char *number = strrchr(file, ':');
    bool same_kind = strcmp(kind, "FLOCK") == 0 ? strcmp(kinds, kind) == 0
                                                : strcmp(kinds, "POSIX") == 0 || strcmp(kinds, "OFDLCK") == 0;
    if (!same_kind || !number || strtoull(number + 1, NULL, 10) != inode)
        return false;
    snprintf(text, LOCK_TEXT, "%s %s %s %s %s %s", kinds, access, pid, file, first, last);
    return true;
}

/* /proc/locks as it was for this snapshot: each read() of it makes the kernel wait for all processors. The kernel gives
 * no more than LOCK_PIECE bytes at a time, and if a lock is released between two reads, it skips another one. So what
 * did not fit into one read() counts as whole only if a second reading is the same. */
static struct {
    bool known, whole;
    size_t bytes;
    char text[MAX_LOCK_READS * LOCK_PIECE];
} all_locks;

struct reading {
    size_t bytes;
    int pieces;
    bool to_end;
};

static struct reading read_all_locks(char text[MAX_LOCK_READS * LOCK_PIECE]) {
    struct reading reading = {.bytes = 0};
    int file = open("/proc/locks", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && !reading.to_end && reading.pieces < MAX_LOCK_READS) {
        ssize_t got = read(file, text + reading.bytes, LOCK_PIECE);
        if (got < 0)
            break;
        reading.to_end = got == 0;
        reading.bytes += (size_t)got;
        reading.pieces += got > 0;
    }
    if (file >= 0)
        close(file);
    return reading;
}

static FILE *open_locks(void) {
    static char again[sizeof all_locks.text];
    if (!all_locks.known) {
        struct reading first = read_all_locks(all_locks.text);
        all_locks.bytes = first.bytes;
        all_locks.whole = first.to_end;
        if (first.to_end && (first.pieces > 1 || first.bytes > LOCK_PIECE - MAX_LOCK_LINE)) {
            struct reading second = read_all_locks(again);
            all_locks.whole =
                second.to_end && second.bytes == first.bytes && memcmp(all_locks.text, again, first.bytes) == 0;
        }
        all_locks.known = true;
    }
    return all_locks.bytes > 0 ? fmemopen(all_locks.text, all_locks.bytes, "r") : NULL;
}

static int read_locks(const char *kind, uint64_t inode, struct lock locks[MAX_LOCKS]) {
    char line[256], text[LOCK_TEXT];
    int count = 0;
    FILE *file = open_locks();
    while (file && count < MAX_LOCKS && may_look() && fgets(line, sizeof line, file)) {
        if (!parse_lock(line, kind, inode, text))
            continue;
        int i = 0;
        while (i < count && strcmp(locks[i].text, text) != 0)
            i++;
        if (i == count)
            locks[count++] = (struct lock){.count = 0};
        snprintf(locks[i].text, LOCK_TEXT, "%s", text);
        locks[i].count++;
    }
    if (file)
        fclose(file);
    return count;
}

/* Find the locks that a descriptor of a traced process holds: they are in its fdinfo. Returns true if there are any. */
static bool mark_held(const struct tracee *tracee, const char *fd, const char *kind, uint64_t inode, struct lock *locks,
                      int count) {
    char path[64], line[256], text[LOCK_TEXT];
    bool holds = false;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%.16s", (int)tracee->tid, fd);
    FILE *file = fopen(path, "re");
    while (file && may_look() && fgets(line, sizeof line, file)) {
        if (strncmp(line, "lock:\t", 6) != 0 || !parse_lock(line + 6, kind, inode, text))
            continue;
        holds = true;
        for (int i = 0; i < count; i++)
            if (strcmp(locks[i].text, text) == 0)
                locks[i].known = true;
    }
    if (file)
        fclose(file);
    return holds;
}

/* The locks of the file that was looked at last: all threads that wait for one of them have the same answer. */
static struct {
    const char *kind; /* NULL: none */
    struct stat file;
    struct {
        pid_t pid;
        int fd;
    } holders[MAX_HOLDERS]; /* the traced ones */
    int count;
    bool all; /* nobody else holds a lock of the file */
} held;

static void find_holders(const struct tracee *tracee, struct lock *locks, int count) {
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)tracee->tid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && held.count < MAX_HOLDERS && may_look() && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/%d/fd/%.16s", (int)tracee->tid, entry->d_name);
        if (!is_number(entry->d_name) || stat_cached(path, &status) || status.st_ino != held.file.st_ino ||
            status.st_dev != held.file.st_dev ||
            !mark_held(tracee, entry->d_name, held.kind, status.st_ino, locks, count))
            continue;
        held.holders[held.count].pid = tracee->pid;
        held.holders[held.count++].fd = atoi(entry->d_name);
    }
    if (folder)
        closedir(folder);
}

static void find_locks(const char *kind, const struct stat *file) {
    struct lock locks[MAX_LOCKS];
    int count = may_look() ? read_locks(kind, file->st_ino, locks) : 0, known = 0;
    held.kind = kind;
    held.file = *file;
    held.count = 0;
    for (const struct tracee *one = next_tracee(NULL); one; one = next_tracee(one))
        if (may_look() && shown_thread(one->pid) == one)
            find_holders(one, locks, count);
    /* Two locks with the same text could be those of two processes, of which only one is traced. */
    for (int i = 0; i < count; i++)
        known += locks[i].known && locks[i].count == 1;
    held.all =
        all_locks.whole && count > 0 && count < MAX_LOCKS && held.count < MAX_HOLDERS && known == count && looks > 0;
}

/* Does /proc/locks list what a thread waits for, as "1: -> POSIX ..."? In a namespace of processes, it does not if a
 * process outside holds the lock, nor does it list that lock. */
static bool is_listed(const struct tracee *tracee, const char *kind, uint64_t inode) {
    char line[MAX_LOCK_LINE], text[LOCK_TEXT];
    bool found = false;
    FILE *file = open_locks();
    while (file && !found && may_look() && fgets(line, sizeof line, file)) {
        char *arrow = strstr(line, "-> ");
        if (!arrow)
            continue;
        memcpy(arrow, "   ", 2);
        int pid = 0;
        found = parse_lock(line, kind, inode, text) && sscanf(text, "%*s %*s %d", &pid) == 1 &&
                (pid == (int)tracee->pid || strncmp(text, "OFDLCK", 6) == 0);
    }
    if (file)
        fclose(file);
    return found;
}

void print_locks(const struct tracee *tracee, const char *call) {
    static const char flock[] = "FLOCK", fcntl[] = "POSIX"; /* as /proc/locks names them */
    bool whole = strcmp(call, "flock") == 0;
    int command = (int)tracee->arguments[1];
    const char *kind = whole ? flock : fcntl;
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tracee->tid, (int)tracee->arguments[0]);
    if ((!whole && command != F_SETLKW && command != F_OFD_SETLKW_NUMBER) || stat_cached(path, &file))
        return;
    if (held.kind != kind || held.file.st_ino != file.st_ino || held.file.st_dev != file.st_dev)
        find_locks(kind, &file);
    event_open("locks");
    event_array("heldBy");
    for (int i = 0; i < held.count; i++) {
        event_open(NULL);
        event_integer("pid", (uint64_t)held.holders[i].pid);
        event_integer("fd", (uint64_t)held.holders[i].fd);
        event_close();
    }
    event_array_close();
    event_integer("all", held.all && is_listed(tracee, kind, file.st_ino));
    event_close();
}

void begin_looking(void) {
    looked_for.known = all_locks.known = false;
    held.kind = NULL;
    looks = MAX_LOOKS;
}
