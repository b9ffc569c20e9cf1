/* Reads lines and prints them as events. What is not UTF-8 becomes a question mark. */
#include "output.h"

#include "../common/ndjson.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The bytes of the character that begins here; 0: it is not UTF-8. Surrogates and overlong forms do not occur by
 * accident. */
static size_t character(const unsigned char *text) {
    size_t bytes = text[0] < 0x80   ? 1
                   : text[0] < 0xc2 ? 0
                   : text[0] < 0xe0 ? 2
                   : text[0] < 0xf0 ? 3
                   : text[0] < 0xf5 ? 4
                                    : 0;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return bytes;
}

void flush_output(struct output *output) {
    if (output->length == 0)
        return;
    output->line[output->length] = 0;
    for (unsigned char *c = (unsigned char *)output->line; *c;) {
        size_t bytes = character(c);
        if (bytes == 0)
            *c = '?';
        c += bytes ? bytes : 1;
    }
    event_begin("output");
    event_string("stream", output->stream);
    event_string("line", output->line);
    event_end();
    output->total += LINE_COSTS;
    output->length = 0;
}

enum passed pass_on(struct output *output, int fd) {
    char bytes[PASSED_AT_ONCE];
    ssize_t got = read(fd, bytes, sizeof bytes);
    for (ssize_t i = 0; i < got; i++) {
        if (output->total++ >= OUTPUT_MOST) {
            output->truncated = true;
            return PASSED;
        }
        if (bytes[i] == '\n' && output->length == 0)
            output->line[output->length++] = ' '; /* an empty line is a line */
        else if (bytes[i] != '\n')
            output->line[output->length++] = bytes[i] ? bytes[i] : '?';
        if (bytes[i] == '\n' || output->length == LINE_MOST)
            flush_output(output);
    }
    if (got > 0)
        return PASSED;
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? NOTHING_YET : AT_END;
}
