/* Sets the limits of a program; makes and removes its folder. */
#include "room.h"

#include "names.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES (64 << 20)
#define MAX_FILES 256

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

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    remove(path);
    return 0;
}

void remove_room(const char *folder) {
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
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
