/* Lists what programs create in /dev/shm, in memory that they share with the guard, and removes it. */
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#undef shm_open
#undef sem_open

#define FOLDER "/dev/shm/"
#define MAX_NAMES 256
#define MAX_PATH 96

static struct names {
    int count; /* places taken, perhaps more than there are */
    struct name {
        char path[MAX_PATH];
        dev_t device;
        ino_t inode; /* 0: the place is taken, and not yet filled */
    } names[MAX_NAMES];
} *list;

void begin_names(void) {
    void *memory = mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    list = memory == MAP_FAILED ? NULL : memory;
}

void forget_names(void) {
    list = NULL;
}

/* `prefix` is what the library puts before the name: "" or "sem.". */
static void add(const char *prefix, const char *name) {
    int place = __atomic_fetch_add(&list->count, 1, __ATOMIC_RELAXED);
    if (place >= MAX_NAMES)
        return;
    struct name *entry = &list->names[place];
    struct stat status;
    int length = snprintf(entry->path, MAX_PATH, FOLDER "%s%s", prefix, *name == '/' ? name + 1 : name);
    if (length >= MAX_PATH || lstat(entry->path, &status))
        return;
    entry->device = status.st_dev;
    __atomic_store_n(&entry->inode, status.st_ino, __ATOMIC_RELEASE); /* pairs with the acquire in remove_names() */
}

void remove_names(void) {
    for (int i = 0; list && i < MAX_NAMES && i < list->count; i++) {
        const struct name *entry = &list->names[i];
        ino_t inode = __atomic_load_n(&entry->inode, __ATOMIC_ACQUIRE); /* pairs with the release in add() */
        char path[MAX_PATH];
        struct stat status;
        memcpy(path, entry->path, sizeof path); /* a wrong program may write anywhere, this list included */
        path[sizeof path - 1] = '\0';
        if (inode == 0 || strncmp(path, FOLDER, strlen(FOLDER)) != 0 || strchr(path + strlen(FOLDER), '/'))
            continue;
        if (lstat(path, &status) == 0 && status.st_ino == inode && status.st_dev == entry->device)
            unlink(path);
    }
}

/* Only O_EXCL says who has created a file. */
int listed_shm_open(const char *name, int flags, mode_t mode) {
    if (!list || !(flags & O_CREAT))
        return shm_open(name, flags, mode);
    int file = shm_open(name, flags | O_EXCL, mode);
    if (file >= 0)
        add("", name);
    else if (errno == EEXIST && !(flags & O_EXCL))
        return shm_open(name, flags, mode);
    return file;
}

sem_t *listed_sem_open(const char *name, int flags, ...) {
    if (!(flags & O_CREAT))
        return sem_open(name, flags);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    unsigned value = va_arg(rest, unsigned);
    va_end(rest);
    if (!list)
        return sem_open(name, flags, mode, value);
    sem_t *semaphore = sem_open(name, flags | O_EXCL, mode, value);
    if (semaphore != SEM_FAILED)
        add("sem.", name);
    else if (errno == EEXIST && !(flags & O_EXCL))
        return sem_open(name, flags, mode, value);
    return semaphore;
}
