/*
 * The wall between two processes: after fork(), both have the same pointer with the same value. Each stores a number
 * through it, and each finds its own number there afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int shared = argc == 2 && strcmp(argv[1], "--shared") == 0;
    if (argc > 2 || (argc == 2 && !shared)) {
        fprintf(stderr, "The only argument is --shared; got \"%s\".\n", argv[1]);
        return 2;
    }
    /* Ordinary memory, as malloc() gives it; or, with --shared, one that fork() does not copy. */
    int *number = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
    if (number == MAP_FAILED)
        return 2;
    *number = 100;
    printf("Before fork(): the number at %p is %d.\n", (void *)number, *number);
    fflush(stdout); /* or the child would print it again */

    pid_t child = fork();
    if (child == 0) {
        *number = 200;
        printf("Process %d stored 200. At %p it finds %d.\n", (int)getpid(), (void *)number, *number);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0); /* the child has stored its number, and has ended */
    printf("Process %d stored nothing. At %p it finds %d.\n", (int)getpid(), (void *)number, *number);
    printf("childFinds = 200\n");
    printf("parentFinds = %d\n", *number);
    return 0;
}
