/*
 * Shared memory without a size.
 * A new shared memory object is empty. mmap() accepts any size; the first store behind the object's end is SIGBUS.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 4096 };

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    char name[48];
    snprintf(name, sizeof name, "/forgotten-ftruncate-%d", getpid());
    int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || shm_unlink(name))
        err(3, "shm_open");
    /* A new object has 0 bytes, so no page of the mapping has anything behind it. */
    if (ftruncate(fd, SIZE))
        err(3, "ftruncate");
    char *region = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (region == MAP_FAILED)
        err(3, "mmap");
    struct stat object;
    fstat(fd, &object);
    printf("mmap() of %d bytes succeeded. The object has %ld bytes.\n", SIZE, (long)object.st_size);
    printf("The program stores the first byte.\n");
    memset(region, 'x', 1);
    printf("It was stored.\n");
    return 0;
}
