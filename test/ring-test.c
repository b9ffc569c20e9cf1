/*
 * Tests of the ring, the regions and the handshake in C. ring.test.js runs them, and runs them again with the address,
 * undefined-behavior and thread sanitizers. usage: ring-test [NAME]; without a name, it prints the names of all tests.
 */
#include "../native/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY RING_MIN_CAPACITY

/* How much the longest tests do. An emulator is slower: test/long/parts/arm64.js defines smaller numbers. */
#ifndef RANDOM_STEPS
#define RANDOM_STEPS 1000000
#endif
#ifndef THREAD_MESSAGES
#define THREAD_MESSAGES 500000
#endif
#ifndef PROCESS_MESSAGES
#define PROCESS_MESSAGES 10000000
#endif

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- A ring in one process: two regions, with the writer and the reader of the first one's ring ---- */

struct fixture {
    struct region a, b;
    struct ring_writer writer;
    struct ring_reader reader, unused_reader;
    struct ring_writer unused_writer;
};

static struct fixture new_fixture(uint32_t position) {
    struct fixture fixture;
    EXPECT(region_create(&fixture.a, CAPACITY, 0) == 0);
    EXPECT(region_create(&fixture.b, CAPACITY, 0) == 0);
    region_connect(&fixture.a, &fixture.b, &fixture.writer, &fixture.unused_reader);
    region_connect(&fixture.b, &fixture.a, &fixture.unused_writer, &fixture.reader);
    fixture.writer.position = fixture.writer.peer_read = fixture.reader.position = position;
    fixture.b.header->read_position = position;
    return fixture;
}

static void end_fixture(struct fixture *fixture) {
    region_release(&fixture->a);
    region_release(&fixture->b);
}

static unsigned random_state = 12345;

static unsigned random_number(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static void fill(unsigned char *bytes, uint32_t size, unsigned seed) {
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(seed * 31 + i * 7);
}

static unsigned char sent[CAPACITY], got[CAPACITY];

static enum ring_result write_message(struct fixture *fixture, uint32_t size, unsigned seed) {
    fill(sent, size, seed);
    enum ring_result result = ring_write(&fixture->writer, sent, size, seed % 4);
    if (result == RING_OK)
        ring_publish(&fixture->writer);
    return result;
}

static void expect_message(struct fixture *fixture, uint32_t size, unsigned seed) {
    const void *payload;
    uint32_t bytes, kind;
    EXPECT(ring_peek(&fixture->reader, &payload, &bytes, &kind) == RING_OK);
    EXPECT(bytes == size && kind == seed % 4);
    ring_copy(got, payload, bytes);
    fill(sent, size, seed);
    EXPECT(memcmp(got, sent, size) == 0);
    ring_consume(&fixture->reader, bytes);
}

static void expect_empty(struct fixture *fixture) {
    const void *payload;
    uint32_t bytes, kind;
    EXPECT(ring_peek(&fixture->reader, &payload, &bytes, &kind) == RING_NO);
}

static void wraps_at_every_offset(void) {
    struct fixture fixture = new_fixture(0);
    for (uint32_t offset = 0; offset < CAPACITY; offset += RING_FRAME_ALIGN) {
        for (uint32_t size = 0; size <= 72; size += size < 20 ? 1 : 13) {
            EXPECT(write_message(&fixture, size, offset + size) == RING_OK);
            expect_message(&fixture, size, offset + size);
        }
        expect_empty(&fixture);
        fixture.writer.position = fixture.writer.peer_read = fixture.reader.position = offset + RING_FRAME_ALIGN;
        fixture.b.header->read_position = fixture.reader.position;
        ring_frame_at(&fixture.writer, fixture.writer.position)->signal = 0;
    }
    end_fixture(&fixture);
}

static void positions_wrap_at_two_to_the_32(void) {
    for (uint32_t below = 0; below <= 256; below += RING_FRAME_ALIGN) {
        struct fixture fixture = new_fixture(0u - below);
        for (unsigned i = 0; i < 100; i++) {
            EXPECT(write_message(&fixture, i, i) == RING_OK);
            EXPECT(write_message(&fixture, 500, i + 1) == RING_OK);
            expect_message(&fixture, i, i);
            expect_message(&fixture, 500, i + 1);
            expect_empty(&fixture);
        }
        EXPECT(fixture.writer.position < 1000000u); /* the position has wrapped */
        end_fixture(&fixture);
    }
}

static void full_and_empty(void) {
    struct fixture fixture = new_fixture(0u - 4096u);
    for (int round = 0; round < 50; round++) {
        unsigned count = 0;
        while (write_message(&fixture, 56, count) == RING_OK)
            count++;
        EXPECT(count == CAPACITY / 64 - 1); /* one place is left for the end mark */
        EXPECT(write_message(&fixture, 56, 0) == RING_NO);
        expect_message(&fixture, 56, 0);
        EXPECT(write_message(&fixture, 56, count) == RING_OK);
        for (unsigned i = 1; i <= count; i++)
            expect_message(&fixture, 56, i);
        expect_empty(&fixture);
    }
    end_fixture(&fixture);
}

static void largest_message(void) {
    struct fixture fixture = new_fixture(CAPACITY / 2 + RING_FRAME_ALIGN);
    for (int i = 0; i < 20; i++) {
        uint32_t largest = ring_max_message(CAPACITY);
        EXPECT(write_message(&fixture, largest, 1) == RING_OK);
        EXPECT(write_message(&fixture, 0, 2) == RING_NO);
        expect_message(&fixture, largest, 1);
        EXPECT(write_message(&fixture, 8, 3) == RING_OK);
        EXPECT(write_message(&fixture, largest, 4) == RING_NO);
        expect_message(&fixture, 8, 3);
        expect_empty(&fixture);
    }
    end_fixture(&fixture);
}

/* Many steps, compared with a queue of the expected messages. */
static void random_sizes(void) {
    enum { LIMIT = CAPACITY / 8 };
    static uint32_t sizes[LIMIT];
    struct fixture fixture = new_fixture(0u - 100000u * 8);
    unsigned first = 0, last = 0;
    for (int step = 0; step < RANDOM_STEPS; step++) {
        uint32_t size = random_number() % 8 ? random_number() % 200 : random_number() % (CAPACITY / 4);
        if (random_number() % 2 && write_message(&fixture, size, last) == RING_OK) {
            sizes[last++ % LIMIT] = size;
        } else if (first != last) {
            expect_message(&fixture, sizes[first % LIMIT], first);
            first++;
        } else {
            expect_empty(&fixture);
        }
    }
    EXPECT(last > RANDOM_STEPS / 10);
    end_fixture(&fixture);
}

static void held_messages_are_published_at_once(void) {
    struct fixture fixture = new_fixture(0u - 64u);
    for (unsigned i = 0; i < 10; i++) {
        fill(sent, 24, i);
        EXPECT(ring_write(&fixture.writer, sent, 24, i % 4) == RING_OK);
        expect_empty(&fixture);
    }
    ring_publish(&fixture.writer);
    for (unsigned i = 0; i < 10; i++)
        expect_message(&fixture, 24, i);
    expect_empty(&fixture);
    ring_publish(&fixture.writer); /* no message is held, so this does nothing */
    expect_empty(&fixture);
    end_fixture(&fixture);
}

static void corrupt_peers_are_detected(void) {
    struct fixture fixture = new_fixture(0);
    const void *payload;
    uint32_t bytes, kind;
    for (uint64_t signal = (uint64_t)ring_max_message(CAPACITY) + 2; signal <= UINT32_MAX; signal = signal * 3 / 2) {
        ring_frame_at(&fixture.writer, 0)->signal = (uint32_t)signal;
        EXPECT(ring_peek(&fixture.reader, &payload, &bytes, &kind) == RING_CORRUPT);
    }
    ring_frame_at(&fixture.writer, 0)->signal = 0;
    while (write_message(&fixture, 1000, 0) == RING_OK)
        continue;
    static const uint32_t positions[] = {1, 7, 0u - 8u, CAPACITY * 2, 1u << 31};
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        fixture.b.header->read_position = positions[i];
        EXPECT(write_message(&fixture, 1000, 0) == RING_CORRUPT);
    }
    end_fixture(&fixture);
}

static void copies_every_size(void) {
    unsigned char from[1100], to[1100];
    for (size_t size = 0; size <= 1024; size++) {
        fill(from, sizeof from, (unsigned)size);
        memset(to, 0xee, sizeof to);
        ring_copy(to + 3, from + 5, size);
        EXPECT(memcmp(to + 3, from + 5, size) == 0 && to[2] == 0xee && to[3 + size] == 0xee);
    }
}

/* ---- Two threads, and two processes ---- */

static void send_numbers(struct ring_writer *writer, uint64_t count) {
    for (uint64_t number = 0; number < count; number++) {
        uint64_t message[8] = {number, number * 3, 5, 7, 11, 13, 17, ~number};
        uint32_t size = 16 + (uint32_t)(number % 7) * 8;
        message[size / 8 - 1] = ~number;
        while (ring_write(writer, message, size, 0) != RING_OK) {
            ring_publish(writer);
            sched_yield();
        }
        if (number % 5 == 0)
            ring_publish(writer);
    }
    ring_publish(writer);
}

static void receive_numbers(struct ring_reader *reader, uint64_t count) {
    for (uint64_t number = 0; number < count; number++) {
        uint64_t message[8];
        const void *payload;
        uint32_t size, kind;
        enum ring_result result;
        while ((result = ring_peek(reader, &payload, &size, &kind)) == RING_NO)
            sched_yield();
        EXPECT(result == RING_OK && size == 16 + (uint32_t)(number % 7) * 8);
        ring_copy(message, payload, size);
        EXPECT(message[0] == number && message[size / 8 - 1] == ~number);
        ring_consume(reader, size);
    }
}

static void *sending_thread(void *writer) {
    send_numbers(writer, THREAD_MESSAGES);
    return NULL;
}

static void between_threads(void) {
    struct fixture fixture = new_fixture(0u - 1000000u * 8);
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, sending_thread, &fixture.writer) == 0);
    receive_numbers(&fixture.reader, THREAD_MESSAGES);
    pthread_join(thread, NULL);
    end_fixture(&fixture);
}

/* The complete handshake, with both sides at the same time, and many messages. */
static void between_processes(void) {
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    pid_t child = fork();
    int fd = ends[child == 0];
    close(ends[child != 0]);
    struct region mine, peer;
    struct ring_writer writer;
    struct ring_reader reader;
    char reason[HANDSHAKE_REASON_BYTES];
    enum handshake_status handshake;
    EXPECT(region_create(&mine, CAPACITY << (child == 0), 0) == 0);
    EXPECT(handshake_send(fd, &mine) == HANDSHAKE_OK);
    while ((handshake = handshake_receive(fd, false, &peer, reason)) == HANDSHAKE_AGAIN)
        sched_yield();
    EXPECT(handshake == HANDSHAKE_OK);
    region_connect(&mine, &peer, &writer, &reader);
    if (child == 0) {
        send_numbers(&writer, PROCESS_MESSAGES);
        exit(0);
    }
    receive_numbers(&reader, PROCESS_MESSAGES);
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    region_release(&mine);
    region_release(&peer);
    close(fd);
}

/* ---- Regions ---- */

static void peers_cannot_write(void) {
    struct region mine, peer;
    char path[64];
    EXPECT(region_create(&mine, CAPACITY, 0) == 0);
    EXPECT(region_map_peer(&peer, mine.fd, RING_MAX_CAPACITY) == REGION_OK);
    EXPECT(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mine.fd, 0) == MAP_FAILED && errno == EPERM);
    EXPECT(mprotect(peer.header, 4096, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
    EXPECT(pwrite(mine.fd, "x", 1, 0) == -1 && errno == EPERM);
    EXPECT(ftruncate(mine.fd, 0) == -1 && errno == EPERM);
    EXPECT(ftruncate(mine.fd, 1 << 24) == -1 && errno == EPERM);
    EXPECT(fcntl(mine.fd, F_ADD_SEALS, F_SEAL_WRITE) == -1 && errno == EPERM);
    snprintf(path, sizeof path, "/proc/self/fd/%d", mine.fd);
    int again = open(path, O_RDWR);
    EXPECT(again < 0 || mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) == MAP_FAILED);
    EXPECT(again < 0 || pwrite(again, "x", 1, 0) == -1);
    mine.header->flags = 42; /* the owner can still write, and the peer sees it */
    EXPECT(peer.header->flags == 42);
    close(again);
    region_release(&mine);
    region_release(&peer);
}

/* Map a memfd with the given seals, size and first words, as another program might send it. */
static enum region_refusal offer(int seals, off_t size, uint32_t magic, uint32_t version, uint32_t capacity) {
    struct region peer;
    uint32_t words[4] = {magic, version, capacity, 0};
    int fd = memfd_create("stranger", MFD_ALLOW_SEALING);
    EXPECT(fd >= 0 && ftruncate(fd, size) == 0 && (size < 16 || pwrite(fd, words, sizeof words, 0) == 16));
    EXPECT(seals == 0 || fcntl(fd, F_ADD_SEALS, seals) == 0);
    enum region_refusal refusal = region_map_peer(&peer, fd, RING_MAX_CAPACITY);
    close(fd);
    region_release(&peer);
    return refusal;
}

static void invalid_regions_are_refused(void) {
    const int all = F_SEAL_SHRINK | F_SEAL_GROW | 0x10 | F_SEAL_SEAL;
    const off_t size = RING_HEADER_BYTES + CAPACITY;
    EXPECT(offer(all, size, RING_MAGIC, RING_VERSION, CAPACITY) == REGION_OK);
    EXPECT(offer(0, size, RING_MAGIC, RING_VERSION, CAPACITY) == REGION_NOT_SEALED);
    EXPECT(offer(all & ~F_SEAL_SHRINK, size, RING_MAGIC, RING_VERSION, CAPACITY) == REGION_NOT_SEALED);
    EXPECT(offer(all & ~F_SEAL_GROW, size, RING_MAGIC, RING_VERSION, CAPACITY) == REGION_NOT_SEALED);
    EXPECT(offer(all & ~0x10, size, RING_MAGIC, RING_VERSION, CAPACITY) == REGION_NOT_SEALED);
    EXPECT(offer(all, 0, 0, 0, 0) == REGION_BAD_SIZE);
    EXPECT(offer(all, RING_HEADER_BYTES, RING_MAGIC, RING_VERSION, 0) == REGION_BAD_SIZE);
    EXPECT(offer(all, size - 1, RING_MAGIC, RING_VERSION, CAPACITY) == REGION_BAD_SIZE);
    EXPECT(offer(all, size + 4096, RING_MAGIC, RING_VERSION, CAPACITY) == REGION_BAD_SIZE);
    EXPECT(offer(all, RING_HEADER_BYTES + 2 * (off_t)RING_MAX_CAPACITY, RING_MAGIC, RING_VERSION, 1u << 31) ==
           REGION_BAD_SIZE);
    EXPECT(offer(all, size, 0, RING_VERSION, CAPACITY) == REGION_BAD_HEADER);
    EXPECT(offer(all, size, RING_MAGIC, RING_VERSION + 1, CAPACITY) == REGION_BAD_HEADER);
    EXPECT(offer(all, size, RING_MAGIC, RING_VERSION, CAPACITY * 2) == REGION_BAD_HEADER);
    struct region peer;
    int file = open("/proc/self/exe", O_RDONLY);
    EXPECT(region_map_peer(&peer, file, RING_MAX_CAPACITY) == REGION_NOT_SEALED);
    EXPECT(region_map_peer(&peer, -1, RING_MAX_CAPACITY) == REGION_NOT_SEALED);
    close(file);
    struct region mine;
    char path[64];
    EXPECT(region_create(&mine, CAPACITY, 0) == 0);
    EXPECT(region_map_peer(&peer, mine.fd, CAPACITY / 2) == REGION_TOO_LARGE);
    /* Pages beyond the end of a file take 140 ms per GiB when it is unmapped. */
    int fat = memfd_create("fat", MFD_ALLOW_SEALING);
    EXPECT(ftruncate(fat, RING_HEADER_BYTES + CAPACITY) == 0 && fallocate(fat, FALLOC_FL_KEEP_SIZE, 0, 128 << 20) == 0);
    EXPECT(fcntl(fat, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | 0x10 | F_SEAL_SEAL) == 0);
    EXPECT(region_map_peer(&peer, fat, RING_MAX_CAPACITY) == REGION_BAD_SIZE);
    close(fat);
    snprintf(path, sizeof path, "/proc/self/fd/%d", mine.fd);
    for (int mode = O_WRONLY; mode <= 3; mode += 2) { /* 3: for nothing but ioctl() */
        EXPECT((file = open(path, mode)) >= 0);
        bool was_opened_so =
            (fcntl(file, F_GETFL) & O_ACCMODE) == mode; /* qemu opens it for reading instead of with 3 */
        EXPECT(!was_opened_so || region_map_peer(&peer, file, RING_MAX_CAPACITY) == REGION_NOT_READABLE);
        close(file);
    }
    region_release(&mine);
}

/* ---- Authenticated frames ---- */

/* A fixture with the keys of its first ring's direction. */
struct auth_fixture {
    struct fixture ring;
    struct ring_auth signs, checks, unused;
};

static struct auth_fixture new_auth_fixture(uint32_t position) {
    struct auth_fixture fixture = {.ring = new_fixture(position)};
    EXPECT(fixture.ring.a.key.words[0] == 0); /* an ordinary region has no key */
    for (int i = 0; i < 2; i++)
        fixture.ring.b.key.words[i] = 0x0123456789abcdefu * (uint64_t)(i + 1);
    region_connect_auth(&fixture.ring.a, &fixture.ring.b, &fixture.signs, &fixture.unused);
    region_connect_auth(&fixture.ring.b, &fixture.ring.a, &fixture.unused, &fixture.checks);
    return fixture;
}

static void write_signed(struct auth_fixture *fixture, uint32_t size, unsigned seed) {
    fill(sent, size, seed);
    EXPECT(ring_auth_write(&fixture->ring.writer, &fixture->signs, sent, size, seed % 4) == RING_OK);
    ring_publish(&fixture->ring.writer);
}

static enum ring_result read_checked(struct auth_fixture *fixture, uint32_t room, uint32_t *size, uint32_t *kind) {
    return ring_auth_read(&fixture->ring.reader, &fixture->checks, got, room, size, kind);
}

static void authenticated_messages_arrive(void) {
    struct auth_fixture fixture = new_auth_fixture(0u - 1000u * 8);
    uint32_t size, kind, largest = ring_auth_max_message(CAPACITY);
    for (unsigned i = 0; i < 3000; i++) {
        uint32_t expected = i % 100 == 0 ? largest - i / 100 : i % 300;
        write_signed(&fixture, expected, i);
        if (expected > 0) { /* a message that does not fit stays */
            EXPECT(read_checked(&fixture, expected - 1, &size, &kind) == RING_OK && size == expected);
        }
        EXPECT(read_checked(&fixture, expected, &size, &kind) == RING_OK && size == expected && kind == i % 4);
        EXPECT(memcmp(sent, got, expected) == 0);
        EXPECT(read_checked(&fixture, expected, &size, &kind) == RING_NO);
    }
    end_fixture(&fixture.ring);
}

static void any_flipped_bit_is_refused(void) {
    struct auth_fixture fixture = new_auth_fixture(0);
    const uint32_t size = 37;
    uint32_t seen, kind;
    for (uint32_t bit = 0; bit < (RING_FRAME_HEADER_BYTES + RING_TAG_BYTES + size) * 8; bit++) {
        write_signed(&fixture, size, bit);
        unsigned char *byte = (unsigned char *)ring_frame_at(&fixture.ring.writer, fixture.ring.reader.position);
        byte[bit / 8] ^= (unsigned char)(1u << bit % 8);
        EXPECT(read_checked(&fixture, CAPACITY, &seen, &kind) == RING_CORRUPT);
        EXPECT(read_checked(&fixture, 0, &seen, &kind) == RING_CORRUPT); /* also when it would not fit */
        byte[bit / 8] ^= (unsigned char)(1u << bit % 8);
        EXPECT(read_checked(&fixture, CAPACITY, &seen, &kind) == RING_OK);
    }
    end_fixture(&fixture.ring);
}

/* The position of a frame comes again after 2^32 bytes; its number does not. */
static void replayed_frames_are_refused(void) {
    struct auth_fixture fixture = new_auth_fixture(0);
    uint32_t size, kind;
    write_signed(&fixture, 20, 1);
    EXPECT(read_checked(&fixture, CAPACITY, &size, &kind) == RING_OK);
    fixture.ring.reader.position = 0;
    EXPECT(read_checked(&fixture, CAPACITY, &size, &kind) == RING_CORRUPT);
    fixture.checks.number = 1ull << 32;
    EXPECT(read_checked(&fixture, CAPACITY, &size, &kind) == RING_CORRUPT);
    fixture.checks.number = 0;
    EXPECT(read_checked(&fixture, CAPACITY, &size, &kind) == RING_OK);
    fixture.ring.reader.position = 0;
    fixture.checks.number = 0;
    fixture.checks.key.words[1] ^= 1;
    EXPECT(read_checked(&fixture, CAPACITY, &size, &kind) == RING_CORRUPT);
    end_fixture(&fixture.ring);
}

/* Send a packet with a valid region and these flags, with or without a key behind it. */
static enum handshake_status receive_hello(uint32_t flags, bool with_key, bool with_region, bool authenticated,
                                           char *reason) {
    struct region mine, peer;
    int ends[2];
    uint32_t packet[8] = {RING_MAGIC, RING_VERSION, CAPACITY, flags, 1, 2, 3, 4};
    EXPECT(region_create(&mine, CAPACITY, 0) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {packet, with_key ? 32 : 16};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (with_region) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &mine.fd, sizeof(int));
    }
    EXPECT(sendmsg(ends[1], &message, 0) == (ssize_t)data.iov_len);
    strcpy(reason, "");
    enum handshake_status status = handshake_receive(ends[0], authenticated, &peer, reason);
    if (status == HANDSHAKE_OK)
        EXPECT(peer.key.words[0] == (authenticated ? 1 | 2ull << 32 : 0));
    region_release(&peer);
    region_release(&mine);
    close(ends[0]);
    close(ends[1]);
    return status;
}

static void both_sides_authenticate_or_none(void) {
    const uint32_t asks = RING_FLAG_AUTHENTICATED;
    char reason[HANDSHAKE_REASON_BYTES];
    EXPECT(receive_hello(asks, true, true, true, reason) == HANDSHAKE_OK);
    EXPECT(receive_hello(0, false, true, false, reason) == HANDSHAKE_OK);
    EXPECT(receive_hello(4, false, true, false, reason) == HANDSHAKE_OK); /* a flag of a later version */
    /* Only one side asks, with a region or, to refuse, without one. */
    for (int with_region = 0; with_region < 2; with_region++) {
        EXPECT(receive_hello(0, false, with_region, true, reason) == HANDSHAKE_PROTOCOL);
        EXPECT(strstr(reason, "this side has set the option authenticate"));
        EXPECT(receive_hello(asks, true, with_region, false, reason) == HANDSHAKE_PROTOCOL);
        EXPECT(strstr(reason, "the peer has set the option authenticate"));
    }
    /* A flag without its key, and a key without its flag. */
    EXPECT(receive_hello(asks, false, true, true, reason) == HANDSHAKE_PROTOCOL);
    EXPECT(strstr(reason, "a hello of 32 bytes"));
    EXPECT(receive_hello(0, true, true, false, reason) == HANDSHAKE_PROTOCOL);
    EXPECT(strstr(reason, "a hello of 16 bytes"));
}

static void each_region_has_its_own_key(void) {
    struct region one, other;
    EXPECT(region_create(&one, CAPACITY, RING_FLAG_AUTHENTICATED) == 0);
    EXPECT(region_create(&other, CAPACITY, RING_FLAG_AUTHENTICATED) == 0);
    EXPECT(memcmp(&one.key, &other.key, sizeof one.key) != 0);
    for (uint32_t at = 0; at + sizeof one.key <= RING_HEADER_BYTES + CAPACITY; at += 4) /* and it is not in there */
        EXPECT(memcmp((char *)one.header + at, &one.key, sizeof one.key) != 0);
    region_release(&one);
    region_release(&other);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"wraps_at_every_offset", wraps_at_every_offset},
    {"positions_wrap_at_two_to_the_32", positions_wrap_at_two_to_the_32},
    {"full_and_empty", full_and_empty},
    {"largest_message", largest_message},
    {"random_sizes", random_sizes},
    {"held_messages_are_published_at_once", held_messages_are_published_at_once},
    {"corrupt_peers_are_detected", corrupt_peers_are_detected},
    {"copies_every_size", copies_every_size},
    {"between_threads", between_threads},
    {"between_processes", between_processes},
    {"peers_cannot_write", peers_cannot_write},
    {"invalid_regions_are_refused", invalid_regions_are_refused},
    {"authenticated_messages_arrive", authenticated_messages_arrive},
    {"any_flipped_bit_is_refused", any_flipped_bit_is_refused},
    {"replayed_frames_are_refused", replayed_frames_are_refused},
    {"both_sides_authenticate_or_none", both_sides_authenticate_or_none},
    {"each_region_has_its_own_key", each_region_has_its_own_key},
};

int main(int count, char **arguments) {
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (count == 1)
            puts(tests[i].name);
        else if (strcmp(arguments[1], tests[i].name) == 0)
            return tests[i].run(), 0;
    }
    return count == 1 ? 0 : 2;
}
