/*
 * A named semaphore outlives the process that created it.
 * The program is started twice. The first run is killed while it holds the lock.
 */
#include <err.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char name[40]; /* in /dev/shm, as sem.stale-semaphore-PID */

/* One run of a program: take the lock, work, release the lock. */
static void run(int number) {
    prctl(PR_SET_NAME, number == 1 ? "first run" : "second run");
    /* sem_open() ignores the initial value if a crashed run left a semaphore of this name. */
    sem_unlink(name);
    sem_t *lock = sem_open(name, O_CREAT, 0600, 1); /* 1: the lock is free */
    if (lock == SEM_FAILED)
        err(3, "sem_open");
    printf("Run %d waits for the lock.\n", number);
    sem_wait(lock);
    printf("Run %d holds the lock.\n", number);
    if (number == 1) {
        printf("Run 1 crashes.\n");
        raise(SIGKILL);
    }
    sem_post(lock);
    printf("Run 2 released the lock.\n");
    _exit(0);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    snprintf(name, sizeof name, "/stale-semaphore-%d", getpid());
    for (int number = 1; number <= 2; number++) {
        pid_t child = fork();
        if (child < 0)
            err(3, "fork");
        if (child == 0)
            run(number);
        waitpid(child, NULL, 0);
    }
    sem_unlink(name);
    return 0;
}
