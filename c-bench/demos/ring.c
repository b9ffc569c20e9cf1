/*
 * The ring: a queue of messages in shared memory, the same ring that require('crossings') uses (native/ring.h).
 * It begins with the handshake: each process creates and seals its own memory, and sends it through a socket to the
 * other process, which can map it only for reading. After that, no message crosses into the kernel: the first word of a
 * message, its signal, shows that it has arrived.
 */
#include "../../native/handshake.h"
#include "demo.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CAPACITY RING_MIN_CAPACITY

static int ends[2]; /* a socket pair: ends[0] belongs to the writer, ends[1] to the reader */
static struct region mine, peer;
static struct ring_writer writer;
static struct ring_reader reader;

static void handshake(int end) {
    char reason[HANDSHAKE_REASON_BYTES];
    if (region_create(&mine, CAPACITY, RING_FLAG_NEVER_SLEEPS) || handshake_send(end, &mine) != HANDSHAKE_OK)
        fail("creating and sending the region");
    if (poll(&(struct pollfd){.fd = end, .events = POLLIN}, 1, -1) != 1)
        fail("poll");
    if (handshake_receive(end, false, &peer, reason) != HANDSHAKE_OK)
        fail("receiving the other's region");
    region_connect(&mine, &peer, &writer, &reader);

    /* Each process signals through the ring that it is ready, so all system calls come before the first message. */
    const void *place;
    uint32_t bytes = 0, kind;
    ring_write(&writer, "ready", 5, RING_KIND_MESSAGE);
    ring_publish(&writer);
    STEP(STEP_SEE, reader.data, 4, "spin until the other process is ready",
         while (ring_peek(&reader, &place, &bytes, &kind) == RING_NO) spin_turn());
    ring_consume(&reader, bytes);
}

static void write_messages(int count) {
    void *place = NULL;
    watch("read position", &peer.header->read_position, WORD_INT);
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        message_begins(n);
        struct message message = make_message(n, count);
        uint32_t *signal = &ring_frame_at(&writer, writer.position)->signal;
        watch("signal of the writer's next frame", signal, WORD_INT);
        /* While there is room, this does not read the other process's memory. */
        while (ring_reserve(&writer, sizeof message, &place) != RING_OK)
            spin_turn();
        STEP(STEP_STORE, place, sizeof message, "store the message and the end mark behind it",
             ring_copy(place, &message, sizeof message);
             ring_commit(&writer, sizeof message, RING_KIND_MESSAGE));
        STEP(STEP_RELEASE, signal, 4, "release: the signal becomes the length + 1", ring_publish(&writer));
    }
}

static void read_messages(int count) {
    const void *place = NULL;
    uint32_t bytes = 0, kind;
    watch("read position", &mine.header->read_position, WORD_INT);
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        struct message message;
        message_begins(n);
        const void *signal = reader.data + (reader.position & reader.mask);
        watch("signal of the reader's next frame", signal, WORD_INT);
        STEP(STEP_SEE, signal, 4, "spin until the signal is set",
             while (ring_peek(&reader, &place, &bytes, &kind) == RING_NO) spin_turn());
        if (bytes != sizeof message)
            fail("ring_peek");
        STEP(STEP_LOAD, place, sizeof message, "load the message", ring_copy(&message, place, sizeof message));
        STEP(STEP_RELEASE, &mine.header->read_position, 4, "release: the read position advances",
             ring_consume(&reader, bytes));
        check_message(&message, n, count);
    }
}

static void release_all(int end) {
    phase(TEARDOWN);
    close(end);
    region_release(&mine);
    region_release(&peer);
}

void ring_demo(int count) {
    phase(SETUP);
    demo.role = WRITER;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
        fail("socketpair");

    pid_t reader_process = fork();
    if (reader_process < 0)
        fail("fork");
    if (reader_process == 0) {
        begin_as(READER);
        close(ends[0]);
        handshake(ends[1]);
        read_messages(count);
        release_all(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    handshake(ends[0]);
    write_messages(count);
    phase(TEARDOWN);
    STEP(STEP_SEE, &peer.header->read_position, 4, "spin until everything has been read",
         while (ring_load_acquire(&peer.header->read_position) != writer.position) spin_turn());
    release_all(ends[0]);
    wait_for(reader_process);
    _exit(0);
}
