/*
 * TCP carries a stream of bytes, not messages.
 * A client sends five messages. The server takes what one recv() returns for one message.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 5 };

static void send_messages(const struct sockaddr_in *server) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)server, sizeof *server))
        err(3, "connect");
    for (int n = 1; n <= COUNT; n++) {
        char message[32];
        int length = snprintf(message, sizeof message, "message %d\n", n);
        if (send(fd, message, length, 0) != length)
            err(3, "send");
    }
    _exit(0);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        err(3, "bind");

    pid_t client = fork();
    if (client < 0)
        err(3, "fork");
    if (client == 0)
        send_messages(&address);
    waitpid(client, NULL, 0); /* the server is busy while the messages arrive */
    int fd = accept(listener, NULL, NULL);

    int calls = 0, messages = 0;
    char bytes[1024];
    ssize_t count;
    while ((count = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        calls++;
        printf("recv() returned %zd bytes.\n", count);
        messages++;
    }
    printf("sends = %d messages\nrecvs = %d calls\n", COUNT, calls);
    printf("The client sent %d messages, and the server saw %d.\n", COUNT, messages);
    return messages == COUNT ? 0 : 1;
}
