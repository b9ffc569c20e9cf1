/* Opens a channel on descriptor 3, starts a process that outlives this one, sends its id and is killed. For the test
 * that a descriptor of crossings_open() is not inherited further. Built as crossings-heir. */
#include "../native/crossings.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

int main(void) {
    crossings_channel *channel;
    crossings_status status = crossings_open(3, NULL, &channel);
    if (status != CROSSINGS_OK) {
        fprintf(stderr, "%s\n", crossings_status_text(status));
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        execlp("sleep", "sleep", "60", NULL);
        _exit(1);
    }
    char text[32];
    snprintf(text, sizeof text, "%d", child);
    /* Wait until the child has called exec(): a fork alone always shares every descriptor. */
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", child);
    while (strcmp(name, "sleep\n") != 0) {
        FILE *file = fopen(path, "r");
        if (!file || !fgets(name, sizeof name, file))
            return 1;
        fclose(file);
    }
    if (crossings_send(channel, text, strlen(text), -1) != CROSSINGS_OK)
        return 1;
    kill(getpid(), SIGKILL);
}
