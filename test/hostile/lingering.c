/*
 * A client that passes a descriptor whose close() blocks: lingering PATH MODE SECONDS. The descriptor is a TCP socket
 * with unsent data that lingers for SECONDS. It goes with the hello ("hello": in place of the region, "many": as the
 * last of 253), with a ring of the doorbell right behind a good hello, after an empty packet ("queued", and "crowd" as
 * the last of 253), or with a ring once the channel is open ("bell"). Prints "passed", or "refused" if the kernel does
 * not let it pass, and stays until its standard input ends.
 */
#include "../../native/handshake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST 253

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* The other end is never read, and stays open. */
static int lingering_socket(int seconds) {
    static const char block[65536];
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (listener < 0 || fd < 0 || bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &length) || connect(fd, (struct sockaddr *)&address, length))
        fail("tcp");
    while (send(fd, block, sizeof block, MSG_DONTWAIT) > 0)
        ;
    struct linger how = {1, seconds};
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &how, sizeof how))
        fail("linger");
    return fd;
}

/* Send a packet with a descriptor as the last of `count`; the others are pipes. False: the kernel refuses it. */
static bool pass(int fd, const void *bytes, size_t size, int descriptor, int count) {
    static _Alignas(struct cmsghdr) char control[CMSG_SPACE(MOST * sizeof(int))];
    struct iovec data = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control};
    message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    int ends[2];
    if (pipe(ends))
        fail("pipe");
    for (int i = 0; i < count; i++)
        memcpy(CMSG_DATA(rights) + (size_t)i * sizeof(int), i < count - 1 ? &ends[0] : &descriptor, sizeof(int));
    bool passed = sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
    if (!passed && errno != EPERM)
        fail("sendmsg");
    close(ends[0]);
    close(ends[1]);
    return passed;
}

int main(int count, char **arguments) {
    if (count != 4)
        return 2;
    const char *mode = arguments[2];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, arguments[1], sizeof address.sun_path - 1);
    int descriptor = lingering_socket(atoi(arguments[3])), fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address))
        fail("connect");
    bool passed;
    if (strcmp(mode, "hello") == 0 || strcmp(mode, "many") == 0) {
        const uint32_t hello[4] = {RING_MAGIC, RING_VERSION, RING_MIN_CAPACITY, 0};
        passed = pass(fd, hello, sizeof hello, descriptor, mode[0] == 'm' ? MOST : 1);
    } else {
        struct region region;
        bool crowd = strcmp(mode, "crowd") == 0, queued = crowd || strcmp(mode, "queued") == 0;
        /* "queued", "crowd": the test accepts this client only when everything is in the queue. */
        if (region_create(&region, RING_MIN_CAPACITY, 0) || handshake_send(fd, &region) != HANDSHAKE_OK)
            fail("hello");
        char answer[16];
        if (queued ? send(fd, "", 0, 0) < 0 : recv(fd, answer, sizeof answer, 0) < 0)
            fail("packet");
        passed = pass(fd, "x", 1, descriptor, crowd ? MOST : 1);
    }
    if (!passed)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &(struct linger){0, 0}, sizeof(struct linger));
    close(descriptor); /* the other side holds the last reference, if it has passed */
    puts(passed ? "passed" : "refused");
    fflush(stdout);
    while (read(0, &(char){0}, 1) > 0)
        ;
    return 0;
}
