/*
 * The compiler's command line includes this before every source file of the demos. It makes each call of a libc
 * function first record its file and line for the tracer, while the sources stay plain C.
 */
#ifndef CROSSINGS_LINES_H
#define CROSSINGS_LINES_H

#include "state.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Calls the function, which is shown as `name`. */
#define NOTED_AS(name, function, ...)                                                                                  \
    (__extension__({                                                                                                   \
        static const struct call_site here = {__FILE__, __LINE__, name};                                               \
        const struct call_site *outer = demo.site;                                                                     \
        demo.site = &here;                                                                                             \
        __typeof__(function(__VA_ARGS__)) result = function(__VA_ARGS__);                                              \
        demo.site = outer;                                                                                             \
        result;                                                                                                        \
    }))

#define NOTED(function, ...) NOTED_AS(#function, function, __VA_ARGS__)

/* The same for a function that does not return. */
#define NOTED_LAST(function, ...)                                                                                      \
    (__extension__({                                                                                                   \
        static const struct call_site here = {__FILE__, __LINE__, #function};                                          \
        demo.site = &here;                                                                                             \
        function(__VA_ARGS__);                                                                                         \
    }))

/* A macro is not expanded inside its own expansion, so these call the functions. */
#define _exit(...) NOTED_LAST(_exit, __VA_ARGS__)
#define accept(...) NOTED(accept, __VA_ARGS__)
#define accept4(...) NOTED(accept4, __VA_ARGS__)
#define bind(...) NOTED(bind, __VA_ARGS__)
#define chmod(...) NOTED(chmod, __VA_ARGS__)
#define close(...) NOTED(close, __VA_ARGS__)
#define connect(...) NOTED(connect, __VA_ARGS__)
#define fchmod(...) NOTED(fchmod, __VA_ARGS__)
#define fcntl(...) NOTED(fcntl, __VA_ARGS__)
#define fflush(...) NOTED(fflush, __VA_ARGS__)
#define fork(...) NOTED(fork, __VA_ARGS__)
#define fstat(...) NOTED(fstat, __VA_ARGS__)
#define ftruncate(...) NOTED(ftruncate, __VA_ARGS__)
#define getppid(...) NOTED(getppid, __VA_ARGS__)
#define getrusage(...) NOTED(getrusage, __VA_ARGS__)
#define getsockname(...) NOTED(getsockname, __VA_ARGS__)
#define getsockopt(...) NOTED(getsockopt, __VA_ARGS__)
#define kill(...) NOTED(kill, __VA_ARGS__)
#define listen(...) NOTED(listen, __VA_ARGS__)
#define lstat(...) NOTED(lstat, __VA_ARGS__)
#define memfd_create(...) NOTED(memfd_create, __VA_ARGS__)
#define mmap(...) NOTED(mmap, __VA_ARGS__)
#define mprotect(...) NOTED(mprotect, __VA_ARGS__)
#define munmap(...) NOTED(munmap, __VA_ARGS__)
#define open(...) NOTED(open, __VA_ARGS__)
#define pipe(...) NOTED(pipe, __VA_ARGS__)
#define poll(...) NOTED(poll, __VA_ARGS__)
#define prctl(...) NOTED(prctl, __VA_ARGS__)
#define printf(...) NOTED(printf, __VA_ARGS__)
#define pwrite(...) NOTED(pwrite, __VA_ARGS__)
#define read(...) NOTED(read, __VA_ARGS__)
#define recv(...) NOTED(recv, __VA_ARGS__)
#define recvmsg(...) NOTED(recvmsg, __VA_ARGS__)
#define sched_setaffinity(...) NOTED(sched_setaffinity, __VA_ARGS__)
#define sem_close(...) NOTED(sem_close, __VA_ARGS__)
#define sem_open(...) NOTED(sem_open, __VA_ARGS__)
#define sem_post(...) NOTED(sem_post, __VA_ARGS__)
#define sem_unlink(...) NOTED(sem_unlink, __VA_ARGS__)
#define sem_wait(...) NOTED(sem_wait, __VA_ARGS__)
#define send(...) NOTED(send, __VA_ARGS__)
#define sendmsg(...) NOTED(sendmsg, __VA_ARGS__)
#define setrlimit(...) NOTED(setrlimit, __VA_ARGS__)
#define setsockopt(...) NOTED(setsockopt, __VA_ARGS__)
#define shm_open(...) NOTED(shm_open, __VA_ARGS__)
#define shm_unlink(...) NOTED(shm_unlink, __VA_ARGS__)
#define socket(...) NOTED(socket, __VA_ARGS__)
#define socketpair(...) NOTED(socketpair, __VA_ARGS__)
#define syscall(...) NOTED(syscall, __VA_ARGS__)
#define unlink(...) NOTED(unlink, __VA_ARGS__)
#define usleep(...) NOTED(usleep, __VA_ARGS__)
#define waitpid(...) NOTED(waitpid, __VA_ARGS__)
#define write(...) NOTED(write, __VA_ARGS__)

#endif
