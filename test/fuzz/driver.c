/*
 * Runs a fuzz target where there is no libFuzzer: driver [--seconds S] [--seed N] FOLDER. It replays every file of the
 * folder, then mutates inputs at random. If the target is compiled with -fsanitize-coverage=trace-pc, an input that
 * reaches new code is kept and mutated further. The input that ends the process is written to ./crash.
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES 512
#define MOST_INPUTS 4096
#define MAP_BYTES 65536

struct kept {
    size_t size;
    uint8_t bytes[MOST_BYTES];
};

static struct kept *inputs, current;
static size_t input_count;
static uint8_t reached[MAP_BYTES]; /* by this input */
static uint8_t known[MAP_BYTES];
static size_t points;
static uint64_t random_state, runs;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    uint8_t *count = &reached[((uintptr_t)__builtin_return_address(0) * 0x9e3779b97f4a7c15u) >> 48];
    *count += *count < 255;
}

static uint32_t below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((random_state >> 32) * limit) >> 32);
}

static void save(int signal) {
    int fd = open("crash", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0 && write(fd, current.bytes, current.size) >= 0)
        close(fd);
    _exit(128 + signal);
}

/* How often a place was reached counts by powers of two. */
static uint8_t bucket(uint8_t count) {
    uint8_t bit = 1;
    while (count > 1 && bit < 128) {
        count >>= 1;
        bit <<= 1;
    }
    return count ? bit : 0;
}

/* Runs the current input, and keeps it if it reached something new. */
static void run_current(void) {
    bool is_new = false;
    memset(reached, 0, sizeof reached);
    LLVMFuzzerTestOneInput(current.bytes, current.size);
    runs++;
    for (size_t i = 0; i < MAP_BYTES; i++) {
        uint8_t bits = bucket(reached[i]);
        if (bits & ~known[i]) {
            points += known[i] == 0;
            known[i] |= bits;
            is_new = true;
        }
    }
    if (is_new && input_count < MOST_INPUTS)
        inputs[input_count++] = current;
}

/* Replay the files of a folder. Returns their number. */
static size_t replay(const char *folder) {
    size_t files = 0;
    DIR *directory = opendir(folder);
    if (!directory || chdir(folder)) {
        perror(folder);
        exit(2);
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        int fd = open(entry->d_name, O_RDONLY);
        ssize_t size = read(fd, current.bytes, MOST_BYTES);
        close(fd);
        current.size = size > 0 ? (size_t)size : 0;
        run_current();
        files++;
    }
    closedir(directory);
    return files;
}

/* Change the current input at a few places. */
static void mutate(void) {
    static const uint32_t edges[] = {0, 1, 7, 8, 63, 64, 65, 65520, 65521, 65528, 65536, 0x7fffffff, 0x80000000, ~0u};
    for (uint32_t changes = 1 + below(6); changes > 0; changes--) {
        uint32_t size = (uint32_t)current.size, at = below(size + 1);
        switch (below(5)) {
        case 0: /* another byte */
            if (at < size)
                current.bytes[at] = (uint8_t)below(256);
            break;
        case 1: /* one more byte */
            if (size < MOST_BYTES) {
                memmove(current.bytes + at + 1, current.bytes + at, size - at);
                current.bytes[at] = (uint8_t)below(256);
                current.size++;
            }
            break;
        case 2: /* one byte less */
            if (at < size) {
                memmove(current.bytes + at, current.bytes + at + 1, size - at - 1);
                current.size--;
            }
            break;
        case 3: /* a word with a value at an edge */
            if (at + 4 <= size)
                memcpy(current.bytes + at, &edges[below(sizeof edges / sizeof *edges)], 4);
            break;
        default: { /* the end of another input */
            const struct kept *other = &inputs[below((uint32_t)input_count)];
            if (at < other->size) {
                memcpy(current.bytes + at, other->bytes + at, other->size - at);
                current.size = other->size;
            }
        }
        }
    }
}

int main(int count, char **arguments) {
    double seconds = 0;
    const char *folder = NULL;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--seconds") == 0 && i + 1 < count)
            seconds = atof(arguments[++i]);
        else if (strcmp(arguments[i], "--seed") == 0 && i + 1 < count)
            random_state = strtoull(arguments[++i], NULL, 10);
        else
            folder = arguments[i];
    }
    inputs = calloc(MOST_INPUTS, sizeof *inputs);
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!folder || !inputs || here < 0)
        return 2;
    signal(SIGABRT, save);
    run_current(); /* the empty input */
    size_t files = replay(folder);
    if (fchdir(here))
        return 2;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    double until = (double)time.tv_sec + (double)time.tv_nsec / 1e9 + seconds;
    while ((double)time.tv_sec + (double)time.tv_nsec / 1e9 < until) {
        for (int i = 0; i < 64; i++) {
            current = inputs[below((uint32_t)input_count)];
            mutate();
            run_current();
        }
        clock_gettime(CLOCK_MONOTONIC, &time);
    }
    printf("{\"files\":%zu,\"runs\":%llu,\"kept\":%zu,\"points\":%zu}\n", files, (unsigned long long)runs, input_count,
           points);
    free(inputs);
    return 0;
}
