/*
 * crossings-sweep with a faulty write() and memcpy(), to prove that the receiver notices: linked with --wrap. The
 * environment variable FAULT names the fault, and it happens in the middle of a sample. Built as
 * crossings-sweep-faults.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VICTIM 20      /* the affected write, counted from 0 */
#define LEAST_BYTES 32 /* of a write that belongs to a sample */
#define LEAST_COPY 4096

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
void *__real_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);

ssize_t __wrap_write(int fd, const void *bytes, size_t size) {
    static int writes;
    const char *fault = getenv("FAULT");
    if (!fault || size < LEAST_BYTES || writes++ != VICTIM)
        return __real_write(fd, bytes, size);
    if (strcmp(fault, "drop") == 0)
        return (ssize_t)size;
    if (strcmp(fault, "double") == 0)
        return __real_write(fd, bytes, size) < 0 ? -1 : __real_write(fd, bytes, size);
    if (strcmp(fault, "alter") == 0) {
        char *altered = malloc(size);
        memcpy(altered, bytes, size);
        altered[size / 2] ^= 0x10;
        ssize_t written = __real_write(fd, altered, size);
        free(altered);
        return written;
    }
    if (strcmp(fault, "die") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(fault, "stall") == 0)
        pause();
    return __real_write(fd, bytes, size);
}

/* The copies of the ring. Both sides may be affected, so the byte is changed in a way that a second time does not undo.
 */
void *__wrap_memcpy(void *to, const void *from, size_t size) {
    static int copies;
    const char *fault = getenv("FAULT");
    __real_memcpy(to, from, size);
    if (fault && strcmp(fault, "copy") == 0 && size >= LEAST_COPY && __sync_fetch_and_add(&copies, 1) == VICTIM)
        ((char *)to)[size / 2] += 1;
    return to;
}
