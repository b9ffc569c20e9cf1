/* A server for one client: it sends back what it receives. When it is ready, it prints "ready" and its port. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc;
    (void)argv;
    /* Port 0: the kernel chooses a port that is free. Loopback: no other machine can connect. */
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        perror("The server cannot listen");
        return 1;
    }
    printf("ready %d\n", ntohs(address.sin_port));
    fflush(stdout);

    int client = accept(listener, NULL, NULL);
    char bytes[4096];
    ssize_t count;
    while ((count = read(client, bytes, sizeof bytes)) > 0) {
        for (ssize_t done = 0, n; done < count; done += n) {
            if ((n = write(client, bytes + done, (size_t)(count - done))) < 0)
                return 1;
        }
    }
    return 0;
}
