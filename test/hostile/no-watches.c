/*
 * A library for LD_PRELOAD: while the variable NO_WATCHES is set, no epoll set takes another socket of type
 * SOCK_SEQPACKET, as if the user's processes had used up fs.epoll.max_user_watches.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event) {
    int failed = (int)syscall(SYS_epoll_ctl, set, operation, fd, event);
    int type = 0;
    socklen_t size = sizeof type;
    if (failed || operation != EPOLL_CTL_ADD || !getenv("NO_WATCHES") ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET)
        return failed;
    syscall(SYS_epoll_ctl, set, EPOLL_CTL_DEL, fd, event); /* it was new: a member is refused with EEXIST */
    errno = ENOSPC;
    return -1;
}
