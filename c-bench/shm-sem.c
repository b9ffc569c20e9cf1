/*
 * Shared memory, semaphores: the classic producer and consumer. Each direction has one slot and two POSIX semaphores:
 * "free" counts empty slots (initially 1), and "full" counts messages to read (initially 0).
 * A semaphore without a waiting process makes no crossing. Here one process nearly always waits, and each wait and each
 * wake-up is a futex call. That is why shared memory can be slower than a pipe.
 */
#include "shared-page.h"

#include <semaphore.h>
#include <signal.h>
#include <string.h>

struct direction {
    sem_t *free, *full;
    char *data;
};

static struct direction directions[2]; /* directions[side] is the one that this side writes to */
static size_t data_bytes;

/* Both processes inherit the open semaphore, so its name is removed immediately. Signals wait until then: one that ends
 * the process would leave the name, or the file that sem_open() makes before it. Returns SEM_FAILED and sets errno on
 * failure. */
static sem_t *open_semaphore(const char *name, unsigned value) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, value);
    if (semaphore != SEM_FAILED)
        sem_unlink(name);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return semaphore;
}

static int setup(size_t size) {
    data_bytes = size;
    for (int side = SIDE_A; side <= SIDE_B; side++) {
        struct direction *way = &directions[side];
        way->data = map_shared(unique_name(0), data_bytes);
        way->free = open_semaphore(unique_name(1), 1);
        way->full = open_semaphore(unique_name(2), 0);
        if (!way->data || way->free == SEM_FAILED || way->full == SEM_FAILED)
            return -1;
    }
    return 0;
}

static int take(enum side side) {
    (void)side; /* both sides use the same mappings */
    return 0;
}

static int wait_for(sem_t *semaphore) {
    int result;
    while ((result = polling ? sem_trywait(semaphore) : sem_wait(semaphore)) && call_again())
        continue;
    return result;
}

static enum outcome sem_send(enum side side, const void *message, size_t size) {
    struct direction *way = &directions[side];
    if (wait_for(way->free))
        return FAILED;
    memcpy(way->data, message, size);
    return sem_post(way->full) ? FAILED : OK;
}

static enum outcome sem_receive(enum side side, void *message, size_t size) {
    struct direction *way = &directions[!side];
    if (wait_for(way->full))
        return FAILED;
    memcpy(message, way->data, size);
    return sem_post(way->free) ? FAILED : OK;
}

static void teardown(enum side side) {
    struct direction *way = &directions[side];
    if (!way->data)
        return;
    sem_close(way->free);
    sem_close(way->full);
    munmap(way->data, data_bytes);
    way->data = NULL;
}

const struct mechanism shm_sem = {
    .name = "shm-sem",
    .title = "Shared memory, semaphores",
    .source = __FILE__,
    .billable = true,
    .setup = setup,
    .take = take,
    .send = sem_send,
    .receive = sem_receive,
    .teardown = teardown,
};
