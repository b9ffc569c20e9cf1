/* Memory that both processes see: a POSIX shared memory object whose name is gone before anyone could forget it. */
#ifndef CROSSINGS_SHARED_PAGE_H
#define CROSSINGS_SHARED_PAGE_H

#include "mechanism.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* The bytes a processor moves between cores at once, on every processor this is built for (Apple's use 128). */
#define CACHE_LINE 64

/* Map `bytes` zeroed bytes that a later fork() shares. NULL with errno where that failed. MAP_POPULATE: no page is
 * first touched while the clock runs. */
static inline void *map_shared(const char *name, size_t bytes) {
    int fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0)
        return NULL;
    shm_unlink(name); /* the descriptor and the mapping keep it alive; the name is needed no more */
    void *memory = MAP_FAILED;
    if (ftruncate(fd, (off_t)bytes) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

#endif
