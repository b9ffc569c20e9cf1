/* For the tests of the tracer: a program that does or hangs as its argument says. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_locked;

/* Each process fills the other's pipe before it reads its own. */
static void fill_both_pipes(void) {
    static char bytes[1 << 20];
    int there[2], back[2];
    if (pipe(there) || pipe(back))
        exit(2);
    if (fork() == 0) {
        close(there[1]);
        close(back[0]);
        if (write(back[1], bytes, sizeof bytes) < 0 || read(there[0], bytes, sizeof bytes) < 0)
            exit(2);
        exit(0);
    }
    close(there[0]);
    close(back[1]);
    if (write(there[1], bytes, sizeof bytes) < 0 || read(back[0], bytes, sizeof bytes) < 0)
        exit(2);
}

/* Control messages whose length is not theirs, and more descriptors than the tracer copies. */
static void pass_odd_control(void) {
    static union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(253 * sizeof(int))];
    } control;
    const size_t lengths[] = {0, 8, 15, CMSG_LEN(1), 1000000, (size_t)1 << 63, SIZE_MAX, CMSG_LEN(253 * sizeof(int))};
    struct iovec data = {"x", 1};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        exit(2);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct msghdr message = {
            .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        control.header = (struct cmsghdr){.cmsg_len = lengths[i], .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        sendmsg(ends[0], &message, MSG_DONTWAIT);
    }
}

/* The reader waits for the end of file, and has the write end open itself. */
static void keep_own_end(void) {
    int ends[2];
    char byte;
    if (pipe(ends))
        exit(2);
    if (fork() == 0)
        exit(write(ends[1], "x", 1) == 1 ? 0 : 2);
    while (read(ends[0], &byte, 1) > 0)
        continue;
}

static void *lock_both(void *mutexes) {
    pthread_mutex_t **locks = mutexes;
    pthread_mutex_lock(locks[0]);
    pthread_barrier_wait(&both_locked);
    pthread_mutex_lock(locks[1]);
    return NULL;
}

static void lock_in_two_orders(void) {
    pthread_mutex_t *one[] = {&first, &second}, *other[] = {&second, &first};
    pthread_t threads[2];
    pthread_barrier_init(&both_locked, NULL, 2);
    pthread_create(&threads[0], NULL, lock_both, one);
    pthread_create(&threads[1], NULL, lock_both, other);
    pthread_join(threads[0], NULL);
}

/* The parent waits for its child, which waits for a message of the parent. */
static void wait_for_child(void) {
    int pair[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        exit(2);
    if (fork() == 0) {
        close(pair[0]);
        exit(read(pair[1], &byte, 1) == 1 ? 0 : 2);
    }
    close(pair[1]);
    wait(NULL);
}

/* As keep_own_end(), with a pipe that has higher descriptors than the tracer lists. */
static void keep_own_end_of_many(void) {
    for (int i = 0; i < 1100; i++)
        if (dup(0) < 0)
            exit(2);
    keep_own_end();
}

/* Sizes that are legal, or only refused by the kernel. */
static void pass_odd_sizes(void) {
    unsigned char one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET};
    int any = socket(AF_INET, SOCK_DGRAM, 0);
    setsockopt(any, IPPROTO_IP, IP_MULTICAST_TTL, &one, sizeof one);
    setsockopt(any, SOL_SOCKET, SO_REUSEADDR, &one, 0);
    for (socklen_t bytes = 0; bytes < 8; bytes++)
        if (connect(any, (struct sockaddr *)&address, bytes) == 0)
            exit(2);
}

/* As keep_own_end(), but a timer ends it. */
static void keep_own_end_for_a_second(void) {
    alarm(3);
    keep_own_end();
}

static void ignore_signal(int signal) {
    (void)signal;
}

/* As keep_own_end(), with handlers of signals that the kernel sends, not other processes. */
static void keep_own_end_with_handlers(void) {
    signal(SIGPIPE, ignore_signal);
    signal(SIGCHLD, ignore_signal);
    signal(SIGPROF, ignore_signal);
    signal(SIGURG, ignore_signal);
    keep_own_end();
}

static void lock_range(int fd) {
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    if (fcntl(fd, F_OFD_SETLKW, &range))
        exit(2);
}

static void lock_whole(int fd) {
    if (flock(fd, LOCK_EX))
        exit(2);
}

/* A new file in the current folder. */
static int open_own(void) {
    char name[] = "hang-XXXXXX";
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        exit(2);
    return fd;
}

/* A second descriptor that is not a copy: locks through the two exclude each other. */
static int open_again(int fd) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int again = open(name, O_RDWR | O_CLOEXEC);
    if (again < 0)
        exit(2);
    return again;
}

static void remove_name(int fd) {
    char link[64], name[64] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, name, sizeof name - 1) < 0 || unlink(name))
        exit(2);
}

/* Both processes lock a file, and then the file that the other one has locked. */
static void lock_files(void (*lock)(int)) {
    int files[] = {open_own(), open_own()}, locked[2];
    char byte = 'x';
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, locked))
        exit(2);
    int side = fork() == 0;
    int own = open_again(files[side]), other = open_again(files[!side]);
    lock(own);
    if (write(locked[side], &byte, 1) < 0 || read(locked[side], &byte, 1) < 0)
        exit(2);
    remove_name(own);
    lock(other);
}

static void lock_files_in_two_orders(void) {
    lock_files(lock_whole);
}

static void lock_ranges_in_two_orders(void) {
    lock_files(lock_range);
}

static void *share(int fd) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
    if (memory == MAP_FAILED || (fd >= 0 && ftruncate(fd, 4096)))
        exit(2);
    return memory;
}

/* Two processes wait for a semaphore that neither posts. */
static void await_in(void *memory) {
    sem_t *semaphore = memory;
    if (sem_init(semaphore, 1, 0))
        exit(2);
    fork();
    sem_wait(semaphore);
}

static void await_in_anonymous_memory(void) {
    await_in(share(-1));
}

static void await_in_memfd(void) {
    await_in(share(memfd_create("semaphore", MFD_CLOEXEC)));
}

static void await_in_removed_file(void) {
    int fd = open_own();
    remove_name(fd);
    await_in(share(fd));
}

/* Two processes lock two mutexes of a named file in different orders. */
static void lock_mutexes_of_a_file(void) {
    int fd = open_own();
    pthread_mutex_t *mutexes = share(fd);
    pthread_mutexattr_t shared;
    int pair[2];
    char byte = 'x';
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&mutexes[0], &shared);
    pthread_mutex_init(&mutexes[1], &shared);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        exit(2);
    int side = fork() == 0;
    pthread_mutex_lock(&mutexes[side]);
    if (write(pair[side], &byte, 1) < 0 || read(pair[side], &byte, 1) < 0)
        exit(2);
    if (side == 0)
        usleep(200000);
    pthread_mutex_lock(&mutexes[!side]);
}

static void *sleep_briefly(void *nothing) {
    usleep(1000);
    return nothing;
}

static void *lock_first(void *nothing) {
    pthread_mutex_lock(&first);
    return nothing;
}

/* The first thread ends with a mutex that another thread waits for. */
static void end_first_thread_with_mutex(void) {
    pthread_t thread;
    pthread_mutex_lock(&first);
    pthread_create(&thread, NULL, lock_first, NULL);
    pthread_exit(NULL);
}

static void *wait_for_signal(void *nothing) {
    pause();
    return nothing;
}

/* The first thread ends. Another one has the write end of a pipe, from which a child reads that has it, too. */
static void end_first_thread_with_pipe(void) {
    int ends[2];
    char byte;
    pthread_t thread;
    if (pipe(ends))
        exit(2);
    if (fork() == 0)
        exit(read(ends[0], &byte, 1) == 1 ? 0 : 2);
    pthread_create(&thread, NULL, wait_for_signal, NULL);
    pthread_exit(NULL);
}

/* Each of many processes waits for a lock of another file, which the first one holds, as many other descriptors. */
static void lock_many_files(void) {
    for (int i = 0; i < 150; i++)
        dup(STDIN_FILENO);
    for (int i = 0; i < 35; i++) {
        char path[] = "/tmp/crossings-hang-XXXXXX", again[32];
        int file = mkstemp(path);
        snprintf(again, sizeof again, "/proc/self/fd/%d", file);
        int other = open(again, O_RDWR);
        unlink(path);
        if (file < 0 || other < 0 || flock(file, LOCK_EX))
            exit(2);
        if (fork() == 0) {
            close(file);
            flock(other, LOCK_EX);
            exit(0);
        }
        close(other);
    }
    pause();
}

static int faults; /* a userfaultfd */

static void *serve_faults(void *page) {
    struct uffd_msg fault;
    while (read(faults, &fault, sizeof fault) > 0) {
        uint64_t start = fault.arg.pagefault.address & ~(uint64_t)4095;
        ioctl(faults, UFFDIO_COPY, &(struct uffdio_copy){.dst = start, .src = (uintptr_t)page, .len = 4096});
    }
    return NULL;
}

/* Memory of which the first pages are not there until another thread copies the last one into each. */
static char *serve_pages(size_t count) {
    size_t bytes = count * 4096;
    char *pages = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_register memory = {.range = {(uintptr_t)pages, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &(struct uffdio_api){.api = UFFD_API}) ||
        ioctl(faults, UFFDIO_REGISTER, &memory))
        exit(3);
    strcpy(pages + bytes, "served\n");
    pthread_create(&thread, NULL, serve_faults, pages + bytes);
    return pages;
}

static void write_from_served_page(void) {
    if (write(STDOUT_FILENO, serve_pages(1), 7) != 7)
        exit(2);
}

/* A socket that listens on 127.0.0.1. */
static int listen_at(struct sockaddr_in *address) {
    int server = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(server, (struct sockaddr *)address, sizeof *address) || listen(server, 1000) ||
        getsockname(server, (struct sockaddr *)address, &(socklen_t){sizeof *address}))
        exit(2);
    return server;
}

static void *ask_for_error(void *fd) {
    int error;
    while (getsockopt(*(int *)fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error}) == 0)
        usleep(500);
    return NULL;
}

/* While the kernel waits for a page, it keeps the socket locked. */
static void send_from_served_pages(void) {
    enum { PAGES = 200 };
    struct sockaddr_in address;
    int server = listen_at(&address), fd = socket(AF_INET, SOCK_STREAM, 0);
    const char *pages = serve_pages(PAGES);
    pthread_t thread;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address))
        exit(2);
    pthread_create(&thread, NULL, ask_for_error, &fd);
    for (size_t i = 0; i < PAGES; i++)
        send(fd, pages + i * 4096, 4096, MSG_DONTWAIT);
    close(server);
}

static void *duplicate(void *fd) {
    while (dup2(*(int *)fd, *(int *)fd + 1) >= 0)
        continue;
    return NULL;
}

/* A socket that has sent what nobody reads, and lingers for ten minutes. */
static int open_lingering(const struct sockaddr_in *server) {
    static const char bytes[1 << 22]; /* more than the kernel takes */
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 600}, sizeof(struct linger)) ||
        connect(fd, (const struct sockaddr *)server, sizeof *server))
        exit(2);
    while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    return fd;
}

static void *close_both(void *fd) {
    usleep(1000);
    syscall(SYS_close_range, *(int *)fd, *(int *)fd + 1, 0); /* it may wait, until the process ends */
    return NULL;
}

/* Closes a socket while other threads duplicate it. */
static void close_lingering(const struct sockaddr_in *server) {
    pthread_t closing, duplicating[4];
    int fd = open_lingering(server);
    for (int i = 0; i < 4; i++)
        pthread_create(&duplicating[i], NULL, duplicate, &fd);
    pthread_create(&closing, NULL, close_both, &fd);
    for (int i = 0; i < 4; i++)
        pthread_join(duplicating[i], NULL);
    exit(0);
}

static void close_lingering_sockets(void) {
    struct sockaddr_in address;
    listen_at(&address);
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (child == 0)
            close_lingering(&address);
        waitpid(child, NULL, 0);
    }
}

/* The peer of a connection reads nothing, and waits for this process, which polls until the limit of the connection
 * ends it. */
static void poll_limited_connection(void) {
    static const char bytes[1 << 16];
    struct sockaddr_in address;
    unsigned limit_ms = 2500;
    int ends[2], server = listen_at(&address), fd = socket(AF_INET, SOCK_STREAM, 0);
    if (pipe(ends) || setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms) ||
        connect(fd, (struct sockaddr *)&address, sizeof address))
        exit(2);
    int peer = accept(server, NULL, NULL);
    close(server);
    if (fork() == 0) {
        close(fd);
        close(ends[1]);
        exit(read(ends[0], &address, 1) != 0);
    }
    close(peer);
    close(ends[0]);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 100; i++, usleep(1000))
        while (write(fd, bytes, sizeof bytes) > 0)
            ;
    poll(&(struct pollfd){fd, POLLIN | POLLOUT, 0}, 1, -1);
}

/* 40,000 descriptors, of 40 processes. */
static void open_many(void) {
    for (int i = 0; i < 1000; i++)
        if (dup(0) < 0)
            exit(2);
    for (int i = 0; i < 39; i++)
        if (fork() == 0)
            break;
    pause();
}

static void start_threads(void) {
    pthread_t threads[64];
    for (int i = 0; i < 64; i++)
        pthread_create(&threads[i], NULL, sleep_briefly, NULL);
    for (int i = 0; i < 64; i++)
        pthread_join(threads[i], NULL);
}

static void fork_for_ever(void) {
    for (;;)
        fork();
}

static void call_often(void) {
    for (int i = 0; i < 5000; i++)
        getppid();
}

#ifdef __x86_64__
/* close(2) by its 32-bit number, 6, which is lstat's among the 64-bit numbers. Ends by SIGSEGV if the kernel has no
 * 32-bit calls. */
static void call_compat(void) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(6), "b"(-1) : "memory", "r8", "r9", "r10", "r11");
}
#endif

int main(int argument_count, char **arguments) {
    static const struct {
        const char *name;
        void (*function)(void);
    } actions[] = {
        {"fill-both-pipes", fill_both_pipes},
        {"keep-own-end", keep_own_end},
        {"keep-own-end-of-many", keep_own_end_of_many},
        {"keep-own-end-for-a-second", keep_own_end_for_a_second},
        {"keep-own-end-with-handlers", keep_own_end_with_handlers},
        {"lock-files-in-two-orders", lock_files_in_two_orders},
        {"lock-ranges-in-two-orders", lock_ranges_in_two_orders},
        {"await-in-anonymous-memory", await_in_anonymous_memory},
        {"await-in-memfd", await_in_memfd},
        {"await-in-removed-file", await_in_removed_file},
        {"lock-mutexes-of-a-file", lock_mutexes_of_a_file},
        {"pass-odd-sizes", pass_odd_sizes},
        {"pass-odd-control", pass_odd_control},
        {"lock-in-two-orders", lock_in_two_orders},
        {"wait-for-child", wait_for_child},
        {"end-first-thread-with-mutex", end_first_thread_with_mutex},
        {"end-first-thread-with-pipe", end_first_thread_with_pipe},
        {"lock-many-files", lock_many_files},
        {"write-from-served-page", write_from_served_page},
        {"send-from-served-pages", send_from_served_pages},
        {"close-lingering-sockets", close_lingering_sockets},
        {"poll-limited-connection", poll_limited_connection},
        {"open-many", open_many},
        {"start-threads", start_threads},
        {"fork-for-ever", fork_for_ever},
        {"call-often", call_often},
#ifdef __x86_64__
        {"call-compat", call_compat},
#endif
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (argument_count == 2 && strcmp(arguments[1], actions[i].name) == 0) {
            actions[i].function();
            return 0;
        }
    }
    return 2;
}
