/*
 * A client that is started 500 ms after its server, because that was always enough.
 * Today the server needs 800 ms until it listens. (The sleep stands for a slow disk or a busy machine.)
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The server serves one client. It writes a byte to `ready` when it listens. */
static void serve(int listener, int ready) {
    usleep(800 * 1000);
    if (listen(listener, 1))
        err(3, "listen");
    printf("The server listens.\n");
    if (write(ready, "!", 1) != 1)
        err(3, "write");
    int connection = accept(listener, NULL, NULL);
    if (send(connection, "hello", 5, MSG_NOSIGNAL) != 5)
        err(3, "send");
    _exit(0);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), ready[2];
    if (bind(listener, (struct sockaddr *)&address, size) || getsockname(listener, (struct sockaddr *)&address, &size))
        err(3, "bind");
    if (pipe(ready))
        err(3, "pipe");
    pid_t server = fork();
    if (server < 0)
        err(3, "fork");
    if (server == 0)
        serve(listener, ready[1]);

    usleep(500 * 1000);
    printf("The client connects.\n");
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char text[8] = "";
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) {
        printf("connect() failed: %s.\n", strerror(errno));
        kill(server, SIGTERM);
        waitpid(server, NULL, 0);
        return 1;
    }
    if (recv(fd, text, 5, MSG_WAITALL) != 5)
        err(3, "recv");
    waitpid(server, NULL, 0);
    printf("The client received \"%s\".\n", text);
    return 0;
}
