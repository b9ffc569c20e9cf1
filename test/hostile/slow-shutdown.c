/*
 * A library for LD_PRELOAD whose first shutdown() of a socket of type SOCK_SEQPACKET takes until the file SLOW.go
 * exists, as one takes for which a peer has made the kernel slow. It makes the file SLOW.begun when it begins, and
 * SLOW.late if it gives up after 10 s. SLOW: the environment variable of that name.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *file(const char *suffix) {
    static _Thread_local char path[4096];
    const char *name = getenv("SLOW");
    snprintf(path, sizeof path, "%s.%s", name ? name : "/nowhere/slow", suffix);
    return path;
}

static void make(const char *suffix) {
    close(open(file(suffix), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

int shutdown(int fd, int how) {
    static bool was_slow;
    int type = 0;
    socklen_t size = sizeof type;
    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
    if (type == SOCK_SEQPACKET && !__atomic_exchange_n(&was_slow, true, __ATOMIC_RELAXED)) {
        make("begun");
        int tries = 0;
        for (; tries < 10000 && access(file("go"), F_OK); tries++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (tries == 10000)
            make("late");
    }
    return (int)syscall(SYS_shutdown, fd, how);
}
