/*
 * What does each kind of connection add to a round trip? Times a message and its answer through two pipes, a Unix
 * domain socket and TCP, in turns, so that other work on this machine delays all three.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 31
#define TRIPS 300 /* in each batch */
#define MESSAGE 64

enum { PIPES, UNIX, TCP, KINDS };

/* The parent's and the child's end of a connection. They are the same descriptor for both directions, except of pipes.
 */
struct end {
    int in, out;
};

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static void connect_pipes(struct end *parent, struct end *child) {
    int there[2], back[2];
    if (pipe(there) || pipe(back))
        fail("pipe");
    *parent = (struct end){back[0], there[1]};
    *child = (struct end){there[0], back[1]};
}

static void connect_unix(struct end *parent, struct end *child) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        fail("socketpair");
    *parent = (struct end){pair[0], pair[0]};
    *child = (struct end){pair[1], pair[1]};
}

static void connect_tcp(struct end *parent, struct end *child) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}; /* any free port */
    socklen_t bytes = sizeof address;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), near = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, bytes) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &bytes) || connect(near, (struct sockaddr *)&address, bytes))
        fail("Cannot connect");
    int far = accept(listener, NULL, NULL);
    close(listener);
    setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* send each message at once */
    setsockopt(far, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *parent = (struct end){near, near};
    *child = (struct end){far, far};
}

/* One message; it may arrive in pieces. */
static void take(int fd) {
    char message[MESSAGE];
    for (ssize_t got = 0, more; got < MESSAGE; got += more)
        if ((more = read(fd, message, (size_t)(MESSAGE - got))) <= 0)
            _exit(0); /* the other side has ended */
}

static void put(int fd) {
    static const char message[MESSAGE] = "a message of 64 bytes";
    if (write(fd, message, MESSAGE) != MESSAGE)
        exit(2);
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc > 1)
        return fprintf(stderr, "This program takes no arguments; got \"%s\".\n", argv[1]), 2;
    struct end parent[KINDS], child[KINDS];
    double us[KINDS][BATCHES];
    connect_pipes(&parent[PIPES], &child[PIPES]);
    connect_unix(&parent[UNIX], &child[UNIX]);
    connect_tcp(&parent[TCP], &child[TCP]);
    pid_t answers = fork();
    for (int kind = 0; answers == 0 && kind < KINDS; kind++) { /* or the child would never see the end of file */
        close(parent[kind].in);
        close(parent[kind].out);
    }
    if (answers == 0)
        for (int kind = 0;; kind = (kind + 1) % KINDS)
            for (int n = 0; n < TRIPS; n++) {
                take(child[kind].in);
                put(child[kind].out);
            }
    for (int kind = 0; kind < KINDS; kind++) { /* only the child has these ends now */
        close(child[kind].in);
        close(child[kind].out);
    }
    for (int batch = 0; batch < BATCHES; batch++)
        for (int kind = 0; kind < KINDS; kind++) {
            double began = now_us();
            for (int n = 0; n < TRIPS; n++) {
                put(parent[kind].out);
                take(parent[kind].in);
            }
            us[kind][batch] = (now_us() - began) / TRIPS;
        }
    close(parent[PIPES].out); /* the child sees the end of file */
    waitpid(answers, NULL, 0);
    for (int kind = 0; kind < KINDS; kind++)
        qsort(us[kind], BATCHES, sizeof(double), ascending);
    printf("The median of %d batches of %d round trips each, %d bytes.\n", BATCHES, TRIPS, MESSAGE);
    printf("pipesUs = %.2f us\n", us[PIPES][BATCHES / 2]);
    printf("unixUs = %.2f us\n", us[UNIX][BATCHES / 2]);
    printf("tcpUs = %.2f us\n", us[TCP][BATCHES / 2]);
    return 0;
}
