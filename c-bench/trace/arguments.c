/*
 * Prints what the arguments of system calls point to, as raw bytes in hexadecimal, directed by one table.
 * lib/trace/decode.js interprets the bytes.
 */
#include "trace.h"

#include "../common/ndjson.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define MAX_BYTES 256 /* captured per argument */

enum when { ENTRY = 1, EXIT = 2 };
enum what {
    TEXT = 1,     /* a string */
    SIZED,        /* argument `length` is its size */
    RESULT_SIZED, /* the result is its size */
    POINTED_SIZE, /* argument `length` points to its size, an int */
    FIXED,        /* `length` bytes */
    POLL_LIST,    /* argument `length` is its number of struct pollfd */
    MESSAGE,      /* struct msghdr */
    STAT,         /* struct stat, of which mode and size are printed */
};

struct pointer {
    const char *call;
    int argument;
    enum when when;
    enum what what;
    int length;
};

static const struct pointer pointers[] = {
    {"write", 1, ENTRY, SIZED, 2},
    {"read", 1, EXIT, RESULT_SIZED, 0},
    {"sendto", 1, ENTRY, SIZED, 2},
    {"sendto", 4, ENTRY, SIZED, 5},
    {"recvfrom", 1, EXIT, RESULT_SIZED, 0},
    {"sendmsg", 1, ENTRY, MESSAGE, 0},
    {"recvmsg", 1, EXIT, MESSAGE, 0},
    {"openat", 1, ENTRY, TEXT, 0},
    {"open", 0, ENTRY, TEXT, 0},
    {"unlink", 0, ENTRY, TEXT, 0},
    {"unlinkat", 1, ENTRY, TEXT, 0},
    {"link", 0, ENTRY, TEXT, 0},
    {"link", 1, ENTRY, TEXT, 0},
    {"linkat", 1, ENTRY, TEXT, 0},
    {"linkat", 3, ENTRY, TEXT, 0},
    {"memfd_create", 0, ENTRY, TEXT, 0},
    {"newfstatat", 1, ENTRY, TEXT, 0},
    {"newfstatat", 2, EXIT, STAT, 0},
    {"fstat", 1, EXIT, STAT, 0},
    {"bind", 1, ENTRY, SIZED, 2},
    {"connect", 1, ENTRY, SIZED, 2},
    {"accept", 1, EXIT, POINTED_SIZE, 2},
    {"accept4", 1, EXIT, POINTED_SIZE, 2},
    {"getsockname", 1, EXIT, POINTED_SIZE, 2},
    {"setsockopt", 3, ENTRY, SIZED, 4},
    {"getsockopt", 3, EXIT, POINTED_SIZE, 4},
    {"pipe", 0, EXIT, FIXED, 8},
    {"pipe2", 0, EXIT, FIXED, 8},
    {"socketpair", 3, EXIT, FIXED, 8},
    {"futex", 0, ENTRY, FIXED, 4},
    {"poll", 0, ENTRY, POLL_LIST, 1},
    {"poll", 0, EXIT, POLL_LIST, 1},
    {"ppoll", 0, ENTRY, POLL_LIST, 1},
    {"ppoll", 0, EXIT, POLL_LIST, 1},
    {"wait4", 1, EXIT, FIXED, 4},
    {"getrandom", 0, EXIT, RESULT_SIZED, 0},
};

/* The arguments that are descriptors. */
static const struct {
    const char *call;
    int argument;
} descriptors[] = {
    {"read", 0},        {"write", 0},    {"close", 0},   {"ftruncate", 0}, {"mmap", 4},       {"fstat", 0},
    {"newfstatat", 0},  {"bind", 0},     {"listen", 0},  {"accept", 0},    {"accept4", 0},    {"connect", 0},
    {"sendto", 0},      {"recvfrom", 0}, {"sendmsg", 0}, {"recvmsg", 0},   {"setsockopt", 0}, {"getsockopt", 0},
    {"getsockname", 0}, {"fcntl", 0},    {"fchmod", 0},  {"shutdown", 0},  {"lseek", 0},
};

/* Calls whose result is a new descriptor. */
static const char *const makers[] = {"openat", "open", "socket", "accept", "accept4", "memfd_create", NULL};

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

static void print_text(const struct tracee *tracee, const char *key, uint64_t address) {
    char bytes[MAX_BYTES + 1];
    bytes[tracee_read(tracee, address, bytes, MAX_BYTES)] = '\0';
    event_string(key, bytes);
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
    print_bytes(tracee, "data", (uint64_t)(uintptr_t)piece.iov_base, piece.iov_len);
    event_integer("dataBytes", piece.iov_len);
    event_integer("pieces", message.msg_iovlen);
    event_integer("controlBytes", message.msg_controllen);
    event_integer("flags", (uint64_t)(uint32_t)message.msg_flags);
    message.msg_control = &control; /* the copy in this process */
    message.msg_controllen = control_bytes;
    event_array("rights");
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS && i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            print_descriptor(tracee, fd);
        }
    }
    event_array_close();
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
    case RESULT_SIZED: print_bytes(tracee, key, address, result > 0 ? (uint64_t)result : 0); break;
    case POINTED_SIZE:
        if (tracee_read(tracee, arguments[pointer->length], &length, sizeof length) == sizeof length)
            print_bytes(tracee, key, address, (uint64_t)length);
        break;
    case FIXED: print_bytes(tracee, key, address, (uint64_t)pointer->length); break;
    case POLL_LIST: print_bytes(tracee, key, address, arguments[pointer->length] * sizeof(struct pollfd)); break;
    case MESSAGE: print_message(tracee, key, address); break;
    case STAT: print_stat(tracee, key, address); break;
    }
}

static void print_pointers(const struct tracee *tracee, const char *name, enum when when, int64_t result) {
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
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
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (strcmp(descriptors[i].call, name) == 0)
            print_descriptor(tracee, (int)tracee->arguments[descriptors[i].argument]);
    if (strcmp(name, "poll") == 0 || strcmp(name, "ppoll") == 0)
        print_polled(tracee);
    event_array_close();
    event_open("in");
    print_pointers(tracee, name, ENTRY, 0);
    event_close();
}

void print_exit(const struct tracee *tracee, const char *name, int64_t result) {
    event_array("made");
    for (int i = 0; makers[i]; i++)
        if (result >= 0 && strcmp(makers[i], name) == 0)
            print_descriptor(tracee, (int)result);
    int pair[2];
    bool pipe = strcmp(name, "pipe") == 0 || strcmp(name, "pipe2") == 0;
    if (result >= 0 && (pipe || strcmp(name, "socketpair") == 0) &&
        tracee_read(tracee, tracee->arguments[pipe ? 0 : 3], pair, sizeof pair) == sizeof pair) {
        print_descriptor(tracee, pair[0]);
        print_descriptor(tracee, pair[1]);
    }
    event_array_close();
    event_open("out");
    if (result >= 0)
        print_pointers(tracee, name, EXIT, result);
    event_close();
}
