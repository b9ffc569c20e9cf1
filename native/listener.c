/* Sockets at a path, of type SOCK_SEQPACKET: listening, accepting and connecting. */
#include "listener.h"

#include "disposal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6 */
#endif

#define BACKLOG 128

static bool make_address(struct sockaddr_un *address, const char *path) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) > LISTENER_MAX_PATH || path[0] == '\0') {
        errno = path[0] ? ENAMETOOLONG : ENOENT;
        return false;
    }
    strcpy(address->sun_path, path);
    return true;
}

static int new_socket(void) {
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Close `fd`, keeping errno, and return `answer`. */
static enum handshake_status give_up(int fd, enum handshake_status answer) {
    int reason = errno;
    close(fd);
    errno = reason;
    return answer;
}

enum handshake_status listener_connect(const char *path, int *fd) {
    struct sockaddr_un address;
    if (!make_address(&address, path))
        return HANDSHAKE_SYSTEM;
    *fd = new_socket();
    if (*fd < 0)
        return HANDSHAKE_SYSTEM;
    if (connect(*fd, (struct sockaddr *)&address, sizeof address) == 0)
        return HANDSHAKE_OK;
    /* EAGAIN: the listener's backlog is full, so a later attempt can succeed. EPROTOTYPE (a socket of another type) is
     * not retried: it is not one of ours. */
    bool later = errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN;
    return give_up(*fd, later ? HANDSHAKE_NO_LISTENER : HANDSHAKE_SYSTEM);
}

/* Remove a socket file that no process holds any more. HANDSHAKE_OK: the path is free. */
static enum handshake_status clear_stale(const char *path, const struct listener *listener) {
    struct stat status;
    int fd;
    if (fstatat(listener->folder, listener->name, &status, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? HANDSHAKE_OK : HANDSHAKE_SYSTEM;
    if (!S_ISSOCK(status.st_mode))
        return HANDSHAKE_NOT_SOCKET;
    enum handshake_status answer = listener_connect(path, &fd);
    if (answer == HANDSHAKE_OK) {
        handshake_close(fd);
        return HANDSHAKE_IN_USE;
    }
    if (errno != ECONNREFUSED) /* only ECONNREFUSED proves that no process holds it */
        return errno == ENOENT                          ? HANDSHAKE_OK
               : errno == EAGAIN || errno == EPROTOTYPE ? HANDSHAKE_IN_USE
                                                        : HANDSHAKE_SYSTEM;
    return unlinkat(listener->folder, listener->name, 0) && errno != ENOENT ? HANDSHAKE_SYSTEM : HANDSHAKE_OK;
}

/* Open the folder of `path`, and lock it if the file system can. A folder that this process may not read is not locked.
 */
static enum handshake_status open_folder(const char *path, bool unlocked, struct listener *listener) {
    char copy[LISTENER_MAX_PATH + 1];
    strcpy(copy, path); /* fits: make_address() has checked its length */
    const char *slash = strrchr(path, '/');
    strcpy(listener->name, slash ? slash + 1 : path);
    const char *folder = dirname(copy);
    listener->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (listener->folder < 0 && errno == EACCES) {
        listener->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        unlocked = true;
    }
    if (listener->folder < 0)
        return HANDSHAKE_SYSTEM;
    if (!unlocked && flock(listener->folder, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return give_up(listener->folder, HANDSHAKE_AGAIN);
    return HANDSHAKE_OK;
}

/* Make the address of a listener's file one in its opened folder. A user who can write to a folder on the path could
 * lead the path elsewhere between two calls. The descriptors are this thread's: the table of a first thread that has
 * ended is empty, and the threads that use this library may share another one (CLONE_FILES; see crossings.h). The path
 * stays if the name is too long for this, or where /proc is missing. */
static void keep_to_folder(struct sockaddr_un *address, const struct listener *listener) {
    char through[sizeof address->sun_path];
    int length = snprintf(through, sizeof through, "/proc/thread-self/fd/%d/%s", listener->folder, listener->name);
    if (listener->name[0] != '\0' && length <= LISTENER_MAX_PATH && access("/proc/thread-self/fd", X_OK) == 0)
        strcpy(address->sun_path, through);
}

/* Set the mode of the socket's file. It is set on the file itself: a user who can write to the folder may have put a
 * link in the place of its name since, and chmod() would follow it. */
static int set_mode(const struct listener *listener, mode_t mode) {
    struct stat status;
    char itself[sizeof "/proc/thread-self/fd/" + 3 * sizeof(int)];
    int file = openat(listener->folder, listener->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return -1;
    snprintf(itself, sizeof itself, "/proc/thread-self/fd/%d", file);
    int failed = fstat(file, &status);
    if (!failed && (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())) {
        errno = EPERM; /* it is not ours */
        failed = -1;
    }
    if (!failed)
        failed = chmod(itself, mode);
    /* Where /proc is missing, the kernel does it by the descriptor (Linux 6.6). */
    if (failed && errno == ENOENT)
        failed = (int)syscall(SYS_fchmodat2, file, "", mode, AT_EMPTY_PATH);
    give_up(file, HANDSHAKE_SYSTEM);
    return failed;
}

/* Bind and listen. On failure, no file is left. */
static enum handshake_status bind_and_listen(const struct sockaddr_un *address, bool others,
                                             struct listener *listener) {
    struct stat status;
    const char *path = address->sun_path;
    mode_t mode = others ? 0666 : 0600;
    /* bind() gives the file the socket's mode, less the umask. Setting it first leaves no moment between bind() and
     * chmod() in which other users could connect. */
    if (fchmod(listener->fd, mode))
        return HANDSHAKE_SYSTEM;
    int bound = bind(listener->fd, (const struct sockaddr *)address, sizeof *address);
    if (bound && errno == EADDRINUSE) {
        enum handshake_status cleared = clear_stale(path, listener);
        if (cleared != HANDSHAKE_OK)
            return cleared;
        bound = bind(listener->fd, (const struct sockaddr *)address, sizeof *address);
    }
    if (bound)
        return errno == EADDRINUSE ? HANDSHAKE_IN_USE : HANDSHAKE_SYSTEM;
    if (fstatat(listener->folder, listener->name, &status, AT_SYMLINK_NOFOLLOW) ||
        ((status.st_mode & 0777) != mode && set_mode(listener, mode)) || listen(listener->fd, BACKLOG)) {
        int reason = errno;
        unlinkat(listener->folder, listener->name, 0);
        errno = reason;
        return HANDSHAKE_SYSTEM;
    }
    listener->device = status.st_dev;
    listener->inode = status.st_ino;
    return HANDSHAKE_OK;
}

enum handshake_status listener_open(const char *path, bool others, bool unlocked, struct listener *listener) {
    struct sockaddr_un address;
    if (!make_address(&address, path))
        return HANDSHAKE_SYSTEM;
    enum handshake_status status = open_folder(path, unlocked, listener);
    if (status != HANDSHAKE_OK)
        return status;
    keep_to_folder(&address, listener);
    listener->fd = new_socket();
    status = listener->fd < 0 ? HANDSHAKE_SYSTEM : bind_and_listen(&address, others, listener);
    int reason = errno;
    flock(listener->folder,
          LOCK_UN); /* not by close(): a child that was forked meanwhile has a copy of the descriptor */
    errno = reason;
    if (status == HANDSHAKE_OK)
        return status;
    if (listener->fd >= 0)
        give_up(listener->fd, status);
    return give_up(listener->folder, status);
}

void listener_close_socket(int fd) {
    int client;
    disposal_retry();
    shutdown(fd, SHUT_RD); /* no client can connect any more */
    while ((client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        handshake_close(client);
    if (errno == EMFILE || errno == ENFILE)
        disposal_close_later(fd); /* with the clients that still wait in it */
    else
        close(fd);
}

void listener_close(const struct listener *listener) {
    struct stat status;
    /* The file first: as long as the socket listens, no other listener takes over the path. */
    if (fstatat(listener->folder, listener->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode)
        unlinkat(listener->folder, listener->name, 0);
    listener_close_socket(listener->fd);
    close(listener->folder);
}

enum handshake_status listener_accept(int listener, int *fd) {
    *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (*fd >= 0)
        return HANDSHAKE_OK;
    if (errno == EMFILE || errno == ENFILE)
        disposal_retry(); /* descriptors of refused peers may wait for a thread */
    return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR ? HANDSHAKE_AGAIN : HANDSHAKE_SYSTEM;
}
