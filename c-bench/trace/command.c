/* Traces a command: finds the program, executes it in a child, and says why if that fails. */
#include "../common/ndjson.h"
#include "../common/syscalls.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The program to execute, found as a shell finds it. */
static char program[4096];

/* Nothing is recorded until the child executes the program. */
static bool has_begun(struct tracee *tracee) {
    static bool begun;
    begun = begun || strcmp(syscall_name(tracee->number), "execve") == 0;
    return begun;
}

static const struct front command_front = {.read_state = has_begun};

/* Print the reason why a file cannot be executed, and return it as an error number; 0: it can be. */
static int why_not(const char *path) {
    struct stat status;
    if (stat(path, &status))
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return access(path, X_OK) ? errno : 0;
}

/* Find the program of a command in PATH. Returns 0 or an error number. */
static int find_program(const char *name) {
    if (!*name)
        return ENOENT;
    if (strchr(name, '/')) {
        snprintf(program, sizeof program, "%s", name);
        return why_not(program);
    }
    const char *path = getenv("PATH");
    int reason = ENOENT;
    for (const char *from = path ? path : "/usr/bin:/bin"; from;) {
        size_t length = strcspn(from, ":");
        snprintf(program, sizeof program, "%.*s%s%s", (int)length, from, length ? "/" : "", name);
        int failed = why_not(program);
        if (failed == 0)
            return 0;
        if (failed != ENOENT && failed != ENOTDIR)
            reason = failed;
        from = from[length] ? from + length + 1 : NULL;
    }
    return reason;
}

static void refuse_command(const char *name, int reason) {
    char sentence[1024];
    const char *why = strerror(reason);
    if (reason == ENOENT && strchr(name, '/') && access(name, F_OK) == 0)
        why = "the interpreter that its first line or its header names does not exist";
    else if (reason == ENOENT && !strchr(name, '/'))
        why = "program not found in PATH";
    else if (reason == EISDIR)
        why = "it is a folder";
    else if (reason == EACCES)
        why = "permission denied (is it executable?)";
    else if (reason == ENOEXEC)
        why = "it is neither a program for this machine nor a script whose first line begins with #!";
    snprintf(sentence, sizeof sentence, "Cannot run \"%.300s\": %s.", name, why);
    print_error("ERR_USAGE", "%s", sentence);
}

int trace_command(char **arguments, const struct trace_limits *limits) {
    struct gate gate;
    int failed = find_program(arguments[0]), report[2];
    if (failed || pipe2(report, O_CLOEXEC)) {
        redirect_output(limits->output);
        refuse_command(arguments[0], failed ? failed : errno);
        return 2;
    }
    pid_t pid = fork_program(&gate, limits->output);
    if (pid == 0) {
        execv(program, arguments);
        failed = errno;
        if (write(report[1], &failed, sizeof failed) != sizeof failed)
            _exit(126);
        _exit(127);
    }
    close(report[1]);
    if (pid < 0) {
        redirect_output(limits->output);
        print_error("ERR_PROGRAM", "Cannot start a process: %s.", strerror(errno));
        return 1;
    }
    int status = trace_child(&command_front, pid, &gate, limits);
    if (read(report[0], &failed, sizeof failed) == sizeof failed) {
        refuse_command(arguments[0], failed);
        return 2;
    }
    return status == -1 ? 1 : 0;
}
