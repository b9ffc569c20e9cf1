/* Creates, checks and maps regions. */
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL /* of Linux 6.3; includes MFD_ALLOW_SEALING */
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

/* A file may end within a huge page, if the system uses them for all shared memory: 2 MiB with pages of 4 KiB. */
static uint64_t most_beyond_end(void) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return page * (page / 8);
}

bool region_capacity_is_valid(uint64_t capacity) {
    return capacity >= RING_MIN_CAPACITY && capacity <= RING_MAX_CAPACITY && (capacity & (capacity - 1)) == 0;
}

/* Map the header and the data, then the data a second time right behind. Returns NULL and sets errno on failure. */
static void *map_twice(int fd, uint32_t capacity, int protection, int flags) {
    if (sysconf(_SC_PAGESIZE) > (long)RING_HEADER_BYTES) { /* the data does not begin a page */
        errno = EOPNOTSUPP;
        return NULL;
    }
    size_t bytes = region_mapped_bytes(capacity);
    size_t file_bytes = (size_t)RING_HEADER_BYTES + capacity;
    char *base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    void *first = mmap(base, file_bytes, protection, MAP_SHARED | MAP_FIXED | flags, fd, 0);
    void *second = first == MAP_FAILED ? MAP_FAILED
                                       : mmap(base + file_bytes, capacity, protection, MAP_SHARED | MAP_FIXED | flags,
                                              fd, RING_HEADER_BYTES);
    if (second != MAP_FAILED)
        return base;
    int reason = errno;
    munmap(base, bytes);
    errno = reason;
    return NULL;
}

static void fill(struct region *region, void *base, uint32_t capacity, int fd, const struct stat *status) {
    region->header = base;
    region->data = (char *)base + RING_HEADER_BYTES;
    region->capacity = capacity;
    region->fd = fd;
    region->device = status->st_dev;
    region->inode = status->st_ino;
}

bool region_is_within_limit(uint32_t capacity) {
    struct rlimit largest;
    if (getrlimit(RLIMIT_FSIZE, &largest) || largest.rlim_cur >= (rlim_t)RING_HEADER_BYTES + capacity)
        return true;
    errno = EFBIG;
    return false;
}

int region_create(struct region *region, uint32_t capacity, uint32_t flags) {
    *region = (struct region){.fd = -1};
    struct siphash_key key = {{0}};
    if (flags & RING_FLAG_AUTHENTICATED && getrandom(&key, sizeof key, 0) != (ssize_t)sizeof key)
        return -1;
    int fd = memfd_create("crossings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 && errno == EACCES) /* vm.memfd_noexec is 2 */
        fd = memfd_create("crossings", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (fd < 0)
        return -1;
    struct stat status;
    void *base = NULL;
    if (ftruncate(fd, (off_t)RING_HEADER_BYTES + capacity) == 0 && fstat(fd, &status) == 0)
        base = map_twice(fd, capacity, PROT_READ | PROT_WRITE, 0);
    if (!base || fcntl(fd, F_ADD_SEALS, SEALS)) {
        int reason = base && errno == EINVAL ? EOPNOTSUPP : errno; /* F_SEAL_FUTURE_WRITE is of Linux 5.1 */
        if (base)
            munmap(base, region_mapped_bytes(capacity));
        close(fd);
        errno = reason;
        return -1;
    }
    fill(region, base, capacity, fd, &status);
    region->flags = flags;
    region->key = key;
    *region->header = (struct ring_region){
        .magic = RING_MAGIC,
        .version = RING_VERSION,
        .capacity = capacity,
        .flags = flags,
    };
    return 0;
}

enum region_refusal region_map_peer(struct region *region, int fd, uint32_t max_capacity) {
    *region = (struct region){.fd = -1};
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS)
        return REGION_NOT_SEALED;
    if (fstat(fd, &status) || status.st_size < (off_t)(RING_HEADER_BYTES + RING_MIN_CAPACITY) ||
        !region_capacity_is_valid((uint64_t)status.st_size - RING_HEADER_BYTES))
        return REGION_BAD_SIZE;
    /* A file can have pages beyond its end; the last process to unmap it frees them. Its seals allow no more. */
    uint64_t file_bytes = (uint64_t)status.st_blocks * 512;
    if (file_bytes > (uint64_t)status.st_size + most_beyond_end())
        return REGION_BAD_SIZE;
    uint32_t capacity = (uint32_t)(status.st_size - RING_HEADER_BYTES);
    if (capacity > max_capacity)
        return REGION_TOO_LARGE;
    struct ring_region *header = map_twice(fd, capacity, PROT_READ, 0);
    if (!header)
        return errno == EACCES ? REGION_NOT_READABLE : REGION_NOT_MAPPED;
    /* Read each word once: the peer can change its memory at any time. */
    uint32_t flags = ring_load_relaxed(&header->flags);
    if (ring_load_relaxed(&header->magic) != RING_MAGIC || ring_load_relaxed(&header->version) != RING_VERSION ||
        ring_load_relaxed(&header->capacity) != capacity) {
        munmap(header, region_mapped_bytes(capacity));
        return REGION_BAD_HEADER;
    }
    fill(region, header, capacity, -1, &status);
    region->flags = flags;
    return REGION_OK;
}

const char *region_refusal_text(enum region_refusal refusal) {
    switch (refusal) {
    case REGION_NOT_SEALED: return "the peer's region is not sealed against shrinking and writing";
    case REGION_NOT_READABLE: return "the peer's region cannot be read";
    case REGION_BAD_SIZE: return "the peer's region has an invalid size";
    case REGION_TOO_LARGE: return "the peer's ring is larger than this side allows";
    case REGION_BAD_HEADER: return "the peer's region has an invalid header";
    case REGION_NOT_MAPPED: return "the peer's region could not be mapped";
    case REGION_OK: break;
    }
    return "the peer's region is valid";
}

void region_release(struct region *region) {
    if (region->header)
        munmap(region->header, region_mapped_bytes(region->capacity));
    if (region->fd >= 0)
        close(region->fd);
    *region = (struct region){.fd = -1};
}

void region_connect(const struct region *mine, const struct region *peer, struct ring_writer *writer,
                    struct ring_reader *reader) {
    bool peer_may_sleep = !(peer->flags & RING_FLAG_NEVER_SLEEPS);
    *writer = (struct ring_writer){
        .mine = mine->header,
        .data = mine->data,
        .peer = peer->header,
        .capacity = mine->capacity,
        .mask = mine->capacity - 1,
        .peer_may_sleep = peer_may_sleep,
    };
    *reader = (struct ring_reader){
        .mine = mine->header,
        .peer = peer->header,
        .data = peer->data,
        .capacity = peer->capacity,
        .mask = peer->capacity - 1,
        .peer_may_sleep = peer_may_sleep,
    };
}

void region_connect_auth(const struct region *mine, const struct region *peer, struct ring_auth *sent,
                         struct ring_auth *received) {
    *sent = (struct ring_auth){.key = peer->key};
    *received = (struct ring_auth){.key = mine->key};
}
