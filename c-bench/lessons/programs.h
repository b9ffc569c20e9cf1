/* The programs that are compiled into crossings-lessons. A name is its folder and its file: "02-pipe/end-of-file". */
#ifndef CROSSINGS_PROGRAMS_H
#define CROSSINGS_PROGRAMS_H

#include "program.h"

#include <stddef.h>

/* NULL: there is none of this name. */
const struct program *find_program(const char *name);

/* The first program; the others follow by `next`, in the order of their names. */
const struct program *first_program(void);

/* Writes its name. */
void name_of(const struct program *program, char *name, size_t bytes);

#endif
