/*
 * A consumer in C. It listens, prints each message of one client on a line, and exits when the client closes.
 *
 *     crossings-consumer /tmp/feed.sock
 */
#include "../crossings.h"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    if (count != 2) {
        fputs("usage: crossings-consumer SOCKET\n", stderr);
        return 2;
    }
    crossings_server *server = NULL;
    crossings_channel *channel = NULL;
    crossings_status status = crossings_listen(arguments[1], NULL, &server);
    if (status == CROSSINGS_OK) {
        do /* the next client, after one whose handshake failed */
            status = crossings_accept(server, -1, &channel);
        while (status == CROSSINGS_PEER_DIED || status == CROSSINGS_PROTOCOL || status == CROSSINGS_NOT_AUTHORIZED ||
               status == CROSSINGS_LIMIT_EXCEEDED);
    }
    crossings_unlisten(server);
    while (status == CROSSINGS_OK) {
        char message[4096];
        size_t size;
        status = crossings_receive(channel, message, sizeof message, &size, -1);
        if (status == CROSSINGS_OK) {
            fwrite(message, 1, size, stdout); /* not printf(): a message may contain NUL */
            putchar('\n');
        }
    }
    crossings_close(channel);
    if (status != CROSSINGS_END) {
        fprintf(stderr, "%s: %s\n", arguments[1], crossings_status_text(status));
        return 1;
    }
    if (fflush(stdout) || ferror(stdout)) {
        perror("Cannot write all messages to standard output");
        return 1;
    }
    return 0;
}
