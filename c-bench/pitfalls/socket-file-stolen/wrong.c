/*
 * unlink() before bind() takes the address away from a server that is still running.
 * The same server is started twice by mistake.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address = {.sun_family = AF_UNIX};

static int connect_to_server(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Start a server. Returns its listening socket, or -1. */
static int start(const char *which) {
    unlink(address.sun_path); /* remove what a killed run may have left */
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 5))
        err(3, "bind");
    printf("The %s server listens at %s.\n", which, address.sun_path);
    return listener;
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    snprintf(address.sun_path, sizeof address.sun_path, "server-%d.sock", getpid());
    int first = start("first");
    int second = start("second");
    int client = connect_to_server();
    char byte = 'x';
    if (write(client, &byte, 1) != 1)
        err(3, "write");

    int connection, received = 0; /* by the first server, which is still running */
    while ((connection = accept(first, NULL, NULL)) >= 0) {
        received += read(connection, &byte, 1);
        close(connection);
    }
    close(client);
    close(second);
    unlink(address.sun_path);
    printf("A client connected and sent 1 byte. The first server received %d.\n", received);
    return received == 1 ? 0 : 1;
}
