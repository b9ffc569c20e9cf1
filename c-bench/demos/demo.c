/* The messages of the demos, and how a demo ends after an error. Only a failing demo makes system calls here. */
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

pid_t first_process;
void (*phase_observer)(enum phase phase, enum role role);

struct message make_message(int n, int count) {
    struct message message = {.sequence = n, .type = n % 3, .value = n * 1.25, .done = n == count};
    snprintf(message.text, sizeof message.text, "message %d of %d", n, count);
    return message;
}

static const char *role_name(void) {
    return demo.role == READER ? "reader" : "writer";
}

/* End both processes: the other one might wait for this one forever. */
__attribute__((noreturn)) static void end_both(void) {
    if (getpid() != first_process)
        kill(first_process, SIGKILL); /* this process ends with it */
    _exit(1);
}

void fail(const char *what) {
    fprintf(stderr, "The %s failed: %s: %s.\n", role_name(), what,
            errno ? strerror(errno) : "not all bytes were transferred");
    end_both();
}

void check_message(const struct message *message, int n, int count) {
    struct message expected = make_message(n, count);
    if (memcmp(message, &expected, sizeof expected) == 0)
        return;
    fprintf(stderr, "The reader failed: message %d of %d arrived with sequence %d and text \"%.*s\".\n", n, count,
            message->sequence, (int)sizeof message->text, message->text);
    end_both();
}

size_t make_line(char line[LINE_BYTES], int n, int count) {
    struct message message = make_message(n, count);
    return (size_t)snprintf(
        line, LINE_BYTES, "{\"sequence\":%d,\"type\":%d,\"value\":%.2f,\"text\":\"%s\",\"done\":%s}\n",
        message.sequence, message.type, message.value, message.text, message.done ? "true" : "false");
}

/* Parses only what make_line() writes. A real program would use a JSON library. */
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
            fprintf(stderr, "The reader failed: message %d of %d is invalid: \"%s\".\n", *next, count, line);
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

void phase(enum phase phase) {
    demo.phase = phase;
    demo.message = 0;
    if (phase_observer)
        phase_observer(phase, demo.role);
}

void watch(const char *name, const void *address, enum word_type type) {
    int i = 0;
    while (i < demo.word_count && strcmp(demo.words[i].name, name))
        i++;
    if (i == MAX_WORDS)
        return;
    demo.words[i] = (struct word){name, address, type};
    if (i == demo.word_count)
        demo.word_count++;
}
