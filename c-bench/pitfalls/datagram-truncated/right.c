/*
 * A datagram that is longer than the buffer.
 * The sender's messages have grown; the receiver's buffer has not. The kernel discards what does not fit.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
        err(3, "socketpair");
    pid_t sender = fork();
    if (sender < 0)
        err(3, "fork");
    if (sender == 0) {
        const char *messages[2] = {"delete /tmp/old unless it is in use", "end"};
        for (int n = 0; n < 2; n++)
            if (send(ends[1], messages[n], strlen(messages[n]), 0) < 0)
                err(3, "send");
        _exit(0);
    }

    char text[16];
    int wrong = 0;
    do {
        ssize_t count = recv(ends[0], text, sizeof text - 1, MSG_TRUNC); /* returns the real length */
        if (count < 0)
            err(3, "recv");
        if ((size_t)count > sizeof text - 1) {
            printf("A message of %zd bytes does not fit into %zu: refused.\n", count, sizeof text - 1);
            continue;
        }
        text[(size_t)count < sizeof text ? count : (ssize_t)sizeof text - 1] = '\0';
        printf("recv() returned %zd: \"%s\".\n", count, text);
        wrong += strcmp(text, "delete /tmp/old") == 0;
    } while (strcmp(text, "end"));
    waitpid(sender, NULL, 0);
    if (wrong)
        printf("The end of a message is gone, and no call reported an error.\n");
    return wrong ? 1 : 0;
}
