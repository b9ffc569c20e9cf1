/*
 * Two programs that disagree on the layout of a struct.
 * Both declare the same fields. The writer was compiled with packing (-fpack-struct), the reader without.
 */
#include <err.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the header file of both programs contains. */
#define FIELDS                                                                                                         \
    double value; /* the largest first, so that no field needs padding before it */                                    \
    int sequence;                                                                                                      \
    char kind;                                                                                                         \
    char pad[3]; /* the padding at the end is written down, so packing finds nothing to remove */

struct __attribute__((packed)) writers_message {
    FIELDS
};
struct readers_message {
    FIELDS
};
/* If a field is added that leaves a hole, this does not compile. */
_Static_assert(sizeof(struct readers_message) == sizeof(struct writers_message), "same layout, packed or not");

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    setlinebuf(stdout);
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        err(3, "mmap");

    pid_t writer = fork();
    if (writer < 0)
        err(3, "fork");
    if (writer == 0) {
        struct writers_message *message = shared;
        message->kind = 'A';
        message->sequence = 7;
        message->value = 2.5;
        printf("The writer stored kind A, sequence 7, value 2.5 in %zu bytes.\n", sizeof *message);
        _exit(0);
    }
    waitpid(writer, NULL, 0);

    const struct readers_message *message = shared;
    printf("The reader found kind %c, sequence %d, value %g in %zu bytes.\n", message->kind, message->sequence,
           message->value, sizeof *message);
    printf("writerBytes = %zu bytes\n", sizeof(struct writers_message));
    printf("readerBytes = %zu bytes\n", sizeof(struct readers_message));
    if (message->sequence == 7 && message->value == 2.5)
        return 0;
    printf("No call failed and nothing crashed, but the values are wrong.\n");
    return 1;
}
