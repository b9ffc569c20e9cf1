/* Prints what a descriptor of a stopped process refers to, and the two ends of a socket. */
#include "sockets.h"
#include "trace.h"

#include "../common/clock.h"
#include "../common/ndjson.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DESCRIPTORS 1024     /* listed per process... */
#define MAX_LISTED 16384         /* ...and until signals are admitted again */
#define LISTING_NS 1000000000ULL /* likewise: of very many sockets, to ask for each one's peer takes long */

/* Whether exec closes the descriptor, and the kernel's number of an eventfd, from /proc/PID/fdinfo/FD. */
static void print_info(const struct tracee *tracee, int fd) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)tracee->tid, fd);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    text[got < 0 ? 0 : got] = '\0';
    const char *flags = strstr(text, "flags:\t"), *number = strstr(text, "eventfd-id: ");
    if (flags && strtol(flags + 7, NULL, 8) & O_CLOEXEC)
        event_integer("closedByExec", 1);
    if (number)
        event_integer("number", strtoull(number + 12, NULL, 10));
}

static void print(const struct tracee *tracee, int fd, bool full) {
    char path[64], target[256];
    struct stat status, link;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tracee->tid, fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0 || stat_cached(path, &status) || lstat(path, &link))
        return;
    target[length] = '\0';
    event_open(NULL);
    event_integer("fd", (uint64_t)fd);
    event_string("target", target);
    event_integer("device", status.st_dev);
    event_integer("inode", status.st_ino);
    if (full) {
        /* The mode of the link is the mode that the file was opened with. */
        event_string("access", link.st_mode & S_IRUSR ? link.st_mode & S_IWUSR ? "rw" : "r" : "w");
        event_integer("mode", status.st_mode & S_IFMT);
        if (strcmp(target, "anon_inode:[eventpoll]") != 0 || !may_wait_for_page()) /* epoll_wait() keeps it locked */
            print_info(tracee, fd);
        if (S_ISSOCK(status.st_mode))
            print_socket(tracee, fd, status.st_ino);
    }
    event_close();
}

void print_descriptor(const struct tracee *tracee, int fd) {
    print(tracee, fd, false);
}

void print_full_descriptor(const struct tracee *tracee, int fd) {
    print(tracee, fd, !front->in_step);
}

static int listed; /* since allow_descriptors() */
static uint64_t until_ns;

void allow_descriptors(void) {
    listed = 0;
    until_ns = monotonic_ns() + LISTING_NS;
}

void print_all_descriptors(const struct tracee *tracee, const char *key) {
    char path[64];
    int count = 0, last = -1, left = MAX_LISTED - listed;
    int limit = left > MAX_DESCRIPTORS ? MAX_DESCRIPTORS : left > 0 ? left : 1;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)tracee->tid);
    DIR *folder = opendir(path);
    event_array(key);
    for (struct dirent *entry;
         folder && count < limit && (count == 0 || monotonic_ns() < until_ns) && (entry = readdir(folder));) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        last = atoi(entry->d_name); /* in ascending order */
        print_full_descriptor(tracee, last);
        count++;
    }
    event_array_close();
    if (count > 0 && (count == limit || monotonic_ns() >= until_ns))
        event_integer("listedTo", (uint64_t)last);
    if (folder)
        closedir(folder);
    listed += count;
}
