/* Namespaces: a program's own process ids, network, mounts and System V IPC, where the machine permits them. */
#ifndef CROSSINGS_NAMESPACES_H
#define CROSSINGS_NAMESPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Like fork(), but the child is process 1 of its own namespaces. -1: not permitted. */
pid_t fork_into_namespaces(bool with_user);

/* In this child, first: give it a loopback interface, an empty /dev/shm, and a /proc of its own. On failure, writes
 * which step was refused. */
bool furnish_namespaces(bool with_user, char *refused, size_t bytes);

/* In this child, after that: let it have a few hundred processes and threads at one time. False: this kernel cannot. */
bool limit_process_ids(void);

/* In this child, after that: the program may write no file of /proc, which takes the user id for proof of the right to
 * change a limit. False: not permitted. */
bool protect_proc(void);

/* In the program: give up the rights of root, so that it cannot undo its namespaces. It may still read every file. */
void drop_capabilities(void);

#endif
