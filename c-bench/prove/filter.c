/*
 * Builds and installs the filter. A forbidden call raises SIGSYS (SECCOMP_RET_TRAP), because that tells the process
 * which call it was; SECCOMP_RET_KILL_PROCESS would not. The handler passes the number on and makes another forbidden
 * call. SIGSYS is blocked inside the handler, so the kernel cannot deliver this one and kills the process instead.
 */
#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FILTER_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define MAX_INSTRUCTIONS (16 + 2 * FILTER_MAX_CALLS)
#define MAX_NUMBER 1024
#define LOOK_EVERY_US 200

const char *const filter_allowed[] = {"write", "exit_group", NULL};

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE /* kernel headers before 5.5 */
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE 1
#endif

#define NOT_YET (-2)

static struct filter current;
static atomic_int
    listener; /* the descriptor that reports counted calls; -1: none; NOT_YET: the filter is not installed */
static atomic_ulong counts[MAX_NUMBER];

void filter_die(void) {
    syscall(SYS_getppid);
}

static void on_sigsys(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    current.on_forbidden(info->si_syscall);
    filter_die();
}

unsigned long filter_count(int number) {
    return atomic_load_explicit(&counts[number], memory_order_relaxed);
}

#ifdef FILTER_ARCHITECTURE

/* Runs in a thread that is not filtered: counts each notified call and lets it continue. */
static void *count_calls(void *unused) {
    int fd = atomic_load_explicit(&listener, memory_order_relaxed);
    static struct seccomp_notif request;
    for (;;) {
        memset(&request, 0, sizeof request); /* required by the ioctl */
        if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &request)) {
            if (errno == EINTR || errno == ENOENT) /* ENOENT: a signal interrupted the call before it was received */
                continue;
            return unused;
        }
        if (request.data.nr < MAX_NUMBER)
            atomic_fetch_add_explicit(&counts[request.data.nr], 1, memory_order_relaxed);
        struct seccomp_notif_resp response = {.id = request.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
    }
}

/* The thread starts before the filter is installed, because later it would be filtered, too. It polls for the listener:
 * the filtered thread could wake it only with a system call. */
static void *wait_and_count(void *unused) {
    int seen;
    while ((seen = atomic_load_explicit(&listener, memory_order_relaxed)) == NOT_YET)
        usleep(LOOK_EVERY_US);
    return seen < 0 ? unused : count_calls(unused);
}

static struct sock_fprog build(const struct filter *filter) {
    static struct sock_filter code[MAX_INSTRUCTIONS];
    unsigned short size = 0;
#define LOAD(field)                                                                                                    \
    code[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS_SKIP(value, skipped)                                                                                    \
    code[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define RETURN(action) code[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action)
    LOAD(arch); /* the numbers below are those of one architecture: int 0x80 on x86-64 uses other ones */
    code[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCHITECTURE, 1, 0);
    RETURN(SECCOMP_RET_KILL_PROCESS);
    LOAD(nr);
    UNLESS_SKIP(SYS_exit_group, 1);
    RETURN(SECCOMP_RET_ALLOW);
    for (size_t i = 0; i < filter->counted_size; i++) {
        UNLESS_SKIP((unsigned)filter->counted[i], 1);
        RETURN(SECCOMP_RET_USER_NOTIF);
    }
    UNLESS_SKIP(SYS_write, 3);
    LOAD(args[0]); /* the lower half, on a little-endian machine: a descriptor is an int */
    UNLESS_SKIP((unsigned)filter->report_fd, 1);
    RETURN(SECCOMP_RET_ALLOW);
    RETURN(SECCOMP_RET_TRAP);
    return (struct sock_fprog){.len = size, .filter = code};
}

static bool refused(const char **reason) {
    *reason = strerror(errno);
    return false;
}

bool filter_enter(const struct filter *filter, const char **reason) {
    current = *filter;
    struct sigaction action = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
    struct sock_fprog program = build(filter);
    bool counting = filter->counted_size > 0;
    pthread_t counter;
    /* No core dump: the process dies on purpose. */
    if (sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return refused(reason);
    atomic_store(&listener, NOT_YET);
    errno = counting ? pthread_create(&counter, NULL, wait_and_count, NULL) : 0;
    if (errno)
        return refused(reason);
    unsigned flags = counting ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
    long entered = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    atomic_store(&listener, (int)entered); /* read only if `counting`; -1: the thread ends */
    return entered >= 0 || refused(reason);
}

#else

bool filter_enter(const struct filter *filter, const char **reason) {
    (void)filter;
    *reason = "the filter is written for x86-64 and arm64 only";
    return false;
}

#endif
