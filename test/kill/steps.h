/*
 * Named steps in the C code, for the kill matrix. The compiler includes this file before each file of native/, whose
 * source stays as it is. Every atomic operation, fence, copy and system call there becomes a step: "before" and "after"
 * it, or "halfway" through a copy. steps.c kills the process at the chosen one.
 */
#ifndef STEPS_H
#define STEPS_H

/* Everything that the sources include comes first, so that the macros below do not change the headers. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* One place in the source. Places with the same three texts are one step. */
struct step_place {
    const char *function, *when, *what;
    struct step *step; /* NULL: not reached yet */
};

void step_reached(struct step_place *place);

#define STEP(when, what)                                                                                               \
    ({                                                                                                                 \
        static struct step_place step_place = {__func__, when, what, NULL};                                            \
        step_reached(&step_place);                                                                                     \
    })

/* ---- Memory: inside these macros, the builtin functions are themselves again ---- */

#define __atomic_load_n(address, order)                                                                                \
    ({                                                                                                                 \
        STEP("before", "load " #address);                                                                              \
        __atomic_load_n(address, order);                                                                               \
    })
#define __atomic_store_n(address, value, order)                                                                        \
    ({                                                                                                                 \
        STEP("before", "store " #address);                                                                             \
        __atomic_store_n(address, value, order);                                                                       \
        STEP("after", "store " #address);                                                                              \
    })
#define __atomic_thread_fence(order)                                                                                   \
    ({                                                                                                                 \
        STEP("before", "fence");                                                                                       \
        __atomic_thread_fence(order);                                                                                  \
        STEP("after", "fence");                                                                                        \
    })
#define memcpy(to, from, bytes)                                                                                        \
    ({                                                                                                                 \
        char *step_to = (char *)(to);                                                                                  \
        const char *step_from = (const char *)(from);                                                                  \
        size_t step_bytes = (bytes), step_half = step_bytes / 2;                                                       \
        memcpy(step_to, step_from, step_half);                                                                         \
        STEP("halfway", "copy");                                                                                       \
        memcpy(step_to + step_half, step_from + step_half, step_bytes - step_half);                                    \
    })

/* ---- System calls ---- */

#define STEP_CALL(name, ...)                                                                                           \
    ({                                                                                                                 \
        STEP("before", #name);                                                                                         \
        __auto_type step_result = name(__VA_ARGS__);                                                                   \
        STEP("after", #name);                                                                                          \
        step_result;                                                                                                   \
    })
#define accept4(...) STEP_CALL(accept4, __VA_ARGS__)
#define bind(...) STEP_CALL(bind, __VA_ARGS__)
#define close(...) STEP_CALL(close, __VA_ARGS__)
#define connect(...) STEP_CALL(connect, __VA_ARGS__)
#define fchmod(...) STEP_CALL(fchmod, __VA_ARGS__)
#define fcntl(...) STEP_CALL(fcntl, __VA_ARGS__)
#define flock(...) STEP_CALL(flock, __VA_ARGS__)
#define fstat(...) STEP_CALL(fstat, __VA_ARGS__)
#define fstatat(...) STEP_CALL(fstatat, __VA_ARGS__)
#define ftruncate(...) STEP_CALL(ftruncate, __VA_ARGS__)
#define getsockopt(...) STEP_CALL(getsockopt, __VA_ARGS__)
#define listen(...) STEP_CALL(listen, __VA_ARGS__)
#define memfd_create(...) STEP_CALL(memfd_create, __VA_ARGS__)
#define mmap(...) STEP_CALL(mmap, __VA_ARGS__)
#define munmap(...) STEP_CALL(munmap, __VA_ARGS__)
#define open(...) STEP_CALL(open, __VA_ARGS__)
#define poll(...) STEP_CALL(poll, __VA_ARGS__)
#define recvmmsg(...) STEP_CALL(recvmmsg, __VA_ARGS__)
#define recvmsg(...) STEP_CALL(recvmsg, __VA_ARGS__)
#define send(...) STEP_CALL(send, __VA_ARGS__)
#define sendmsg(...) STEP_CALL(sendmsg, __VA_ARGS__)
#define socket(...) STEP_CALL(socket, __VA_ARGS__)
#define unlink(...) STEP_CALL(unlink, __VA_ARGS__)
#define unlinkat(...) STEP_CALL(unlinkat, __VA_ARGS__)

#endif
