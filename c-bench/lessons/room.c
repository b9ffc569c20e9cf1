/* Sets the limits of a program; makes and removes its folder. */
#include "room.h"

#include "../common/clock.h"
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES (64 << 20)
#define MAX_FILES 256
#define PATIENCE_NS 3000000000ULL /* with a folder that cannot be removed */

bool name_room(char *folder, size_t bytes) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const char *base = getenv("TMPDIR");
    unsigned char random[6];
    char word[sizeof random + 1] = "";
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        word[i] = letters[random[i] % 64];
    int length = snprintf(folder, bytes, "%s/crossings-lesson-%s", base && *base == '/' ? base : "/tmp", word);
    errno = ENAMETOOLONG;
    return length > 0 && (size_t)length < bytes;
}

bool make_room(const char *folder) {
    return mkdir(folder, 0700) == 0;
}

/* Opens a folder of the program, whatever mode it has given it. -1: it is no folder, or on another file system. */
static int open_folder(int parent, const char *name, dev_t device) {
    char link[40];
    struct stat status;
    int place = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), fd = -1;
    if (place < 0)
        return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    if (fstat(place, &status) == 0 && (device == 0 || status.st_dev == device) && chmod(link, 0700) == 0)
        fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(place);
    return fd;
}

static bool is_itself_or_parent(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool remove_one(int parent, const char *name) {
    return unlinkat(parent, name, 0) == 0 || unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

/* Moves what is in a folder into the room, under new names. Returns false if nothing could be moved or removed. */
static bool empty(int fd, int room, dev_t device) {
    static unsigned int names;
    char name[40];
    bool changed = false;
    DIR *folder = fdopendir(fd);
    if (!folder)
        close(fd);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (is_itself_or_parent(entry->d_name))
            continue;
        if (remove_one(fd, entry->d_name)) {
            changed = true;
            continue;
        }
        int inner = open_folder(fd, entry->d_name, device); /* only who may write to a folder may move it */
        snprintf(name, sizeof name, "crossings-%d-%u", (int)getpid(), names++);
        changed |= renameat(fd, entry->d_name, room, name) == 0;
        if (inner >= 0)
            close(inner);
    }
    if (folder)
        closedir(folder);
    return changed;
}

/* Removes what can be removed at once, and brings the rest one level up. Returns false if that changed nothing. */
static bool clear(DIR *room, dev_t device) {
    bool changed = false;
    int fd = dirfd(room);
    rewinddir(room);
    for (struct dirent *entry; (entry = readdir(room));) {
        if (is_itself_or_parent(entry->d_name))
            continue;
        if (remove_one(fd, entry->d_name)) {
            changed = true;
            continue;
        }
        int inner = open_folder(fd, entry->d_name, device);
        changed |= inner >= 0 && empty(inner, fd, device);
        remove_one(fd, entry->d_name);
    }
    return changed;
}

/* Level by level, because folders can be nested more deeply than a path or the stack permits. */
void remove_room(const char *folder) {
    uint64_t patience_ns = monotonic_ns() + PATIENCE_NS;
    struct stat status;
    int fd = open_folder(AT_FDCWD, folder, 0);
    DIR *room = fd < 0 || fstat(fd, &status) ? NULL : fdopendir(fd);
    while (room && clear(room, status.st_dev) && monotonic_ns() < patience_ns)
        continue;
    if (room)
        closedir(room);
    else if (fd >= 0)
        close(fd);
    rmdir(folder);
    remove_names();
}

static void limit(int resource, rlim_t most) {
    struct rlimit now;
    if (getrlimit(resource, &now) || now.rlim_max < most)
        return;
    now.rlim_cur = now.rlim_max = most;
    setrlimit(resource, &now);
}

void limit_resources(int limit_ms, int memory_mb, bool executes) {
    rlim_t memory = (rlim_t)memory_mb << 20;
    limit(executes ? RLIMIT_DATA : RLIMIT_AS, memory);
    limit(RLIMIT_CPU, (rlim_t)(2 * limit_ms / 1000 + 1)); /* of each process: two cores for the whole time */
    limit(RLIMIT_FSIZE, MAX_FILE_BYTES);
    limit(RLIMIT_NOFILE, MAX_FILES);
    limit(RLIMIT_NPROC, MAX_PROCESSES); /* of this user, and not of root: it counts all of a user's threads */
    limit(RLIMIT_CORE, 0);
}
