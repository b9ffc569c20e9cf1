/*
 * A library for LD_PRELOAD that imitates other kernels. The variable KERNEL says which: "pages" has pages of 16 KiB,
 * like many on arm64, and "seals" does not know F_SEAL_FUTURE_WRITE, like those before Linux 5.1.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is(const char *kernel) {
    const char *wanted = getenv("KERNEL");
    return wanted && strcmp(wanted, kernel) == 0;
}

long sysconf(int name) {
    if (name == _SC_PAGESIZE && is("pages"))
        return 16384;
    return ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
}

int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (command == F_ADD_SEALS && is("seals")) {
        errno = EINVAL;
        return -1;
    }
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl"))(fd, command, argument);
}

int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));
