/*
 * The compiler's command line includes this before every program of the lessons and pitfalls. It makes main() a program
 * of crossings-lessons, named by its file, and lets each call of a libc function record its line for the tracer. The
 * sources stay plain C: each compiles alone with `cc -O2 -pthread FILE`.
 */
#ifndef CROSSINGS_PROGRAM_H
#define CROSSINGS_PROGRAM_H

#include "../demos/lines.h"
#include "names.h"

/* What a program creates in /dev/shm is listed, so that exactly this can be removed. */
#undef shm_open
#undef sem_open
#define shm_open(...) NOTED_AS("shm_open", listed_shm_open, __VA_ARGS__)
#define sem_open(...) NOTED_AS("sem_open", listed_sem_open, __VA_ARGS__)

struct program {
    const char *file; /* such as "../c-bench/lessons/01-kernel/calls.c" */
    int (*run)(int argc, char **argv);
    struct program *next;
};

/* Called before main(), once for each program. */
void register_program(struct program *program);

/* `int main(int argc, char **argv)`: the first line uses up the `int`. A main() with other parameters does not compile.
 */
#define main(...)                                                                                                      \
    crossings_program(void);                                                                                           \
    static int program_main(int, char **);                                                                             \
    __attribute__((constructor)) static void register_this(void) {                                                     \
        static struct program program = {__FILE__, program_main, NULL};                                                \
        register_program(&program);                                                                                    \
    }                                                                                                                  \
    static int program_main(__VA_ARGS__)

#endif
