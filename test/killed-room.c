/*
 * A library for LD_PRELOAD: as soon as the temporary folder of a confined program exists, a process is killed. The
 * variable KILLED names it: "group", all processes that are in the process group of crossings-lessons, or "maker", the
 * one that has made the folder.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pid_t group;

__attribute__((constructor)) static void begin(void) {
    group = getpgrp();
}

static void made(const char *path) {
    static const char text[] = "The folder exists.\n";
    const char *killed = getenv("KILLED");
    if (!killed || !strstr(path, "crossings-lesson-") || write(STDERR_FILENO, text, sizeof text - 1) < 0)
        return;
    kill(strcmp(killed, "group") == 0 ? -group : getpid(), SIGKILL);
}

int mkdir(const char *path, mode_t mode) {
    int result = ((int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir"))(path, mode);
    if (result == 0)
        made(path);
    return result;
}

char *mkdtemp(char *path) {
    char *result = ((char *(*)(char *))dlsym(RTLD_NEXT, "mkdtemp"))(path);
    if (result)
        made(path);
    return result;
}
