/*
 * Forking: children that end with their parent, and gates at which a process waits until another lets it continue.
 *
 * A gate is a pipe. Opening it writes one byte, which lets one waiting process pass. A wait fails when no process is
 * left that could open the gate.
 */
#ifndef CROSSINGS_GATE_H
#define CROSSINGS_GATE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct gate {
    int wait_fd, open_fd;
};

/* False, with errno, if there are no descriptors left. */
bool gate_create(struct gate *gate);
bool gate_wait(const struct gate *gate);
bool gate_open(const struct gate *gate);

/* Make the kernel kill this process when its parent ends. False: the parent is not `parent`, or has already ended. */
bool end_with_parent(pid_t parent);
/* The same with another signal than SIGKILL. */
bool signal_with_parent(pid_t parent, int signal);

/* Kill a child that ends with this process. False: the system refuses it, such as a filter of system calls. Then do not
 * wait for the child, which may never end before this process. */
bool kill_child(pid_t child);

/* Like fork(), but the child ends with its parent, and returns only after the parent has called gate_open(). The parent
 * gets a gate with only its open end, which it closes; the child has no descriptor of the gate any more. */
pid_t fork_held(struct gate *gate);

#endif
