/* Creates and furnishes the namespaces of a confined program. */
#include "namespaces.h"

#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static uid_t user; /* outside; inside they are unknown until they are mapped */
static gid_t group;

pid_t fork_into_namespaces(bool with_user) {
    user = geteuid();
    group = getegid();
    /* Not unshare(): the caller itself must keep its own mounts and process ids. */
    unsigned long flags = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | SIGCHLD;
    return (pid_t)syscall(SYS_clone, with_user ? flags | CLONE_NEWUSER : flags, 0, 0, 0, 0);
}

static bool write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return written;
}

/* Keep the user's own id: an unmapped one would own no file. */
static bool map_user(void) {
    char map[64];
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%d %d 1", (int)user, (int)user);
    if (!write_file("/proc/self/uid_map", map))
        return false;
    snprintf(map, sizeof map, "%d %d 1", (int)group, (int)group);
    return write_file("/proc/self/gid_map", map);
}

static bool raise_loopback(void) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool raised = any >= 0 && ioctl(any, SIOCSIFFLAGS, &request) == 0;
    if (any >= 0)
        close(any);
    return raised;
}

bool furnish_namespaces(bool with_user, char *refused, size_t bytes) {
    const char *step = NULL;
    if (with_user && !map_user())
        step = "mapping the user";
    else if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
        step = "making the mounts private";
    else if (mount("crossings", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=1777"))
        step = "mounting /dev/shm";
    else if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        step = "mounting /proc";
    else if (!raise_loopback())
        step = "raising the loopback interface";
    if (step)
        snprintf(refused, bytes, "%s: %s", step, strerror(errno));
    return step == NULL;
}

bool limit_process_ids(void) {
    struct utsname kernel;
    int major = 0, minor = 0, most = 0;
    /* Before 6.14, there was one limit for the whole machine. */
    if (uname(&kernel) || sscanf(kernel.release, "%d.%d", &major, &minor) != 2 || major * 1000 + minor < 6014)
        return false;
    char text[16];
    snprintf(text, sizeof text, "%d", MAX_PROCESSES);
    write_file("/proc/sys/kernel/pid_max", text);
    FILE *file = fopen("/proc/sys/kernel/pid_max", "r");
    bool limited = file && fscanf(file, "%d", &most) == 1 && most <= MAX_PROCESSES;
    if (file)
        fclose(file);
    return limited;
}

bool protect_proc(void) {
    const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    return mount("none", "/proc", NULL, flags, NULL) == 0;
}

void drop_capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    /* A file may belong to another user than root, such as one who mounted it into a container. */
    const unsigned kept = 1u << CAP_DAC_READ_SEARCH;
    for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
        if (!(kept & (capability < 32 ? 1u << capability : 0)))
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); /* executing a program as root does not give it back */
    if (syscall(SYS_capget, &header, data))
        return;
    data[0].effective &= kept;
    data[0].permitted &= kept;
    data[0].inheritable = 0;
    data[1] = (struct __user_cap_data_struct){0};
    syscall(SYS_capset, &header, data);
}
