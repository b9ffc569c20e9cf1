/* Forks the spinning processes. Their policy is SCHED_IDLE, which needs no privilege but may be forbidden. This process
 * sets it: at that priority, a process on a busy core may take seconds to get to anything, its own end included. */
#include "spinners.h"

#include "../common/gate.h"
#include "../common/topology.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t spinners[2];
static int count;

static bool fail(struct failure *failure, const char *code, const char *doing, int core) {
    failure->certainty = CERTAIN;
    snprintf(failure->code, sizeof failure->code, "%s", code);
    snprintf(failure->text, sizeof failure->text, "cannot %s core %d: %s", doing, core, strerror(errno));
    return false;
}

/* Without a pause instruction: a hypervisor may take the core away from a guest that pauses in a loop. The output is
 * closed, so that its reader, which waits until every writer has ended, does not wait for a killed spinning process
 * that a busy core lets end only later. */
__attribute__((noreturn)) static void spin(void) {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    for (;;)
        __asm__ volatile("");
}

static bool set_policy(pid_t pid, int policy) {
    return sched_setscheduler(pid, policy, &(struct sched_param){0}) == 0;
}

static bool start(int core, struct failure *failure) {
    struct gate held;
    pid_t pid = fork_held(&held);
    if (pid == 0)
        spin();
    if (pid < 0)
        return fail(failure, "ERR_SYSTEM", "start a spinning process on", core);
    spinners[count++] = pid;
    bool ready = pin_process(pid, core) && set_policy(pid, SCHED_IDLE);
    if (!ready)
        fail(failure, "ERR_SCHED_IDLE", "run a process of policy SCHED_IDLE on", core);
    else if (!gate_open(&held))
        ready = fail(failure, "ERR_SYSTEM", "start a spinning process on", core);
    close(held.open_fd);
    return ready;
}

bool spinners_start(const int cores[2], struct failure *failure) {
    return start(cores[0], failure) && (cores[0] == cores[1] || start(cores[1], failure));
}

bool spinners_end(struct failure *failure) {
    bool spun = true;
    for (int i = 0; i < count; i++) {
        /* pair_run() collects every child that ends: for one that is gone, this fails. */
        if (waitpid(spinners[i], NULL, WNOHANG) != 0) {
            failure->certainty = CERTAIN;
            snprintf(failure->code, sizeof failure->code, "ERR_CHILD_DIED");
            snprintf(failure->text, sizeof failure->text, "a spinning process has ended during the measurement");
            spinners[i] = 0;
            spun = false;
            continue;
        }
        set_policy(spinners[i],
                   SCHED_OTHER); /* to end at once; without the privilege for it, a busy core delays the end */
        if (!kill_child(spinners[i]))
            spinners[i] = 0; /* it ends with this process */
    }
    for (int i = 0; i < count; i++)
        if (spinners[i])
            waitpid(spinners[i], NULL, 0);
    count = 0;
    return spun;
}
