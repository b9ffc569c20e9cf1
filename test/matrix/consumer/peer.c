/*
 * A C program of a user, compiled from the package's own C files: `peer connect PATH` or `peer listen PATH`. It sends a
 * message, checks that it comes back, and closes the channel; or it sends each message back until the peer closes.
 */
#include "crossings.h"

#include <stdio.h>
#include <string.h>

static char message[1 << 16];
static size_t size;

static crossings_status ask(crossings_channel *channel) {
    crossings_status status = crossings_send(channel, "a message", 9, 10000);
    if (status == CROSSINGS_OK)
        status = crossings_receive(channel, message, sizeof message, &size, 10000);
    if (status == CROSSINGS_OK)
        printf("%.*s\n", (int)size, message);
    return status;
}

static crossings_status echo(crossings_channel *channel) {
    crossings_status status = CROSSINGS_OK;
    while (status == CROSSINGS_OK) {
        status = crossings_receive(channel, message, sizeof message, &size, 10000);
        if (status == CROSSINGS_OK)
            status = crossings_send(channel, message, size, 10000);
    }
    return status == CROSSINGS_END ? CROSSINGS_OK : status;
}

int main(int count, char **arguments) {
    crossings_channel *channel = NULL;
    crossings_status status;
    if (count != 3)
        return 2;
    if (strcmp(arguments[1], "connect") == 0) {
        status = crossings_connect(arguments[2], NULL, &channel);
        if (status == CROSSINGS_OK)
            status = ask(channel);
    } else {
        crossings_server *server = NULL;
        status = crossings_listen(arguments[2], NULL, &server);
        if (status == CROSSINGS_OK)
            status = crossings_accept(server, 10000, &channel);
        crossings_unlisten(server);
        if (status == CROSSINGS_OK)
            status = echo(channel);
    }
    crossings_close(channel);
    if (status != CROSSINGS_OK)
        fprintf(stderr, "%s\n", crossings_status_text(status));
    return status == CROSSINGS_OK ? 0 : 1;
}
