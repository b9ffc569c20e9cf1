/*
 * Messages through a stream socket: the writer calls send() once for each message, and the reader calls recv() until
 * the end. How many messages does each recv() return? Counts those that came alone and whole.
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

#define MESSAGES 1000

static char text[] = "{\"temperature\": 21.5}\n"; /* a line: the newline ends the message */

/* Two connected sockets, of the given kind, on this machine only. */
static void connect_pair(const char *kind, int pair[2]) {
    if (strcmp(kind, "tcp") != 0) {
        if (socketpair(AF_UNIX, strcmp(kind, "packets") == 0 ? SOCK_SEQPACKET : SOCK_STREAM, 0, pair))
            exit(2);
        return;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}; /* any free port */
    socklen_t bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, bytes) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &bytes) ||
        connect(pair[0], (struct sockaddr *)&address, bytes)) {
        perror("Cannot connect");
        exit(2);
    }
    pair[1] = accept(listener, NULL, NULL);
    close(listener);
}

static void be_writer(int socket, int pause_us) {
    int one = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* send at once; fails for other sockets */
    for (int n = 0; n < MESSAGES; n++) {
        if (send(socket, text, strlen(text), 0) != (ssize_t)strlen(text))
            _exit(1);
        if (pause_us > 0)
            usleep((useconds_t)pause_us);
    }
    _exit(0);
}

int main(int argc, char **argv) {
    const char *kind = "tcp";
    int pause_us = 0, size = 4096;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--kind") == 0)
            kind = argv[i + 1];
        else if (strcmp(argv[i], "--pause") == 0)
            pause_us = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--buffer") == 0)
            size = atoi(argv[i + 1]);
    }
    if (argc % 2 == 0 || size < 1 || size > 65536) {
        fprintf(stderr, "Arguments: --kind tcp|unix|packets, --pause MICROSECONDS, --buffer BYTES (1 to 65536).\n");
        return 2;
    }
    int pair[2];
    connect_pair(kind, pair);
    pid_t writer = fork();
    if (writer == 0) {
        close(pair[1]);
        be_writer(pair[0], pause_us);
    }
    close(pair[0]);

    static char buffer[65536];
    long calls = 0, whole = 0, most = 0, lines = 0, length = (long)strlen(text);
    for (ssize_t got; (got = recv(pair[1], buffer, (size_t)size, 0)) > 0;) {
        long ends = 0;
        for (ssize_t i = 0; i < got; i++)
            ends += buffer[i] == '\n'; /* this is how a reader finds the messages again */
        calls++;
        lines += ends;
        whole += got == length && ends == 1;
        most = got > most ? got : most;
        if (pause_us == 0 && calls < 50)
            usleep(100); /* the reader has something else to do */
    }
    waitpid(writer, NULL, 0);
    printf("send() was called %d times with %ld bytes; recv() returned %ld times, at most %ld bytes.\n", MESSAGES,
           length, calls, most);
    printf("sends = %d calls\n", MESSAGES);
    printf("receives = %ld calls\n", calls);
    printf("wholePercent = %.1f %%\n", 100.0 * whole / MESSAGES);
    printf("messagesFound = %ld messages\n", lines);
    printf("mostBytes = %ld bytes\n", most);
    return lines == MESSAGES ? 0 : 1;
}
