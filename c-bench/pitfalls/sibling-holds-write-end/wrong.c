/*
 * A sibling that keeps a pipe open.
 * Two children read from a pipe each. The second one inherits the write end of the first one's pipe.
 */
#include <err.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that reads until end of file. */
static void read_all(const char *name, int read_end) {
    prctl(PR_SET_NAME, name);
    char bytes[64];
    ssize_t count, total = 0;
    while ((count = read(read_end, bytes, sizeof bytes)) > 0)
        total += count;
    printf("The %s saw end of file after %zd bytes.\n", name, total);
    _exit(0);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    prctl(PR_SET_NAME, "parent");
    const char *names[2] = {"first child", "second child"};
    int write_ends[2];
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (pipe(ends))
            err(3, "pipe");
        children[i] = fork();
        if (children[i] < 0)
            err(3, "fork");
        if (children[i] == 0) {
            close(ends[1]);
            read_all(names[i], ends[0]);
        }
        close(ends[0]);
        write_ends[i] = ends[1];
    }
    for (int i = 0; i < 2; i++) {
        if (write(write_ends[i], "hello", 5) != 5)
            err(3, "write");
        close(write_ends[i]);
        printf("The parent closed the pipe of the %s, and waits for it to end.\n", names[i]);
        waitpid(children[i], NULL, 0);
    }
    printf("Both children have ended.\n");
    return 0;
}
