/*
 * For the lessons that measure: two processes with shared memory, which do the same work at the same time, again and
 * again. Each kind of work is timed in turn, and its time is the median of the rounds that nothing else disturbed.
 */
#ifndef CROSSINGS_LESSONS_PAIR_H
#define CROSSINGS_LESSONS_PAIR_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAIR_ROUNDS 300       /* of each kind, at most */
#define PAIR_SECONDS 2.0      /* then the measurement ends in any case */
#define PAIR_ENOUGH 5         /* undisturbed rounds of a kind, to use them alone */
#define PAIR_LOOKS 20000      /* at memory that does not change, before a process gives its core away */
#define PAIR_MEMORY (1 << 20) /* bytes that the processes share */

static struct pair {
    char memory[PAIR_MEMORY]; /* for the work; it begins on a new page */
    int arrived;              /* how often a process has come to the gate */
    int stop;                 /* the parent ends the measurement */
    double ns[2];             /* the time of each process in this round... */
    int switches[2];          /* ...and how often the kernel took its core away in that time */
} *pair;

static int me;           /* 0: the parent, 1: its child */
static int cores;        /* that these processes may use... */
static cpu_set_t usable; /* ...and which */
static int gates;        /* that this process has passed */

/* A kind of work, what it is called, and what it took. */
struct kind {
    void (*work)(int a, int b);
    int a, b;
    double ns;       /* of a round: the median */
    int undisturbed; /* rounds during which both processes kept their cores */
    double clean[PAIR_ROUNDS], all[PAIR_ROUNDS];
};

static inline double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Wait a moment before the next look. Where the other process may need this core, give it away. */
static inline void look_again(int looks) {
    if (cores < 2 || looks > PAIR_LOOKS)
        sched_yield();
}

/* Wait until both processes are here. */
static inline void gate(void) {
    int both = 2 * ++gates;
    __atomic_fetch_add(&pair->arrived, 1, __ATOMIC_SEQ_CST);
    for (int looks = 0; __atomic_load_n(&pair->arrived, __ATOMIC_ACQUIRE) < both; looks++)
        look_again(looks);
}

static inline int count_switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int)(usage.ru_nvcsw + usage.ru_nivcsw);
}

/* Find the cores that this program may use, and map memory that processes share after fork(). */
static inline void *share(size_t bytes) {
    sched_getaffinity(0, sizeof usable, &usable);
    cores = CPU_COUNT(&usable);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("Cannot share memory");
        exit(2);
    }
    return memory;
}

/* Stay on this core: 0 or 1. If there is only one core, both are the same. */
static inline void take_core(int number) {
    for (int cpu = 0; cores > 1 && cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &usable) || number-- > 0)
            continue;
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
        return;
    }
}

/* A child that ends with its parent. Returns 0 in the child. */
static inline pid_t start_child(void) {
    fflush(stdout); /* or the child would print it again */
    pid_t child = fork();
    if (child < 0) {
        perror("Cannot start a process");
        exit(2);
    }
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

/* From here on there are two processes, each on its own core. Returns their shared memory. */
static inline char *begin_pair(void) {
    pair = share(sizeof *pair);
    me = start_child() == 0;
    take_core(me);
    return pair->memory;
}

static inline void run_round(struct kind *kind) {
    gate(); /* now both have a core... */
    int before = count_switches();
    gate(); /* ...and if neither loses it, they also begin at the same time */
    double start = now_ns();
    kind->work(kind->a, kind->b);
    pair->ns[me] = now_ns() - start;
    pair->switches[me] = count_switches() - before;
    gate();
}

static inline int by_size(const void *a, const void *b) {
    return *(const double *)a > *(const double *)b ? 1 : -1;
}

static inline double median(double *values, int count) {
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

/* Time each kind of work, in turn, so that a change on the machine affects all of them. Only the parent returns. Its
 * result is the share of the rounds that nothing disturbed, in percent. If they are too few, all rounds count. */
static inline double measure(struct kind *kinds, int count) {
    double end = now_ns() + PAIR_SECONDS * 1e9;
    int rounds = 0, undisturbed = 0;
    do {
        for (struct kind *kind = kinds; kind < kinds + count; kind++) {
            run_round(kind);
            double ns = pair->ns[0] > pair->ns[1] ? pair->ns[0] : pair->ns[1];
            kind->all[rounds] = ns;
            if (pair->switches[0] + pair->switches[1] == 0)
                kind->clean[kind->undisturbed++] = ns;
        }
        rounds++;
        if (!me)
            pair->stop = rounds == PAIR_ROUNDS || now_ns() > end;
        gate();
    } while (!pair->stop);
    if (me)
        _exit(0);
    waitpid(-1, NULL, 0);
    for (struct kind *kind = kinds; kind < kinds + count; kind++) {
        undisturbed += kind->undisturbed;
        kind->ns = kind->undisturbed < PAIR_ENOUGH ? median(kind->all, rounds) : median(kind->clean, kind->undisturbed);
    }
    return 100.0 * undisturbed / (rounds * count);
}

static const char *known_options[8];

/* The value of an option, such as `--distance 64`, or `value` if it is not given. */
static inline int option(int argc, char **argv, const char *name, int value, int least, int most) {
    for (int i = 0; i < 8; i++) {
        if (!known_options[i]) {
            known_options[i] = name;
            break;
        }
    }
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], name))
            continue;
        char *end = NULL;
        long given = i + 1 < argc ? strtol(argv[i + 1], &end, 10) : 0;
        if (!end || *end || end == argv[i + 1] || given < least || given > most) {
            fprintf(stderr, "%s must be a number from %d to %d; got \"%s\".\n", name, least, most,
                    i + 1 < argc ? argv[i + 1] : "");
            exit(2);
        }
        value = (int)given;
    }
    return value;
}

/* Refuse every option that option() was not asked for. */
static inline void check_options(int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        int known = 0;
        for (int k = 0; k < 8 && known_options[k]; k++)
            known |= !strcmp(argv[i], known_options[k]);
        if (known)
            continue;
        fprintf(stderr, "Unknown option \"%s\". Options:", argv[i]);
        for (int k = 0; k < 8 && known_options[k]; k++)
            fprintf(stderr, " %s", known_options[k]);
        fprintf(stderr, "%s\n", known_options[0] ? "" : " none");
        exit(2);
    }
}

#endif
