/*
 * A library for LD_PRELOAD: the parent of a confined program, which is the first process that asks to be killed with
 * its own parent, waits forever before it starts the program.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

int prctl(int option, ...) {
    static const char text[] = "The parent waits.\n";
    unsigned long values[4];
    va_list rest;
    va_start(rest, option);
    for (int i = 0; i < 4; i++)
        values[i] = va_arg(rest, unsigned long);
    va_end(rest);
    int result = ((int (*)(int, ...))dlsym(RTLD_NEXT, "prctl"))(option, values[0], values[1], values[2], values[3]);
    if (option == PR_SET_PDEATHSIG && values[0] == SIGKILL && write(STDERR_FILENO, text, sizeof text - 1) > 0)
        for (;;)
            pause();
    return result;
}
