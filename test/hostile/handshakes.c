/*
 * A client that abuses the handshake of a server: handshakes PATH COUNT SEED [KIND]. It connects COUNT times and each
 * time does one of the things below, in random order, or always KIND; up to MAX_KEPT connections that say nothing more
 * stay open. Prints the number of attempts of each kind as one line of JSON.
 */
#include "../../native/region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY (1u << 16)
#define FILE_BYTES (RING_HEADER_BYTES + CAPACITY)
#define MAX_KEPT 200
#define MAX_DESCRIPTORS 250
#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

struct hello {
    uint32_t magic, version, capacity, flags;
};

static const struct hello good = {RING_MAGIC, RING_VERSION, CAPACITY, 0};
static const char *path;
static int kept[MAX_KEPT];
static int kept_count;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* xorshift64 */
static uint64_t state;
static uint32_t below(uint32_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % limit;
}

/* A connection to the server, waiting for its queue. */
static int connect_to_server(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        fail("socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address))
        fail("connect");
    return fd;
}

/* Keep a connection open and silent, instead of an older one. */
static void keep(int fd) {
    int index = kept_count < MAX_KEPT ? kept_count++ : (int)below(MAX_KEPT);
    if (kept[index] > 0)
        close(kept[index]);
    kept[index] = fd;
}

/* Send `size` bytes with descriptors. The server may have closed its end already. */
static void send_packet(int fd, const void *bytes, size_t size, const int *descriptors, int count) {
    static char control[CMSG_SPACE(MAX_DESCRIPTORS * sizeof(int))];
    struct iovec data = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (count > 0) {
        memset(control, 0, sizeof control);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
        memcpy(CMSG_DATA(rights), descriptors, (size_t)count * sizeof(int));
    }
    /* ETOOMANYREFS: too many descriptors are on their way, until the server takes them. EPERM: the server takes none
     * any more. */
    if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET && errno != ETOOMANYREFS &&
        errno != EPERM)
        fail("sendmsg");
}

static int new_memfd(off_t size, int seals, struct hello header) {
    int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, size))
        fail("memfd");
    if (size >= (off_t)sizeof header && pwrite(fd, &header, sizeof header, 0) != sizeof header)
        fail("pwrite");
    if (seals && fcntl(fd, F_ADD_SEALS, seals))
        fail("seals");
    return fd;
}

static int good_memfd(void) {
    return new_memfd(FILE_BYTES, ALL_SEALS, good);
}

/* Send a hello with this descriptor, and close both. */
static void offer(int descriptor, struct hello hello) {
    if (descriptor < 0)
        fail("descriptor");
    int fd = connect_to_server();
    send_packet(fd, &hello, sizeof hello, &descriptor, 1);
    close(descriptor);
    keep(fd);
}

/* ---- What a client may do ---- */

static void silent(void) {
    keep(connect_to_server());
}

static void gone(void) {
    close(connect_to_server());
}

static void half_open(void) {
    int fd = connect_to_server();
    shutdown(fd, below(2) ? SHUT_WR : SHUT_RD);
    keep(fd);
}

/* The hello comes late, on a connection that has been silent. */
static void slow(void) {
    if (kept_count == 0)
        return silent();
    int memory = good_memfd();
    send_packet(kept[below((uint32_t)kept_count)], &good, sizeof good, &memory, 1);
    close(memory);
}

static void wrong_size(void) {
    char bytes[5000];
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &good, sizeof good);
    int memory = good_memfd(), fd = connect_to_server();
    send_packet(fd, bytes, below(2) ? below(16) : 17 + below(4900), &memory, 1);
    close(memory);
    keep(fd);
}

static void wrong_magic(void) {
    offer(good_memfd(), (struct hello){below(1u << 31), RING_VERSION, CAPACITY, 0});
}

static void wrong_version(void) {
    offer(good_memfd(), (struct hello){RING_MAGIC, below(4) == RING_VERSION ? 0 : 3 + below(1000), CAPACITY, 0});
}

static void wrong_capacity(void) {
    offer(good_memfd(), (struct hello){RING_MAGIC, RING_VERSION, below(2) ? CAPACITY * 2 : below(1u << 31), 0});
}

static void descriptors(int count) {
    int all[MAX_DESCRIPTORS], memory = good_memfd(), fd = connect_to_server();
    for (int i = 0; i < count; i++)
        all[i] = memory;
    send_packet(fd, &good, sizeof good, all, count);
    close(memory);
    keep(fd);
}

static void no_descriptor(void) {
    descriptors(0);
}

static void two_descriptors(void) {
    descriptors(2);
}

static void many_descriptors(void) {
    descriptors(below(2) ? 9 : MAX_DESCRIPTORS);
}

static void a_pipe(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        fail("pipe");
    offer(ends[0], good);
    close(ends[1]);
}

static void a_socket(void) {
    /* The server's own kind of socket, even a connection to itself. */
    offer(below(2) ? connect_to_server() : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), good);
}

static void a_device(void) {
    offer(open(below(2) ? "/dev/zero" : "/dev/null", O_RDWR | O_CLOEXEC), good);
}

static void a_directory(void) {
    offer(open("/", O_RDONLY | O_CLOEXEC), good);
}

static void an_event(void) {
    offer(eventfd(0, EFD_CLOEXEC), good);
}

/* A regular file of the right size and contents. */
static void a_file(void) {
    char name[] = "/tmp/handshakes-XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0 || unlink(name) || ftruncate(fd, FILE_BYTES) || pwrite(fd, &good, sizeof good, 0) != sizeof good)
        fail("file");
    offer(fd, good);
}

static void unsealed(void) {
    static const int some[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL};
    offer(new_memfd(FILE_BYTES, ALL_SEALS & ~some[below(4)], good), good);
}

static void not_sealed_at_all(void) {
    offer(new_memfd(FILE_BYTES, 0, good), good);
}

static void of_a_wrong_size(void) {
    static const off_t sizes[] = {0,
                                  1,
                                  RING_HEADER_BYTES,
                                  CAPACITY,
                                  FILE_BYTES - 1,
                                  FILE_BYTES + 1,
                                  FILE_BYTES + 4096,
                                  RING_HEADER_BYTES + 3 * CAPACITY,
                                  RING_HEADER_BYTES + (1LL << 31),
                                  RING_HEADER_BYTES + (1LL << 32),
                                  RING_HEADER_BYTES + (1LL << 40),
                                  (1LL << 62)};
    offer(new_memfd(sizes[below(sizeof sizes / sizeof sizes[0])], ALL_SEALS, good), good);
}

/* Larger than the server's option maxPeerCapacity allows. */
static void huge(void) {
    struct hello hello = {RING_MAGIC, RING_VERSION, RING_MAX_CAPACITY, 0};
    offer(new_memfd(RING_HEADER_BYTES + (off_t)RING_MAX_CAPACITY, ALL_SEALS, hello), hello);
}

static void wrong_header(void) {
    struct hello header = good;
    ((uint32_t *)&header)[below(3)] ^= 1u << below(32);
    offer(new_memfd(FILE_BYTES, ALL_SEALS, header), good);
}

/* Claims the seals and truncates: the server may look at the memory before or after. */
static void truncated(void) {
    int memory = new_memfd(FILE_BYTES, below(2) ? F_SEAL_SEAL : 0, good), fd = connect_to_server();
    send_packet(fd, &good, sizeof good, &memory, 1);
    if (ftruncate(memory, below(2) ? 0 : 4096))
        fail("ftruncate");
    close(memory);
    keep(fd);
}

/* A good hello, and then anything: hellos, descriptors, long packets and many rings of the doorbell. */
static void good_then_bad(void) {
    static const char bytes[4096];
    int memory = good_memfd(), fd = connect_to_server();
    send_packet(fd, &good, sizeof good, &memory, 1);
    const int both[] = {memory, memory};
    for (uint32_t i = below(20); i > 0; i--) {
        bool hello = below(2);
        send_packet(fd, hello ? (const void *)&good : bytes, hello ? sizeof good : below(4096), both, (int)below(3));
    }
    close(memory);
    if (below(2))
        close(fd);
    else
        keep(fd);
}

static const struct {
    const char *name;
    void (*attack)(void);
} attacks[] = {
    {"silent", silent},
    {"gone", gone},
    {"half open", half_open},
    {"slow", slow},
    {"wrong size", wrong_size},
    {"wrong magic", wrong_magic},
    {"wrong version", wrong_version},
    {"wrong capacity", wrong_capacity},
    {"0 descriptors", no_descriptor},
    {"2 descriptors", two_descriptors},
    {"9 or 250 descriptors", many_descriptors},
    {"pipe", a_pipe},
    {"socket", a_socket},
    {"device", a_device},
    {"directory", a_directory},
    {"event", an_event},
    {"file", a_file},
    {"a seal is missing", unsealed},
    {"no seals", not_sealed_at_all},
    {"memory of a wrong size", of_a_wrong_size},
    {"huge", huge},
    {"wrong header", wrong_header},
    {"truncated", truncated},
    {"good, then bad", good_then_bad},
};

int main(int count, char **arguments) {
    enum { ATTACKS = sizeof attacks / sizeof attacks[0] };
    unsigned done[ATTACKS] = {0};
    uint32_t only = 0;
    while (count == 5 && only < ATTACKS && strcmp(attacks[only].name, arguments[4]) != 0)
        only++;
    if (count < 4 || count > 5 || only == ATTACKS)
        return 2;
    path = arguments[1];
    long attempts = strtol(arguments[2], NULL, 10);
    state = strtoull(arguments[3], NULL, 10) * 2654435761u + 1;
    for (long i = 0; i < attempts; i++) {
        uint32_t which = i < ATTACKS ? (uint32_t)i : below(ATTACKS); /* each at least once */
        if (count == 5)
            which = only;
        attacks[which].attack();
        done[which]++;
    }
    for (int i = 0; i < ATTACKS; i++)
        printf("%s\"%s\":%u", i ? "," : "{", attacks[i].name, done[i]);
    puts("}");
    return 0;
}
