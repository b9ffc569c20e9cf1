/*
 * A C peer of an authenticated channel, for authenticated.test.js: connects, and sends each message back until the
 * other side closes. usage: authenticated-peer SOCKET yes|no   (no: does not set the option authenticate)
 */
#include "../native/crossings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    static char message[1 << 20];
    size_t size;
    crossings_channel *channel;
    if (count != 3)
        return 2;
    crossings_options options = {.authenticate = strcmp(arguments[2], "yes") == 0};
    crossings_status status = crossings_connect(arguments[1], &options, &channel);
    if (status == CROSSINGS_OK) {
        while ((status = crossings_receive(channel, message, sizeof message, &size, 10000)) == CROSSINGS_OK)
            if ((status = crossings_send(channel, message, size, 10000)) != CROSSINGS_OK)
                break;
        crossings_close(channel);
    }
    puts(crossings_status_text(status));
    return status == CROSSINGS_END ? 0 : 1;
}
