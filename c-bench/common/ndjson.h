/* Results on standard output: one JSON object per line, {"type": ..., ...}, flushed when the line is complete. */
#ifndef CROSSINGS_NDJSON_H
#define CROSSINGS_NDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Call it first: a program whose output cannot be written then says so at its end, and exits with status 1. */
void check_output_at_exit(void);

/* For a process that ends without exit(). False: it has said that the output cannot be written. */
bool output_is_written(void);

void event_begin(const char *type);
void event_string(const char *key, const char *value); /* NULL becomes null */
void event_integer(const char *key, uint64_t value);
void event_number(const char *key, double value); /* at most 4 decimals; infinity and NaN become null */
void event_integers(const char *key, const int *values, size_t count);
void event_open(const char *key); /* begins a nested object; NULL as the key inside an array */
void event_close(void);
void event_array(const char *key);
void event_array_close(void);
void event_pair(uint64_t first, uint64_t second); /* [first,second], inside an array */
void event_end(void);
/* From now on, do not flush each line: the caller does. */
void event_buffer(void);

#endif
