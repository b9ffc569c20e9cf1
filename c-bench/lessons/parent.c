/* Forks the program's parent into namespaces, if there are any, and the program. */
#include "parent.h"

#include "../common/clock.h"
#include "../common/ndjson.h"
#include "names.h"
#include "namespaces.h"
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
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

#define MOST_REAPING_NS 1000000000ULL
#define MIN_START_MS 5000 /* for namespaces, too, on a busy machine; the time of the program begins afterwards */

/* ---- Signals ---- */

static volatile pid_t next_process;

static void pass_signal(int signal) {
    if (next_process > 0)
        kill(next_process, signal);
}

void pass_signals_to(pid_t process) {
    next_process = process;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = pass_signal, .sa_flags = SA_RESTART}, NULL);
}

bool must_end(const struct orders *orders, pid_t parent) {
    struct signalfd_siginfo sent = {0};
    if (read(orders->fd, &sent, sizeof sent) != sizeof sent)
        return true;
    if (sent.ssi_signo == SIGCONT)
        return getppid() != orders->owner; /* anybody may send it */
    if (sent.ssi_signo != SIGUSR1)
        return true;
    kill(parent, SIGUSR1);
    return false;
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
    signal(SIGALRM, SIG_DFL);
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

/* ---- Its parent ---- */

static void tell(const struct pipes *pipes, const struct notice *notice) {
    if (write(pipes->status[1], notice, sizeof *notice) != sizeof *notice)
        _exit(1);
}

/* Wait for the killed processes of this namespace. A process may be unkillable: it waits for a lock of the kernel, such
 * as that of a pipe that splice() fills. Returns how many have ended. */
static int reap_killed(void) {
    int ended = 0, status;
    uint64_t until_ns = monotonic_ns() + MOST_REAPING_NS;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) >= 0 && monotonic_ns() < until_ns;) {
        ended += pid > 0 && !WIFSTOPPED(status);
        if (pid == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return ended;
}

/* If the machine or a container is out of memory, the kernel ends what this process starts, and not the guard, which
 * removes its folder, nor who has started that. Returns a descriptor that changes the place of this process in that
 * order, or -1. */
static int end_before_others(void) {
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0)
        (void)!write(file, "1000", 4);
    return file;
}

/* The program's parent: process 1 of the namespaces, if there are any. Its end is the end of all processes in them. */
__attribute__((noreturn)) static void be_parent(const struct confinement *how, const struct pipes *pipes,
                                                const char *folder, bool has_namespaces, bool with_user) {
    struct notice notice = {.kind = READY};
    int priority = end_before_others();
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
    /* The kernel does not apply RLIMIT_NPROC to root, who could also raise the limit in an unprotected /proc. */
    bool limited = has_namespaces && limit_process_ids();
    bool is_protected = has_namespaces && protect_proc();
    notice.counted = (limited && is_protected) || geteuid() != 0;
    pass_signals_to(0);
    sigset_t passed;
    sigemptyset(&passed);
    sigaddset(&passed, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &passed, NULL); /* the guard blocks it */
    notice.pid = fork();
    if (notice.pid == 0)
        be_program(how, pipes, folder);
    if (priority >= 0) {
        (void)!write(priority, "500", 3); /* after the program: this process reports how that ends */
        close(priority);
    }
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
    /* A program may make this process its tracer (PTRACE_TRACEME). Its stops are not its end. */
    for (pid_t ended; (ended = waitpid(-1, &notice.status, 0)) != notice.pid || WIFSTOPPED(notice.status);)
        if (ended < 0)
            _exit(1);
    if (has_namespaces) {
        for (int i = 0, status; i < MOST_REAPED && waitpid(-1, &status, WNOHANG) > 0;)
            i++;           /* what has ended by itself was not left behind */
        kill(-1, SIGKILL); /* everything else in this namespace */
        notice.left = reap_killed();
    }
    tell(pipes, &notice);
    _exit(0);
}

/* ---- Starting it, in the guard ---- */

enum answer { NOTICE, KILLED, LATE, UNWANTED };

/* Wait for the parent's first notice. */
static enum answer await_notice(int status, const struct orders *orders, pid_t parent, uint64_t limit_ns,
                                struct notice *notice) {
    struct pollfd fds[] = {{status, POLLIN, 0}, {orders->fd, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    for (uint64_t now_ns; (now_ns = monotonic_ns()) < limit_ns;) {
        poll(fds, 3, (int)((limit_ns - now_ns) / 1000000 + 1));
        if (fds[0].revents)
            return read(status, notice, sizeof *notice) == sizeof *notice ? NOTICE : KILLED;
        if ((fds[1].revents && must_end(orders, parent)) || fds[2].revents & (POLLERR | POLLHUP))
            return UNWANTED;
    }
    return LATE;
}

static void print_confinement(int attempt, const char *refused, const struct notice *notice) {
    event_begin("confinement");
    event_string("namespaces", attempt == 0   ? "process, mount, network, ipc"
                               : attempt == 1 ? "user, process, mount, network, ipc"
                                              : NULL);
    event_string("refused", *refused ? refused : NULL);
    event_integer("pid", (uint64_t)notice->pid);
    event_end();
}

/* With namespaces if permitted, as root or with a user namespace. */
pid_t start_parent(const struct confinement *how, struct pipes *pipes, const char *folder, const struct orders *orders,
                   struct notice *notice) {
    int limit_ms = how->limit_ms < MIN_START_MS ? MIN_START_MS : how->limit_ms;
    uint64_t limit_ns = monotonic_ns() + (uint64_t)limit_ms * 1000000;
    char refused[sizeof notice->text] = "";
    for (int attempt = how->plain ? 2 : geteuid() == 0 ? 0 : 1; attempt < 3; attempt++) {
        if (pipe(pipes->status)) {
            snprintf(refused, sizeof refused, "creating a pipe: %s", strerror(errno));
            break;
        }
        pid_t parent = attempt < 2 ? fork_into_namespaces(attempt == 1) : fork();
        if (parent == 0)
            be_parent(how, pipes, folder, attempt < 2, attempt == 1);
        int reason = errno;
        close(pipes->status[1]); /* only the parent has it: its end, however it comes, is the end of the pipe */
        if (parent < 0) {
            const char *doing = attempt < 2 ? "creating namespaces" : "starting a process";
            snprintf(refused, sizeof refused, "%s: %s", doing, strerror(reason));
            close(pipes->status[0]);
            continue;
        }
        enum answer answer = await_notice(pipes->status[0], orders, parent, limit_ns, notice);
        if (answer == NOTICE && notice->kind == READY) {
            print_confinement(attempt, refused, notice);
            return parent;
        }
        close(pipes->status[0]);
        if (answer == UNWANTED)
            return 0; /* the guard kills it, and waits only so long: it may have started the program */
        if (answer == NOTICE) {
            kill(parent, SIGKILL);
            waitpid(parent, NULL, 0);
            memcpy(refused, notice->text, sizeof refused);
            continue;
        }
        if (answer == KILLED)
            snprintf(refused, sizeof refused, "the process that starts it was killed");
        else
            snprintf(refused, sizeof refused, "it did not start within %d ms", limit_ms);
        break;
    }
    fprintf(stderr, "Cannot confine the program: %s.\n", refused);
    return -1;
}
