/*
 * What a demo says of itself while it runs: where in its source it is, in which phase, at which message, which words of
 * its shared memory matter. Plain memory and no calls; the tracer reads it when a process has stopped.
 */
#ifndef CROSSINGS_STATE_H
#define CROSSINGS_STATE_H

#include <stdint.h>
#include <sys/types.h>

/* A call of a libc function in the source. */
struct call_site {
    const char *file;
    int line;
    const char *function;
};

enum phase { BEFORE = 0, SETUP, MESSAGES, TEARDOWN };
enum role { NOBODY = 0, WRITER, READER };
enum word_type { WORD_INT, WORD_SEMAPHORE };

#define MOST_WORDS 8

struct word {
    const char *name;
    const void *address;
    enum word_type type;
};

struct demo_state {
    const struct call_site *site; /* NULL: not inside a call that lines.h knows */
    enum phase phase;
    enum role role;
    int message;              /* 1 to N; 0: none */
    const void *step_address; /* the shared memory that the step under way is about */
    int word_count;
    struct word words[MOST_WORDS];
};

extern struct demo_state demo;

/* ---- Steps ---- */

enum step_kind { STEP_STORE = 1, STEP_LOAD, STEP_RELEASE, STEP_SEE };

/* One end of a step: the address of its nop. The linker gathers them all in a section of their own. */
struct step_mark {
    uint64_t address, name, file; /* pointers */
    uint64_t line, kind, bytes, is_end;
};

/* nop: the tracer puts a breakpoint there. Not traced, that is all a step costs. */
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

/* A statement in user space that matters, in words for people. `address`: the shared memory that it is about. */
#define STEP(kind, where, bytes, name, ...)                                                                            \
    do {                                                                                                               \
        demo.step_address = (const void *)(where);                                                                     \
        STEP_MARK(0, kind, bytes, name);                                                                               \
        __VA_ARGS__;                                                                                                   \
        STEP_MARK(1, kind, bytes, name);                                                                               \
    } while (0)

#endif
