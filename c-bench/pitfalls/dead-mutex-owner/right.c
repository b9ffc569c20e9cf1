/*
 * A mutex in shared memory whose owner died.
 * A worker locks the mutex and is killed. Nobody unlocks it.
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    prctl(PR_SET_NAME, "parent");
    pthread_mutex_t *mutex = mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mutex == MAP_FAILED)
        err(3, "mmap");
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    /* The next process that locks it learns that the owner died. */
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);

    pid_t worker = fork();
    if (worker < 0)
        err(3, "fork");
    if (worker == 0) {
        pthread_mutex_lock(mutex);
        printf("The worker holds the mutex, and is killed.\n");
        raise(SIGKILL);
    }
    waitpid(worker, NULL, 0);

    printf("The parent locks the mutex.\n");
    int error = pthread_mutex_lock(mutex);
    printf("pthread_mutex_lock() returned %d, %s.\n", error, error ? strerror(error) : "success");
    if (error == EOWNERDEAD) /* the owner may have stopped in the middle: repair the data, then say so */
        pthread_mutex_consistent(mutex);
    pthread_mutex_unlock(mutex);
    printf("The parent goes on.\n");
    return 0;
}
