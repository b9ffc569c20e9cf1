/* What a confined program writes, passed on line by line as events. */
#ifndef CROSSINGS_OUTPUT_H
#define CROSSINGS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_MOST 2000     /* bytes; a longer line is broken */
#define LINE_COSTS 50      /* bytes that a line counts for beside its own */
#define OUTPUT_MOST 100000 /* bytes of all lines; what follows is dropped */

#define PASSED_AT_ONCE 4096

struct output {
    const char *stream;
    size_t length, total;
    bool truncated;
    char line[LINE_MOST + 1];
};

enum passed { PASSED, NOTHING_YET, AT_END };

/* Read what is there from `fd`, up to PASSED_AT_ONCE bytes, and print an event for each complete line. */
enum passed pass_on(struct output *output, int fd);

/* Print the last line, which has no newline. */
void flush_output(struct output *output);

#endif
