/* Reads the state that a program reports which was forked without exec: its line, its phase, its watched words. */
#include "trace.h"

#include "../common/ndjson.h"
#include "../common/syscalls.h"

#include <elf.h>
#include <semaphore.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

/* ---- Where a thread keeps its variables: the same distance from its thread pointer as here ---- */

#if defined(__x86_64__)
static uintptr_t own_thread_pointer(void) {
    uintptr_t pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

static uintptr_t thread_pointer_of(pid_t tid) {
    return (uintptr_t)ptrace(PTRACE_PEEKUSER, tid, (void *)offsetof(struct user_regs_struct, fs_base), NULL);
}
#elif defined(__aarch64__)
#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif
static uintptr_t own_thread_pointer(void) {
    uintptr_t pointer;
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
    return pointer;
}

static uintptr_t thread_pointer_of(pid_t tid) {
    uintptr_t pointer = 0;
    struct iovec all = {&pointer, sizeof pointer};
    ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_TLS, &all);
    return pointer;
}
#endif

static bool read_state(struct tracee *tracee) {
    struct demo_state state;
    uintptr_t address = thread_pointer_of(tracee->tid) + ((uintptr_t)&demo - own_thread_pointer());
    if (tracee->foreign || tracee_read(tracee, address, &state, sizeof state) != sizeof state)
        return false;
    tracee->state = state;
    if (state.role)
        tracee->role = state.role;
    return true;
}

bool read_demo_state(struct tracee *tracee) {
    read_state(tracee);
    return tracee->state.phase != BEFORE;
}

/* The last call before the function begins: see fork_program(). */
static bool ends_preparation(const struct tracee *tracee) {
    return strcmp(syscall_name(tracee->number), "prctl") == 0 && tracee->arguments[0] == PR_SET_PDEATHSIG &&
           tracee->arguments[1] == 0;
}

bool read_function_state(struct tracee *tracee) {
    static bool begun;
    if (!begun) {
        begun = ends_preparation(tracee);
        return false;
    }
    if (!read_state(tracee))
        tracee->state = (struct demo_state){0};
    return true;
}

/* ---- Printing ---- */

void print_function_place(const struct tracee *tracee) {
    const struct call_site *site = tracee->state.site; /* a constant, so it has the same address here */
    event_string("file", site ? site->file : NULL);
    event_integer("line", site ? (uint64_t)site->line : 0);
    event_string("call", site ? site->function : NULL);
}

void print_demo_place(const struct tracee *tracee) {
    static const char *const phases[] = {NULL, "setup", "message", "teardown"};
    event_string("phase", phases[tracee->state.phase]);
    if (tracee->state.message)
        event_integer("message", (uint64_t)tracee->state.message);
    else
        event_string("message", NULL);
    print_function_place(tracee);
}

void print_words(const struct tracee *tracee) {
    event_array("words");
    for (int i = 0; i < tracee->state.word_count && i < MAX_WORDS; i++) {
        const struct word *word = &tracee->state.words[i];
        sem_t semaphore; /* a copy of it, whose value sem_getvalue() can read */
        int value;
        void *target = word->type == WORD_SEMAPHORE ? (void *)&semaphore : (void *)&value;
        size_t bytes = word->type == WORD_SEMAPHORE ? sizeof semaphore : sizeof value;
        if (tracee_read(tracee, (uint64_t)(uintptr_t)word->address, target, bytes) != bytes)
            continue; /* it is no longer mapped */
        if (word->type == WORD_SEMAPHORE && sem_getvalue(&semaphore, &value))
            continue;
        event_open(NULL);
        event_string("name", word->name);
        event_integer("address", (uint64_t)(uintptr_t)word->address);
        event_integer("value", (uint64_t)(uint32_t)value);
        event_close();
    }
    event_array_close();
}
