/*
 * A listener that wanted only this machine, and takes clients from every network.
 * 127.0.0.2 stands for the address of a network card: another address of this machine than 127.0.0.1.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connect to the server's port at another address of this machine. Returns 1 if the server can be reached there. */
static int reachable(const char *text, const struct sockaddr_in *server) {
    struct sockaddr_in address = *server;
    inet_pton(AF_INET, text, &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int failed = connect(fd, (struct sockaddr *)&address, sizeof address);
    printf("A client connects to %s: %s.\n", text, failed ? strerror(errno) : "accepted");
    close(fd);
    return !failed;
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* 127.0.0.1; INADDR_ANY is 0.0.0.0, all addresses */
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    /* For your safety while this runs: only the loopback device can deliver, no matter which address is chosen. */
    if (setsockopt(listener, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof "lo"))
        err(3, "setsockopt");
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 5) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        err(3, "bind");
    char text[INET_ADDRSTRLEN];
    printf("The server listens at %s.\n", inet_ntop(AF_INET, &address.sin_addr, text, sizeof text));

    if (!reachable("127.0.0.1", &address))
        return 3;
    int elsewhere = reachable("127.0.0.2", &address);
    close(listener);
    if (elsewhere)
        printf("The server meant for 127.0.0.1 is open at every address of this machine.\n");
    return elsewhere;
}
