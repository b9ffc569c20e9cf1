/* The messages of the demos, and how a demo ends when something is wrong. Nothing here calls the kernel but fail(). */
#include "demo.h"

#include "../harness/clock.h"
#include "run.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct demo_state demo;
pid_t first_process;

struct message make_message(int n, int count) {
    struct message message = {.sequence = n, .type = n % 3, .value = n * 1.25, .done = n == count};
    snprintf(message.text, sizeof message.text, "message %d of %d", n, count);
    return message;
}

static const char *role_name(void) {
    return demo.role == READER ? "reader" : "writer";
}

/* Both processes end: the other one might wait for this one for ever. */
__attribute__((noreturn)) static void end_both(void) {
    if (getpid() != first_process)
        kill(first_process, SIGKILL); /* whose end ends us */
    _exit(1);
}

void fail(const char *what) {
    fprintf(stderr, "The %s: %s failed: %s.\n", role_name(), what, errno ? strerror(errno) : "it was cut short");
    end_both();
}

void check_message(const struct message *message, int n, int count) {
    struct message expected = make_message(n, count);
    if (memcmp(message, &expected, sizeof expected) == 0)
        return;
    fprintf(stderr, "The reader: message %d of %d is wrong: it has sequence %d and text \"%.*s\".\n", n, count,
            message->sequence, (int)sizeof message->text, message->text);
    end_both();
}

size_t make_line(char line[LINE_BYTES], int n, int count) {
    struct message message = make_message(n, count);
    return (size_t)snprintf(
        line, LINE_BYTES, "{\"sequence\":%d,\"type\":%d,\"value\":%.2f,\"text\":\"%s\",\"done\":%s}\n",
        message.sequence, message.type, message.value, message.text, message.done ? "true" : "false");
}

/* Reads only what make_line() writes: a real program would use a library for JSON. */
static bool parse_line(struct message *message, const char *line) {
    char done[6];
    *message = (struct message){0};
    if (sscanf(line, "{\"sequence\":%d,\"type\":%d,\"value\":%lf,\"text\":\"%39[^\"]\",\"done\":%5[a-z]}",
               &message->sequence, &message->type, &message->value, message->text, done) != 5)
        return false;
    message->done = strcmp(done, "true") == 0;
    return true;
}

size_t check_lines(const char *text, size_t bytes, int *next, int count) {
    size_t taken = 0;
    const char *end;
    while ((end = memchr(text + taken, '\n', bytes - taken))) {
        struct message message;
        char line[LINE_BYTES] = "";
        size_t length = (size_t)(end - (text + taken));
        if (length < sizeof line)
            memcpy(line, text + taken, length);
        if (!parse_line(&message, line)) {
            fprintf(stderr, "The reader: message %d of %d is no message: \"%s\".\n", *next, count, line);
            end_both();
        }
        check_message(&message, *next, count);
        ++*next;
        taken += length + 1;
    }
    return taken;
}

const char *own_name(void) {
    static char name[32];
    snprintf(name, sizeof name, "crossings-%d", (int)first_process);
    return name;
}

/* A demo that is timed is timed from the first message on: what fork() takes is no part of it. */
static void start_together(void) {
    pin(0, times->cores[demo.role == READER]);
    atomic_fetch_add(&times->ready, 1);
    while (atomic_load(&times->ready) < 2)
        sched_yield();
}

void phase(enum phase phase) {
    demo.phase = phase;
    demo.message = 0;
    if (times && phase == MESSAGES)
        start_together();
    if (times && phase == MESSAGES && demo.role == WRITER)
        times->first_sent_ns = monotonic_ns();
    if (times && phase == TEARDOWN && demo.role == READER)
        times->last_received_ns = monotonic_ns();
}

void watch(const char *name, const void *address, enum word_type type) {
    int i = 0;
    while (i < demo.word_count && strcmp(demo.words[i].name, name))
        i++;
    if (i == MOST_WORDS)
        return;
    demo.words[i] = (struct word){name, address, type};
    if (i == demo.word_count)
        demo.word_count++;
}
