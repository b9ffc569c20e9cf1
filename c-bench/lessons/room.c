/* Sets the limits of a program; makes and removes its folder. */
#include "room.h"

#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES (64 << 20)
#define MAX_FILES 256
#define MAX_DEPTH 60       /* folders that are open at a time: what is deeper is moved up... */
#define MAX_PASSES 1000000 /* ...and removed in a later pass: paths have a limit, nested folders have none */

/* Namespaces have a /dev/shm of their own, which would hide the room. */
static bool is_hidden(const char *base) {
    static const char shm[] = "/dev/shm";
    char path[PATH_MAX];
    return realpath(base, path) && strncmp(path, shm, strlen(shm)) == 0 && strchr("/", path[strlen(shm)]);
}

bool name_room(char *folder, size_t bytes) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const char *base = getenv("TMPDIR");
    unsigned char random[6];
    char word[sizeof random + 1] = "";
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        word[i] = letters[random[i] % 64];
    int length = snprintf(folder, bytes, "%s/crossings-lesson-%s",
                          base && *base == '/' && !is_hidden(base) ? base : "/tmp", word);
    errno = ENAMETOOLONG;
    return length > 0 && (size_t)length < bytes;
}

bool make_room(const char *folder) {
    return mkdir(folder, 0700) == 0;
}

/* Opens a folder of the program, whatever mode it has given it. -1: it is no folder, or on another file system. */
static int open_folder(int parent, const char *name, dev_t device) {
    struct stat status;
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(status.st_mode) ||
        (device != 0 && status.st_dev != device))
        return -1;
    if ((status.st_mode & 0700) != 0700)
        fchmodat(parent, name, 0700, 0);
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool remove_one(int parent, const char *name) {
    return unlinkat(parent, name, 0) == 0 || unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

struct room {
    int fd;
    dev_t device;
    char prefix[20]; /* of names that nothing in the room has */
};

/* Moves a folder to the top of the room. */
static bool move_up(int parent, const char *name, const struct room *room) {
    static unsigned int moved;
    char new_name[40];
    snprintf(new_name, sizeof new_name, "%s%u", room->prefix, moved++);
    return renameat(parent, name, room->fd, new_name) == 0;
}

static bool clear(DIR *folder, int depth, const struct room *room);

/* Few descriptors may be left: the room has one, and each folder below it that is open. */
static bool clear_inner(int parent, const char *name, int depth, const struct room *room) {
    int fd = open_folder(parent, name, room->device); /* only who may write to a folder may move it */
    DIR *folder = fd >= 0 && depth < MAX_DEPTH ? fdopendir(fd) : NULL;
    bool changed;
    if (folder) {
        changed = clear(folder, depth + 1, room);
        closedir(folder);
        return changed;
    }
    changed = depth > 0 && move_up(parent, name, room);
    if (fd >= 0)
        close(fd);
    return changed;
}

/* Removes what is in a folder. What is nested too deeply is moved up instead. Returns false if that has changed
 * nothing. */
static bool clear(DIR *folder, int depth, const struct room *room) {
    bool changed = false;
    int fd = dirfd(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (remove_one(fd, name)) {
            changed = true;
            continue;
        }
        changed |= clear_inner(fd, name, depth, room);
        changed |= remove_one(fd, name);
    }
    return changed;
}

static void clear_room(DIR *folder, struct room *room) {
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        uint64_t random = 0;
        if (getrandom(&random, sizeof random, 0) < 0)
            return;
        snprintf(room->prefix, sizeof room->prefix, "%llx-", (unsigned long long)random);
        rewinddir(folder);
        if (!clear(folder, 0, room))
            return;
    }
}

void remove_room(const char *folder) {
    struct stat status;
    struct room room = {.fd = open_folder(AT_FDCWD, folder, 0)};
    DIR *top = room.fd >= 0 ? fdopendir(room.fd) : NULL;
    if (top && fstat(room.fd, &status) == 0) {
        room.device = status.st_dev;
        clear_room(top, &room);
    }
    if (top)
        closedir(top);
    else if (room.fd >= 0)
        close(room.fd);
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
