/* The list of programs, filled by their constructors before main() begins. */
#include "programs.h"

#include <stdio.h>
#include <string.h>

static struct program *programs;

void register_program(struct program *program) {
    struct program **place = &programs;
    while (*place && strcmp((*place)->file, program->file) < 0)
        place = &(*place)->next;
    program->next = *place;
    *place = program;
}

const struct program *first_program(void) {
    return programs;
}

void name_of(const struct program *program, char *name, size_t bytes) {
    const char *file = strrchr(program->file, '/'), *folder = file;
    while (folder > program->file && folder[-1] != '/')
        folder--;
    snprintf(name, bytes, "%.*s", (int)(strlen(folder) - strlen(".c")), folder);
}

const struct program *find_program(const char *name) {
    for (const struct program *program = programs; program; program = program->next) {
        char own[128];
        name_of(program, own, sizeof own);
        if (strcmp(own, name) == 0)
            return program;
    }
    return NULL;
}
