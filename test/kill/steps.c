/*
 * Counts the steps of steps.h and ends the process at the chosen one. Four variables of the environment choose:
 *
 *     STEP         the step's name
 *     STEP_NTH     which time it is reached, from 1
 *     STEP_MODE    die: be killed there. stop: stop there, to be killed by the parent. mark: go on; the parent kills
 * soon. Before it stops or goes on, the process writes "!" to its standard output. STEP_RECORD  a file that gets every
 * step's name and count when the process exits
 */
#include "steps.h"

#include <signal.h>

#define MAX_STEPS 512

struct step {
    char name[160];
    unsigned long count;
};

static struct step steps[MAX_STEPS];
static int known;
static const char *wanted, *mode, *record;
static unsigned long nth;

static struct step *find(const struct step_place *place) {
    char name[sizeof steps->name];
    snprintf(name, sizeof name, "%s: %s %s", place->function, place->when, place->what);
    for (int i = 0; i < known; i++)
        if (strcmp(steps[i].name, name) == 0)
            return &steps[i];
    if (known == MAX_STEPS)
        abort();
    strcpy(steps[known].name, name);
    return &steps[known++];
}

static void end_here(void) {
    if (strcmp(mode, "die") == 0)
        kill(getpid(), SIGKILL);
    if (write(STDOUT_FILENO, "!", 1) != 1)
        abort();
    if (strcmp(mode, "stop") == 0)
        raise(SIGSTOP);
}

void step_reached(struct step_place *place) {
    int reason = errno;
    if (!place->step)
        place->step = find(place);
    if (++place->step->count == nth && strcmp(place->step->name, wanted) == 0)
        end_here();
    errno = reason;
}

__attribute__((constructor)) static void read_environment(void) {
    wanted = getenv("STEP");
    mode = getenv("STEP_MODE");
    record = getenv("STEP_RECORD");
    nth = wanted && mode ? strtoul(getenv("STEP_NTH"), NULL, 10) : 0;
}

__attribute__((destructor)) static void write_record(void) {
    FILE *file = record ? fopen(record, "w") : NULL;
    if (!file)
        return;
    for (int i = 0; i < known; i++)
        fprintf(file, "%lu %s\n", steps[i].count, steps[i].name);
    fclose(file);
}
