/*
 * Two small writes, then a read: each request waits 40 ms.
 * Nagle's algorithm holds the second segment until the first one is acknowledged. The peer delays that acknowledgment.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REQUESTS = 21, HEADER = 8, BODY = 24 };

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The server answers each request of HEADER + BODY bytes with one byte. */
static void serve(int listener) {
    int fd = accept(listener, NULL, NULL);
    char request[HEADER + BODY];
    while (recv(fd, request, sizeof request, MSG_WAITALL) == sizeof request)
        if (send(fd, "!", 1, MSG_NOSIGNAL) != 1)
            err(3, "send");
    _exit(0);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        err(3, "bind");
    pid_t server = fork();
    if (server < 0)
        err(3, "fork");
    if (server == 0)
        serve(listener);

    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, size))
        err(3, "connect");
    /* Send each write at once. Better still: one write for both parts (writev), which needs no option. */
    int yes = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes))
        err(3, "setsockopt");
    double ms[REQUESTS];
    char bytes[HEADER + BODY] = {0};
    for (int n = 0; n < REQUESTS; n++) {
        double start = now_ms();
        if (send(fd, bytes, HEADER, 0) != HEADER || send(fd, bytes, BODY, 0) != BODY || recv(fd, bytes, 1, 0) != 1)
            err(3, "request");
        ms[n] = now_ms() - start;
    }
    close(fd);
    waitpid(server, NULL, 0);
    qsort(ms, REQUESTS, sizeof *ms, by_value);
    printf("medianRequest = %.2f ms\nslowestRequest = %.2f ms\n", ms[REQUESTS / 2], ms[REQUESTS - 1]);
    int stalled = ms[REQUESTS / 2] > 20;
    if (stalled)
        printf("The median request took %.0f ms, and nothing was computed in that time.\n", ms[REQUESTS / 2]);
    return stalled;
}
