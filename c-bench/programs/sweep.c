/*
 * crossings-sweep: bandwidth against buffer size. Takes one sample at each point of its command line, in that order,
 * and prints each as a line of JSON.
 *
 * Processes: this one (supervisor) -> the two sides, or one process with two threads. The sides end with this process.
 * No mechanism makes a name in a file system, so killing any of them leaves nothing behind.
 */
#include "../common/clock.h"
#include "../common/ndjson.h"
#include "../common/signals.h"
#include "../sweep/command-line.h"
#include "../sweep/content.h"

#include <stdio.h>
#include <stdlib.h>

#define SIZES_SHOWN 6        /* of the reads: the most frequent ones */
#define EXPECTED_KEPT 64     /* digests: two for each size of a usual sweep */
#define MATCHED_SHARE 4      /* matched buffers get a quarter of --max-writes */
#define TURNS_UNPINNED 1000u /* of spinning, before the scheduler may move the sides to different cores */

static uint64_t compute_digest(size_t size, uint64_t total) {
    struct digest digest = {0};
    char *buffer = malloc(size);
    if (!buffer)
        abort();
    content_prepare(buffer, size);
    uint64_t number = 0;
    for (uint64_t done = 0; done < total; done += size) {
        content_stamp(buffer, number++);
        digest_add(&digest, buffer, total - done < size ? (size_t)(total - done) : size);
    }
    free(buffer);
    return digest_end(&digest);
}

/* The digest of everything that a sample sends, computed without sending it. */
static uint64_t expected_digest(size_t size, uint64_t total) {
    static struct {
        size_t size;
        uint64_t total, digest;
    } kept[EXPECTED_KEPT];
    static int next;
    for (int i = 0; i < EXPECTED_KEPT; i++)
        if (kept[i].size == size && kept[i].total == total)
            return kept[i].digest;
    int at = next++ % EXPECTED_KEPT;
    kept[at].size = size;
    kept[at].total = total;
    kept[at].digest = compute_digest(size, total);
    return kept[at].digest;
}

static void print_error(const struct failure *failure) {
    event_begin("error");
    event_string("code", failure->code);
    event_string("message", failure->text);
    event_end();
    fprintf(stderr, "%s (%s)\n", failure->text, failure->code);
}

/* The most frequent first; of two that are equally frequent, the larger. */
static int by_count(const void *a, const void *b) {
    const struct read_size *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Sorts the sizes. */
static void print_reads(struct reads *reads) {
    qsort(reads->sizes, READ_SIZES, sizeof *reads->sizes, by_count);
    event_open("reads");
    event_integer("count", reads->count);
    event_array("sizes");
    for (int i = 0; i < SIZES_SHOWN && reads->sizes[i].count > 0; i++)
        event_pair(reads->sizes[i].bytes, reads->sizes[i].count);
    event_array_close();
    event_close();
}

static void print_counters(const struct counters counters[2]) {
    event_open("counters");
    for (int i = 0; i < COUNTERS; i++)
        event_number(counter_names[i], counters[SENDER].values[i] + counters[RECEIVER].values[i]);
    event_close();
}

static void print_sample(struct sample *sample) {
    const struct point *point = &sample->point;
    event_begin("sample");
    event_string("mechanism", point->transport->name);
    event_string("mode", point->threads ? "thread" : "process");
    event_string("buffers", point->matched ? "matched" : "default");
    event_integer("sizeBytes", point->size_bytes);
    event_integer("totalBytes", sample->total_bytes);
    event_integer("elapsedNs", sample->finished_ns - sample->started_ns);
    event_open("granted");
    event_integer("sendBytes", sample->link.send_bytes);
    event_integer("receiveBytes", sample->link.receive_bytes);
    event_close();
    print_reads(&sample->reads);
    if (sample->count_hardware)
        print_counters(sample->counters);
    event_end();
}

static bool take(struct sample *sample, const struct options *options, const char *text, struct failure *failure) {
    sample->point = read_point(text);
    /* Matched buffers of the kernel hold little, so that a quarter shows as much of the steady state. */
    uint64_t most = options->max_writes * sample->point.size_bytes / (sample->point.matched ? MATCHED_SHARE : 1);
    sample->total_bytes = most && most < options->total_bytes ? most : options->total_bytes;
    uint64_t expected = expected_digest(sample->point.size_bytes, sample->total_bytes);
    if (!sample_take(sample, failure))
        return false;
    if (sample->digest == expected)
        return true;
    snprintf(failure->code, sizeof failure->code, "ERR_MESSAGE_ALTERED");
    snprintf(
        failure->text, sizeof failure->text,
        "bytes were altered at %s: the digest of the received bytes is %016llx, but that of the sent bytes is %016llx",
        text, (unsigned long long)sample->digest, (unsigned long long)expected);
    return false;
}

static int probe(void) {
    struct open_counters open;
    struct counters counted;
    char reason[COUNTER_REASON_BYTES] = "";
    bool allowed = counters_open(&open, reason);
    if (allowed) {
        counters_start(&open);
        compute_digest(4096, 1 << 20);
        allowed = counters_finish(&open, &counted);
        if (!allowed)
            snprintf(reason, sizeof reason, "the kernel accepts the counters but does not count");
    }
    event_begin("counters");
    event_string("allowed", allowed ? "yes" : "no");
    event_string("reason", allowed ? NULL : reason);
    event_end();
    return 0;
}

int main(int count, char **arguments) {
    reset_signals();
    check_output_at_exit();
    struct options options;
    options_read(&options, count, arguments);
    if (options.probe)
        return probe();
    struct sample *sample = sample_new();
    sample->cores[0] = options.cores[0];
    sample->cores[1] = options.cores[1];
    sample->pinned = options.pinned;
    sample->count_hardware = options.count_hardware;
    sample->stall_ms = options.stall_ms;
    sample->turns_before_yield = !options.pinned ? TURNS_UNPINNED : options.cores[0] == options.cores[1] ? 1 : 0;
    for (int i = 0; i < options.point_count; i++) {
        struct failure failure;
        if (!take(sample, &options, options.points[i], &failure)) {
            print_error(&failure);
            return 1;
        }
        print_sample(sample);
    }
    event_begin("end");
    event_end();
    return 0;
}
