/*
 * A library for LD_PRELOAD that makes system calls fail. A file of 32-bit words, named by the environment variable
 * FAULTS, says which: for each call below, in this order, a countdown and an errno. A countdown of n makes the n-th
 * call from now fail and becomes 0; 0 makes none fail; -1 makes each fail. Only the calls that crossings makes are
 * affected: mmap() of shared files, munmap() of regions, fcntl() that adds seals, open() of folders, and sockets of
 * type SOCK_SEQPACKET.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum call {
    MEMFD_CREATE,
    FTRUNCATE,
    MMAP,
    ADD_SEALS,
    SOCKET,
    SOCKETPAIR,
    BIND,
    LISTEN,
    CONNECT,
    ACCEPT,
    SENDMSG,
    RECVMSG,
    OPEN,
    FREE,
    CALLS
};

static volatile int32_t *words;

__attribute__((constructor)) static void attach(void) {
    const char *name = getenv("FAULTS");
    int fd = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *file = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    words = file == MAP_FAILED ? NULL : file;
    close(fd);
}

/* Does this call fail? Then errno is set. */
static int fails(enum call call) {
    if (!words || words[2 * call] == 0)
        return 0;
    if (words[2 * call] > 0 && --words[2 * call] > 0)
        return 0;
    errno = words[2 * call + 1];
    return 1;
}

static int is_ours(int fd) {
    int type = 0;
    socklen_t length = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

/* The function that this one stands in front of. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int memfd_create(const char *name, unsigned flags) {
    return fails(MEMFD_CREATE) ? -1 : REAL(memfd_create)(name, flags);
}

int ftruncate(int fd, off_t size) {
    return fails(FTRUNCATE) ? -1 : REAL(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size) __attribute__((alias("ftruncate")));

/* A region that is mapped: see region.h and ring.h. */
static int is_region(size_t size) {
    size_t capacity = (size - 4096) / 2;
    return capacity >= 65536 && (capacity & (capacity - 1)) == 0 && size == 4096 + 2 * capacity;
}

int munmap(void *at, size_t size) {
    return is_region(size) && fails(FREE) ? -1 : (int)syscall(SYS_munmap, at, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if ((flags & MAP_SHARED) && fd >= 0 && fails(MMAP))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) __attribute__((alias("mmap")));

int fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    return command == F_ADD_SEALS && fails(ADD_SEALS) ? -1 : (int)syscall(SYS_fcntl, fd, command, argument);
}

int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

int socket(int domain, int type, int protocol) {
    return (type & 0xf) == SOCK_SEQPACKET && fails(SOCKET) ? -1 : REAL(socket)(domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int ends[2]) {
    return (type & 0xf) == SOCK_SEQPACKET && fails(SOCKETPAIR) ? -1 : REAL(socketpair)(domain, type, protocol, ends);
}

int bind(int fd, const struct sockaddr *address, socklen_t length) {
    return is_ours(fd) && fails(BIND) ? -1 : REAL(bind)(fd, address, length);
}

int listen(int fd, int backlog) {
    return is_ours(fd) && fails(LISTEN) ? -1 : REAL(listen)(fd, backlog);
}

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    return is_ours(fd) && fails(CONNECT) ? -1 : REAL(connect)(fd, address, length);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    return is_ours(fd) && fails(ACCEPT) ? -1 : REAL(accept4)(fd, address, length, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    return is_ours(fd) && fails(SENDMSG) ? -1 : REAL(sendmsg)(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    return is_ours(fd) && fails(RECVMSG) ? -1 : REAL(recvmsg)(fd, message, flags);
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = va_arg(arguments, mode_t);
    va_end(arguments);
    if ((flags & O_DIRECTORY) && fails(OPEN))
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
