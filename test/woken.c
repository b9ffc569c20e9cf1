/*
 * For the tests of the tracer: a program that waits for another process. `woken WHAT FILE wait` is recorded and exits
 * with 0 when it has been woken; `woken WHAT FILE wake`, which is not recorded, wakes it. `wake` first prepares what
 * it needs, prints a line, and waits for a line of standard input.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path; /* a name that is free, in a folder of the test */

static void check(bool fine, const char *what) {
    if (fine)
        return;
    perror(what);
    exit(2);
}

/* The side that wakes is ready; returns when it shall wake. */
static void await_turn(void) {
    puts("ready");
    fflush(stdout);
    check(getchar() == '\n', "await_turn");
}

static int open_file(int flags) {
    int fd = open(path, flags | O_CLOEXEC, 0600);
    check(fd >= 0, path);
    return fd;
}

static void read_byte(int fd) {
    char byte;
    check(read(fd, &byte, 1) == 1, "read");
}

static void write_byte(int fd) {
    check(write(fd, "x", 1) == 1, "write");
}

/* ---- Named pipes ---- */

static void wait_fifo_open(void) {
    read_byte(open_file(O_RDONLY));
}

static void wake_fifo_open(void) {
    check(mkfifo(path, 0600) == 0, "mkfifo");
    await_turn();
    write_byte(open_file(O_WRONLY));
}

static void wait_fifo_read(void) {
    read_byte(open_file(O_RDWR)); /* it has a write end itself, as programs have that must not see the end of file */
}

static void wait_fifo_write(void) {
    static char bytes[1 << 20];
    check(write(open_file(O_RDWR), bytes, sizeof bytes) == sizeof bytes, "write");
}

static void wake_fifo_write(void) {
    static char bytes[1 << 16];
    check(mkfifo(path, 0600) == 0, "mkfifo");
    int fd = open_file(O_RDWR);
    await_turn();
    for (int got = 0; got < 1 << 20;)
        got += (int)read(fd, bytes, sizeof bytes);
}

static void wait_splice(void) {
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    check(splice(open_file(O_RDWR), NULL, ends[1], NULL, 1, 0) == 1, "splice");
}

/* ---- Locks ---- */

/* A child that has the file open, too, and is stuck: the parent is not the only one with a descriptor. */
static void start_holder(int file) {
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    if (fork() == 0) {
        close(ends[1]);
        char byte;
        (void)!read(ends[0], &byte, 1);
        close(file);
        exit(0);
    }
    close(ends[0]);
}

static void wait_flock(void) {
    start_holder(open_file(O_RDWR));
    check(flock(open_file(O_RDWR), LOCK_EX) == 0, "flock");
}

static void wake_flock(void) {
    int fd = open_file(O_RDWR | O_CREAT);
    check(flock(fd, LOCK_EX) == 0, "flock");
    await_turn();
}

static void lock_range(int fd, int command) {
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    check(fcntl(fd, command, &range) == 0, "fcntl");
}

static void wait_fcntl(void) {
    int fd = open_file(O_RDWR);
    start_holder(fd);
    lock_range(fd, F_SETLKW);
}

/* It holds another part of the file itself. */
static void wait_fcntl_parts(void) {
    int ends[2], fd = open_file(O_RDWR);
    struct flock other = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 1};
    check(fcntl(fd, F_SETLK, &other) == 0, "fcntl");
    check(pipe(ends) == 0, "pipe");
    if (fork() == 0) {
        lock_range(open_file(O_RDWR), F_SETLKW);
        write_byte(ends[1]);
        exit(0);
    }
    read_byte(ends[0]);
}

static void wake_fcntl(void) {
    lock_range(open_file(O_RDWR | O_CREAT), F_SETLK);
    await_turn();
}

static void wait_ofd(void) {
    start_holder(open_file(O_RDWR));
    lock_range(open_file(O_RDWR), F_OFD_SETLKW);
}

static void wake_ofd(void) {
    lock_range(open_file(O_RDWR | O_CREAT), F_OFD_SETLK);
    await_turn();
}

/* ---- Shared memory ---- */

static void *map_file(int fd, size_t bytes) {
    check(ftruncate(fd, (off_t)bytes) == 0, "ftruncate");
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory != MAP_FAILED, "mmap");
    return memory;
}

static void wait_mapped(void) {
    check(sem_wait(map_file(open_file(O_RDWR), sizeof(sem_t))) == 0, "sem_wait");
}

static void wake_mapped(void) {
    sem_t *semaphore = map_file(open_file(O_RDWR | O_CREAT), sizeof *semaphore);
    check(sem_init(semaphore, 1, 0) == 0, "sem_init");
    await_turn();
    sem_post(semaphore);
}

/* The path as a name without folders. */
static const char *posix_name(void) {
    static char name[200];
    snprintf(name, sizeof name, "%s", path);
    for (char *c = name + 1; *c; c++)
        if (*c == '/')
            *c = '-';
    return name;
}

static void wait_semaphore(void) {
    sem_t *semaphore = sem_open(posix_name(), 0);
    check(semaphore != SEM_FAILED, "sem_open");
    check(sem_wait(semaphore) == 0, "sem_wait");
}

static void wake_semaphore(void) {
    sem_t *semaphore = sem_open(posix_name(), O_CREAT | O_EXCL, 0600, 0);
    check(semaphore != SEM_FAILED, "sem_open");
    await_turn();
    sem_post(semaphore);
    sem_unlink(posix_name());
}

static void wait_created(void) {
    sem_t *semaphore = sem_open(posix_name(), O_CREAT | O_EXCL, 0600, 0);
    check(semaphore != SEM_FAILED, "sem_open");
    check(sem_wait(semaphore) == 0, "sem_wait");
}

static void wake_created(void) {
    await_turn();
    sem_t *semaphore = sem_open(posix_name(), 0);
    check(semaphore != SEM_FAILED, "sem_open");
    sem_post(semaphore);
    sem_unlink(posix_name());
}

static void wait_mutex(void) {
    pthread_mutex_t *mutex = map_file(open_file(O_RDWR), sizeof *mutex);
    check(pthread_mutex_lock(mutex) == 0, "pthread_mutex_lock");
}

static void wake_mutex(void) {
    pthread_mutex_t *mutex = map_file(open_file(O_RDWR | O_CREAT), sizeof *mutex);
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(mutex, &shared);
    pthread_mutex_lock(mutex);
    await_turn();
    pthread_mutex_unlock(mutex);
}

/* A key that only this file has: every test makes it in another folder. */
static key_t key(void) {
    struct stat status;
    check(stat(path, &status) == 0, path);
    return (key_t)(status.st_ino & 0x7fffffff) | 0x40000000;
}

static void wait_segment(void) {
    sem_t *semaphore = shmat(shmget(key(), 0, 0600), NULL, 0);
    check(semaphore != (void *)-1, "shmat");
    check(sem_wait(semaphore) == 0, "sem_wait");
}

static void wake_segment(void) {
    close(open_file(O_RDWR | O_CREAT));
    int id = shmget(key(), sizeof(sem_t), IPC_CREAT | 0600);
    sem_t *semaphore = shmat(id, NULL, 0);
    check(semaphore != (void *)-1, "shmat");
    sem_init(semaphore, 1, 0);
    await_turn();
    sem_post(semaphore);
    shmctl(id, IPC_RMID, NULL);
}

/* ---- Mailboxes ---- */

static void wait_mq(void) {
    char message[8192];
    mqd_t queue = mq_open(posix_name(), O_RDWR);
    check(queue >= 0, "mq_open");
    check(mq_receive(queue, message, sizeof message, NULL) >= 0, "mq_receive");
}

static void wake_mq(void) {
    mqd_t queue = mq_open(posix_name(), O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
    check(queue >= 0, "mq_open");
    await_turn();
    mq_send(queue, "x", 1, 0);
    mq_unlink(posix_name());
}

struct letter {
    long type;
    char text[8];
};

static void wait_msg(void) {
    struct letter letter;
    check(msgrcv(msgget(key(), 0600), &letter, sizeof letter.text, 0, 0) >= 0, "msgrcv");
}

static void wake_msg(void) {
    close(open_file(O_RDWR | O_CREAT));
    int id = msgget(key(), IPC_CREAT | 0600);
    check(id >= 0, "msgget");
    await_turn();
    check(msgsnd(id, &(struct letter){.type = 1}, 1, 0) == 0, "msgsnd");
    for (struct msqid_ds state; msgctl(id, IPC_STAT, &state) == 0 && state.msg_qnum > 0;)
        usleep(1000);
    msgctl(id, IPC_RMID, NULL);
}

static void wait_sem(void) {
    check(semop(semget(key(), 1, 0600), &(struct sembuf){.sem_op = -1}, 1) == 0, "semop");
}

static void wake_sem(void) {
    close(open_file(O_RDWR | O_CREAT));
    int id = semget(key(), 1, IPC_CREAT | 0600);
    check(id >= 0, "semget");
    await_turn();
    semop(id, &(struct sembuf){.sem_op = 1}, 1);
    while (semctl(id, 0, GETVAL) > 0)
        usleep(1000);
    semctl(id, 0, IPC_RMID);
}

/* ---- Signals ---- */

static int told; /* written by the handler */

static void on_signal(int signal) {
    (void)signal;
    (void)!write(told, "x", 1);
}

static void tell_process(void) {
    int fd = open_file(O_WRONLY | O_CREAT | O_TRUNC);
    char text[16];
    int length = snprintf(text, sizeof text, "%d\n", (int)getpid());
    check(write(fd, text, (size_t)length) == length, "write");
    close(fd);
}

static void wake_signal(void) {
    char text[16] = "";
    await_turn();
    check(read(open_file(O_RDONLY), text, sizeof text - 1) > 0, "read");
    check(kill(atoi(text), SIGUSR1) == 0, "kill");
}

static sigset_t block_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return set;
}

static void handle_signal(int flags) {
    told = open("/dev/null", O_WRONLY | O_CLOEXEC);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal, .sa_flags = flags}, NULL);
    tell_process();
}

static void wait_pause(void) {
    handle_signal(SA_RESTART);
    pause();
}

static void wait_sigsuspend(void) {
    sigset_t none;
    sigemptyset(&none);
    handle_signal(0);
    sigsuspend(&none);
}

static void wait_sigwaitinfo(void) {
    sigset_t set = block_signal();
    tell_process();
    check(sigwaitinfo(&set, NULL) == SIGUSR1, "sigwaitinfo");
}

static void wait_signalfd(void) {
    sigset_t set = block_signal();
    struct signalfd_siginfo info;
    tell_process();
    check(read(signalfd(-1, &set, 0), &info, sizeof info) == sizeof info, "read");
}

/* The handler writes into a pipe of its own process, which reads it: the usual way to turn signals into events. */
static void wait_self_pipe(void) {
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    handle_signal(SA_RESTART);
    told = ends[1];
    read_byte(ends[0]);
}

/* The signal interrupts the wait for a child, which waits for this process. */
static void wait_interrupted(void) {
    int ends[2];
    char byte;
    check(pipe(ends) == 0, "pipe");
    if (fork() == 0) {
        close(ends[1]);
        exit(read(ends[0], &byte, 1) == 0 ? 0 : 2);
    }
    close(ends[0]);
    handle_signal(0);
    check(wait(NULL) < 0 && errno == EINTR, "wait");
    close(ends[1]);
    check(wait(NULL) > 0, "wait");
}

/* ---- Sockets, and what passes through them ---- */

static struct sockaddr_un address_of(const char *suffix) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s%s", path, suffix);
    return address;
}

static int bound(int type, const char *suffix) {
    struct sockaddr_un address = address_of(suffix);
    int fd = socket(AF_UNIX, type, 0);
    check(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    return fd;
}

static int connected(int type, const char *suffix) {
    struct sockaddr_un address = address_of(suffix);
    int fd = socket(AF_UNIX, type, 0);
    check(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    return fd;
}

static void wait_accept(void) {
    int fd = bound(SOCK_STREAM, "");
    check(listen(fd, 1) == 0, "listen");
    check(accept(fd, NULL, NULL) >= 0, "accept");
}

static void wake_accept(void) {
    await_turn();
    connected(SOCK_STREAM, "");
}

/* The child is connected to the parent's socket, which any other process can also send to. */
static void wait_datagram(void) {
    char byte;
    int fd = bound(SOCK_DGRAM, ""), ends[2];
    check(pipe(ends) == 0, "pipe");
    if (fork() == 0) {
        close(ends[1]);
        connected(SOCK_DGRAM, "");
        exit(read(ends[0], &byte, 1) == 0 ? 0 : 2);
    }
    close(ends[0]);
    check(recv(fd, &byte, 1, 0) == 1, "recv");
    close(ends[1]);
    wait(NULL);
}

static void wake_datagram(void) {
    await_turn();
    check(send(connected(SOCK_DGRAM, ""), "x", 1, 0) == 1, "send");
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* A message of one byte with a descriptor. */
static struct msghdr carry(int fd, union control *control) {
    static struct iovec data = {"x", 1};
    *control =
        (union control){.header = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control->header), &fd, sizeof fd);
    return (struct msghdr){
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof *control};
}

static void send_descriptor(int socket, int fd) {
    union control control;
    struct msghdr message = carry(fd, &control);
    check(sendmsg(socket, &message, 0) == 1, "sendmsg");
}

static int receive_descriptor(int socket) {
    union control control;
    char byte;
    int fd = -1;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    check(recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message), "recvmsg");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

/* Accept one connection of the program that waits. */
static int accept_one(const char *suffix) {
    int fd = bound(SOCK_STREAM, suffix);
    check(listen(fd, 1) == 0, "listen");
    puts("ready");
    fflush(stdout);
    fd = accept(fd, NULL, NULL);
    check(fd >= 0, "accept");
    return fd;
}

static void wait_received(void) {
    int peer = connected(SOCK_STREAM, "");
    int copies[] = {receive_descriptor(peer), receive_descriptor(peer)}; /* it can also write into the pipe itself */
    read_byte(copies[0]);
}

static void wake_received(void) {
    int peer = accept_one(""), ends[2];
    check(pipe(ends) == 0, "pipe");
    send_descriptor(peer, ends[0]);
    send_descriptor(peer, ends[1]);
    check(getchar() == '\n', "turn");
    write_byte(ends[1]);
}

static void wait_sent(void) {
    int peer = connected(SOCK_STREAM, ""), number = eventfd(0, 0);
    uint64_t value;
    send_descriptor(peer, number);
    check(read(number, &value, sizeof value) == sizeof value, "read");
}

static void wake_sent(void) {
    int number = receive_descriptor(accept_one(""));
    uint64_t value = 1;
    check(getchar() == '\n', "turn");
    check(write(number, &value, sizeof value) == sizeof value, "write");
}

/* The same, with another call. */
static void wait_sent_list(void) {
    int peer = connected(SOCK_STREAM, ""), number = eventfd(0, 0);
    uint64_t value;
    union control control;
    struct mmsghdr list = {.msg_hdr = carry(number, &control)};
    check(sendmmsg(peer, &list, 1, 0) == 1, "sendmmsg");
    check(read(number, &value, sizeof value) == sizeof value, "read");
}

/* The kernel numbers eventfds, and gives the number of one that was closed to the next one. */
static void wait_received_again(void) {
    int peer = connected(SOCK_STREAM, ""), mine = eventfd(0, 0), number;
    uint64_t value;
    close(mine);
    write_byte(peer);
    number = receive_descriptor(peer);
    check(read(number, &value, sizeof value) == sizeof value, "read");
}

static void wake_received_again(void) {
    int peer = accept_one("");
    uint64_t value = 1;
    read_byte(peer);
    int number = eventfd(0, 0);
    send_descriptor(peer, number);
    check(getchar() == '\n', "turn");
    check(write(number, &value, sizeof value) == sizeof value, "write");
}

/* A child that no tracer gets. */
static void wait_untraced(void) {
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    if (syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
        sleep(3);
        write_byte(ends[1]);
        _exit(0);
    }
    read_byte(ends[0]);
}

static void wake_untraced(void) {
    puts("ready");
    fflush(stdout);
    check(getchar() == '\n', "turn");
}

static void wait_memory(void) {
    int peer = connected(SOCK_STREAM, "");
    check(sem_wait(map_file(receive_descriptor(peer), sizeof(sem_t))) == 0, "sem_wait");
}

static void wake_memory(void) {
    int peer = accept_one(""), file = memfd_create("semaphore", 0);
    sem_t *semaphore = map_file(file, sizeof *semaphore);
    sem_init(semaphore, 1, 0);
    send_descriptor(peer, file);
    check(getchar() == '\n', "turn");
    sem_post(semaphore);
}

/* The lock belongs to an open file description that both have. */
static void wait_received_lock(void) {
    int locked = receive_descriptor(connected(SOCK_STREAM, ".socket"));
    check(flock(open_file(O_RDWR), LOCK_EX) == 0, "flock");
    close(locked);
}

static void wake_received_lock(void) {
    int file = open_file(O_RDWR | O_CREAT);
    check(flock(file, LOCK_EX) == 0, "flock");
    send_descriptor(accept_one(".socket"), file);
    check(getchar() == '\n', "turn");
    flock(file, LOCK_UN);
}

/* ---- Descriptors and sockets that are not what they were ---- */

/* The kernel gives the number of an eventfd that was closed to the next one: here, to one of the other process. */
static void wait_fetched(void) {
    int peer = connected(SOCK_STREAM, ""), mine = eventfd(0, 0), theirs[2];
    uint64_t value;
    close(mine);
    write_byte(peer);
    check(read(peer, theirs, sizeof theirs) == sizeof theirs, "read");
    int process = (int)syscall(SYS_pidfd_open, theirs[0], 0);
    int number = (int)syscall(SYS_pidfd_getfd, process, theirs[1], 0);
    check(read(number, &value, sizeof value) == sizeof value, "read");
}

static void wake_fetched(void) {
    int peer = accept_one("");
    uint64_t value = 1;
    read_byte(peer);
    int number = eventfd(0, 0), mine[] = {getpid(), number};
    check(write(peer, mine, sizeof mine) == sizeof mine, "write");
    check(getchar() == '\n', "turn");
    check(write(number, &value, sizeof value) == sizeof value, "write");
}

/* This thread no longer has the descriptors of its process. */
static void *read_own(void *argument) {
    const int *ends = argument;
    check(unshare(CLONE_FILES) == 0, "unshare");
    check(dup2(connected(SOCK_STREAM, ""), ends[0]) == ends[0], "dup2");
    read_byte(ends[0]);
    return NULL;
}

static void wait_unshared(void) {
    int ends[2];
    pthread_t thread;
    check(pipe(ends) == 0, "pipe");
    check(pthread_create(&thread, NULL, read_own, ends) == 0, "pthread_create");
    pthread_join(thread, NULL);
}

static void wake_byte(void) {
    int peer = accept_one("");
    check(getchar() == '\n', "turn");
    write_byte(peer);
}

static int tcp_listener(struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    check(bind(fd, (struct sockaddr *)address, length) == 0, "bind");
    check(listen(fd, 1) == 0, "listen");
    check(getsockname(fd, (struct sockaddr *)address, &length) == 0, "getsockname");
    return fd;
}

/* Its socket was connected to one of its own, is disconnected, and connected to the other process. */
static void wait_reconnected(void) {
    struct sockaddr_in own, other;
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    int listener = tcp_listener(&own), fd = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(fd, (struct sockaddr *)&own, sizeof own) == 0, "connect");
    check(accept(listener, NULL, NULL) >= 0, "accept");
    check(connect(fd, &nowhere, sizeof nowhere) == 0, "connect");
    check(read(open_file(O_RDONLY), &other, sizeof other) == sizeof other, "read");
    check(connect(fd, (struct sockaddr *)&other, sizeof other) == 0, "connect");
    read_byte(fd);
}

static void wake_reconnected(void) {
    struct sockaddr_in address;
    int listener = tcp_listener(&address);
    check(write(open_file(O_CREAT | O_WRONLY), &address, sizeof address) == sizeof address, "write");
    await_turn();
    write_byte(accept(listener, NULL, NULL));
}

enum { DATAGRAMS = 1000 };

/* One end of its pair of sockets is connected to the other process, whose queue is soon full. */
static void wait_redirected(void) {
    struct sockaddr_un address = address_of("");
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
    check(connect(ends[0], (struct sockaddr *)&address, sizeof address) == 0, "connect");
    for (int i = 0; i < DATAGRAMS; i++)
        write_byte(ends[0]);
}

static void wake_redirected(void) {
    int fd = bound(SOCK_DGRAM, "");
    await_turn();
    for (int i = 0; i < DATAGRAMS; i++)
        read_byte(fd);
}

/* The kernel takes four seconds to carry what one process sends to the other. */
static void wait_slow(void) {
    enum { BYTES = 2000000, BYTES_PER_SECOND = 500000 };
    struct sockaddr_in address;
    int listener = tcp_listener(&address), fd = socket(AF_INET, SOCK_STREAM, 0), size = 2 * BYTES;
    unsigned int rate = BYTES_PER_SECOND;
    char *bytes = calloc(BYTES, 1);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
    check(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    int end = accept(listener, NULL, NULL);
    if (fork() == 0) {
        check(write(fd, bytes, BYTES) == BYTES, "write");
        read_byte(fd);
        exit(0);
    }
    check(recv(end, bytes, BYTES, MSG_WAITALL) == BYTES, "recv");
    write_byte(end);
    wait(NULL);
    free(bytes);
}

int main(int argument_count, char **arguments) {
    static const struct {
        const char *name;
        void (*wait)(void), (*wake)(void);
    } actions[] = {
        {"fifo-open", wait_fifo_open, wake_fifo_open},
        {"fifo-read", wait_fifo_read, wake_fifo_open},
        {"fifo-write", wait_fifo_write, wake_fifo_write},
        {"splice", wait_splice, wake_fifo_open},
        {"flock", wait_flock, wake_flock},
        {"fcntl", wait_fcntl, wake_fcntl},
        {"fcntl-parts", wait_fcntl_parts, wake_fcntl},
        {"ofd", wait_ofd, wake_ofd},
        {"mapped", wait_mapped, wake_mapped},
        {"memory", wait_memory, wake_memory},
        {"semaphore", wait_semaphore, wake_semaphore},
        {"created", wait_created, wake_created},
        {"mutex", wait_mutex, wake_mutex},
        {"segment", wait_segment, wake_segment},
        {"mq", wait_mq, wake_mq},
        {"msg", wait_msg, wake_msg},
        {"sem", wait_sem, wake_sem},
        {"pause", wait_pause, wake_signal},
        {"sigsuspend", wait_sigsuspend, wake_signal},
        {"sigwaitinfo", wait_sigwaitinfo, wake_signal},
        {"signalfd", wait_signalfd, wake_signal},
        {"self-pipe", wait_self_pipe, wake_signal},
        {"interrupted", wait_interrupted, wake_signal},
        {"accept", wait_accept, wake_accept},
        {"datagram", wait_datagram, wake_datagram},
        {"received", wait_received, wake_received},
        {"sent", wait_sent, wake_sent},
        {"sent-list", wait_sent_list, wake_sent},
        {"received-again", wait_received_again, wake_received_again},
        {"untraced", wait_untraced, wake_untraced},
        {"received-lock", wait_received_lock, wake_received_lock},
        {"fetched", wait_fetched, wake_fetched},
        {"unshared", wait_unshared, wake_byte},
        {"reconnected", wait_reconnected, wake_reconnected},
        {"redirected", wait_redirected, wake_redirected},
        {"slow", wait_slow, wake_untraced},
    };
    if (argument_count != 4)
        return 2;
    path = arguments[2];
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(arguments[1], actions[i].name) == 0) {
            (strcmp(arguments[3], "wait") == 0 ? actions[i].wait : actions[i].wake)();
            return 0;
        }
    }
    return 2;
}
