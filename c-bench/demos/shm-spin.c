/*
 * Shared memory, spinning: both processes map one page with a slot for one message and a flag.
 * No message crosses into the kernel: each process waits for the other by reading the flag in a loop.
 */
#include "demo.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* The flag and the message are on separate cache lines. On a shared line, each store to the message would take the line
 * away from the process that polls the flag (false sharing). */
struct page {
    _Alignas(CACHE_LINE) atomic_int full; /* 0: the writer may write; 1: the reader may read */
    _Alignas(CACHE_LINE) struct message message;
};

static struct page *page;
static char name[32]; /* "/crossings-4711" */

static void map_page(int fd) {
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        fail("mmap");
    close(fd); /* the mapping remains */
    watch("flag", &page->full, WORD_INT);
}

static void write_messages(int count) {
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        message_begins(n);
        struct message message = make_message(n, count);
        /* Acquire, pairs with the reader's release: the reader has copied the old message. */
        STEP(STEP_SEE, &page->full, sizeof(int), "spin until the flag is 0",
             while (atomic_load_explicit(&page->full, memory_order_acquire) != 0) spin_turn());
        STEP(STEP_STORE, &page->message, sizeof message, "store the message",
             memcpy(&page->message, &message, sizeof message));
        /* Release: a reader that sees the flag also sees the message. */
        STEP(STEP_RELEASE, &page->full, sizeof(int), "release: the flag becomes 1",
             atomic_store_explicit(&page->full, 1, memory_order_release));
    }
}

static void read_messages(int count) {
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        struct message message;
        message_begins(n);
        STEP(STEP_SEE, &page->full, sizeof(int), "spin until the flag is 1",
             while (atomic_load_explicit(&page->full, memory_order_acquire) != 1) spin_turn());
        STEP(STEP_LOAD, &page->message, sizeof message, "load the message",
             memcpy(&message, &page->message, sizeof message));
        STEP(STEP_RELEASE, &page->full, sizeof(int), "release: the flag becomes 0",
             atomic_store_explicit(&page->full, 0, memory_order_release));
        check_message(&message, n, count);
    }
}

/* Works like a separate program: opens the page by name. It is the last to do so, and removes the name. */
static void be_reader(int count) {
    begin_as(READER);
    munmap(page, sizeof *page); /* what fork() passed on */
    int fd = shm_open(name, O_RDWR, 0);
    if (fd < 0)
        fail("shm_open");
    map_page(fd);
    shm_unlink(name);
    read_messages(count);
    phase(TEARDOWN);
    munmap(page, sizeof *page);
    _exit(0);
}

void shm_spin_demo(int count) {
    snprintf(name, sizeof name, "/%s", own_name());
    phase(SETUP);
    demo.role = WRITER;
    int fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *page)) /* new shared memory has size 0 */
        fail("shm_open");
    map_page(fd);

    pid_t reader = fork();
    if (reader < 0)
        fail("fork");
    if (reader == 0)
        be_reader(count);
    write_messages(count);
    phase(TEARDOWN);
    munmap(page, sizeof *page);
    wait_for(reader);
    _exit(0);
}
