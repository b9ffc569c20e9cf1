/*
 * Long days in C, for the parts `messages` and `connects` of the long run. usage:
 *
 *     soak messages COUNT EVERY CAPACITY
 *         One process sends COUNT messages to another through a ring of CAPACITY bytes; every EVERY-th is a large one.
 *         The other process verifies each.
 *     soak serve PATH COUNT
 *         Accepts COUNT clients in a row, with one message each way.
 *     soak connect PATH COUNT
 *         Is COUNT clients in a row.
 *
 * Each process prints what it holds after 10 % and after 100 % of its work, one line of JSON each. Exit status 1: a
 * message was lost, doubled, torn or out of order, or a call failed.
 */
#include "../../../native/crossings.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY 65536
#define SMALL_WORDS 12   /* the most of a small message; it has 4 bytes each */
#define LARGE_WORDS 8000 /* of a large one */

static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void check(const char *what, crossings_status status) {
    if (status != CROSSINGS_OK)
        fail(what, crossings_status_text(status));
}

/* ---- What this process holds ---- */

static long resident_kib(void) {
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static long line_count(const char *path) {
    long lines = 0;
    FILE *file = fopen(path, "r");
    for (int c; file && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

static long descriptor_count(void) {
    long count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static void report(const char *role, int percent) {
    printf("{\"role\": \"%s\", \"percent\": %d, \"residentKiB\": %ld, \"descriptors\": %ld, \"maps\": %ld}\n", role,
           percent, resident_kib(), descriptor_count(), line_count("/proc/self/maps"));
    fflush(stdout);
}

/* Report after 10 % and after 100 % of `count`, where `done` have just been done. */
static void report_progress(const char *role, uint64_t done, uint64_t count) {
    if (done == count / 10)
        report(role, 10);
    if (done == count)
        report(role, 100);
}

/* ---- Messages ---- */

/* Message number i: its words are its number and values that follow from it. Returns its size in bytes. */
static size_t fill(uint32_t *words, uint64_t i, uint64_t every) {
    size_t length = i % every == 0 ? LARGE_WORDS : 3 + i % (SMALL_WORDS - 2);
    memcpy(words, &i, sizeof i);
    for (size_t at = 2; at < length; at++)
        words[at] = (uint32_t)(i + at) * 2654435761u;
    return length * sizeof *words;
}

static void send_all(int fd, uint64_t count, uint64_t every, uint32_t capacity) {
    crossings_options options = {.capacity = capacity};
    crossings_channel *channel;
    check("open", crossings_open(fd, &options, &channel));
    uint32_t words[LARGE_WORDS];
    for (uint64_t i = 0; i < count; i++) {
        size_t size = fill(words, i, every);
        check("send", crossings_send(channel, words, size, -1));
        report_progress("C sender", i + 1, count);
    }
    crossings_close(channel);
}

static void receive_all(int fd, uint64_t count, uint64_t every, uint32_t capacity) {
    crossings_options options = {.capacity = capacity};
    crossings_channel *channel;
    check("open", crossings_open(fd, &options, &channel));
    uint32_t words[LARGE_WORDS], expected[LARGE_WORDS];
    uint64_t frames = 0; /* bytes that the messages took in the ring */
    size_t size;
    for (uint64_t i = 0; i < count; i++) {
        check("receive", crossings_receive(channel, words, sizeof words, &size, -1));
        if (size != fill(expected, i, every) || memcmp(words, expected, size) != 0) {
            fprintf(stderr, "message %" PRIu64 " was lost or torn\n", i);
            exit(1);
        }
        size_t frame = (size + 8 + 7) / 8 * 8;
        frames += frame < 64 ? 64 : frame; /* a small frame takes a cache line */
        report_progress("C receiver", i + 1, count);
    }
    if (crossings_receive(channel, words, sizeof words, &size, -1) != CROSSINGS_END)
        fail("receive", "more messages than were sent, or no end");
    crossings_close(channel);
    printf("{\"frameBytes\": %" PRIu64 "}\n", frames);
}

static int messages(uint64_t count, uint64_t every, uint32_t capacity) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        fail("socketpair", "failed");
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        fail("fork", "failed");
    if (child == 0) {
        close(ends[1]);
        send_all(ends[0], count, every, capacity);
        return 0;
    }
    close(ends[0]);
    receive_all(ends[1], count, every, capacity);
    int status;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}

/* ---- Connects ---- */

static void send_number(crossings_channel *channel, uint64_t i) {
    check("send", crossings_send(channel, &i, sizeof i, -1));
}

static void receive_number(crossings_channel *channel, uint64_t i) {
    uint64_t got = 0;
    size_t size = 0;
    check("receive", crossings_receive(channel, &got, sizeof got, &size, -1));
    if (size != sizeof got || got != i)
        fail("receive", "another message than was sent");
}

static int serve(const char *path, uint64_t count) {
    crossings_server *server;
    crossings_options options = {.capacity = CAPACITY};
    check("listen", crossings_listen(path, &options, &server));
    for (uint64_t i = 0; i < count; i++) {
        crossings_channel *channel;
        check("accept", crossings_accept(server, -1, &channel));
        receive_number(channel, i);
        report_progress("C server", i + 1, count); /* while the client waits: there is no other one */
        send_number(channel, i);
        crossings_close(channel);
    }
    crossings_unlisten(server);
    return 0;
}

static int connect_all(const char *path, uint64_t count) {
    crossings_options options = {.capacity = CAPACITY, .timeout_ms = 60000};
    for (uint64_t i = 0; i < count; i++) {
        crossings_channel *channel;
        check("connect", crossings_connect(path, &options, &channel));
        send_number(channel, i);
        receive_number(channel, i);
        crossings_close(channel);
        report_progress("C client", i + 1, count);
    }
    return 0;
}

int main(int given, char **arguments) {
    if (given == 5 && strcmp(arguments[1], "messages") == 0)
        return messages(strtoull(arguments[2], NULL, 10), strtoull(arguments[3], NULL, 10),
                        (uint32_t)strtoul(arguments[4], NULL, 10));
    if (given == 4 && strcmp(arguments[1], "serve") == 0)
        return serve(arguments[2], strtoull(arguments[3], NULL, 10));
    if (given == 4 && strcmp(arguments[1], "connect") == 0)
        return connect_all(arguments[2], strtoull(arguments[3], NULL, 10));
    fputs("usage: soak messages COUNT EVERY CAPACITY | serve PATH COUNT | connect PATH COUNT\n", stderr);
    return 2;
}
