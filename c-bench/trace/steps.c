/*
 * Breakpoints replace the nops of steps in user space. x86-64: int3 is as long as the nop, and the process stops behind
 * it. arm64: brk is as long as the nop, and the process stops on it.
 */
#include "trace.h"

#include "../common/ndjson.h"
#include "../common/ptrace.h"

#include <elf.h>
#include <string.h>
#include <sys/uio.h>

/* The ends of the section, defined by the linker unless the program has no steps. */
extern const struct step_mark __start_crossings_steps[] __attribute__((weak));
extern const struct step_mark __stop_crossings_steps[] __attribute__((weak));

#if defined(__x86_64__)
static const unsigned char breakpoint[] = {0xcc}; /* int3 */
#define STOPS_BEHIND 1
#elif defined(__aarch64__)
static const unsigned char breakpoint[] = {0x00, 0x00, 0x20, 0xd4}; /* brk #0 */
#define STOPS_BEHIND 0
#include <asm/ptrace.h>
#else
#error "The tracer supports only x86-64 and arm64."
#endif

bool plant_breakpoints(pid_t pid) {
    for (const struct step_mark *mark = __start_crossings_steps; mark < __stop_crossings_steps; mark++) {
        long word;
        memcpy(&word, (const void *)mark->address, sizeof word);
        memcpy(&word, breakpoint, sizeof breakpoint);
        if (ptrace(PTRACE_POKEDATA, pid, (void *)mark->address, (void *)word))
            return false;
    }
    return true;
}

#if defined(__aarch64__)
static void skip_breakpoint(pid_t pid) {
    struct user_pt_regs registers;
    struct iovec all = {&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &all))
        return;
    registers.pc += sizeof breakpoint;
    ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &all);
}
#else
static void skip_breakpoint(pid_t pid) {
    (void)pid;
}
#endif

/* The mark whose breakpoint stopped the process, which can then be resumed; NULL: it stopped for another reason. */
static const struct step_mark *step_at(pid_t pid, uint64_t program_counter) {
    uint64_t address = program_counter - (STOPS_BEHIND ? sizeof breakpoint : 0);
    for (const struct step_mark *mark = __start_crossings_steps; mark < __stop_crossings_steps; mark++) {
        if (mark->address == address) {
            skip_breakpoint(pid);
            return mark;
        }
    }
    return NULL;
}

static void print_step(const struct tracee *tracee, uint64_t seen_ns) {
    static const char *const kinds[] = {NULL, "store", "load", "release", "see"};
    const struct step_mark *step = tracee->step;
    event_begin("step");
    event_integer("pid", (uint64_t)tracee->pid);
    event_integer("tid", (uint64_t)tracee->tid);
    event_integer("t", tracee->step_began_ns);
    event_integer("end", seen_ns);
    event_string("name", (const char *)(uintptr_t)step->name);
    event_string("step", kinds[step->kind]);
    event_integer("bytes", step->bytes);
    event_integer("address", (uint64_t)(uintptr_t)tracee->state.step_address);
    front->print_place(tracee);
    event_string("file", (const char *)(uintptr_t)step->file);
    event_integer("line", step->line);
    print_words(tracee);
    event_end();
}

bool at_breakpoint(struct tracee *tracee, const struct stop *stop) {
    struct __ptrace_syscall_info info;
    if (tracee->foreign || ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof info, &info) <= 0)
        return false;
    const struct step_mark *mark = step_at(tracee->tid, info.instruction_pointer);
    if (!mark)
        return false;
    if (!front->read_state(tracee))
        return true;
    if (!mark->is_end) {
        tracee->step = mark;
    } else if (tracee->step) {
        print_step(tracee, stop->seen_ns);
        tracee->step = NULL;
    }
    return true;
}
