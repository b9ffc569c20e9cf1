/*
 * Breakpoints replace the nops of steps in user space. x86-64: int3 is as long as the nop, and the process stops behind
 * it. arm64: brk is as long as the nop, and the process stops on it.
 */
#include "trace.h"

#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

/* The ends of the section, defined by the linker. */
extern const struct step_mark __start_crossings_steps[], __stop_crossings_steps[];

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

const struct step_mark *step_at(pid_t pid, uint64_t program_counter) {
    uint64_t address = program_counter - (STOPS_BEHIND ? sizeof breakpoint : 0);
    for (const struct step_mark *mark = __start_crossings_steps; mark < __stop_crossings_steps; mark++) {
        if (mark->address == address) {
            skip_breakpoint(pid);
            return mark;
        }
    }
    return NULL;
}
