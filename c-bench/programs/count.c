/*
 * crossings-count COMMAND...: runs a command and counts, by name, the system calls that it and its children make. It
 * uses the kernel's tracepoint if that is permitted, and ptrace otherwise. It prints one line of JSON, after the output
 * of the command, and exits with the command's status.
 */
#include "../count/count.h"
#include "../common/gate.h"
#include "../common/ndjson.h"
#include "../common/options.h"
#include "../common/signals.h"
#include "../common/syscalls.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "usage: crossings-count [--method auto|tracepoint|ptrace] [--] COMMAND [ARGUMENT...]\n"
    "Count, by name, the system calls that COMMAND and its children make. Prints one line of JSON.\n"
    "\n"
    "  --method M     tracepoint, ptrace, or auto: the first that is permitted (default auto).\n"
    "                 ptrace ends processes that outlive COMMAND\n"
    "  --parent PID   end when the parent process, which must be PID, ends\n"
    "  --probe        print which methods this machine permits, and exit\n"
    "  --help         print this help and exit\n";

static const struct method *const methods[] = {&tracepoint_method, &ptrace_method, NULL};

/* A command that waits at its gate. */
struct command {
    pid_t pid;
    struct gate gate;
};

/* Fork the command and hold it at its gate. Without arguments, it is a command that exits at once. */
static struct command start_command(char **arguments) {
    struct command command;
    command.pid = fork_held(&command.gate);
    if (command.pid != 0)
        return command;
    if (!arguments[0])
        _exit(0);
    execvp(arguments[0], arguments);
    fprintf(stderr, "Cannot run %s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

static void kill_command(const struct command *command) {
    if (kill_child(command->pid))
        waitpid(command->pid, NULL, __WALL);
    close(command->gate.open_fd);
}

static int cannot_start(void) {
    perror("Cannot start the command");
    return 1;
}

static int probe(void) {
    enum { COUNT = sizeof methods / sizeof *methods - 1 };
    char reasons[COUNT][REASON_BYTES] = {""};
    bool allowed[COUNT];
    for (int i = 0; i < COUNT; i++) {
        struct command command = start_command((char *[]){NULL});
        if (command.pid < 0)
            return cannot_start(); /* kill(-1) would end every process of this user */
        allowed[i] = methods[i]->start(command.pid, reasons[i]);
        kill_command(&command);
    }
    event_begin("methods");
    for (int i = 0; i < COUNT; i++) {
        event_open(methods[i]->name);
        event_string("allowed", allowed[i] ? "yes" : "no");
        event_string("reason", allowed[i] ? NULL : reasons[i]);
        event_close();
    }
    event_end();
    return 0;
}

static void print_tally(const struct method *method, const char *notice, const struct tally *tally) {
    event_begin("crossings");
    event_string("method", method->name);
    event_string("notice", *notice ? notice : NULL);
    event_integer("total", tally->total);
    event_open("byName");
    for (int i = 0; i < MAX_SYSCALLS; i++) {
        if (tally->by_number[i])
            event_integer(syscall_name((uint64_t)i), tally->by_number[i]);
    }
    event_close();
    event_end();
}

/* Start counting with the first method that `wanted` includes and the system permits, or return NULL. `reason` says why
 * the last one that failed was not permitted. */
static const struct method *choose(pid_t command, const char *wanted, char *reason) {
    for (int i = 0; methods[i]; i++) {
        bool included = strcmp(wanted, "auto") == 0 || strcmp(wanted, methods[i]->name) == 0;
        if (included && methods[i]->start(command, reason))
            return methods[i];
    }
    return NULL;
}

static int count(char **arguments, const char *wanted) {
    static struct tally tally;
    char reason[REASON_BYTES] = "";
    struct command command = start_command(arguments);
    if (command.pid < 0)
        return cannot_start();
    const struct method *method = choose(command.pid, wanted, reason);
    if (!method) {
        kill_command(&command);
        fprintf(stderr, "Cannot count system calls: %s.\n", reason);
        return 1;
    }
    int status = gate_open(&command.gate) ? 0 : -1;
    close(command.gate.open_fd);
    if (status == 0) {
        char failed[REASON_BYTES] = "";
        status = method->finish(command.pid, &tally, failed);
        if (status == -1) {
            fprintf(stderr, "Counting failed: %s.\n", failed);
            return 1;
        }
    }
    if (!WIFEXITED(status)) {
        fprintf(stderr, "The command was ended by signal %d (%s).\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
        return 1;
    }
    if (WEXITSTATUS(status) == 0)
        print_tally(method, reason, &tally);
    return WEXITSTATUS(status);
}

int main(int argument_count, char **arguments) {
    reset_signals();
    check_output_at_exit();
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
            if (strcmp(method, "auto") && strcmp(method, "tracepoint") && strcmp(method, "ptrace"))
                refuse("--method must be auto, tracepoint or ptrace; got \"%s\".", method);
            break;
        case PARENT: read_parent(optarg); break;
        case PROBE: return probe();
        case HELP: fputs(usage, stdout); return 0;
        default: return 2; /* getopt has printed an error */
        }
    }
    if (optind == argument_count)
        refuse("The command is missing. Run crossings-count --help for help.");
    return count(arguments + optind, method);
}
