/* The three gates of a channel, each tried from the outside: attempts that must be refused, and the same attempts as
 * controls, without the gate, that must succeed. */
#ifndef CROSSINGS_GATES_H
#define CROSSINGS_GATES_H

#include <errno.h>
#include <stdbool.h>

/* Print one attempt as a line of JSON. `code` and `line` are the C expression that made it. `result` is its value; -1
 * means that it was refused, and `error` (an errno) or `signal` says by what answer, if there is one. */
void report_attempt(const char *gate, const char *name, bool control, const char *code, const char *file, int line,
                    long result, int error, int signal);
/* Print what a region's owner found after the attempts. */
void report_owner(bool control, bool changed, int killed_by);

/* The signal that ended the child of the last attempt; 0: none. */
extern int ended_by_signal;

#define ATTEMPT(gate, name, control, expression)                                                                       \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        ended_by_signal = 0;                                                                                           \
        long result = (long)(expression);                                                                              \
        report_attempt(gate, name, control, #expression, __FILE__, __LINE__, result, errno, ended_by_signal);          \
    } while (0)

/* memory.c: a process that has received a peer's region tries to write it. `control`: a region without seals.
 * False: the attempts could not be made; see errno. */
bool try_memory_gate(bool control);
/* frames.c: a peer stores positions, sizes and tags that no correct peer stores. */
bool try_alignment_gate(void);
bool try_tag_gate(void);

#endif
