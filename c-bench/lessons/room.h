/* The limits and the temporary folder of a confined program. */
#ifndef CROSSINGS_ROOM_H
#define CROSSINGS_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Choose the name of a new folder in $TMPDIR or /tmp, so that a process knows it before another makes the folder. */
bool name_room(char *folder, size_t bytes);
/* Make it. It must not exist. */
bool make_room(const char *folder);

/* Remove the folder, and what the program has created in the machine's /dev/shm. */
void remove_room(const char *folder);

/* `executes`: another program, such as Node, which reserves far more addresses than it uses. */
void limit_resources(int limit_ms, int memory_mb, bool executes);

/* Of the program, its children and their threads. */
#define MAX_PROCESSES 512

#endif
