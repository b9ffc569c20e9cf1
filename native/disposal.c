/* Closing what a peer has passed: at once, or on a thread of its own. */
#include "disposal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef SCM_PIDFD
#define SCM_PIDFD                                                                                                      \
    4 /* Linux 6.5: of a socket with SO_PASSPIDFD, which the peer may have set if it has made the socket */
#endif

#define MOST_PACKETS 2                /* taken by disposal_empty(); a peer can make taking each slow */
#define MOST_FAILURES 8               /* of taking one that may succeed later; a filter may fail it each time */
#define STACK_BYTES (256u << 10)      /* of a thread that only closes */
#define LARGE_STACK_BYTES (64u << 20) /* address space, of which little is used */

size_t disposal_take(struct msghdr *message, int *fds, size_t count) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || (part->cmsg_type != SCM_RIGHTS && part->cmsg_type != SCM_PIDFD))
            continue;
        size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        if (here > DISPOSAL_MOST - count)
            here = DISPOSAL_MOST - count; /* never: there is no room for more in the buffers of received messages */
        memcpy(fds + count, CMSG_DATA(part), here * sizeof(int));
        count += here;
    }
    return count;
}

struct disposal {
    struct disposal *next;
    pid_t process; /* in a forked child, numbers and addresses are those of other things */
    void *memory;  /* to unmap, or NULL */
    size_t bytes;
    size_t count; /* of the descriptors to close */
    int fds[];
};

/* Threads for one kind of work, which close what any thread has queued: crossings.h asks for one table of descriptors.
 * Memory has its own, because freeing it takes processor time only: it must not stay until peers allow other
 * descriptors to be closed. */
struct pool {
    pthread_mutex_t mutex; /* guards all of it; held for a few instructions only */
    struct disposal *first, *last;
    unsigned threads;
    unsigned most_threads;
};

static struct pool for_memory = {.mutex = PTHREAD_MUTEX_INITIALIZER, .most_threads = 4};
/* A peer can make each of these threads wait. */
static struct pool for_others = {.mutex = PTHREAD_MUTEX_INITIALIZER, .most_threads = 64};

static unsigned unfinished; /* those that wait, or that a thread is working on */

static void lock_pools(void) {
    pthread_mutex_lock(&for_memory.mutex);
    pthread_mutex_lock(&for_others.mutex);
}

static void unlock_pools(void) {
    pthread_mutex_unlock(&for_others.mutex);
    pthread_mutex_unlock(&for_memory.mutex);
}

/* A forked child has none of the threads, and the descriptors are its parent's. */
static void forget_all(void) {
    for_memory.first = for_others.first = NULL;
    unfinished = for_memory.threads = for_others.threads = 0;
    unlock_pools();
}

/* When the library is loaded, not at the first disposal: another thread might fork then, and with musl, its child would
 * wait for ever in pthread_once(). */
__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(lock_pools, unlock_pools, forget_all);
}

/* Close a descriptor. Only a thread that may wait calls this. */
static void close_slowly(int fd) {
    static const struct linger none = {0, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none); /* fails for anything but a socket */
    close(fd);
}

static void run(const struct disposal *this) {
    for (size_t i = 0; i < this->count; i++)
        close_slowly(this->fds[i]);
    if (this->memory)
        munmap(this->memory, this->bytes);
}

/* Take the one that has waited for longest. Or NULL: then the thread that asks ends. */
static struct disposal *next_of(struct pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    struct disposal *this = pool->first;
    if (this)
        pool->first = this->next;
    else
        pool->threads--;
    pthread_mutex_unlock(&pool->mutex);
    return this;
}

static void *work(void *argument) {
    struct pool *pool = argument;
    for (struct disposal *this; (this = next_of(pool));) {
        if (this->process == getpid())
            run(this);
        free(this);
        __atomic_fetch_sub(&unfinished, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

bool disposal_start_thread(void *(*run)(void *), void *argument) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are for its own threads */
    int failed = pthread_create(&thread, &attributes, run, argument);
    if (failed == EINVAL) { /* the thread-local variables of the program do not fit into so small a stack */
        pthread_attr_setstacksize(&attributes, LARGE_STACK_BYTES);
        failed = pthread_create(&thread, &attributes, run, argument);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return !failed;
}

/* If something waits, start a thread for it, unless there are as many as there may be. None can be started while a peer
 * has brought this process to its limit: then call this again. */
static void start_thread(struct pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    bool may_start = pool->first && pool->threads < pool->most_threads;
    if (may_start)
        pool->threads++;
    pthread_mutex_unlock(&pool->mutex);
    if (!may_start || disposal_start_thread(work, pool))
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->threads--;
    pthread_mutex_unlock(&pool->mutex);
}

/* Leave it to a thread of the pool. */
static void dispose_elsewhere(struct pool *pool, const int *fds, size_t count, void *memory, size_t bytes) {
    int reason = errno;
    struct disposal *these = malloc(sizeof *these + count * sizeof fds[0]);
    if (!these) { /* no memory either: this thread may wait */
        for (size_t i = 0; i < count; i++)
            close_slowly(fds[i]);
        if (memory)
            munmap(memory, bytes);
        errno = reason;
        return;
    }
    __atomic_fetch_add(&unfinished, 1, __ATOMIC_RELAXED);
    *these = (struct disposal){.process = getpid(), .memory = memory, .bytes = bytes, .count = count};
    for (size_t i = 0; i < count; i++)
        these->fds[i] = fds[i];
    pthread_mutex_lock(&pool->mutex);
    if (pool->first)
        pool->last->next = these;
    else
        pool->first = these;
    pool->last = these;
    pthread_mutex_unlock(&pool->mutex);
    start_thread(pool);
    errno = reason;
}

/* Does the descriptor stand for memory (memfd or tmpfs)? No other file has seals. */
static bool is_memory(int fd) {
    return fcntl(fd, F_GET_SEALS) >= 0;
}

static void close_elsewhere(const int *fds, size_t count) {
    int memory[DISPOSAL_MOST], others[DISPOSAL_MOST];
    size_t memory_count = 0, others_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_memory(fds[i]))
            memory[memory_count++] = fds[i];
        else
            others[others_count++] = fds[i];
    }
    if (memory_count > 0)
        dispose_elsewhere(&for_memory, memory, memory_count, NULL, 0);
    if (others_count > 0)
        dispose_elsewhere(&for_others, others, others_count, NULL, 0);
}

unsigned disposal_unfinished(void) {
    return __atomic_load_n(&unfinished, __ATOMIC_RELAXED);
}

void disposal_retry(void) {
    if (disposal_unfinished() == 0)
        return;
    int reason = errno;
    start_thread(&for_memory);
    start_thread(&for_others);
    errno = reason;
}

/* Answers without asking a file system, unlike fstat(). */
static bool is_socket(int fd) {
    int type;
    socklen_t size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

void disposal_close_later(int fd) {
    int reason = errno;
    /* Only of a socket is closing a copy nothing. A file of FUSE or NFS is flushed by each close(). */
    int copy = is_socket(fd) ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy >= 0)
        close(fd);
    else
        copy = fd;
    dispose_elsewhere(&for_others, &copy, 1, NULL, 0);
    errno = reason;
}

void disposal_unmap_later(void *memory, size_t bytes) {
    dispose_elsewhere(&for_memory, NULL, 0, memory, bytes);
}

/* Can the descriptor of a mapped memfd be closed at once? close() looks through all record locks; this process has
 * none, so the first one answers F_GETLK. */
static bool is_quick(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

/* Otherwise nothing is closed here. The last close() of a memfd frees its pages and its extended attributes, of which
 * there may be millions; and whatever is no memfd may wait for its peer. */
void disposal_close_received(const int *fds, size_t count, bool is_mapped) {
    int reason = errno;
    if (is_mapped && count == 1 && is_quick(fds[0]))
        close(fds[0]);
    else if (count > 0)
        close_elsewhere(fds, count);
    errno = reason;
}

/* Not recv(): a sandbox that allows the handshake allows recvmsg(). With a buffer, though of no bytes: qemu's recvmsg()
 * without one does not look at the socket. The kernel drops what does not fit. */
void disposal_drop(int fd) {
    struct iovec data = {NULL, 0};
    recvmsg(fd, &(struct msghdr){.msg_iov = &data, .msg_iovlen = 1}, MSG_DONTWAIT);
}

/* Does whoever has a copy of this end let MSG_PEEK pass over packets? Those would be dropped unseen. */
static bool hides_packets(int fd) {
    int start = -1;
    socklen_t size = sizeof start;
    return getsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &start, &size) == 0 && start >= 0;
}

bool disposal_empty(int fd) {
    /* The sender's credentials, which distinguish an empty packet from the end, fit into this buffer. Descriptors come
     * after them, and do not fit. */
    union {
        struct cmsghdr header; /* only for its alignment */
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on))
        return errno == ENOTSOCK || errno == EBADF;
    if (hides_packets(fd)) {
        errno = 0;
        return false;
    }
    for (int dropped = 0, failed = 0;;) {
        struct iovec data = {NULL, 0}; /* as in disposal_drop() */
        struct msghdr message = {
            .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
        if (recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) < 0) {
            if (errno != ECONNRESET && errno != EINTR) /* ECONNRESET: reported once, before the packets */
                return true;
            if (failed++ == MOST_FAILURES)
                return false;
            continue;
        }
        if (message.msg_controllen == 0 && !(message.msg_flags & MSG_CTRUNC))
            return true; /* the end */
        if (message.msg_flags & MSG_CTRUNC || dropped++ == MOST_PACKETS) {
            errno = 0;
            return false;
        }
        disposal_drop(fd);
    }
}
