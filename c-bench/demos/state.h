/*
 * The state that a demo reports while it runs: its current source line, phase and message, and the words of shared
 * memory to show. It is plain memory, written without system calls; the tracer reads it while the process is stopped.
 */
#ifndef CROSSINGS_STATE_H
#define CROSSINGS_STATE_H

#include <stdint.h>
#include <sys/types.h>

/* A place in the source that calls a libc function. */
struct call_site {
    const char *file;
    int line;
    const char *function;
};

enum phase { BEFORE = 0, SETUP, MESSAGES, TEARDOWN };
enum role { NO_ROLE = 0, WRITER, READER };
enum word_type { WORD_INT, WORD_SEMAPHORE };

#define MAX_WORDS 8

struct word {
    const char *name;
    const void *address;
    enum word_type type;
};

struct demo_state {
    const struct call_site *site; /* NULL: not in a call that lines.h records */
    enum phase phase;
    enum role role;
    int message;              /* 1 to N; 0: none */
    const void *step_address; /* the shared memory that the current step uses */
    int word_count;
    struct word words[MAX_WORDS];
};

/* Each thread has its own, since each is in a call of its own. */
extern _Thread_local struct demo_state demo;

/* ---- Steps ---- */

enum step_kind { STEP_STORE = 1, STEP_LOAD, STEP_RELEASE, STEP_SEE };

/* One end of a step: the address of its nop. The linker collects all marks in one section. */
struct step_mark {
    uint64_t address, name, file; /* pointers */
    uint64_t line, kind, bytes, is_end;
};

/* The tracer puts a breakpoint on the nop. Without the tracer, the nop is the only cost of a step. */
#define STEP_MARK(is_end, kind, bytes, name)                                                                           \
    __asm__ volatile("771: nop\n\t"                                                                                    \
                     ".pushsection .rodata\n"                                                                          \
                     "772: .asciz \"" name "\"\n"                                                                      \
                     "773: .asciz \"" __FILE__ "\"\n\t"                                                                \
                     ".popsection\n\t"                                                                                 \
                     ".pushsection crossings_steps, \"aw\"\n\t"                                                        \
                     ".balign 8\n\t"                                                                                   \
                     ".quad 771b, 772b, 773b, %c0, %c1, %c2, %c3\n\t"                                                  \
                     ".popsection" ::"i"(__LINE__),                                                                    \
                     "i"(kind), "i"(bytes), "i"(is_end)                                                                \
                     : "memory")

/* A statement in user space that the page shows. `name` describes it; `where` is the shared memory that it uses. */
#define STEP(kind, where, bytes, name, ...)                                                                            \
    do {                                                                                                               \
        demo.step_address = (const void *)(where);                                                                     \
        STEP_MARK(0, kind, bytes, name);                                                                               \
        __VA_ARGS__;                                                                                                   \
        STEP_MARK(1, kind, bytes, name);                                                                               \
    } while (0)

#endif
