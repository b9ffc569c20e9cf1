/*
 * The reader that never sees end of file.
 * A child writes one line to a pipe and ends. The parent reads until end of file.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    prctl(PR_SET_NAME, "reader");
    int ends[2]; /* ends[0] is the read end, ends[1] the write end */
    if (pipe(ends))
        err(3, "pipe");
    pid_t writer = fork();
    if (writer < 0)
        err(3, "fork");
    if (writer == 0) {
        const char line[] = "the only line\n";
        if (write(ends[1], line, strlen(line)) < 0)
            err(3, "write");
        _exit(0); /* the kernel closes both ends of the child */
    }
    close(ends[1]); /* end of file comes after every copy of the write end is closed, and this is one */
    waitpid(writer, NULL, 0);
    printf("The writer has ended.\n");

    char bytes[64];
    ssize_t count;
    while ((count = read(ends[0], bytes, sizeof bytes)) > 0)
        printf("The reader read %zd bytes, and reads on.\n", count);
    printf("The reader saw end of file.\n");
    return 0;
}
