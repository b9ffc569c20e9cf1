/* Forks the guard, which confines the program, reads what it writes, and ends it when its time is up. */
#include "confine.h"

#include "../common/gate.h"
#include "../common/ndjson.h"
#include "descendants.h"
#include "names.h"
#include "namespaces.h"
#include "output.h"
#include "room.h"

#include <errno.h>
#include <limits.h>
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
struct notice {
    enum { READY = 1, REFUSED, ENDED } kind;
    int status;   /* of the program, from waitpid() */
    int left;     /* processes that it left behind */
    pid_t pid;    /* of the program, in its namespace */
    bool counted; /* the kernel limits how many processes there are */
    char text[120];
};

#define SAID_WHY 2 /* the exit status of a guard that could not run the program and has printed the reason */

#define COUNT_MS 100 /* how often processes are counted where the kernel does not limit them */

struct pipes {
    int out[2], error[2], status[2];
};

static sigset_t guard_signals;

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- SIGUSR1, on its way to the tracer ---- */

static volatile pid_t next_process;

static void pass_signal(int signal) {
    if (next_process > 0)
        kill(next_process, signal);
}

static void pass_signals_to(pid_t process) {
    next_process = process;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = pass_signal, .sa_flags = SA_RESTART}, NULL);
}

static void tell(const struct pipes *pipes, const struct notice *notice) {
    if (write(pipes->status[1], notice, sizeof *notice) != sizeof *notice)
        _exit(1);
}

/* ---- The program ---- */

static void close_from(int first, int last) {
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    struct rlimit most; /* before Linux 5.9 */
    rlim_t end = getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < 65536 ? most.rlim_cur : 65536;
    for (int fd = first; fd <= last && fd < (int)end; fd++)
        close(fd);
}

/* Close all descriptors but the standard ones and `kept`: the program must not have what this process has inherited. */
static void close_others(int kept) {
    close_from(STDERR_FILENO + 1, kept - 1);
    close_from(kept + 1, INT_MAX);
}

__attribute__((noreturn)) static void be_program(const struct confinement *how, const struct pipes *pipes,
                                                 const char *folder) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    dup2(pipes->out[1], STDOUT_FILENO);
    dup2(pipes->error[1], STDERR_FILENO);
    close_others(how->trace ? how->trace->output : STDERR_FILENO);
    if (chdir(folder)) {
        perror("Cannot enter the temporary folder");
        exit(126);
    }
    limit_resources(how->limit_ms, how->memory_mb, how->run == NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    drop_capabilities();
    signal(SIGUSR1, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (how->run)
        setvbuf(stdout, NULL, _IOLBF, 1 << 12); /* what it printed must be seen if it is killed */
    if (how->trace && how->run) {
        const char *name = strrchr(how->argv[0], '/');
        prctl(PR_SET_NAME, name ? name + 1 : how->argv[0]); /* in the recording; it would be that of this executable */
    }
    if (how->trace)
        exit(how->run ? trace_function(how->run, how->argc, how->argv, how->trace)
                      : trace_command(how->argv, how->trace));
    if (how->run)
        exit(how->run(how->argc, how->argv));
    execvp(how->argv[0], how->argv);
    fprintf(stderr, "Cannot run %s: %s.\n", how->argv[0], strerror(errno));
    exit(127);
}

/* The program's parent: process 1 of the namespaces, if there are any. Its end is the end of all processes in them. */
__attribute__((noreturn)) static void be_parent(const struct confinement *how, const struct pipes *pipes,
                                                const char *folder, bool has_namespaces, bool with_user) {
    struct notice notice = {.kind = READY};
    if (has_namespaces)
        forget_names();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(pipes->status[0]);
    if (poll(&(struct pollfd){.fd = pipes->status[1]}, 1, 0) != 0)
        _exit(1); /* the guard has already ended */
    if (has_namespaces && !furnish_namespaces(with_user, notice.text, sizeof notice.text)) {
        notice.kind = REFUSED;
        tell(pipes, &notice);
        _exit(0);
    }
    /* The kernel does not apply RLIMIT_NPROC to root. */
    notice.counted = (has_namespaces && limit_process_ids()) || geteuid() != 0;
    pass_signals_to(0);
    sigset_t passed;
    sigemptyset(&passed);
    sigaddset(&passed, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &passed, NULL); /* the guard blocks it */
    notice.pid = fork();
    if (notice.pid == 0)
        be_program(how, pipes, folder);
    if (notice.pid < 0) {
        notice.kind = REFUSED;
        snprintf(notice.text, sizeof notice.text, "starting a process: %s", strerror(errno));
        tell(pipes, &notice);
        _exit(0);
    }
    pass_signals_to(notice.pid);
    tell(pipes, &notice);
    close(pipes->out[1]);
    close(pipes->error[1]);
    notice.kind = ENDED;
    for (pid_t ended; (ended = waitpid(-1, &notice.status, 0)) != notice.pid;)
        if (ended < 0)
            _exit(1);
    if (has_namespaces) {
        kill(-1, SIGKILL); /* everything else in this namespace */
        while (waitpid(-1, NULL, 0) > 0)
            notice.left++;
    }
    tell(pipes, &notice);
    _exit(0);
}

/* ---- The guard ---- */

/* Start the program's parent: with namespaces if permitted, as root or with a user namespace. Reports which it was. */
static pid_t start_parent(const struct confinement *how, struct pipes *pipes, const char *folder,
                          struct notice *notice) {
    char refused[sizeof notice->text] = "";
    for (int attempt = how->plain ? 2 : geteuid() == 0 ? 0 : 1; attempt < 3; attempt++) {
        pid_t parent = attempt < 2 ? fork_into_namespaces(attempt == 1) : fork();
        if (parent == 0)
            be_parent(how, pipes, folder, attempt < 2, attempt == 1);
        if (parent < 0) {
            const char *doing = attempt < 2 ? "creating namespaces" : "starting a process";
            snprintf(refused, sizeof refused, "%s: %s", doing, strerror(errno));
            continue;
        }
        if (read(pipes->status[0], notice, sizeof *notice) == sizeof *notice && notice->kind == READY) {
            event_begin("confinement");
            event_string("namespaces", attempt == 0   ? "process, mount, network, ipc"
                                       : attempt == 1 ? "user, process, mount, network, ipc"
                                                      : NULL);
            event_string("refused", *refused ? refused : NULL);
            event_integer("pid", (uint64_t)notice->pid);
            event_end();
            return parent;
        }
        memcpy(refused, notice->text, sizeof refused);
        waitpid(parent, NULL, 0);
    }
    fprintf(stderr, "Cannot confine the program: %s.\n", refused);
    return -1;
}

/* Those that end a program. (glibc has a function for this, musl does not.) */
static const char *signal_name(int number) {
    static const char *const names[] = {
        [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",
        [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
        [SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM", [SIGXCPU] = "SIGXCPU",
        [SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS",
    };
    const char *name = number < (int)(sizeof names / sizeof *names) ? names[number] : NULL;
    return name ? name : "another signal";
}

/* `limit`: what there was too much of; NULL: it ended by itself. */
static void report_end(const struct notice *notice, const char *limit, bool ended, int left, long ms, bool truncated) {
    int status = notice->status;
    bool late = limit != NULL;
    event_begin("ended");
    event_string("how", late ? "limit" : ended && WIFSIGNALED(status) ? "signal" : "exited");
    if (late)
        event_string("limit", limit);
    if (!late && ended && WIFEXITED(status))
        event_integer("status", (uint64_t)WEXITSTATUS(status));
    if (!late && ended && WIFSIGNALED(status)) {
        event_string("signal", signal_name(WTERMSIG(status)));
    }
    event_integer("left", (uint64_t)left);
    event_integer("ms", (uint64_t)ms);
    if (truncated)
        event_integer("truncated", 1);
    event_end();
}

/* Pass on what the program writes until it ends, its time is up, or the guard must end. */
static int watch_over(const struct confinement *how, struct pipes *pipes, pid_t parent, bool counts,
                      struct notice *notice) {
    struct output out = {.stream = "stdout"}, error = {.stream = "stderr"};
    int ordered = signalfd(-1, &guard_signals, SFD_CLOEXEC);
    long began = now_ms(), counted = began;
    bool ended = false, late = false, crowded = false;
    struct pollfd fds[] = {{pipes->out[0], POLLIN, 0},
                           {pipes->error[0], POLLIN, 0},
                           {pipes->status[0], POLLIN, 0},
                           {ordered, POLLIN, 0},
                           {STDOUT_FILENO, 0, 0}};
    while (!ended && !late && !crowded) {
        long rest = began + how->limit_ms - now_ms();
        if (counts && rest > COUNT_MS)
            rest = COUNT_MS;
        if (poll(fds, 5, rest > 0 ? (int)rest : 0) == 0)
            late = now_ms() >= began + how->limit_ms;
        if (counts && now_ms() >= counted + COUNT_MS) {
            crowded = count_descendants(parent) > MAX_PROCESSES;
            counted = now_ms();
        }
        struct signalfd_siginfo sent = {0};
        if (fds[3].revents && read(ordered, &sent, sizeof sent) == sizeof sent && sent.ssi_signo == SIGUSR1)
            kill(parent, SIGUSR1);
        else if (fds[3].revents || fds[4].revents & (POLLERR | POLLHUP))
            return 1; /* the process that asked for this run has ended */
        if (fds[0].revents && !pass_on(&out, pipes->out[0]))
            fds[0].fd = -1;
        if (fds[1].revents && !pass_on(&error, pipes->error[0]))
            fds[1].fd = -1;
        if (fds[2].revents) {
            ended = read(pipes->status[0], notice, sizeof *notice) == sizeof *notice;
            late = crowded = false;
            if (!ended)
                break; /* the parent was killed, and the program with it */
        }
    }
    long ms = now_ms() - began;
    if (late)
        report_descendants(parent);
    late = late || crowded;
    kill(parent, SIGKILL);
    int killed = kill_descendants();
    while (fds[0].fd >= 0 && pass_on(&out, pipes->out[0]))
        continue;
    while (fds[1].fd >= 0 && pass_on(&error, pipes->error[0]))
        continue;
    flush_output(&out);
    flush_output(&error);
    /* The parent itself is one of the killed, unless the program has ended. */
    int left = notice->left + killed - 1;
    report_end(notice,
               crowded ? "processes"
               : late  ? "time"
                       : NULL,
               ended, late || left < 0 ? 0 : left, ms, out.truncated || error.truncated);
    return 0;
}

__attribute__((noreturn)) static void be_guard(const struct confinement *how, pid_t owner, const char *folder) {
    sigemptyset(&guard_signals);
    sigaddset(&guard_signals, SIGTERM);
    sigaddset(&guard_signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &guard_signals, NULL);
    signal(SIGPIPE, SIG_IGN); /* a reader that has ended must not keep the guard from cleaning up */
    setsid(); /* a signal to the process group of crossings-lessons must not reach the guard, which cleans up */
    adopt_orphans();
    struct pipes pipes;
    struct notice notice = {0};
    if (!signal_with_parent(owner, SIGTERM))
        _exit(1);
    /* Not before: from here on, this process cannot be ended together with its parent, and one of them removes it. */
    if (!make_room(folder)) {
        fprintf(stderr, "Cannot make the temporary folder %s: %s.\n", folder, strerror(errno));
        _exit(SAID_WHY);
    }
    if (pipe(pipes.out) || pipe(pipes.error) || pipe(pipes.status)) {
        fprintf(stderr, "Cannot confine the program: creating pipes: %s.\n", strerror(errno));
        remove_room(folder);
        _exit(SAID_WHY);
    }
    pid_t parent = start_parent(how, &pipes, folder, &notice);
    bool counts = !notice.counted;
    close(pipes.out[1]);
    close(pipes.error[1]);
    close(pipes.status[1]);
    int status = parent < 0 ? SAID_WHY : watch_over(how, &pipes, parent, counts, &notice);
    kill_descendants();
    remove_room(folder);
    _exit(status);
}

int run_confined(const struct confinement *how) {
    char folder[256];
    pid_t self = getpid();
    int status;
    if (!name_room(folder, sizeof folder)) {
        perror("Cannot make a temporary folder");
        return 1;
    }
    fflush(stdout);
    begin_names();
    adopt_orphans();
    pass_signals_to(0);
    pid_t guard = fork();
    if (guard == 0)
        be_guard(how, self, folder);
    if (guard < 0) {
        fprintf(stderr, "Cannot confine the program: %s.\n", strerror(errno));
        return 1;
    }
    pass_signals_to(guard);
    bool ended = waitpid(guard, &status, 0) == guard && WIFEXITED(status);
    if (ended && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SAID_WHY))
        return WEXITSTATUS(status) == 0 ? 0 : 1;
    kill_descendants(); /* the guard was killed */
    remove_room(folder);
    fprintf(stderr, "Cannot confine the program: the process that guards it ended.\n");
    return 1;
}
