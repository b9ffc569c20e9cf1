/* Prints the events of a trace as lines of JSON: "enter" and "leave" for a call, "born", "exec", "signal" and "gone"
 * for a thread, "snapshot", "end" and "error" for all. */
#include "trace.h"

#include "../common/ndjson.h"
#include "../common/syscalls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void begin(const char *type, const struct tracee *tracee) {
    event_begin(type);
    event_integer("pid", (uint64_t)tracee->pid);
    event_integer("tid", (uint64_t)tracee->tid);
}

static void print_name(const struct tracee *tracee) {
    char name[16];
    tracee_name(tracee, name);
    event_string("name", name);
}

void print_enter(const struct tracee *tracee) {
    begin("enter", tracee);
    event_string("name", syscall_name(tracee->number));
    if (front->print_place)
        front->print_place(tracee);
    print_entry(tracee, syscall_name(tracee->number));
    event_end();
}

void print_leave(const struct tracee *tracee, int64_t result, uint64_t sleeps, uint64_t seen_ns) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)result);
    begin("leave", tracee);
    event_integer("t", tracee->began_ns);
    event_integer("end", seen_ns);
    event_string("result", text);
    if (result < 0 && result > -4096)
        event_string("error", strerror((int)-result));
    event_integer("sleeps", sleeps);
    print_exit(tracee, syscall_name(tracee->number), result);
    if (front->print_words)
        front->print_words(tracee);
    event_end();
}

void print_gone(const struct tracee *tracee, int status, uint64_t seen_ns) {
    begin("gone", tracee);
    if (tracee->role)
        event_string("role", tracee->role == READER ? "reader" : "writer");
    event_integer("t", tracee->in_call ? tracee->began_ns : seen_ns);
    event_integer("end", seen_ns);
    event_integer("status", WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 0);
    event_integer("signal", WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : 0);
    event_string("killedBy", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : NULL);
    event_end();
}

void print_born(const struct tracee *tracee, uint64_t seen_ns) {
    begin("born", tracee);
    event_integer("t", seen_ns);
    event_integer("parent", (uint64_t)tracee_status(tracee, "PPid"));
    print_name(tracee);
    event_end();
}

/* Add the words of its command line, as far as they fit. */
static void print_command_line(const struct tracee *tracee) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)tracee->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got < 0 ? 0 : got] = '\0';
    event_array("command");
    for (ssize_t at = 0; at < got; at += (ssize_t)strlen(text + at) + 1)
        event_string(NULL, text + at);
    event_array_close();
}

void print_exec(const struct tracee *tracee, uint64_t seen_ns) {
    char path[64], target[1024];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)tracee->tid);
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = '\0';
    begin("exec", tracee);
    event_integer("t", seen_ns);
    print_name(tracee);
    event_string("program", target);
    print_command_line(tracee);
    if (stat_cached(path, &status) == 0 && status.st_mode & S_ISUID) {
        event_integer("owner", status.st_uid);
        event_integer("user", (uint64_t)tracee_status(tracee, "Uid"));
    }
    print_all_descriptors(tracee, "descriptors");
    event_end();
}

void print_signal(const struct tracee *tracee, int signal, uint64_t seen_ns) {
    begin("signal", tracee);
    event_integer("t", seen_ns);
    event_integer("signal", (uint64_t)signal);
    event_end();
}

/* What a futex is part of: the word and the three after it, where libc's mutexes keep their owner. */
static void print_futex(const struct tracee *tracee) {
    uint32_t words[4] = {0};
    size_t count = tracee_read(tracee, tracee->arguments[0], words, sizeof words) / sizeof *words;
    event_array("words");
    for (size_t i = 0; i < count; i++) {
        char text[12];
        snprintf(text, sizeof text, "%u", words[i]);
        event_string(NULL, text);
    }
    event_array_close();
    if (!(tracee->arguments[1] & FUTEX_PRIVATE_FLAG))
        print_sharing(tracee, tracee->arguments[0]);
}

static void print_task(const struct tracee *tracee) {
    char state[2] = {tracee_state(tracee), '\0'};
    event_open(NULL);
    event_integer("pid", (uint64_t)tracee->pid);
    event_integer("tid", (uint64_t)tracee->tid);
    print_name(tracee);
    event_string("state", state);
    event_string("call", tracee->in_call ? syscall_name(tracee->number) : NULL);
    if (tracee->in_call) {
        event_integer("t", tracee->began_ns);
        event_array("args");
        for (int i = 0; i < 6; i++) {
            char text[24];
            snprintf(text, sizeof text, "0x%llx", (unsigned long long)tracee->arguments[i]);
            event_string(NULL, text);
        }
        event_array_close();
        const char *call = syscall_name(tracee->number);
        if (strcmp(call, "futex") == 0)
            print_futex(tracee);
        if (strcmp(call, "flock") == 0 || strcmp(call, "fcntl") == 0)
            print_locks(tracee, call);
        print_signals(tracee);
    }
    if (shown_thread(tracee->pid) == tracee)
        print_all_descriptors(tracee, "descriptors");
    event_close();
}

void print_snapshot(const char *why, uint64_t dropped, uint64_t now_ns) {
    begin_looking();
    allow_descriptors();
    event_begin("snapshot");
    event_string("why", why);
    event_integer("t", now_ns);
    event_integer("dropped", dropped);
    event_array("tasks");
    for (const struct tracee *tracee = next_tracee(NULL); tracee; tracee = next_tracee(tracee))
        print_task(tracee);
    event_array_close();
    event_end();
}

void print_end(const char *why, int status, uint64_t dropped, uint64_t now_ns) {
    event_begin("end");
    event_string("why", why);
    event_integer("t", now_ns);
    event_integer("dropped", dropped);
    event_integer("status", WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 0);
    event_integer("signal", WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : 0);
    event_end();
}

void print_error(const char *code, const char *format, const char *reason) {
    char sentence[1024];
    snprintf(sentence, sizeof sentence, format, reason);
    event_begin("error");
    event_string("code", code);
    event_string("message", sentence);
    event_end();
}
