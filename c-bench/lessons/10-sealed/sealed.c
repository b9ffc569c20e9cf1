/*
 * Who may write what? A process shares its memory, but seals it first, so that others can only read it. The other
 * process has the descriptor and tries everything to write all the same. With --seals 0, the memory is not sealed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 4096, ANSWER = 42 };

static int attempts, refused;

/* A system call that fails returns -1 (MAP_FAILED is -1 too), and errno says why. It is 0 if the store was no call. */
static void report(const char *attempt, long result) {
    const char *why = errno == 0 ? "ended by the signal SIGSEGV" : strerror(errno);
    const char *answer = result == -1 ? why : "succeeded";
    attempts++;
    refused += result == -1;
    printf("%-46s %s\n", attempt, answer);
}

/* Store a number through a pointer, in a child, because it may be its last instruction. */
static long store(int *target) {
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        *(volatile int *)target = 1;
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
        return 0;
    errno = 0; /* no call failed: the kernel ended the child */
    return -1;
}

/* The other process. It has a descriptor of the memory, and a read-only mapping. */
static void try_to_write(int fd) {
    char again[32];
    int number = 1;
    int *memory = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    printf("The other process reads %d. Now it tries to write:\n", *memory);
    report("Map the memory for writing:", (long)mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    report("Make the read-only mapping writable:", mprotect(memory, BYTES, PROT_READ | PROT_WRITE));
    report("Store a number through the pointer:", store(memory));
    report("Write through the descriptor:", pwrite(fd, &number, sizeof number, 0));
    snprintf(again, sizeof again, "/proc/self/fd/%d", fd);
    int reopened = open(again, O_RDWR);
    report("Open the memory again, and write:", pwrite(reopened, &number, sizeof number, 0));
    report("Let the kernel read a file into it:", read(open("/dev/zero", O_RDONLY), memory, sizeof number));
    report("Add a seal of its own:", fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
    report("Set the size to 0:", ftruncate(fd, 0));
    printf("attempts = %d attempts\nrefused = %d attempts\n", attempts, refused);
}

int main(int argc, char **argv) {
    int seals = 1;
    struct stat file = {0};
    if (argc == 3 && !strcmp(argv[1], "--seals") && (!strcmp(argv[2], "0") || !strcmp(argv[2], "1")))
        seals = atoi(argv[2]);
    else if (argc > 1)
        return fprintf(stderr, "--seals must be 0 or 1; got \"%s\".\n", argv[argc - 1]), 2;

    int fd = memfd_create("shared", MFD_ALLOW_SEALING); /* memory with a descriptor, but without a name */
    if (fd < 0 || ftruncate(fd, BYTES))
        return perror("memfd_create"), 2;
    int *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* for the owner, before the seals */
    if (memory == MAP_FAILED)
        return perror("mmap"), 2;
    *memory = ANSWER;
    if (seals && fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return perror("fcntl"), 2;
    pid_t child = fork(); /* it inherits the descriptor; a stranger would get it through a Unix socket */
    if (child == 0) {
        munmap(memory, BYTES);
        try_to_write(fd);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    int finds = -1;
    if (fstat(fd, &file) == 0 && file.st_size == BYTES)
        finds = *memory;
    else
        printf("The memory is gone: touching it would end the owner.\n");
    printf("seals = %d\nownerFinds = %d\n", seals, finds);
    return 0;
}
