/*
 * A TCP server that cannot be restarted: its port is in TIME_WAIT.
 * The end of a connection that closes first keeps the address for a minute, in case a late segment arrives.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Start the server. Returns its listening socket, or -1. */
static int start(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    /* Allow the port while old connections are in TIME_WAIT. Another server that listens is still refused. */
    int yes = 1;
    if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes))
        err(3, "setsockopt");
    if (bind(listener, (struct sockaddr *)address, size)) {
        printf("bind() to port %d failed: %s.\n", ntohs(address->sin_port), strerror(errno));
        close(listener);
        return -1;
    }
    if (listen(listener, 1) || getsockname(listener, (struct sockaddr *)address, &size))
        err(3, "listen");
    printf("The server listens on port %d.\n", ntohs(address->sin_port));
    return listener;
}

/* Serve one client, which is in this process too. The server closes the connection first. */
static void serve(int listener, const struct sockaddr_in *address) {
    int client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (const struct sockaddr *)address, sizeof *address))
        err(3, "connect");
    int connection = accept(listener, NULL, NULL);
    char answer[16] = "answer";
    if (send(connection, answer, sizeof answer, 0) < 0)
        err(3, "send");
    close(connection);
    while (recv(client, answer, sizeof answer, 0) > 0)
        ;
    close(client);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    /* Port 0: the kernel chooses. The restarted server must take the same port, since its clients know that one. */
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = start(&address);
    if (listener < 0)
        return 3;
    serve(listener, &address);
    close(listener);
    printf("The server served one client, closed everything, and is started again.\n");

    listener = start(&address);
    if (listener < 0)
        return 1;
    serve(listener, &address);
    close(listener);
    printf("The restarted server served a client.\n");
    return 0;
}
