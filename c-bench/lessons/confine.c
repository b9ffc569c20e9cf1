/* Forks the guard, which confines the program, reads what it writes, and ends it when its time is up. */
#include "confine.h"

#include "../common/gate.h"
#include "../common/ndjson.h"
#include "descendants.h"
#include "namespaces.h"
#include "output.h"
#include "room.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Sent by the program's parent to the guard. */
struct message {
    enum { READY = 1, REFUSED, ENDED } kind;
    int status; /* of the program, from waitpid() */
    int left;   /* processes that it left behind */
    pid_t pid;  /* of the program, in its namespace */
    char text[120];
};

struct pipes {
    int out[2], error[2], status[2];
};

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void tell(const struct pipes *pipes, const struct message *message) {
    if (write(pipes->status[1], message, sizeof *message) != sizeof *message)
        _exit(1);
}

/* ---- The program ---- */

/* Close all descriptors but the standard ones: the program must not have what this process has inherited. */
static void close_others(void) {
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0)
        return;
    struct rlimit most; /* before Linux 5.9 */
    rlim_t end = getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < 65536 ? most.rlim_cur : 65536;
    for (int fd = STDERR_FILENO + 1; fd < (int)end; fd++)
        close(fd);
}

__attribute__((noreturn)) static void be_program(const struct confinement *how, const struct pipes *pipes,
                                                 const char *folder) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    dup2(pipes->out[1], STDOUT_FILENO);
    dup2(pipes->error[1], STDERR_FILENO);
    close_others();
    if (chdir(folder)) {
        perror("Cannot enter the temporary folder");
        exit(126);
    }
    limit_resources(how->limit_ms, how->memory_mb, how->run == NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (how->run) {
        setvbuf(stdout, NULL, _IOLBF, 1 << 12); /* what it printed must be seen if it is killed */
        exit(how->run(how->argc, how->argv));
    }
    execvp(how->argv[0], how->argv);
    fprintf(stderr, "Cannot run %s: %s.\n", how->argv[0], strerror(errno));
    exit(127);
}

/* The program's parent: process 1 of the namespaces, if there are any. Its end is the end of all processes in them. */
__attribute__((noreturn)) static void be_parent(const struct confinement *how, const struct pipes *pipes,
                                                const char *folder, bool has_namespaces, bool with_user) {
    struct message message = {.kind = READY};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(pipes->status[0]);
    if (poll(&(struct pollfd){.fd = pipes->status[1]}, 1, 0) != 0)
        _exit(1); /* the guard has already ended */
    if (has_namespaces && !furnish_namespaces(with_user, message.text, sizeof message.text)) {
        message.kind = REFUSED;
        tell(pipes, &message);
        _exit(0);
    }
    message.pid = fork();
    if (message.pid == 0)
        be_program(how, pipes, folder);
    tell(pipes, &message);
    close(pipes->out[1]);
    close(pipes->error[1]);
    message.kind = ENDED;
    if (message.pid < 0)
        _exit(1);
    for (pid_t ended; (ended = waitpid(-1, &message.status, 0)) != message.pid;)
        if (ended < 0)
            _exit(1);
    if (has_namespaces) {
        kill(-1, SIGKILL); /* everything else in this namespace */
        while (waitpid(-1, NULL, 0) > 0)
            message.left++;
    }
    tell(pipes, &message);
    _exit(0);
}

/* ---- The guard ---- */

/* Start the program's parent: with namespaces if permitted, as root or with a user namespace. Reports which it was.
 * *program: the program's id, or 0 if it has namespaces, where the id says nothing to the guard. */
static pid_t start_parent(const struct confinement *how, struct pipes *pipes, const char *folder,
                          struct message *message, pid_t *program) {
    char refused[sizeof message->text] = "";
    for (int attempt = how->plain ? 2 : geteuid() == 0 ? 0 : 1; attempt < 3; attempt++) {
        pid_t parent = attempt < 2 ? fork_into_namespaces(attempt == 1) : fork();
        if (parent == 0)
            be_parent(how, pipes, folder, attempt < 2, attempt == 1);
        if (parent < 0) {
            snprintf(refused, sizeof refused, "creating namespaces: %s", strerror(errno));
            continue;
        }
        if (read(pipes->status[0], message, sizeof *message) == sizeof *message && message->kind == READY) {
            event_begin("confinement");
            event_string("namespaces", attempt == 0   ? "process, mount, network, ipc"
                                       : attempt == 1 ? "user, process, mount, network, ipc"
                                                      : NULL);
            event_string("refused", *refused ? refused : NULL);
            event_integer("pid", (uint64_t)message->pid);
            event_end();
            *program = attempt < 2 ? 0 : message->pid;
            return parent;
        }
        memcpy(refused, message->text, sizeof refused);
        waitpid(parent, NULL, 0);
    }
    return -1;
}

static void report_end(const struct message *message, bool late, bool ended, int left, long ms, bool truncated) {
    int status = message->status;
    event_begin("ended");
    event_string("how", late ? "limit" : ended && WIFSIGNALED(status) ? "signal" : "exited");
    if (!late && ended && WIFEXITED(status))
        event_integer("status", (uint64_t)WEXITSTATUS(status));
    if (!late && ended && WIFSIGNALED(status)) {
        char name[16];
        snprintf(name, sizeof name, "SIG%s", sigabbrev_np(WTERMSIG(status)));
        event_string("signal", name);
    }
    event_integer("left", (uint64_t)left);
    event_integer("ms", (uint64_t)ms);
    if (truncated)
        event_integer("truncated", 1);
    event_end();
}

/* Pass on what the program writes until it ends, its time is up, or the guard must end. */
static int watch(const struct confinement *how, struct pipes *pipes, pid_t parent, struct message *message) {
    struct output out = {.stream = "stdout"}, error = {.stream = "stderr"};
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    int ordered = signalfd(-1, &term, SFD_CLOEXEC);
    long began = now_ms();
    bool ended = false, late = false;
    struct pollfd fds[] = {{pipes->out[0], POLLIN, 0},
                           {pipes->error[0], POLLIN, 0},
                           {pipes->status[0], POLLIN, 0},
                           {ordered, POLLIN, 0},
                           {STDOUT_FILENO, 0, 0}};
    while (!ended && !late) {
        long rest = began + how->limit_ms - now_ms();
        if (poll(fds, 5, rest > 0 ? (int)rest : 0) == 0)
            late = true;
        if (fds[3].revents || fds[4].revents & (POLLERR | POLLHUP))
            return 1; /* the process that asked for this run has ended */
        if (fds[0].revents && !pass_on(&out, pipes->out[0]))
            fds[0].fd = -1;
        if (fds[1].revents && !pass_on(&error, pipes->error[0]))
            fds[1].fd = -1;
        if (fds[2].revents) {
            ended = read(pipes->status[0], message, sizeof *message) == sizeof *message;
            late = false;
            if (!ended)
                break; /* the parent was killed, and the program with it */
        }
    }
    long ms = now_ms() - began;
    if (late)
        report_descendants(parent);
    kill(parent, SIGKILL);
    int killed = kill_descendants();
    while (fds[0].fd >= 0 && pass_on(&out, pipes->out[0]))
        continue;
    while (fds[1].fd >= 0 && pass_on(&error, pipes->error[0]))
        continue;
    flush_output(&out);
    flush_output(&error);
    /* The parent itself is one of the killed, unless the program has ended. */
    int left = message->left + killed - 1;
    report_end(message, late, ended, late || left < 0 ? 0 : left, ms, out.truncated || error.truncated);
    return 0;
}

__attribute__((noreturn)) static void be_guard(const struct confinement *how, pid_t owner, const char *folder) {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    signal(SIGPIPE, SIG_IGN); /* a reader that has ended must not keep the guard from cleaning up */
    setsid(); /* a signal to the process group of crossings-lessons must not reach the guard, which cleans up */
    adopt_orphans();
    struct pipes pipes;
    struct message message = {0};
    if (!signal_with_parent(owner, SIGTERM) || pipe(pipes.out) || pipe(pipes.error) || pipe(pipes.status))
        _exit(1);
    pid_t program = 0;
    pid_t parent = start_parent(how, &pipes, folder, &message, &program);
    close(pipes.out[1]);
    close(pipes.error[1]);
    close(pipes.status[1]);
    int status = parent < 0 ? 1 : watch(how, &pipes, parent, &message);
    kill_descendants();
    remove_room(folder, program);
    _exit(status);
}

int run_confined(const struct confinement *how) {
    char folder[256];
    pid_t self = getpid();
    int status;
    if (!make_room(folder, sizeof folder)) {
        perror("Cannot make a temporary folder");
        return 1;
    }
    fflush(stdout);
    adopt_orphans();
    pid_t guard = fork();
    if (guard == 0)
        be_guard(how, self, folder);
    if (guard > 0 && waitpid(guard, &status, 0) == guard && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    kill_descendants(); /* the guard was killed */
    remove_room(folder, 0);
    fprintf(stderr, "Cannot confine the program: the process that guards it ended.\n");
    return 1;
}
