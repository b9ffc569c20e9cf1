/*
 * What a traced process's socket is connected to. The tracer gets a copy of the descriptor for a moment
 * (pidfd_getfd(2)) and asks for its addresses; for a Unix socket, whose ends often have no address, it asks the kernel
 * for the peer's inode (sock_diag(7)).
 */
#include "sockets.h"

#include "../common/ndjson.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

static int option_of(int socket, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(socket, SOL_SOCKET, name, &value, &length) ? -1 : value;
}

/* "127.0.0.1:80", "[::1]:80", "/tmp/x.sock" or "@abstract"; adds nothing for an address without a name. */
static void print_address(const char *key, const union address *address, socklen_t length) {
    char host[INET6_ADDRSTRLEN], text[sizeof address->un.sun_path + 64];
    size_t path = length - offsetof(struct sockaddr_un, sun_path);
    switch (address->any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof host);
        snprintf(text, sizeof text, "%s:%d", host, ntohs(address->in.sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &address->in6.sin6_addr, host, sizeof host);
        snprintf(text, sizeof text, "[%s]:%d", host, ntohs(address->in6.sin6_port));
        break;
    case AF_UNIX:
        if (length <= offsetof(struct sockaddr_un, sun_path))
            return;
        bool abstract = address->un.sun_path[0] == '\0';
        snprintf(text, sizeof text, "%s%.*s", abstract ? "@" : "", (int)(path - abstract),
                 address->un.sun_path + abstract);
        break;
    default: return;
    }
    event_string(key, text);
}

/* The inode of the socket that a Unix socket is connected to; 0 if there is none. */
static uint64_t unix_peer(uint64_t inode) {
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } question = {
        .header = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = ~0U,
                    .udiag_ino = (uint32_t)inode,
                    .udiag_show = UDIAG_SHOW_PEER,
                    .udiag_cookie = {~0U, ~0U}},
    };
    union {
        struct nlmsghdr header;
        char bytes[4096];
    } answer;
    static int netlink = -1;
    if (netlink < 0)
        netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0 || send(netlink, &question, sizeof question, 0) < 0)
        return 0;
    ssize_t got = recv(netlink, &answer, sizeof answer, 0);
    if (got < (ssize_t)(NLMSG_LENGTH(sizeof(struct unix_diag_msg))) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return 0;
    size_t left = (size_t)got - NLMSG_LENGTH(sizeof(struct unix_diag_msg));
    struct nlattr *part = (struct nlattr *)(answer.bytes + NLMSG_LENGTH(sizeof(struct unix_diag_msg)));
    while (left >= sizeof *part && part->nla_len >= sizeof *part && part->nla_len <= left) {
        uint32_t peer;
        if (part->nla_type == UNIX_DIAG_PEER && part->nla_len >= sizeof *part + sizeof peer) {
            memcpy(&peer, part + 1, sizeof peer);
            return peer;
        }
        size_t step = NLA_ALIGN(part->nla_len);
        if (step >= left)
            break;
        left -= step;
        part = (struct nlattr *)((char *)part + step);
    }
    return 0;
}

/* True if the kernel ends the connection once nothing has been acknowledged for a given time. */
static bool gives_up(int socket) {
    unsigned int unanswered_ms = 0;
    socklen_t length = sizeof unanswered_ms;
    return getsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, &length) == 0 && unanswered_ms > 0;
}

/* True if its reads, or its writes, do not sleep longer than a given time. */
static bool has_time_limit(int socket, int option) {
    struct timeval limit = {0};
    socklen_t length = sizeof limit;
    getsockopt(socket, SOL_SOCKET, option, &limit, &length);
    return limit.tv_sec || limit.tv_usec;
}

/* The bytes that were written to a TCP socket and have not reached the other end yet. The kernel carries them, even if
 * all threads sleep. */
static int bytes_under_way(int socket) {
    int bytes = 0;
    if (option_of(socket, SO_PROTOCOL) != IPPROTO_TCP || ioctl(socket, SIOCOUTQ, &bytes) != 0)
        return 0;
    return bytes;
}

static void print_ends(int copy, uint64_t inode) {
    union address address;
    socklen_t length = sizeof address;
    int family = option_of(copy, SO_DOMAIN);
    event_integer("family", (uint64_t)family);
    event_integer("kind", (uint64_t)option_of(copy, SO_TYPE));
    if (option_of(copy, SO_ACCEPTCONN) == 1)
        event_integer("listens", 1);
    int limited = has_time_limit(copy, SO_RCVTIMEO) | has_time_limit(copy, SO_SNDTIMEO) << 1;
    if (limited)
        event_integer("limited", (uint64_t)limited);
    if (gives_up(copy))
        event_integer("givesUp", 1);
    int under_way = bytes_under_way(copy);
    if (under_way > 0)
        event_integer("underWay", (uint64_t)under_way);
    if (may_wait_for_page()) /* send() keeps the socket locked, and the calls below lock it */
        return;
    if (getsockname(copy, &address.any, &length) == 0)
        print_address("local", &address, length);
    length = sizeof address;
    if (getpeername(copy, &address.any, &length) == 0)
        print_address("remote", &address, length);
    uint64_t peer = family == AF_UNIX ? unix_peer(inode) : 0;
    if (peer)
        event_integer("peer", peer);
}

void print_socket(const struct tracee *tracee, int fd, uint64_t inode) {
    int process = (int)syscall(SYS_pidfd_open, tracee->pid, 0);
    int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    if (copy >= 0) {
        event_open("socket");
        print_ends(copy, inode);
        event_close();
        close(copy);
    }
    if (process >= 0)
        close(process);
}
