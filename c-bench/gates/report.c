/* Prints what the attempts at the gates found, as lines of JSON. */
#include "gates.h"

#include "../common/ndjson.h"

#include <string.h>

void report_attempt(const char *gate, const char *name, bool control, const char *code, const char *file, int line,
                    long result, int error, int signal) {
    bool refused = result == -1;
    event_begin("attempt");
    event_string("gate", gate);
    event_string("name", name);
    event_integer("control", control);
    event_string("code", code);
    event_string("file", file);
    event_integer("line", (uint64_t)line);
    event_integer("refused", refused);
    event_integer("errno", refused ? (uint64_t)error : 0);
    event_string("text", refused && error ? strerror(error) : signal ? strsignal(signal) : NULL);
    event_integer("signal", (uint64_t)signal);
    event_end();
}

void report_owner(bool control, bool changed, int killed_by) {
    event_begin("owner");
    event_integer("control", control);
    event_integer("changed", changed);
    event_integer("signal", (uint64_t)killed_by);
    event_end();
}
