/* Prints the events of a trace as lines of JSON: "enter" and "leave" for a call, "step", "gone" and "error". */
#include "trace.h"

#include "../common/ndjson.h"
#include "../common/syscalls.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void print_place(const struct demo_state *state) {
    static const char *const phases[] = {NULL, "setup", "message", "teardown"};
    event_string("phase", phases[state->phase]);
    if (state->message)
        event_integer("message", (uint64_t)state->message);
    else
        event_string("message", NULL);
}

void print_enter(const struct tracee *tracee) {
    const struct call_site *site = tracee->state.site; /* a constant, so it has the same address here */
    event_begin("enter");
    event_integer("pid", (uint64_t)tracee->pid);
    event_string("name", syscall_name(tracee->number));
    print_place(&tracee->state);
    event_string("file", site ? site->file : NULL);
    event_integer("line", site ? (uint64_t)site->line : 0);
    event_string("call", site ? site->function : NULL);
    print_entry(tracee, syscall_name(tracee->number));
    event_end();
}

void print_leave(const struct tracee *tracee, int64_t result, uint64_t sleeps, uint64_t seen_ns) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)result);
    event_begin("leave");
    event_integer("pid", (uint64_t)tracee->pid);
    event_integer("t", tracee->began_ns);
    event_integer("end", seen_ns);
    event_string("result", text);
    if (result < 0 && result > -4096)
        event_string("error", strerror((int)-result));
    event_integer("sleeps", sleeps);
    print_exit(tracee, syscall_name(tracee->number), result);
    print_words(tracee);
    event_end();
}

void print_step(const struct tracee *tracee, uint64_t seen_ns) {
    static const char *const kinds[] = {NULL, "store", "load", "release", "see"};
    const struct step_mark *step = tracee->step;
    event_begin("step");
    event_integer("pid", (uint64_t)tracee->pid);
    event_integer("t", tracee->step_began_ns);
    event_integer("end", seen_ns);
    event_string("name", (const char *)(uintptr_t)step->name);
    event_string("step", kinds[step->kind]);
    event_integer("bytes", step->bytes);
    event_integer("address", (uint64_t)(uintptr_t)tracee->state.step_address);
    event_string("file", (const char *)(uintptr_t)step->file);
    event_integer("line", step->line);
    print_place(&tracee->state);
    print_words(tracee);
    event_end();
}

void print_gone(const struct tracee *tracee, int status, uint64_t seen_ns) {
    event_begin("gone");
    event_integer("pid", (uint64_t)tracee->pid);
    event_string("role", tracee->role == READER ? "reader" : "writer");
    event_integer("t", tracee->in_call ? tracee->began_ns : seen_ns);
    event_string("killedBy", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : NULL);
    event_end();
}

void print_error(const char *code, const char *format, const char *reason) {
    char sentence[512];
    snprintf(sentence, sizeof sentence, format, reason);
    event_begin("error");
    event_string("code", code);
    event_string("message", sentence);
    event_end();
}
