/*
 * A producer in C that feeds a Node consumer:
 *
 *     crossings-producer /tmp/feed.sock 1000      sends 1000 messages: "message 0", "message 1", ...
 *
 * The consumer, which may start first or last:
 *
 *     const server = await listen('/tmp/feed.sock');
 *     for await (const message of await server.accept()) use(message);
 */
#include "../crossings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    if (count != 3) {
        fputs("usage: crossings-producer SOCKET MESSAGES\n", stderr);
        return 2;
    }
    char *end;
    errno = 0;
    long messages = strtol(arguments[2], &end, 10);
    if (arguments[2][0] < '0' || arguments[2][0] > '9' || *end || errno) {
        fprintf(stderr, "MESSAGES must be a whole number from 0 to %ld; got \"%s\".\n", LONG_MAX, arguments[2]);
        return 2;
    }
    crossings_channel *channel;
    crossings_status status = crossings_connect(arguments[1], NULL, &channel);
    for (long i = 0; status == CROSSINGS_OK && i < messages; i++) {
        char message[64];
        int size = snprintf(message, sizeof message, "message %ld", i);
        status = crossings_send(channel, message, (size_t)size, -1);
    }
    if (status != CROSSINGS_OK) {
        fprintf(stderr, "%s: %s\n", arguments[1], crossings_status_text(status));
        return 1;
    }
    crossings_close(channel);
    return 0;
}
