/* Reads and refuses values of the command line. */
#include "options.h"

#include "gate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

uint64_t read_count(const char *option, const char *text, uint64_t least, uint64_t most) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value < least || value > most)
        refuse("%s must be a whole number from %llu to %llu; got \"%s\".", option, (unsigned long long)least,
               (unsigned long long)most, text);
    return value;
}

void append_name(char *names, size_t bytes, const char *name) {
    size_t length = strlen(names);
    snprintf(names + length, bytes - length, "%s%s", length ? ", " : "", name);
}

void read_cores(const char *text, const struct topology *topology, int cores[2]) {
    char allowed[256];
    int used = 0;
    if (sscanf(text, "%d,%d%n", &cores[0], &cores[1], &used) != 2 || text[used])
        refuse("--cores must be two core numbers, such as 0,1; got \"%s\".", text);
    if (topology_find(topology, cores[0]) && topology_find(topology, cores[1]))
        return;
    topology_describe(topology, allowed, sizeof allowed);
    refuse("--cores must be among the cores that this process may use (%s); got \"%s\".", allowed, text);
}

void read_parent(const char *text) {
    if (!end_with_parent((pid_t)read_count("--parent", text, 1, 1 << 30)))
        refuse("--parent must be the PID of the process that started this one; got \"%s\".", text);
}
