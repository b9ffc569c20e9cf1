/* Shared memory: a POSIX shared-memory object whose name is removed as soon as it has been opened. */
#ifndef CROSSINGS_SHARED_PAGE_H
#define CROSSINGS_SHARED_PAGE_H

#include "mechanism.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* The bytes that a processor moves between cores at a time. Most processors use 64; Apple's use 128. */
#define CACHE_LINE 64

/* Map `bytes` zeroed bytes that processes share after fork(). Returns NULL and sets errno on failure. MAP_POPULATE: no
 * page fault happens while the clock runs. */
static inline void *map_shared(const char *name, size_t bytes) {
    int fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0)
        return NULL;
    shm_unlink(name); /* the descriptor, and later the mapping, keep the memory alive */
    void *memory = MAP_FAILED;
    if (ftruncate(fd, (off_t)bytes) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

#endif
