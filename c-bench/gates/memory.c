/*
 * The MMU gate: a process tries everything it can to write its peer's region. The owner creates the region and sends
 * its descriptor; the peer keeps it, as a hostile peer would. The control is the same memory without seals.
 */
#include "gates.h"

#include "../../native/region.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY RING_MIN_CAPACITY
#define BYTES (RING_HEADER_BYTES + CAPACITY)
#define TARGET RING_HEADER_BYTES /* where the first frame's signal is */

int ended_by_signal;

/* ---- The owner ---- */

static int make_region(bool control, char **memory) {
    static struct region region;
    if (!control) {
        if (region_create(&region, CAPACITY, 0))
            return -1;
        *memory = (char *)region.header;
        return region.fd;
    }
    int fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, BYTES))
        return -1;
    *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return *memory == MAP_FAILED ? -1 : fd;
}

static bool send_descriptor(int socket, int fd) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec data = {"", 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

/* Send the region, and then, whenever the peer asks, look whether its memory has changed. */
__attribute__((noreturn)) static void be_owner(int socket, bool control) {
    char *memory, question;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    int fd = make_region(control, &memory);
    if (fd < 0 || !send_descriptor(socket, fd))
        _exit(errno); /* for the parent's message */
    while (read(socket, &question, 1) == 1) {
        char changed = 0;
        for (size_t i = TARGET; i < BYTES; i++)
            changed |= *(volatile char *)(memory + i);
        if (write(socket, &changed, 1) != 1)
            break;
    }
    _exit(0);
}

/* ---- The peer ---- */

static int receive_descriptor(int socket) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    int fd = -1;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

static int not_stored; /* an errno: why there was no child to store a byte */

/* Store a byte in a child, since the store may be its last instruction. Returns 0, or -1 if a signal ended the child.
 */
static int store_in_child(char *target) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        *(volatile char *)target = 'X';
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        not_stored = errno;
        return -1;
    }
    ended_by_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return ended_by_signal ? -1 : 0;
}

/* False: one of the attempts could not be made; see errno. */
static bool try_to_write(int fd, char *memory, bool control) {
    char reopened[32], byte = 'X';
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), own_memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    snprintf(reopened, sizeof reopened, "/proc/self/fd/%d", fd);
    ATTEMPT("mmu", "mmap", control, mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ATTEMPT("mmu", "mprotect", control, mprotect(memory, BYTES, PROT_READ | PROT_WRITE));
    ATTEMPT("mmu", "store", control, store_in_child(memory + TARGET));
    ATTEMPT("mmu", "pwrite", control, pwrite(fd, &byte, 1, TARGET));
    ATTEMPT("mmu", "reopen-pwrite", control, pwrite(open(reopened, O_RDWR), &byte, 1, TARGET));
    ATTEMPT("mmu", "reopen-mmap", control,
            mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, open(reopened, O_RDWR), 0));
    ATTEMPT("mmu", "read", control, read(zero, memory + BYTES - 1, 1));
    ATTEMPT("mmu", "proc-mem", control, pwrite(own_memory, &byte, 1, (off_t)(uintptr_t)(memory + TARGET)));
    ATTEMPT("mmu", "punch-hole", control,
            fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BYTES - 4096, 4096));
    close(zero);
    close(own_memory);
    errno = not_stored;
    return not_stored == 0;
}

static void try_to_resize(int fd, bool control) {
    ATTEMPT("mmu", "grow", control, ftruncate(fd, 2 * BYTES));
    ATTEMPT("mmu", "shrink", control, ftruncate(fd, 0));
    ATTEMPT("mmu", "add-seals", control, fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
}

/* Ask the owner whether its memory has changed. It may die on the way: of a page that its file no longer has. */
static bool ask_owner(int socket, pid_t owner, bool control) {
    char changed = 0;
    int status;
    if (write(socket, "?", 1) == 1 && read(socket, &changed, 1) == 1) {
        report_owner(control, changed != 0, 0);
        return true;
    }
    if (waitpid(owner, &status, 0) != owner || !WIFSIGNALED(status))
        return false;
    report_owner(control, false, WTERMSIG(status));
    return true;
}

bool try_memory_gate(bool control) {
    int ends[2], status;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return false;
    pid_t owner = fork();
    if (owner == 0) {
        close(ends[0]);
        be_owner(ends[1], control);
    }
    close(ends[1]);
    int fd = owner < 0 ? -1 : receive_descriptor(ends[0]);
    char *memory = fd < 0 ? MAP_FAILED : mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        int reason = errno;
        close(ends[0]); /* the owner ends, if it has not failed */
        if (owner > 0 && waitpid(owner, &status, 0) == owner && WIFEXITED(status) && WEXITSTATUS(status) != 0)
            reason = WEXITSTATUS(status);
        errno = reason;
        return false;
    }
    /* What a correct peer does first: it refuses memory that anybody could write. */
    struct region region;
    ATTEMPT("mmu", "accept-unsealed", !control, region_map_peer(&region, fd, RING_MAX_CAPACITY) == REGION_OK ? 0 : -1);
    region_release(&region);
    if (!try_to_write(fd, memory, control))
        return false; /* the owner ends with this process */
    bool succeeded = ask_owner(ends[0], owner, control);
    try_to_resize(fd, control);
    succeeded = succeeded && ask_owner(ends[0], owner, control);
    close(ends[0]); /* the owner ends */
    close(fd);
    waitpid(owner, &status, 0);
    return succeeded;
}
