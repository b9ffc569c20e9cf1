/* Forks children that end with their parent, and holds them at gates. */
#include "gate.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

bool gate_create(struct gate *gate) {
    int ends[2];
    if (pipe(ends))
        return false;
    *gate = (struct gate){ends[0], ends[1]};
    return true;
}

bool gate_wait(const struct gate *gate) {
    char byte;
    ssize_t got;
    do
        got = read(gate->wait_fd, &byte, 1);
    while (got < 0 && errno == EINTR);
    return got == 1;
}

bool gate_open(const struct gate *gate) {
    return write(gate->open_fd, "g", 1) == 1;
}

bool signal_with_parent(pid_t parent, int signal) {
    prctl(PR_SET_PDEATHSIG, signal);
    return getppid() == parent; /* checked last: the parent may have ended before prctl() */
}

bool end_with_parent(pid_t parent) {
    return signal_with_parent(parent, SIGKILL);
}

bool kill_child(pid_t child) {
    return kill(child, SIGKILL) == 0;
}

pid_t fork_held(struct gate *gate) {
    pid_t parent = getpid();
    if (!gate_create(gate))
        return -1;
    pid_t child = fork();
    if (child == 0) {
        bool bound = end_with_parent(parent);
        close(gate->open_fd);
        if (!bound || !gate_wait(gate))
            _exit(127);
    } else if (child < 0) {
        int reason = errno;
        close(gate->open_fd);
        errno = reason;
    }
    close(gate->wait_fd);
    return child;
}
