/*
 * crossings-count COMMAND...: runs a command and counts the system calls that it and all its children make, by name.
 * By the kernel's tracepoint where that is allowed, by ptrace where it is not. The result is one line of JSON on
 * standard output, after whatever the command prints there; the exit status is the command's.
 */
#include "count.h"

#include "../harness/ndjson.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "crossings-count [--method auto|tracepoint|ptrace] [--] COMMAND [ARGUMENT...]\n"
    "Counts the system calls that COMMAND and its children make, by name; the result is a line of JSON.\n"
    "\n"
    "  --method M     how to count: the kernel's tracepoint, ptrace, or whichever is allowed (auto)\n"
    "  --parent PID   end when the process PID does, which must have started this one\n"
    "  --probe        say which methods this machine allows, and stop\n"
    "  --help         print this and stop\n";

static const struct method *const methods[] = {&tracepoint_method, &ptrace_method, NULL};

static const char *const syscall_names[MAX_SYSCALLS] = {
#include "syscall-names.inc"
};

struct command {
    pid_t pid;
    int go; /* a byte written here lets it begin */
};

/* Fork the command, which then waits until it may begin. With no arguments it is one that ends at once. */
static struct command start_command(char **arguments) {
    int gate[2];
    char byte;
    pid_t self = getpid();
    if (pipe(gate))
        return (struct command){-1, -1};
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(gate[1]);
        if (getppid() != self || read(gate[0], &byte, 1) != 1)
            _exit(127);
        close(gate[0]);
        if (!arguments[0])
            _exit(0);
        execvp(arguments[0], arguments);
        fprintf(stderr, "%s could not be run: %s\n", arguments[0], strerror(errno));
        _exit(127);
    }
    close(gate[0]);
    return (struct command){pid, gate[1]};
}

static void drop_command(const struct command *command) {
    kill(command->pid, SIGKILL);
    waitpid(command->pid, NULL, __WALL);
    close(command->go);
}

static void probe(void) {
    event_begin("methods");
    for (int i = 0; methods[i]; i++) {
        char reason[REASON_BYTES] = "";
        struct command command = start_command((char *[]){NULL});
        bool allowed = methods[i]->start(command.pid, reason);
        drop_command(&command);
        event_open(methods[i]->name);
        event_string("allowed", allowed ? "yes" : "no");
        event_string("reason", allowed ? NULL : reason);
        event_close();
    }
    event_end();
}

static void print_tally(const struct method *method, const char *notice, const struct tally *tally) {
    event_begin("crossings");
    event_string("method", method->name);
    event_string("notice", *notice ? notice : NULL);
    event_integer("total", tally->total);
    event_open("byName");
    for (int i = 0; i < MAX_SYSCALLS; i++) {
        char unnamed[32];
        snprintf(unnamed, sizeof unnamed, "syscall_%d", i);
        if (tally->by_number[i])
            event_integer(syscall_names[i] ? syscall_names[i] : unnamed, tally->by_number[i]);
    }
    event_close();
    event_end();
}

/* Start counting by the first method that is allowed, of all or of the one asked for. NULL when none is. `reason` tells
 * what was refused on the way. */
static const struct method *choose(pid_t command, const char *wanted, char *reason) {
    for (int i = 0; methods[i]; i++) {
        bool asked = strcmp(wanted, "auto") == 0 || strcmp(wanted, methods[i]->name) == 0;
        if (asked && methods[i]->start(command, reason))
            return methods[i];
    }
    return NULL;
}

static int count(char **arguments, const char *wanted) {
    static struct tally tally;
    char reason[REASON_BYTES] = "";
    struct command command = start_command(arguments);
    if (command.pid < 0) {
        perror("the command could not be started");
        return 1;
    }
    const struct method *method = choose(command.pid, wanted, reason);
    if (!method) {
        drop_command(&command);
        fprintf(stderr, "System calls cannot be counted here: %s.\n", reason);
        return 1;
    }
    int status = write(command.go, "g", 1) == 1 ? 0 : -1;
    close(command.go);
    if (status == 0) {
        char failed[REASON_BYTES] = "";
        status = method->finish(command.pid, &tally, failed);
        if (status == -1) {
            fprintf(stderr, "The count failed: %s.\n", failed);
            return 1;
        }
    }
    if (!WIFEXITED(status))
        return 1;
    if (WEXITSTATUS(status) == 0)
        print_tally(method, reason, &tally);
    return WEXITSTATUS(status);
}

int main(int argument_count, char **arguments) {
    enum { METHOD = 1, PARENT, PROBE, HELP };
    static const struct option options[] = {
        {"method", required_argument, NULL, METHOD},
        {"parent", required_argument, NULL, PARENT},
        {"probe", no_argument, NULL, PROBE},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    const char *method = "auto";
    for (int option; (option = getopt_long(argument_count, arguments, "+", options, NULL)) != -1;) {
        switch (option) {
        case METHOD:
            method = optarg;
            if (strcmp(method, "auto") && strcmp(method, "tracepoint") && strcmp(method, "ptrace")) {
                fprintf(stderr, "--method takes auto, tracepoint or ptrace, not \"%s\".\n", method);
                return 2;
            }
            break;
        case PARENT:
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != atoi(optarg)) {
                fprintf(stderr, "--parent takes the number of the process that started this one, not \"%s\".\n",
                        optarg);
                return 2;
            }
            break;
        case PROBE: probe(); return 0;
        case HELP: fputs(usage, stdout); return 0;
        default: return 2;
        }
    }
    if (optind == argument_count) {
        fputs("crossings-count needs a command to run; --help tells more.\n", stderr);
        return 2;
    }
    return count(arguments + optind, method);
}
