/*
 * Prints what the arguments of system calls point to, as raw bytes in hexadecimal, directed by one table.
 * lib/trace/decode.js interprets the bytes.
 */
#include "calls.h"
#include "trace.h"

#include "../common/ndjson.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define MAX_BYTES MAX_PAYLOAD_BYTES /* captured per argument */
#define MAX_PIECES 16               /* of a vector */
#define MAX_WORDS_OF_COMMAND 32
#define MAX_MESSAGES 1024 /* as many as one call of the kernel takes */

static void print_hex(const char *key, const unsigned char *bytes, size_t count) {
    char text[2 * MAX_BYTES + 1];
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    text[2 * count] = '\0';
    event_string(key, text);
}

static void print_bytes(const struct tracee *tracee, const char *key, uint64_t address, uint64_t length) {
    unsigned char bytes[MAX_BYTES];
    if (address)
        print_hex(key, bytes, tracee_read(tracee, address, bytes, length < sizeof bytes ? length : sizeof bytes));
}

/* The bytes that the program transfers, as far as they may be recorded. */
static void print_payload(const struct tracee *tracee, const char *key, uint64_t address, uint64_t length) {
    if (limits->payload_bytes)
        print_bytes(tracee, key, address, length < limits->payload_bytes ? length : limits->payload_bytes);
}

static void print_text(const struct tracee *tracee, const char *key, uint64_t address) {
    char bytes[MAX_BYTES + 1];
    tracee_read_text(tracee, address, bytes, sizeof bytes);
    event_string(key, bytes);
}

static void print_command(const struct tracee *tracee, const char *key, uint64_t address) {
    event_array(key);
    for (int i = 0; i < MAX_WORDS_OF_COMMAND; i++) {
        uint64_t word = 0;
        tracee_read(tracee, address + (uint64_t)i * sizeof word, &word, sizeof word);
        if (!word)
            break;
        print_text(tracee, NULL, word);
    }
    event_array_close();
}

/* Print the bytes of a vector's pieces as one string, and their number. */
static void print_vector(const struct tracee *tracee, const char *key, uint64_t address, uint64_t count,
                         uint64_t most) {
    struct iovec pieces[MAX_PIECES];
    unsigned char bytes[MAX_BYTES];
    size_t got = 0;
    uint64_t total = 0;
    count = count < MAX_PIECES ? count : MAX_PIECES;
    count = tracee_read(tracee, address, pieces, count * sizeof *pieces) / sizeof *pieces;
    for (uint64_t i = 0; i < count; i++) {
        size_t room = limits->payload_bytes - got, left = most - total < SIZE_MAX ? (size_t)(most - total) : SIZE_MAX;
        size_t length = pieces[i].iov_len < left ? pieces[i].iov_len : left;
        total += length;
        got += tracee_read(tracee, (uint64_t)(uintptr_t)pieces[i].iov_base, bytes + got, length < room ? length : room);
    }
    event_open(key);
    if (limits->payload_bytes)
        print_hex("data", bytes, got);
    event_integer("dataBytes", total);
    event_close();
}

static void print_stat(const struct tracee *tracee, const char *key, uint64_t address) {
    struct stat status; /* on 64-bit systems, libc's layout is the kernel's */
    if (tracee_read(tracee, address, &status, sizeof status) != sizeof status)
        return;
    event_open(key);
    event_integer("mode", status.st_mode);
    event_integer("size", (uint64_t)status.st_size);
    event_close();
}

/* Print the first piece of data of a message, and the descriptors in its control data. */
static void print_message(const struct tracee *tracee, const char *key, uint64_t address) {
    struct msghdr message;
    struct iovec piece = {0};
    union {
        struct cmsghdr header; /* only for its alignment */
        unsigned char bytes[MAX_BYTES];
    } control;
    if (tracee_read(tracee, address, &message, sizeof message) != sizeof message)
        return;
    tracee_read(tracee, (uint64_t)(uintptr_t)message.msg_iov, &piece, sizeof piece);
    size_t control_bytes = message.msg_controllen < sizeof control ? message.msg_controllen : sizeof control;
    control_bytes = tracee_read(tracee, (uint64_t)(uintptr_t)message.msg_control, &control, control_bytes);
    event_open(key);
    print_payload(tracee, "data", (uint64_t)(uintptr_t)piece.iov_base, piece.iov_len);
    event_integer("dataBytes", piece.iov_len);
    event_integer("pieces", message.msg_iovlen);
    event_integer("controlBytes", message.msg_controllen);
    event_integer("flags", (uint64_t)(uint32_t)message.msg_flags);
    if (message.msg_controllen > sizeof control)
        event_integer("more", 1);   /* rights that are not listed */
    message.msg_control = &control; /* the copy in this process */
    message.msg_controllen = control_bytes;
    event_array("rights");
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        size_t left = (size_t)(control.bytes + control_bytes - (unsigned char *)part);
        /* The length comes from the program, and may be anything. */
        size_t bytes = part->cmsg_len < left ? part->cmsg_len : left;
        if (bytes < CMSG_LEN(0))
            break;
        size_t count = (bytes - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS && i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            print_full_descriptor(tracee, fd);
        }
        if (part->cmsg_len > left)
            break; /* before glibc 2.36, CMSG_NXTHDR() may find this part again */
    }
    event_array_close();
    event_close();
}

/* Print only whether there are control data, in which rights can be. Those of a resolver and of our doorbell have none.
 */
static void print_messages(const struct tracee *tracee, const char *key, uint64_t address, uint64_t count) {
    struct mmsghdr message;
    bool more = count > MAX_MESSAGES;
    for (uint64_t i = 0; i < count && !more; i++)
        more = tracee_read(tracee, address + i * sizeof message, &message, sizeof message) == sizeof message &&
               message.msg_hdr.msg_controllen > 0;
    event_open(key);
    event_integer("more", more);
    event_close();
}

static void print_pointer(const struct tracee *tracee, const struct pointer *pointer, int64_t result) {
    const uint64_t *arguments = tracee->arguments;
    uint64_t address = arguments[pointer->argument];
    int length;
    char key[2] = {(char)('0' + pointer->argument), '\0'};
    if (!address)
        return;
    switch (pointer->what) {
    case TEXT: print_text(tracee, key, address); break;
    case SIZED: print_bytes(tracee, key, address, arguments[pointer->length]); break;
    case BUFFER: print_payload(tracee, key, address, arguments[pointer->length]); break;
    case RESULT_BUFFER: print_payload(tracee, key, address, result > 0 ? (uint64_t)result : 0); break;
    case VECTOR: print_vector(tracee, key, address, arguments[pointer->length], UINT64_MAX); break;
    case RESULT_VECTOR:
        print_vector(tracee, key, address, arguments[pointer->length], result > 0 ? (uint64_t)result : 0);
        break;
    case EPOLL_LIST: print_bytes(tracee, key, address, (uint64_t)result * sizeof(struct epoll_event)); break;
    case WORDS: print_command(tracee, key, address); break;
    case RESULT_SIZED: print_bytes(tracee, key, address, result > 0 ? (uint64_t)result : 0); break;
    case POINTED_SIZE:
        if (tracee_read(tracee, arguments[pointer->length], &length, sizeof length) == sizeof length)
            print_bytes(tracee, key, address, (uint64_t)length);
        break;
    case FIXED: print_bytes(tracee, key, address, (uint64_t)pointer->length); break;
    case POLL_LIST: print_bytes(tracee, key, address, arguments[pointer->length] * sizeof(struct pollfd)); break;
    case MESSAGE: print_message(tracee, key, address); break;
    case MESSAGE_LIST:
        print_messages(tracee, key, address,
                       pointer->when == ENTRY ? arguments[pointer->length]
                       : result > 0           ? (uint64_t)result
                                              : 0);
        break;
    case STAT: print_stat(tracee, key, address); break;
    }
}

static void print_pointers(const struct tracee *tracee, const char *name, enum when when, int64_t result) {
    for (size_t i = 0; pointers[i].call; i++)
        if (pointers[i].when == when && strcmp(pointers[i].call, name) == 0)
            print_pointer(tracee, &pointers[i], result);
}

/* The descriptors in a list of struct pollfd. */
static void print_polled(const struct tracee *tracee) {
    struct pollfd list[8];
    size_t bytes = tracee->arguments[1] * sizeof *list;
    bytes = tracee_read(tracee, tracee->arguments[0], list, bytes < sizeof list ? bytes : sizeof list);
    for (size_t i = 0; i < bytes / sizeof *list; i++)
        print_descriptor(tracee, list[i].fd);
}

void print_entry(const struct tracee *tracee, const char *name) {
    event_array("args");
    for (int i = 0; i < 6; i++) {
        char text[24];
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)tracee->arguments[i]);
        event_string(NULL, text);
    }
    event_array_close();
    event_array("fds");
    for (size_t i = 0; descriptor_arguments[i].call; i++)
        if (strcmp(descriptor_arguments[i].call, name) == 0)
            print_descriptor(tracee, (int)tracee->arguments[descriptor_arguments[i].argument]);
    if (strcmp(name, "poll") == 0 || strcmp(name, "ppoll") == 0)
        print_polled(tracee);
    event_array_close();
    event_open("in");
    print_pointers(tracee, name, ENTRY, 0);
    if (strcmp(name, "prctl") == 0 && tracee->arguments[0] == PR_SET_NAME)
        print_text(tracee, "1", tracee->arguments[1]);
    event_close();
}

static bool makes_descriptor(const struct tracee *tracee, const char *name) {
    for (int i = 0; makers[i]; i++)
        if (strcmp(makers[i], name) == 0)
            return true;
    int command = (int)tracee->arguments[1];
    return strcmp(name, "fcntl") == 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC);
}

/* What a call made or, for a socket, connected. */
static void print_made(const struct tracee *tracee, const char *name, int64_t result) {
    int pair[2];
    bool pipe = strcmp(name, "pipe") == 0 || strcmp(name, "pipe2") == 0;
    if (makes_descriptor(tracee, name))
        print_full_descriptor(tracee, (int)result);
    if ((pipe || strcmp(name, "socketpair") == 0) &&
        tracee_read(tracee, tracee->arguments[pipe ? 0 : 3], pair, sizeof pair) == sizeof pair) {
        print_full_descriptor(tracee, pair[0]);
        print_full_descriptor(tracee, pair[1]);
    }
}

void print_exit(const struct tracee *tracee, const char *name, int64_t result) {
    static const char *const changers[] = {"bind", "listen", "connect", "getsockopt", "setsockopt"};
    event_array("made");
    if (result >= 0)
        print_made(tracee, name, result);
    event_array_close();
    for (size_t i = 0; !front->in_step && i < sizeof changers / sizeof *changers; i++)
        if (strcmp(changers[i], name) == 0) { /* the socket has other ends or time limits now */
            event_array("changed");
            print_full_descriptor(tracee, (int)tracee->arguments[0]);
            event_array_close();
        }
    event_open("out");
    if (result >= 0)
        print_pointers(tracee, name, EXIT, result);
    event_close();
}
