/*
 * Fuzz target: what a peer sends in the handshake. The input describes packets, their descriptors, and the files behind
 * them. handshake_receive() must accept exactly the valid ones, and leave no descriptor and no mapping behind.
 */
#include "../../native/handshake.h"
#include "../../native/doorbell.h"

#include "../hostile/guards.h"
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | 0x10 /* F_SEAL_FUTURE_WRITE */ | F_SEAL_SEAL)
#define MOST_DESCRIPTORS 253 /* the kernel's limit for one packet */
#define MOST_PACKET 64

/* What a packet's first descriptor refers to. */
struct offer {
    bool is_region;    /* a valid region... */
    uint32_t capacity; /* ...of this capacity */
};

/* A memory file: its capacity, size, seals and header words from the input. */
static int memory_file(struct input *input, struct offer *offer) {
    uint32_t variation = take(input, 1);
    uint32_t capacity = RING_MIN_CAPACITY << (variation % 3);
    uint32_t header[4] = {RING_MAGIC, RING_VERSION, capacity, take(input, 1) & 1};
    off_t size = (off_t)RING_HEADER_BYTES + capacity;
    int seals = ALL_SEALS, fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    offer->is_region = true;
    offer->capacity = capacity;
    if (variation & 0x80) { /* another size: small ones, odd ones, and sparse ones beyond every limit */
        off_t other = variation & 0x40 ? (off_t)take(input, 4) << (variation >> 2 & 7) : (off_t)take(input, 3);
        offer->is_region = other == size;
        size = other;
    }
    if (variation & 0x20) {
        seals &= (int)take(input, 1);
        offer->is_region = offer->is_region && seals == ALL_SEALS;
    }
    if (variation & 0x10) {
        uint32_t index = take(input, 1) % 3, value = take(input, 4);
        offer->is_region = offer->is_region && header[index] == value;
        header[index] = value;
    }
    CHECK(fd >= 0);
    if (ftruncate(fd, size) || (size >= (off_t)sizeof header && pwrite(fd, header, sizeof header, 0) < 0))
        offer->is_region = false; /* larger than this machine allows */
    CHECK(fcntl(fd, F_ADD_SEALS, seals) == 0);
    return fd;
}

static int some_descriptor(struct input *input, struct offer *offer) {
    static const char *const paths[] = {"/dev/zero", "/", "/dev/null", "/proc/self/maps"};
    int two[2];
    uint32_t kind = take(input, 1) % 8;
    *offer = (struct offer){false, 0};
    if (kind < 4)
        return memory_file(input, offer);
    if (kind == 4)
        return open(paths[take(input, 1) % 4], O_RDONLY | O_CLOEXEC);
    if (kind == 5)
        return eventfd(0, EFD_CLOEXEC);
    CHECK(kind == 6 ? pipe2(two, O_CLOEXEC) == 0 : socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, two) == 0);
    close(two[1]);
    return two[0];
}

/* Send one packet. Returns whether it is a valid hello for a side that asks for an authenticated channel, or does not:
 * *authenticated. *sent: whether the kernel took it. */
static bool send_packet(struct input *input, int fd, bool *sent, bool *authenticated) {
    static _Alignas(struct cmsghdr) char control[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
    static int descriptors[MOST_DESCRIPTORS];
    char packet[MOST_PACKET] = {0};
    struct offer offer = {false, 0}, ignored;
    uint32_t shape = take(input, 1), count = shape & 0x80 ? take(input, 1) % (MOST_DESCRIPTORS + 1) : 1;
    for (uint32_t i = 0; i < count; i++) /* many descriptors are copies of the second one */
        descriptors[i] = i < 2 ? some_descriptor(input, i == 0 ? &offer : &ignored) : dup(descriptors[1]);
    uint32_t flags = shape & 0x10 ? RING_FLAG_AUTHENTICATED : 0;
    uint32_t hello[4] = {RING_MAGIC, RING_VERSION, offer.is_region ? offer.capacity : RING_MIN_CAPACITY, flags};
    if (shape & 0x40) {
        uint32_t index = take(input, 1) % 4;
        hello[index] = take(input, 4);
    }
    memcpy(packet, hello, sizeof hello);
    bool has_key = hello[3] & RING_FLAG_AUTHENTICATED;
    size_t expected = sizeof hello + (has_key ? sizeof(struct siphash_key) : 0);
    size_t size = shape & 0x20 ? take(input, 1) % (MOST_PACKET + 1) : expected;
    struct iovec data = {packet, size};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (count > 0) {
        memset(control, 0, sizeof control);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), descriptors, count * sizeof(int));
    }
    *sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    for (uint32_t i = 0; i < count; i++)
        close(descriptors[i]);
    *authenticated = (shape & 0x08) != 0;
    return size == expected && count == 1 && offer.is_region && hello[0] == RING_MAGIC && hello[1] == RING_VERSION &&
           hello[2] == offer.capacity && has_key == *authenticated;
}

static void receive_packet(int fd, bool sent, bool valid, bool authenticated) {
    char reason[HANDSHAKE_REASON_BYTES] = "";
    struct region region;
    long mappings = guarded_mappings;
    enum handshake_status status = handshake_receive(fd, authenticated, &region, reason);
    if (!sent)
        CHECK(status == HANDSHAKE_AGAIN);
    else if (valid)
        CHECK(status == HANDSHAKE_OK);
    else
        CHECK(status == HANDSHAKE_PROTOCOL || status == HANDSHAKE_PEER_GONE);
    CHECK(status != HANDSHAKE_PROTOCOL || strlen(reason) > 10);
    if (status == HANDSHAKE_OK) {
        CHECK(region_capacity_is_valid(region.capacity) && region.header->magic == RING_MAGIC);
        CHECK(region.data[0] == 0 && region.data[2 * (size_t)region.capacity - 1] == 0);
        region_release(&region);
    }
    CHECK(!region.header && guarded_mappings == mappings);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    int ends[2], lowest = dup(0);
    close(lowest);
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    for (int packets = 0; packets < 4 && (packets == 0 || input.left > 0); packets++) {
        bool sent, authenticated, valid = send_packet(&input, ends[1], &sent, &authenticated);
        receive_packet(ends[0], sent, valid, authenticated);
        while (recv(ends[0], NULL, 0, MSG_DONTWAIT) >= 0)
            ; /* a hello with too many descriptors stays in the socket, which its owner closes */
    }
    /* What comes after the handshake is a doorbell, whatever it is. */
    while (input.left > 0) {
        bool sent, ignored;
        send_packet(&input, ends[1], &sent, &ignored);
        if (!doorbell_drain(ends[0]))
            break;
    }
    close(ends[0]);
    close(ends[1]);
    int after = -1;
    for (int tries = 0; tries < 10000 && after != lowest; tries++) { /* some are closed by a thread of disposal.h */
        if (tries > 0)
            nanosleep(&(struct timespec){.tv_nsec = tries < 100 ? 10000 : 1000000}, NULL);
        after = dup(0);
        close(after);
    }
    CHECK(after == lowest); /* no descriptor was left */
    return 0;
}
