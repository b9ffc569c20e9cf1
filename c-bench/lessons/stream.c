/* Passes a pipe on through a thread. splice() keeps a pipe locked while it waits for its source, and then nothing ends
 * a read(), not even SIGKILL. The thread may wait for that, while the guard reads from a pipe that only it has. */
#include "stream.h"

#include "output.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static bool write_all(int to, const char *bytes, ssize_t count) {
    for (ssize_t done = 0, wrote; done < count; done += wrote)
        if ((wrote = write(to, bytes + done, (size_t)(count - done))) < 0)
            return false;
    return true;
}

struct ends {
    int from, to;
};

static void *pass(void *argument) {
    const struct ends *ends = argument;
    int from = ends->from, to = ends->to;
    char bytes[PASSED_AT_ONCE];
    for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0 && write_all(to, bytes, got);)
        continue;
    close(to);
    return NULL;
}

int stream_of(int from) {
    static struct ends ends[2]; /* of standard output and standard error; a thread looks at it when it begins */
    static int used;
    struct ends *mine = &ends[used++ % 2];
    int own[2] = {-1, -1};
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the guard's first thread */
    bool started = pipe2(own, O_CLOEXEC) == 0;
    *mine = (struct ends){from, own[1]};
    started = started && pthread_create(&thread, NULL, pass, mine) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    else if (own[0] >= 0) {
        close(own[0]);
        close(own[1]);
    }
    int fd = started ? own[0] : from;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}
