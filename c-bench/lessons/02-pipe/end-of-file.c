/*
 * A pipe between a parent, which writes, and a child, which reads until the end. Counts the system calls and the copies
 * of each message, and who slept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE 64

/* How often this process gave up its core because it had to wait. */
static long sleeps(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

struct report {
    long reads, bytes, sleeps;
};

/* The child: reads messages until every write end is closed. */
static void be_reader(int read_end, int report_end, int size) {
    struct report report = {0};
    char message[65536];
    long before = sleeps();
    for (;;) {
        ssize_t got = read(read_end, message, (size_t)size);
        report.reads++;
        if (got <= 0)
            break; /* 0: the end */
        report.bytes += got;
    }
    report.sleeps = sleeps() - before;
    if (write(report_end, &report, sizeof report) != sizeof report)
        _exit(1);
    _exit(0);
}

int main(int argc, char **argv) {
    int messages = 1000, pause_us = 200, size = MESSAGE, keep = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--pause") == 0)
            pause_us = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--read") == 0)
            size = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--messages") == 0)
            messages = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--keep") == 0)
            keep = atoi(argv[i + 1]);
        else
            argc = 0;
    }
    if (argc % 2 == 0 || size < 1 || size > 65536 || pause_us < 0 || messages < 1) {
        fprintf(stderr,
                "Arguments: --messages COUNT, --pause MICROSECONDS, --read BYTES (1 to 65536), --keep 0 or 1.\n");
        return 2;
    }
    int ends[2], report_ends[2];
    if (pipe(ends) || pipe(report_ends))
        return 2;

    pid_t reader = fork(); /* the child inherits every descriptor */
    if (reader == 0) {
        if (!keep)
            close(ends[1]); /* or the reader itself could still write, and the end would never come */
        be_reader(ends[0], report_ends[1], size);
    }
    close(ends[0]);
    close(report_ends[1]);
    char message[MESSAGE] = "A message of 64 bytes: the kernel copies it in, and out again..";
    long before = sleeps();
    for (int n = 0; n < messages; n++) {
        if (write(ends[1], message, MESSAGE) != MESSAGE)
            return 2;
        if (pause_us > 0)
            usleep((useconds_t)pause_us); /* the reader has time to fall asleep */
    }
    long writer_sleeps = sleeps() - before - (pause_us > 0 ? messages : 0);
    close(ends[1]); /* the last write end: the reader sees the end */
    struct report report;
    if (read(report_ends[0], &report, sizeof report) != sizeof report)
        return 2;
    waitpid(reader, NULL, 0);
    printf("The writer sent %d messages of %d bytes; the reader got %ld bytes.\n", messages, MESSAGE, report.bytes);
    printf("writes = %d calls\n", messages);
    printf("reads = %ld calls\n", report.reads);
    printf("crossingsPerMessage = %.2f calls\n", (double)(messages + report.reads) / messages);
    printf("readerSleeps = %ld times\n", report.sleeps);
    printf("writerSleeps = %ld times\n", writer_sleeps > 0 ? writer_sleeps : 0);
    printf("sleepsPercent = %.1f %%\n", 100.0 * report.sleeps / messages);
    return 0;
}
