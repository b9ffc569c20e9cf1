/* The limits and the temporary folder of a confined program. */
#ifndef CROSSINGS_ROOM_H
#define CROSSINGS_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Make an empty folder in $TMPDIR or /tmp. */
bool make_room(char *folder, size_t bytes);

/* Remove the folder, and what the program has created in the machine's /dev/shm. */
void remove_room(const char *folder);

/* `executes`: another program, such as Node, which reserves far more addresses than it uses. */
void limit_resources(int limit_ms, int memory_mb, bool executes);

/* Of the program, its children and their threads. */
#define MAX_PROCESSES 512

#endif
