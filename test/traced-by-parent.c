/*
 * A program that makes its parent its tracer, and stops: that is not its end.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <unistd.h>

int main(void) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGWINCH);
    for (;;)
        pause();
}
