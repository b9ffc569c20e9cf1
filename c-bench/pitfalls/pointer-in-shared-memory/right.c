/*
 * A pointer stored in shared memory.
 * Both processes map the same memory, but not at the same address.
 */
#include <err.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 4096 };
struct region {
    size_t text; /* where the text is: an offset, which is the same at every address */
    char bytes[64];
};

static struct region *map(int fd) {
    struct region *region = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (region == MAP_FAILED)
        err(3, "mmap");
    return region;
}

/* Another process with its own memory. Exit status 0: it found the text. */
static void read_text(int fd) {
    char *own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED)
        err(3, "mmap");
    memset(own, '?', SIZE);
    struct region *region = map(fd);
    printf("The reader mapped the region at %p.\n", (void *)region);
    const char *text = (const char *)region + region->text;
    printf("The reader adds the offset to its own address, looks at %p and finds \"%.5s\".\n", (void *)text, text);
    _exit(strncmp(text, "hello", 5) == 0 ? 0 : 1);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    char name[48];
    snprintf(name, sizeof name, "/pointer-in-shared-memory-%d", getpid());
    int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || shm_unlink(name) || ftruncate(fd, SIZE))
        err(3, "shm_open");

    pid_t reader, writer = fork();
    if (writer < 0)
        err(3, "fork");
    if (writer == 0) {
        struct region *region = map(fd);
        strcpy(region->bytes, "hello");
        region->text = offsetof(struct region, bytes);
        printf("The writer mapped the region at %p and stored \"hello\" at %p.\n", (void *)region,
               (void *)region->bytes);
        _exit(0);
    }
    waitpid(writer, NULL, 0);
    reader = fork();
    if (reader < 0)
        err(3, "fork");
    if (reader == 0)
        read_text(fd);
    int status;
    waitpid(reader, &status, 0);
    if (WIFSIGNALED(status))
        printf("The reader was killed by signal %d, %s.\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return status == 0 ? 0 : 1;
}
