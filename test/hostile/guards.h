/* Included before native/region.c in test builds: puts unmapped pages around every mapping, so that an access just
 * outside of a region ends the process instead of reaching a neighbor. */
#ifndef CROSSINGS_GUARDS_H
#define CROSSINGS_GUARDS_H

#include <stddef.h>
#include <sys/mman.h>

#define GUARD_BYTES 65536

/* Mappings that exist now. Weak, so that every file that includes this header has the same one. */
__attribute__((weak)) long guarded_mappings;

static inline void *guarded_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if (address) /* inside a mapping that has its guards already */
        return mmap(address, bytes, protection, flags, fd, offset);
    char *base =
        (char *)mmap(NULL, bytes + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return MAP_FAILED;
    guarded_mappings++;
    return mmap(base + GUARD_BYTES, bytes, protection, flags | MAP_FIXED, fd, offset);
}

static inline int guarded_munmap(void *address, size_t bytes) {
    guarded_mappings--;
    return munmap((char *)address - GUARD_BYTES, bytes + 2 * GUARD_BYTES);
}

#define mmap guarded_mmap
#define munmap guarded_munmap

#endif
