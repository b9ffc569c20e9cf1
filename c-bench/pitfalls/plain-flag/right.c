/*
 * A flag in shared memory that the compiler reads only once.
 * A writer stores a message and sets the flag. A reader loops until the flag is set.
 */
#include <err.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct region {
    int ready;
    int message;
};

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    prctl(PR_SET_NAME, "reader");
    struct region *region = mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED)
        err(3, "mmap");
    pid_t writer = fork();
    if (writer < 0)
        err(3, "fork");
    if (writer == 0) {
        usleep(200 * 1000); /* by now the reader loops */
        region->message = 42;
        __atomic_store_n(&region->ready, 1, __ATOMIC_RELEASE); /* pairs with the reader's load */
        printf("The writer set the flag.\n");
        _exit(0);
    }

    printf("The reader loops until the flag is set.\n");
    /* Loaded anew each time, and before the message: pairs with the writer's store. */
    while (!__atomic_load_n(&region->ready, __ATOMIC_ACQUIRE))
        ;
    printf("The reader saw the flag. The message is %d.\n", region->message);
    waitpid(writer, NULL, 0);
    return region->message == 42 ? 0 : 1;
}
