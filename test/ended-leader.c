/* Starts a process whose first thread ends while another one waits, prints its id, and ends. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *wait_long(void *unused) {
    sleep(100);
    return unused;
}

int main(void) {
    pid_t child = fork();
    if (child < 0)
        return 1;
    if (child > 0) {
        usleep(100000); /* until its first thread has ended */
        printf("%d\n", (int)child);
        return 0;
    }
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    pthread_t thread;
    if (setsid() < 0 || pthread_create(&thread, NULL, wait_long, NULL))
        return 1;
    pthread_exit(NULL);
}
