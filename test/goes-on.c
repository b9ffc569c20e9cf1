/*
 * For the tests of the tracer: programs that seem to be deadlocked, but go on by themselves a few seconds later.
 * `goes-on WHAT` exits with 0 then, or the signal ends it.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 8 };

static void check(bool fine, const char *what) {
    if (fine)
        return;
    perror(what);
    exit(2);
}

static void read_byte(int fd) {
    char byte;
    check(read(fd, &byte, 1) == 1, "read");
}

static void write_byte(int fd) {
    check(write(fd, "x", 1) == 1, "write");
}

static void *read_timer(void *fd) {
    uint64_t times;
    check(read(*(int *)fd, &times, sizeof times) == sizeof times, "read");
    return NULL;
}

/* A thread sleeps in read() of a timer, whose number is given to a pipe meanwhile. */
static void renumbered(void) {
    struct itimerspec later = {.it_value = {.tv_sec = SECONDS}};
    int ends[2], timer = timerfd_create(CLOCK_MONOTONIC, 0);
    pthread_t thread;
    check(pipe(ends) == 0 && timer >= 0, "pipe");
    timerfd_settime(timer, 0, &later, NULL);
    check(pthread_create(&thread, NULL, read_timer, &timer) == 0, "pthread_create");
    usleep(300000);
    check(dup2(ends[0], timer) == timer, "dup2");
    pthread_join(thread, NULL);
}

/* A full TCP connection gets room by an option. The kernel of the writer learns of that when it asks next. */
static void window(void) {
    enum { BYTES = 60000, SMALL = 4096, LARGE = 1 << 20 };
    static char bytes[BYTES];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int ends[2], small = SMALL, large = LARGE;
    int listener = socket(AF_INET, SOCK_STREAM, 0), writer = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    setsockopt(writer, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    check(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0, "listen");
    check(getsockname(listener, (struct sockaddr *)&address, &length) == 0 && pipe(ends) == 0, "pipe");
    check(connect(writer, (struct sockaddr *)&address, length) == 0, "connect");
    int reader = accept(listener, NULL, NULL);
    if (fork() == 0) {
        close(reader);
        close(ends[0]);
        check(send(writer, bytes, BYTES, 0) == BYTES, "send");
        write_byte(ends[1]);
        _exit(0);
    }
    close(writer);
    close(ends[1]);
    sleep(4);
    setsockopt(reader, SOL_SOCKET, SO_RCVBUF, &large, sizeof large);
    read_byte(ends[0]);
}

/* It polls for room in a pipe, and has not closed its other end. Its child makes room. */
static void forgotten(void) {
    char bytes[4096] = {0};
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    if (fork() == 0) {
        close(ends[1]);
        sleep(SECONDS);
        for (ssize_t size = 1; size > 0;)
            size = read(ends[0], bytes, sizeof bytes);
        _exit(0);
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    for (ssize_t size = 1; size > 0;)
        size = write(ends[1], bytes, sizeof bytes);
    struct pollfd polled = {ends[1], POLLOUT, 0};
    check(poll(&polled, 1, -1) == 1, "poll");
}

/* It waits for any child. The one that it knows waits for it, and one that it has adopted ends. */
static void adopted(void) {
    int ends[2];
    check(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && pipe(ends) == 0, "prctl");
    if (fork() == 0) {
        close(ends[1]);
        (void)!read(ends[0], &(char){0}, 1);
        _exit(0);
    }
    pid_t child = fork();
    if (child == 0) {
        if (fork() > 0)
            _exit(0);
        close(ends[0]);
        close(ends[1]);
        sleep(SECONDS);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    waitpid(-1, NULL, 0);
}

/* What can write into its pipe is on its way through a socket. */
static void in_flight(void) {
    int ends[2], sockets[2];
    char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    check(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "pipe");
    if (fork() == 0) {
        int end;
        close(ends[1]);
        close(sockets[0]);
        sleep(SECONDS);
        check(recvmsg(sockets[1], &message, 0) == 1, "recvmsg");
        memcpy(&end, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof end);
        write_byte(end);
        _exit(0);
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(header), &ends[1], sizeof(int));
    check(sendmsg(sockets[0], &message, 0) == 1, "sendmsg");
    read_byte(ends[0]);
}

/* It reads a socket that its child, which has a copy of the same end, shuts down. */
static void shut(void) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    if (fork() == 0) {
        close(ends[1]);
        sleep(SECONDS);
        shutdown(ends[0], SHUT_RDWR);
        _exit(0);
    }
    check(read(ends[0], &(char){0}, 1) == 0, "read");
}

static int word;

static int wake(void *unused) {
    (void)unused;
    sleep(SECONDS);
    word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    _exit(0);
}

/* A process with the same memory wakes it, which is no thread of its own. */
static void same_memory(void) {
    enum { STACK = 65536 };
    char *stack = malloc(STACK);
    check(clone(wake, stack + STACK, CLONE_VM | SIGCHLD, NULL) > 0, "clone");
    while (!*(volatile int *)&word)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static int told[2];

static void tell(int signal) {
    (void)signal;
    write_byte(told[1]);
}

/* It reads a pipe into which its handler writes when a child that it has adopted ends. */
static void told_of(void) {
    struct sigaction action = {.sa_handler = tell};
    check(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && pipe(told) == 0, "prctl");
    pid_t child = fork();
    if (child == 0) {
        if (fork() > 0)
            _exit(0);
        close(told[1]);
        sleep(SECONDS);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sigaction(SIGCHLD, &action, NULL);
    char byte;
    while (read(told[0], &byte, 1) != 1)
        ;
}

/* It selects a timer. The number of descriptors to look at is that of a pipe. */
static void selected(void) {
    struct itimerspec later = {.it_value = {.tv_sec = SECONDS}};
    int ends[2], timer = timerfd_create(CLOCK_MONOTONIC, 0);
    check(timer >= 0 && pipe(ends) == 0 && ends[0] == timer + 1, "pipe");
    timerfd_settime(timer, 0, &later, NULL);
    fd_set wanted;
    FD_ZERO(&wanted);
    FD_SET(timer, &wanted);
    check(select(timer + 1, &wanted, NULL, NULL, NULL) == 1, "select");
}

/* The kernel sends it a signal when its child writes, although it reads something else. */
static void signalled(void) {
    int ends[2], own[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && pipe(own) == 0, "pipe");
    if (fork() == 0) {
        close(own[0]);
        close(own[1]);
        sleep(SECONDS);
        write_byte(ends[1]);
        _exit(0);
    }
    fcntl(ends[0], F_SETOWN, getpid());
    fcntl(ends[0], F_SETFL, O_ASYNC);
    read_byte(own[0]); /* SIGIO ends it */
}

/* Datagrams that another process reads later take the room of what it sends to its child. */
static void crowded(void) {
    static char datagram[50000];
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t length = sizeof(sa_family_t);
    int ends[2], other = socket(AF_UNIX, SOCK_DGRAM, 0);
    check(bind(other, (struct sockaddr *)&name, length) == 0, "bind"); /* the kernel chooses a name */
    length = sizeof name;
    check(getsockname(other, (struct sockaddr *)&name, &length) == 0, "getsockname");
    if (fork() == 0) {
        sleep(SECONDS);
        while (recv(other, datagram, sizeof datagram, MSG_DONTWAIT) > 0)
            ;
        _exit(0);
    }
    check(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
    while (sendto(ends[0], datagram, sizeof datagram, MSG_DONTWAIT, (struct sockaddr *)&name, length) > 0)
        ;
    if (fork() == 0) {
        close(ends[0]);
        _exit(recv(ends[1], datagram, sizeof datagram, 0) > 0 ? 0 : 1);
    }
    close(ends[1]);
    check(send(ends[0], datagram, sizeof datagram, 0) > 0, "send");
}

int main(int argument_count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {
        {"renumbered", renumbered}, {"window", window},       {"forgotten", forgotten},     {"adopted", adopted},
        {"in-flight", in_flight},   {"shut", shut},           {"same-memory", same_memory}, {"told", told_of},
        {"selected", selected},     {"signalled", signalled}, {"crowded", crowded},
    };
    for (size_t i = 0; argument_count == 2 && i < sizeof programs / sizeof *programs; i++) {
        if (strcmp(arguments[1], programs[i].name) == 0) {
            programs[i].run();
            return 0;
        }
    }
    return 2;
}
