/*
 * crossings-demo MECHANISM: two processes and a few messages, made to be watched: by `strace -f`, or with --trace by
 * itself.
 *
 * Processes: this one (it starts and traces) - the demo's first - the demo's second; and where a demo makes names in
 * the file system a cleaner beside them, which waits until all others have ended, however they ended, and removes the
 * names.
 */
#include "../harness/clock.h"
#include "../harness/ndjson.h"
#include "../harness/topology.h"
#include "run.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MOST_MESSAGES 1000
#define MOST_RUNS 1000
#define FLOOR_CALLS 2000
#define FLOOR_ROUNDS 25

static const struct demo_entry demos[] = {
    {.name = "ring",
     .title = "Ring in shared memory",
     .source = "c-bench/demos/ring.c",
     .run = ring_demo,
     .spins = true},
    {.name = "shm-spin",
     .title = "Shared memory, spinning",
     .source = "c-bench/demos/shm-spin.c",
     .run = shm_spin_demo,
     .spins = true,
     .names = {"/dev/shm/crossings-%d"}},
    {.name = "shm-sem",
     .title = "Shared memory, semaphores",
     .source = "c-bench/demos/shm-sem.c",
     .run = shm_sem_demo,
     .names = {"/dev/shm/crossings-%d", "/dev/shm/sem.crossings-%d-free", "/dev/shm/sem.crossings-%d-full"}},
    {.name = "pipe", .title = "Pipe", .source = "c-bench/demos/pipe.c", .run = pipe_demo},
    {.name = "uds",
     .title = "Unix domain socket",
     .source = "c-bench/demos/uds.c",
     .run = uds_demo,
     .names = {"/tmp/crossings-%d.sock"}},
    {.name = "tcp", .title = "TCP over loopback", .source = "c-bench/demos/tcp.c", .run = tcp_demo},
};
#define DEMOS (sizeof demos / sizeof *demos)

static const char usage[] =
    "crossings-demo MECHANISM [--messages N] [--trace | --time RUNS]\n"
    "A few messages from one process to another, checked as they arrive. Try: strace -f crossings-demo pipe\n"
    "\n"
    "  --messages N   how many, 1 to 1000 (10)\n"
    "  --trace        trace it: system calls and steps as lines of JSON on standard output\n"
    "  --time RUNS    run it RUNS times, 1 to 1000, not traced, and print the nanoseconds a message took\n"
    "  --parent PID   end when the process PID does, which must have started this one\n"
    "  --list         print the mechanisms and stop\n"
    "  --help         print this and stop\n";

struct demo_times *times;

__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static int read_count(const char *option, const char *text, int least, int most) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value < least || value > most)
        refuse("%s takes a whole number from %d to %d, not \"%s\".", option, least, most, text);
    return (int)value;
}

static const struct demo_entry *find_demo(const char *name) {
    char names[256] = "";
    for (size_t i = 0; i < DEMOS; i++) {
        if (strcmp(demos[i].name, name) == 0)
            return &demos[i];
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, demos[i].name, sizeof names - strlen(names) - 1);
    }
    refuse("The mechanism is one of %s, not \"%s\".", names, name);
}

static void list(void) {
    for (size_t i = 0; i < DEMOS; i++) {
        event_begin("mechanism");
        event_string("name", demos[i].name);
        event_string("title", demos[i].title);
        event_string("source", demos[i].source);
        event_end();
    }
}

/* ---- Running ---- */

/* The cleaner: removes the demo's names when its first process has ended. In a session of its own, so that no signal to
 * the others' group ends it; and it is the one that lets the demo begin, so it is there before any name is. */
static void start_cleaner(const struct demo_entry *entry, pid_t owner, int go) {
    pid_t pid = fork();
    if (pid != 0) {
        close(go);
        return;
    }
    setsid();
    int demo_ended = (int)syscall(SYS_pidfd_open, owner, 0);
    if (demo_ended < 0 || write(go, "g", 1) != 1)
        _exit(1);
    close(go);
    while (poll(&(struct pollfd){.fd = demo_ended, .events = POLLIN}, 1, -1) < 0)
        continue;
    for (int i = 0; i < MOST_NAMES && entry->names[i]; i++) {
        char name[64];
        snprintf(name, sizeof name, entry->names[i], (int)owner);
        unlink(name);
    }
    _exit(0);
}

void choose_cores(int cores[2]) {
    static struct topology topology;
    topology_read(&topology);
    topology_choose(&topology, cores);
}

void pin(pid_t pid, int core) {
    cpu_set_t *set = CPU_ALLOC(core + 1);
    size_t bytes = CPU_ALLOC_SIZE(core + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(core, bytes, set);
    sched_setaffinity(pid, bytes, set);
    CPU_FREE(set);
}

pid_t prepare_demo(const struct demo_entry *entry, int count, int *go) {
    int gate[2];
    char byte;
    pid_t self = getpid();
    fflush(stdout);
    if (pipe(gate))
        return -1;
    pid_t pid = fork();
    if (pid != 0) {
        close(gate[0]);
        *go = gate[1];
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(gate[1]);
    if (getppid() != self || read(gate[0], &byte, 1) != 1)
        _exit(1);
    close(gate[0]); /* so that the demo's own descriptors begin with 3 */
    first_process = getpid();
    entry->run(count);
    _exit(1); /* a demo never returns */
}

void begin_demo(const struct demo_entry *entry, pid_t pid, int go) {
    if (entry->names[0]) {
        start_cleaner(entry, pid, go);
        return;
    }
    if (write(go, "g", 1) != 1)
        perror("the demo could not be begun");
    close(go);
}

/* Run a demo to its end. True: it ended well; otherwise it has said why not. */
static bool run_demo(const struct demo_entry *entry, int count) {
    int go, status;
    pid_t pid = prepare_demo(entry, count, &go);
    if (pid < 0) {
        perror("the demo could not be started");
        return false;
    }
    begin_demo(entry, pid, go);
    bool well = waitpid(pid, &status, 0) == pid && status == 0;
    while (waitpid(-1, NULL, 0) > 0) /* the cleaner */
        continue;
    return well;
}

/* The cheapest system call, called directly, with nothing of libc around it: nanoseconds, the best of many rounds. */
static double syscall_floor_ns(void) {
    double best = 0;
    for (int round = 0; round < FLOOR_ROUNDS; round++) {
        uint64_t start = monotonic_ns();
        for (int i = 0; i < FLOOR_CALLS; i++)
            syscall(SYS_getppid);
        double each = (double)(monotonic_ns() - start) / FLOOR_CALLS;
        best = round == 0 || each < best ? each : best;
    }
    return best;
}

#define TIME_BUDGET_NS 10000000000u

static int time_demo(const struct demo_entry *entry, int count, int runs) {
    static double ns[MOST_RUNS];
    times = mmap(NULL, sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (times == MAP_FAILED) {
        perror("no memory to note times in");
        return 1;
    }
    choose_cores(times->cores);
    /* Where both processes share one core, a demo that spins takes seconds: as many runs as fit into the time. */
    int done = 0;
    for (uint64_t start = monotonic_ns(); done < runs; done++) {
        if (done > 0 && monotonic_ns() - start > TIME_BUDGET_NS)
            break;
        atomic_store(&times->ready, 0);
        if (!run_demo(entry, count))
            return 1;
        ns[done] = (double)(times->last_received_ns - times->first_sent_ns) / count;
    }
    event_begin("timing");
    event_integer("messages", (uint64_t)count);
    event_number("syscallNs", syscall_floor_ns());
    event_array("messageNs");
    for (int i = 0; i < done; i++)
        event_number(NULL, ns[i]);
    event_array_close();
    event_end();
    return 0;
}

static int show_demo(const struct demo_entry *entry, int count) {
    if (!run_demo(entry, count))
        return 1;
    printf("%s: %d messages sent; each came, whole and in order.\n", entry->title, count);
    return 0;
}

int main(int argument_count, char **arguments) {
    enum { MESSAGES_OPTION = 1, TRACE, TIME, PARENT, LIST, HELP };
    static const struct option options[] = {
        {"messages", required_argument, NULL, MESSAGES_OPTION},
        {"trace", no_argument, NULL, TRACE},
        {"time", required_argument, NULL, TIME},
        {"parent", required_argument, NULL, PARENT},
        {"list", no_argument, NULL, LIST},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    int count = 10, runs = 0;
    bool trace = false;
    for (int option; (option = getopt_long(argument_count, arguments, "", options, NULL)) != -1;) {
        switch (option) {
        case MESSAGES_OPTION: count = read_count("--messages", optarg, 1, MOST_MESSAGES); break;
        case TRACE: trace = true; break;
        case TIME: runs = read_count("--time", optarg, 1, MOST_RUNS); break;
        case PARENT:
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != atoi(optarg))
                refuse("--parent takes the number of the process that started this one, not \"%s\".", optarg);
            break;
        case LIST: list(); return 0;
        case HELP: fputs(usage, stdout); return 0;
        default: return 2; /* getopt has said what is wrong */
        }
    }
    if (optind == argument_count)
        refuse("Which mechanism? crossings-demo --list shows them.");
    if (optind + 1 < argument_count)
        refuse("One mechanism is taken, not \"%s\" beside it.", arguments[optind + 1]);
    const struct demo_entry *entry = find_demo(arguments[optind]);
    if (trace && runs)
        refuse("--trace and --time exclude each other: tracing makes a demo slower.");
    return trace ? trace_demo(entry, count) : runs ? time_demo(entry, count, runs) : show_demo(entry, count);
}
