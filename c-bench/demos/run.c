/* Starts demos, and cleans up after them. */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t cleaner; /* 0: there is none */

/* Fork the cleaner, which removes the demo's names when the demo's first process has ended, however it ended. It has
 * its own session, so that no signal to the process group ends it. The cleaner itself opens the gate, so it exists
 * before any name does. */
static bool start_cleaner(const struct demo_entry *entry, pid_t owner, const struct gate *gate) {
    pid_t pid = fork();
    cleaner = pid;
    if (pid != 0)
        return pid > 0;
    setsid();
    int demo_ended = (int)syscall(SYS_pidfd_open, owner, 0);
    if (demo_ended < 0 || !gate_open(gate)) {
        perror("Cannot begin the demo");
        _exit(1);
    }
    close(gate->open_fd);
    while (poll(&(struct pollfd){.fd = demo_ended, .events = POLLIN}, 1, -1) < 0 && errno == EINTR)
        continue;
    for (int i = 0; i < MAX_NAMES && entry->names[i]; i++) {
        char name[64];
        snprintf(name, sizeof name, entry->names[i], (int)owner);
        unlink(name);
    }
    _exit(0);
}

/* The demo's second process is a child of its first one, which would wait for it for ever. */
static void on_child_end(int signal, siginfo_t *info, void *context) {
    static const char text[] = "The demo's second process was killed.\n";
    (void)signal, (void)context;
    if (info->si_code != CLD_KILLED && info->si_code != CLD_DUMPED)
        return;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

pid_t prepare_demo(const struct demo_entry *entry, int count, bool is_traced, struct gate *gate) {
    fflush(stdout); /* or the child would print it again */
    pid_t pid = fork_held(gate);
    if (pid != 0)
        return pid;
    first_process = getpid();
    struct sigaction watching = {.sa_sigaction = on_child_end, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP};
    if (!is_traced)
        sigaction(SIGCHLD, &watching, NULL); /* which the second process inherits: it has no children */
    entry->run(count);
    _exit(1); /* not reached: a demo never returns */
}

void begin_demo(const struct demo_entry *entry, pid_t pid, struct gate *gate) {
    bool begun = entry->names[0] ? start_cleaner(entry, pid, gate) : gate_open(gate);
    if (!begun)
        perror("Cannot begin the demo");
    close(gate->open_fd);
}

void wait_for_cleaner(void) {
    if (cleaner > 0)
        waitpid(cleaner, NULL, 0);
    cleaner = 0;
}

bool run_demo(const struct demo_entry *entry, int count) {
    struct gate gate;
    int status;
    pid_t pid = prepare_demo(entry, count, false, &gate);
    if (pid < 0) {
        perror("Cannot start the demo");
        return false;
    }
    begin_demo(entry, pid, &gate);
    bool succeeded = waitpid(pid, &status, 0) == pid && status == 0;
    wait_for_cleaner(); /* for no other child: a shell may have started some before its exec */
    return succeeded;
}
