/* Sets the limits of a program; makes and removes its folder. */
#include "room.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILE_BYTES (64 << 20)
#define MAX_FILES 256

static struct timespec made; /* when make_room() was called */

bool make_room(char *folder, size_t bytes) {
    clock_gettime(CLOCK_REALTIME_COARSE, &made); /* the clock of file systems */
    const char *base = getenv("TMPDIR");
    int length = snprintf(folder, bytes, "%s/crossings-lesson-XXXXXX", base && *base == '/' ? base : "/tmp");
    return length > 0 && (size_t)length < bytes && mkdtemp(folder);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    remove(path);
    return 0;
}

/* Whether `name` contains the number, with no digit beside it. */
static bool has_number(const char *name, pid_t number) {
    char digits[16];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%d", (int)number);
    for (const char *at = name; (at = strstr(at, digits)); at++)
        if ((at == name || !isdigit((unsigned char)at[-1])) && !isdigit((unsigned char)at[length]))
            return true;
    return false;
}

/* Did it change after make_room()? What is older belongs to another program, whatever its name. */
static bool is_new(const struct stat *status) {
    const struct timespec *changed = &status->st_ctim;
    return changed->tv_sec != made.tv_sec ? changed->tv_sec > made.tv_sec : changed->tv_nsec >= made.tv_nsec;
}

void remove_room(const char *folder, pid_t program) {
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    DIR *shared = program > 1 ? opendir("/dev/shm") : NULL;
    if (!shared)
        return;
    for (struct dirent *entry; (entry = readdir(shared));) {
        struct stat status;
        if (has_number(entry->d_name, program) &&
            fstatat(dirfd(shared), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid == geteuid() &&
            is_new(&status))
            unlinkat(dirfd(shared), entry->d_name, 0);
    }
    closedir(shared);
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
