/* Writes JSON, as far as these programs need it. */
#include "ndjson.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int buffered;  /* lines are flushed by the caller */
static int first = 1; /* the next member is the first of its object or array */

static int lost; /* errno of the first write that failed */

static void flush(void) {
    if (fflush(stdout) && !lost)
        lost = errno;
}

bool output_is_written(void) {
    flush();
    if (!lost && !ferror(stdout))
        return true;
    errno = lost ? lost : errno;
    /* Not perror(): glibc's may write through a copy of the descriptor, which unread.c could not free. */
    fprintf(stderr, "Cannot write all results to standard output: %s\n", strerror(errno));
    return false;
}

static void check_output(void) {
    if (!output_is_written())
        _exit(1); /* a handler of atexit() may not call exit() */
}

/* A descriptor that was closed when the program began would be given to the next file or socket, and the results or the
 * error messages written into that. Nothing can be written to what takes its place, which check_output() reports. */
static void occupy_standard_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
            _exit(1);
}

void check_output_at_exit(void) {
    occupy_standard_descriptors();
    atexit(check_output);
}

static void text(const char *value) {
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

static void member(const char *key) {
    if (!first)
        putchar(',');
    first = 0;
    if (key) {
        text(key);
        putchar(':');
    }
}

static void open_with(const char *key, char bracket) {
    member(key);
    putchar(bracket);
    first = 1;
}

static void close_with(char bracket) {
    putchar(bracket);
    first = 0;
}

void event_begin(const char *type) {
    first = 1;
    putchar('{');
    event_string("type", type);
}

void event_string(const char *key, const char *value) {
    member(key);
    if (value)
        text(value);
    else
        fputs("null", stdout);
}

void event_integer(const char *key, uint64_t value) {
    member(key);
    printf("%llu", (unsigned long long)value);
}

void event_number(const char *key, double value) {
    member(key);
    if (!isfinite(value)) {
        fputs("null", stdout);
        return;
    }
    char digits[400]; /* the largest double has 309 digits before the point */
    size_t length = (size_t)snprintf(digits, sizeof digits, "%.4f", value);
    while (digits[length - 1] == '0')
        length--;
    printf("%.*s", (int)(digits[length - 1] == '.' ? length - 1 : length), digits);
}

void event_integers(const char *key, const int *values, size_t count) {
    event_array(key);
    for (size_t i = 0; i < count; i++) {
        member(NULL);
        printf("%d", values[i]);
    }
    event_array_close();
}

void event_open(const char *key) {
    open_with(key, '{');
}

void event_close(void) {
    close_with('}');
}

void event_array(const char *key) {
    open_with(key, '[');
}

void event_array_close(void) {
    close_with(']');
}

void event_pair(uint64_t a, uint64_t b) {
    member(NULL);
    printf("[%llu,%llu]", (unsigned long long)a, (unsigned long long)b);
}

void event_end(void) {
    if (puts("}") == EOF && !lost)
        lost = errno;
    if (!buffered)
        flush();
}

void event_buffer(void) {
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    buffered = 1;
}
