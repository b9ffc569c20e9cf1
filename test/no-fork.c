/*
 * A library for LD_PRELOAD: fork() and pthread_create() fail with EAGAIN, as they do at a limit on processes. The
 * variable FORKS says how many succeed before. A child goes on counting where its parent was. With the variable
 * NO_KILL, kill() fails, as it does under a filter that refuses it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool refused(void) {
    static int made;
    const char *most = getenv("FORKS");
    return most && made++ >= atoi(most);
}

pid_t fork(void) {
    if (refused()) {
        errno = EAGAIN;
        return -1;
    }
    return ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (refused())
        return EAGAIN;
    return ((create *)dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, run, argument);
}

int kill(pid_t pid, int signal) {
    static const char text[] = "kill(-1) would have ended every process.\n";
    if (getenv("NO_KILL")) {
        errno = EPERM;
        return -1;
    }
    if (pid == -1)
        return write(STDERR_FILENO, text, sizeof text - 1) > 0 ? 0 : -1;
    return ((int (*)(pid_t, int))dlsym(RTLD_NEXT, "kill"))(pid, signal);
}
