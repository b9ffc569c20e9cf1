// The lives of mapped regions: who holds them, and the thread that frees their memory.

#include "mappings.h"

extern "C" {
#include "../disposal.h"
}

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <set>
#include <vector>

namespace {

constexpr useconds_t RETRY_MICROS = 50000; // after the kernel had no memory for unmapping

struct Live {
    std::mutex mutex; // guards all of it
    std::set<Mapping *> mappings;
};

Live &live = *new Live; // never destroyed: a buffer may be collected after the static objects

// What the thread frees.
struct Released {
    Mapping *mapping; // has a hold on it; or null, and
    void *memory;     // this is unmapped
    size_t bytes;
};

struct Cleaner {
    std::mutex mutex; // guards all of it
    std::deque<Released> queue;
    bool is_running = false;
};

Cleaner &cleaner = *new Cleaner; // never destroyed: its thread may outlive the static objects

void CloseDescriptor(struct region *region) {
    if (region->fd >= 0)
        close(region->fd);
    region->fd = -1;
}

// Zero pages replace a region whose buffer may still be used, until the buffer is collected. The kernel counts private
// pages that can be written against the limits of this process (`ulimit -d`, vm.overcommit_memory=2). So those for a
// peer's region are as read-only as it was, and those for this side's are shared, with nobody, if there is such a
// limit. Without one, they are private: the kernel merges neighbors, so that their number stays small.
//
// False: it has failed. Before Linux 6.12, nothing may be mapped there any more, and another mapping may come there.
bool ReplaceByZeros(const Mapping *mapping) {
    const struct region &region = mapping->region;
    struct rlimit data;
    bool is_limited = getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY;
    int protection = mapping->mine ? PROT_READ | PROT_WRITE : PROT_READ;
    int sharing = mapping->mine && is_limited ? MAP_SHARED : MAP_PRIVATE;
    return mmap(region.header, region_mapped_bytes(region.capacity), protection,
                sharing | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

// False: the kernel has no memory for it now, such as for one mapping more when it unmaps the middle of one. Nothing
// was unmapped then.
bool Clean(const Released &released) {
    Mapping *mapping = released.mapping;
    if (released.memory && munmap(released.memory, released.bytes))
        return false;
    if (!mapping)
        return true;
    // If the buffer is gone, too, LetGo() unmaps.
    if (!released.memory && mapping->holders > 1 && !ReplaceByZeros(mapping))
        mapping->region.header = nullptr; // never touched again
    mapping->is_free = true;
    LetGo(mapping);
    return true;
}

void *RunCleaner(void *) {
    std::unique_lock<std::mutex> lock(cleaner.mutex);
    while (!cleaner.queue.empty()) {
        Released next = cleaner.queue.front();
        cleaner.queue.pop_front();
        lock.unlock();
        bool is_clean = Clean(next);
        if (!is_clean)
            usleep(RETRY_MICROS);
        lock.lock();
        if (!is_clean)
            cleaner.queue.push_back(next);
    }
    cleaner.is_running = false;
    return nullptr;
}

// Start the thread if there is work for it. It may be impossible: a peer of the same user may have brought it to its
// limit of processes. Called again for the next region, and by IsFreed().
void StartCleaner() {
    {
        std::lock_guard<std::mutex> lock(cleaner.mutex);
        if (cleaner.is_running || cleaner.queue.empty())
            return;
        cleaner.is_running = true;
    }
    if (disposal_start_thread(RunCleaner, nullptr))
        return;
    std::lock_guard<std::mutex> lock(cleaner.mutex);
    cleaner.is_running = false;
}

void CleanSoon(const Released &released) {
    {
        std::lock_guard<std::mutex> lock(cleaner.mutex);
        cleaner.queue.push_back(released);
    }
    StartCleaner();
}

} // namespace

void KeepTrack(Mapping *mapping) {
    std::lock_guard<std::mutex> lock(live.mutex);
    live.mappings.insert(mapping);
}

void LetGo(Mapping *mapping) {
    {
        std::lock_guard<std::mutex> lock(live.mutex); // with it, ReleaseAllOf() takes another hold
        if (--mapping->holders > 0)
            return;
        live.mappings.erase(mapping);
    }
    CloseDescriptor(&mapping->region);
    if (mapping->region.header) // the garbage collector may let go of thousands at once
        CleanSoon({nullptr, mapping->region.header, region_mapped_bytes(mapping->region.capacity)});
    delete mapping;
}

void UnmapSoon(Mapping *mapping) {
    CloseDescriptor(&mapping->region);
    mapping->holders++;
    CleanSoon({mapping, mapping->region.header, region_mapped_bytes(mapping->region.capacity)});
    mapping->region.header = nullptr;
}

void ReplaceSoon(Mapping *mapping) {
    CloseDescriptor(&mapping->region);
    mapping->holders++;
    CleanSoon({mapping, nullptr, 0});
}

bool IsFreed(Mapping *mapping) {
    bool is_free = mapping->is_free;
    if (!is_free)
        StartCleaner();
    return is_free;
}

void ReleaseAllOf(napi_env env) {
    std::vector<Mapping *> ended;
    {
        std::lock_guard<std::mutex> lock(live.mutex);
        for (Mapping *mapping : live.mappings) {
            if (mapping->env != env || mapping->released)
                continue;
            mapping->released = true;
            mapping->holders++;
            ended.push_back(mapping);
        }
    }
    for (Mapping *mapping : ended) { // without the lock, for which other threads would wait meanwhile
        ReplaceSoon(mapping);
        LetGo(mapping);
    }
}
