/*
 * Shared memory, semaphores: both processes map one page with a slot for one message, and use two semaphores: "free"
 * counts empty slots (initially 1), and "full" counts messages to read (initially 0).
 * The message does not cross into the kernel, but a process that has to wait sleeps in the kernel. Otherwise a
 * semaphore is a word in memory: sem_wait() on a value above 0, and sem_post() without a waiting process, make no
 * system call.
 */
#include "demo.h"

#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>

struct page {
    struct message message;
};

static struct page *page;
static sem_t *slot_free, *slot_full;
static char page_name[32], free_name[32], full_name[32];

static void map_page(int fd) {
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        fail("mmap");
    close(fd); /* the mapping remains */
}

static void watch_semaphores(void) {
    if (slot_free == SEM_FAILED || slot_full == SEM_FAILED)
        fail("sem_open");
    watch("free", slot_free, WORD_SEMAPHORE);
    watch("full", slot_full, WORD_SEMAPHORE);
}

static void succeed(int result) {
    if (result)
        fail("a semaphore");
}

static void write_messages(int count) {
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        message_begins(n);
        struct message message = make_message(n, count);
        STEP(STEP_SEE, slot_free, sizeof(int), "sem_wait(free): take the slot", succeed(sem_wait(slot_free)));
        STEP(STEP_STORE, page, sizeof message, "store the message", page->message = message);
        STEP(STEP_RELEASE, slot_full, sizeof(int), "sem_post(full): a message is ready", succeed(sem_post(slot_full)));
    }
}

static void read_messages(int count) {
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        struct message message;
        message_begins(n);
        STEP(STEP_SEE, slot_full, sizeof(int), "sem_wait(full): take the message", succeed(sem_wait(slot_full)));
        STEP(STEP_LOAD, page, sizeof message, "load the message", message = page->message);
        STEP(STEP_RELEASE, slot_free, sizeof(int), "sem_post(free): the slot is empty", succeed(sem_post(slot_free)));
        check_message(&message, n, count);
    }
}

static void release_all(void) {
    munmap(page, sizeof *page);
    sem_close(slot_free);
    sem_close(slot_full);
}

/* Works like a separate program: opens everything by name. It is the last to do so, and removes the names. */
static void be_reader(int count) {
    begin_as(READER);
    release_all(); /* what fork() passed on */
    int fd = shm_open(page_name, O_RDWR, 0);
    if (fd < 0)
        fail("shm_open");
    map_page(fd);
    slot_free = sem_open(free_name, 0);
    slot_full = sem_open(full_name, 0);
    watch_semaphores();
    shm_unlink(page_name);
    sem_unlink(free_name);
    sem_unlink(full_name);
    read_messages(count);
    phase(TEARDOWN);
    release_all();
    _exit(0);
}

void shm_sem_demo(int count) {
    snprintf(page_name, sizeof page_name, "/%s", own_name());
    snprintf(free_name, sizeof free_name, "/%s-free", own_name());
    snprintf(full_name, sizeof full_name, "/%s-full", own_name());
    phase(SETUP);
    demo.role = WRITER;
    int fd = shm_open(page_name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *page)) /* new shared memory has size 0 */
        fail("shm_open");
    map_page(fd);
    slot_free = sem_open(free_name, O_CREAT | O_EXCL, 0600, 1);
    slot_full = sem_open(full_name, O_CREAT | O_EXCL, 0600, 0);
    watch_semaphores();

    pid_t reader = fork();
    if (reader < 0)
        fail("fork");
    if (reader == 0)
        be_reader(count);
    write_messages(count);
    phase(TEARDOWN);
    release_all();
    wait_for(reader);
    _exit(0);
}
