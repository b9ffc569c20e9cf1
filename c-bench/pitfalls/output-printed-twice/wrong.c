/*
 * Output that is printed twice.
 * fork() copies the memory of a process, and with it what stdio has buffered and not yet written.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    char name[40];
    snprintf(name, sizeof name, "report-%d.txt", getpid());
    FILE *report = fopen(name, "w+"); /* stdout is buffered like this file if it is a file or a pipe */
    if (!report)
        err(3, "fopen");
    fprintf(report, "one line\n");

    pid_t child = fork();
    if (child < 0)
        err(3, "fork");
    if (child == 0)
        exit(0); /* the child prints nothing, but exit() writes its buffers */
    waitpid(child, NULL, 0);
    fflush(report);

    int lines = 0;
    rewind(report);
    for (int c; (c = getc(report)) != EOF;)
        lines += c == '\n';
    unlink(name);
    printf("The program printed 1 line. The file has %d.\nlines = %d\n", lines, lines);
    return lines == 1 ? 0 : 1;
}
