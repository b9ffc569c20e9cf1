/*
 * A command whose oldest thread has an end to its work, and whose younger threads make system calls until it is done.
 * Argument: the number of younger threads.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS = 2000, MOST = 64 };

static atomic_bool done;

static void *work(void *unused) {
    for (int i = 0; i < CALLS; i++)
        (void)!getppid();
    done = true;
    return unused;
}

static void *spin(void *unused) {
    while (!done)
        (void)!getppid();
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[MOST + 1];
    int younger = argc > 1 ? atoi(argv[1]) : 0;
    if (younger < 0 || younger > MOST)
        return 2;
    for (int i = 0; i <= younger; i++)
        if (pthread_create(&threads[i], NULL, i == 0 ? work : spin, NULL))
            return 1;
    for (int i = 0; i <= younger; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
