/*
 * The file of a Unix socket stays when its server is killed.
 * The server is started twice. The first run is killed before it removes its socket file.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* One run of the server. */
static void run(int number, const struct sockaddr_un *address) {
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (const struct sockaddr *)address, sizeof *address)) {
        printf("Run %d: bind() to %s failed: %s.\n", number, address->sun_path, strerror(errno));
        _exit(1);
    }
    if (listen(listener, 1))
        err(3, "listen");
    printf("Run %d listens at %s.\n", number, address->sun_path);
    if (number == 1) {
        printf("Run 1 is killed. The kernel closes its socket; nobody removes the file.\n");
        raise(SIGKILL);
    }
    _exit(0);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "server-%d.sock", getpid());
    int status = 0;
    for (int number = 1; number <= 2; number++) {
        pid_t child = fork();
        if (child < 0)
            err(3, "fork");
        if (child == 0)
            run(number, &address);
        waitpid(child, &status, 0);
    }
    unlink(address.sun_path);
    return WEXITSTATUS(status);
}
