/*
 * Shared memory outlives the process that created it, with everything in it.
 * The program is started twice. The first run is killed before it removes its memory.
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct region {
    _Atomic int ready; /* 1: the message has been written */
    int writtenByRun;
};

static char name[40]; /* in /dev/shm */

/* One run of a program: a writer sends one message, a reader waits for it. Exit status 0: it was this run's message. */
static void run(int number) {
    int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct region)))
        err(3, "shm_open");
    struct region *region = mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (region == MAP_FAILED)
        err(3, "mmap");
    if (fork() == 0) {
        usleep(50000); /* the writer has something to compute first */
        region->writtenByRun = number;
        region->ready = 1;
        _exit(0);
    }
    while (!region->ready)
        usleep(1000);
    int from = region->writtenByRun;
    wait(NULL);
    printf("Run %d read a message. Its sender was the writer of run %d.\n", number, from);
    if (number == 1) {
        printf("Run 1 crashes.\n");
        raise(SIGKILL);
    }
    shm_unlink(name);
    _exit(from == number ? 0 : 1);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    snprintf(name, sizeof name, "/stale-shared-memory-%d", getpid());
    int status = 0;
    for (int number = 1; number <= 2; number++) {
        pid_t child = fork();
        if (child < 0)
            err(3, "fork");
        if (child == 0)
            run(number);
        waitpid(child, &status, 0);
    }
    if (WEXITSTATUS(status) == 1)
        printf("Run 2 did not wait: run 1 left the flag set, and its message was taken for a new one.\n");
    return WEXITSTATUS(status);
}
