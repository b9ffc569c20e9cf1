/*
 * One process of the kill matrix, in C. peer.js is the same in JavaScript.
 *
 *     peer victim SCENARIO WAY SIDE PATH WAIT SEED COUNT PROGRESS
 *         Exchanges COUNT messages and closes; a signal ends it before that. Writes "o" to its standard output once its
 *         channel is open, and how far it has come into the file PROGRESS (enum progress).
 *     peer survivor BASE
 *         Listens at BASE.0, BASE.1 and BASE.2, one for each way to wait. Reads one round per line:
 *         "SCENARIO WAY SIDE PATH WAIT SEED", where PATH is used to connect. Serves one channel after the other until a
 * peer says that it is the last, and prints one line of JSON for each event.
 *
 * SCENARIO is what the victim does: "send", "receive" or "echo". SIDE is "listen" or "connect". WAIT is 0, 1 or 2.
 */
#include "../../native/crossings.h"
#include "numbered.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY 65536
#define TIMEOUT_MS 30000
#define LAST_SEED 0x6c617374u
#define IN_FLIGHT 8    /* messages that an echoing peer has not sent back yet */
#define PAUSE_EVERY 40 /* messages, so that the victim has to wait now and then */
#define PAUSE_NS 300000
#define LOOKS_PER_CHECK 1024

/* Words of the victim's progress file. */
enum progress { STARTED, PUBLISHED, RECEIVED, FAULTY, CLOSING, PROGRESS_WORDS };

static volatile uint32_t unused_progress[PROGRESS_WORDS];
static volatile uint32_t *progress = unused_progress;

static uint8_t outgoing[NUMBERED_LARGEST], incoming[NUMBERED_LARGEST], expected[NUMBERED_LARGEST];

static void fail(const char *what, crossings_status status) {
    fprintf(stderr, "peer.c, process %d: %s: %s\n", (int)getpid(), what, crossings_status_text(status));
    exit(1);
}

static const char *code_of(crossings_status status) {
    static const char *const codes[] = {
        [CROSSINGS_OK] = "OK",
        [CROSSINGS_AGAIN] = "AGAIN",
        [CROSSINGS_END] = "END",
        [CROSSINGS_TIMEOUT] = "ERR_TIMEOUT",
        [CROSSINGS_PEER_DIED] = "ERR_PEER_DIED",
        [CROSSINGS_PEER_CORRUPT] = "ERR_PEER_CORRUPT",
        [CROSSINGS_PROTOCOL] = "ERR_PROTOCOL",
        [CROSSINGS_NOT_AUTHORIZED] = "ERR_NOT_AUTHORIZED",
        [CROSSINGS_TOO_LARGE] = "ERR_MESSAGE_TOO_LARGE",
        [CROSSINGS_IN_USE] = "ERR_ADDRESS_IN_USE",
        [CROSSINGS_INVALID] = "ERR_INVALID_ARGUMENT",
        [CROSSINGS_SYSTEM] = "ERR_SYSTEM",
        [CROSSINGS_LIMIT_EXCEEDED] = "ERR_LIMIT_EXCEEDED",
    };
    return codes[status];
}

static crossings_options options_for(const char *wait) {
    return (crossings_options){.capacity = CAPACITY, .wait = (crossings_wait)atoi(wait), .timeout_ms = TIMEOUT_MS};
}

static void pause_now_and_then(uint32_t number) {
    if (number % PAUSE_EVERY == PAUSE_EVERY - 1)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* ---- Checking what arrives ---- */

struct sequence {
    uint32_t seed, count, last_words;
    char fault[200]; /* the first one; "": none */
};

static void take(struct sequence *sequence, size_t size) {
    uint32_t seed = 0;
    if (size >= sizeof seed)
        memcpy(&seed, incoming, sizeof seed);
    bool last = sequence->last_words > 0 || (size >= sizeof seed && seed == LAST_SEED);
    uint32_t number = last ? sequence->last_words : sequence->count;
    uint32_t wanted = numbered_write(expected, last ? LAST_SEED : sequence->seed, number);
    if (!sequence->fault[0] && (size != wanted || memcmp(incoming, expected, size) != 0))
        snprintf(sequence->fault, sizeof sequence->fault, "message %u: expected %u bytes, got %zu of seed %u", number,
                 wanted, size, seed);
    if (last)
        sequence->last_words++;
    else if (!sequence->fault[0])
        sequence->count++;
}

/* ---- The victim ---- */

static crossings_channel *victim_opens(const char *side, const char *path, const char *wait) {
    crossings_options options = options_for(wait);
    crossings_channel *channel = NULL;
    crossings_status status;
    if (strcmp(side, "listen") == 0) {
        crossings_server *server;
        if ((status = crossings_listen(path, &options, &server)) != CROSSINGS_OK)
            fail("listen", status);
        if ((status = crossings_accept(server, -1, &channel)) != CROSSINGS_OK)
            fail("accept", status);
        crossings_unlisten(server);
    } else if ((status = crossings_connect(path, &options, &channel)) != CROSSINGS_OK) {
        fail("connect", status);
    }
    return channel;
}

static void victim_receives(crossings_channel *channel, struct sequence *sequence, size_t *size) {
    crossings_status status = crossings_receive(channel, incoming, sizeof incoming, size, -1);
    if (status != CROSSINGS_OK)
        fail("receive", status);
    take(sequence, *size);
    progress[RECEIVED] = sequence->count;
    progress[FAULTY] = sequence->fault[0] != '\0';
}

static int victim(char **arguments) {
    const char *scenario = arguments[0];
    uint32_t seed = (uint32_t)strtoul(arguments[5], NULL, 10), count = (uint32_t)strtoul(arguments[6], NULL, 10);
    int file = open(arguments[7], O_RDWR | O_CLOEXEC);
    progress = mmap(NULL, PROGRESS_WORDS * sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || progress == MAP_FAILED)
        return 2;
    close(file);
    crossings_channel *channel = victim_opens(arguments[2], arguments[3], arguments[4]);
    if (write(STDOUT_FILENO, "o", 1) != 1)
        return 2;
    struct sequence sequence = {.seed = seed};
    for (uint32_t number = 0; number < count; number++) {
        size_t size;
        if (strcmp(scenario, "send") != 0)
            victim_receives(channel, &sequence, &size);
        if (strcmp(scenario, "receive") == 0)
            continue;
        bool corked = strcmp(scenario, "send") == 0 && number % 16 < 4;
        if (corked)
            crossings_cork(channel);
        uint32_t bytes = numbered_write(outgoing, seed, number);
        progress[STARTED] = number + 1;
        crossings_status status = crossings_send(channel, outgoing, bytes, -1);
        if (status != CROSSINGS_OK)
            fail("send", status);
        if (!corked || number % 16 == 3) {
            crossings_uncork(channel);
            progress[PUBLISHED] = number + 1;
        }
    }
    progress[CLOSING] = 1;
    crossings_close(channel);
    return 0;
}

/* ---- The survivor ---- */

struct round {
    char scenario[16], way[16], side[16], path[200], wait[4];
    unsigned seed;
};

static int count_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static int count_mappings(void) {
    char line[1024];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "memfd:crossings") || strstr(line, "/dev/shm");
    fclose(maps);
    return count;
}

/* A loop of try_receive that asks for the peer's end only now and then. */
static crossings_status receive_by_trying(crossings_channel *channel, size_t *size) {
    for (;;) {
        for (int look = 0; look < LOOKS_PER_CHECK; look++) {
            crossings_status status = crossings_try_receive(channel, incoming, sizeof incoming, size);
            if (status != CROSSINGS_AGAIN)
                return status;
        }
        crossings_status status = crossings_receive(channel, incoming, sizeof incoming, size, 0);
        if (status != CROSSINGS_AGAIN && status != CROSSINGS_TIMEOUT)
            return status;
    }
}

static crossings_status send_by_trying(crossings_channel *channel, size_t size) {
    for (;;) {
        for (int look = 0; look < LOOKS_PER_CHECK; look++) {
            crossings_status status = crossings_try_send(channel, outgoing, size);
            if (status != CROSSINGS_AGAIN)
                return status;
        }
        crossings_status status = crossings_send(channel, outgoing, size, 0);
        if (status != CROSSINGS_AGAIN && status != CROSSINGS_TIMEOUT)
            return status;
    }
}

static crossings_status receive_one(crossings_channel *channel, const struct round *round, struct sequence *sequence) {
    size_t size = 0;
    crossings_status status = CROSSINGS_AGAIN;
    if (strcmp(round->way, "try") == 0)
        status = receive_by_trying(channel, &size);
    else if (strcmp(round->way, "bare") == 0)
        while (status == CROSSINGS_AGAIN)
            status = crossings_try_receive(channel, incoming, sizeof incoming, &size);
    else
        status = crossings_receive(channel, incoming, sizeof incoming, &size, -1);
    if (status == CROSSINGS_OK)
        take(sequence, size);
    return status;
}

static crossings_status send_one(crossings_channel *channel, const struct round *round, uint32_t number) {
    uint32_t size = numbered_write(outgoing, round->seed, number);
    crossings_status status = CROSSINGS_AGAIN;
    if (strcmp(round->way, "try") == 0)
        return send_by_trying(channel, size);
    if (strcmp(round->way, "bare") != 0)
        return crossings_send(channel, outgoing, size, -1);
    while (status == CROSSINGS_AGAIN)
        status = crossings_try_send(channel, outgoing, size);
    return status;
}

/* Does what the scenario leaves to the survivor until the peer's end. Returns how the peer ended. */
static crossings_status exchange(crossings_channel *channel, const struct round *round, struct sequence *sequence,
                                 uint32_t *sent) {
    crossings_status status = CROSSINGS_OK;
    for (uint32_t turn = 0; status == CROSSINGS_OK; turn++) {
        if (strcmp(round->scenario, "send") != 0 && (status = send_one(channel, round, *sent)) == CROSSINGS_OK)
            ++*sent;
        bool waits = strcmp(round->scenario, "echo") == 0 && *sent - sequence->count >= IN_FLIGHT;
        if (status == CROSSINGS_OK && (waits || strcmp(round->scenario, "send") == 0))
            status = receive_one(channel, round, sequence);
        pause_now_and_then(turn);
    }
    return status;
}

/* Serves one channel to its end, and prints what happened. Returns whether its peer was the last of this round. */
static bool serve(crossings_channel *channel, const struct round *round) {
    struct sequence sequence = {.seed = round->seed};
    uint32_t sent = 0;
    size_t size;
    crossings_status end = exchange(channel, round, &sequence, &sent);
    crossings_status rest; /* what had arrived is delivered first, also to a peer that was only sending */
    while ((rest = crossings_receive(channel, incoming, sizeof incoming, &size, -1)) == CROSSINGS_OK)
        take(&sequence, size);
    crossings_status later[] = {
        rest,
        crossings_receive(channel, incoming, sizeof incoming, &size, -1),
        crossings_try_receive(channel, incoming, sizeof incoming, &size),
        crossings_send(channel, "x", 1, -1),
        crossings_try_send(channel, "x", 1),
    };
    crossings_close(channel);
    char codes[200] = "";
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "%s\"%s\"", i ? ", " : "", code_of(later[i]));
    printf("{\"event\": \"channel\", \"code\": \"%s\", \"later\": [%s], \"received\": %u, \"sent\": %u, "
           "\"last\": %s, \"fault\": \"%s\"}\n",
           code_of(end), codes, sequence.count, sent, sequence.last_words ? "true" : "false", sequence.fault);
    fflush(stdout);
    return sequence.last_words > 0;
}

static void play(crossings_server **servers, const struct round *round) {
    crossings_options options = options_for(round->wait);
    bool last = false;
    printf("{\"event\": \"ready\"}\n");
    fflush(stdout);
    while (!last) {
        crossings_channel *channel;
        crossings_status status = strcmp(round->side, "listen") == 0
                                      ? crossings_accept(servers[atoi(round->wait)], -1, &channel)
                                      : crossings_connect(round->path, &options, &channel);
        if (status == CROSSINGS_OK) {
            last = serve(channel, round);
        } else {
            printf("{\"event\": \"refused\", \"code\": \"%s\"}\n", code_of(status));
            fflush(stdout);
        }
    }
    printf("{\"event\": \"done\", \"descriptors\": %d, \"mappings\": %d}\n", count_descriptors(), count_mappings());
    fflush(stdout);
}

static int survivor(const char *base) {
    crossings_server *servers[3];
    char line[400];
    for (int wait = 0; wait < 3; wait++) {
        char path[200], text[4];
        snprintf(path, sizeof path, "%s.%d", base, wait);
        snprintf(text, sizeof text, "%d", wait);
        crossings_options options = options_for(text);
        crossings_status status = crossings_listen(path, &options, &servers[wait]);
        if (status != CROSSINGS_OK)
            fail("listen", status);
    }
    printf("{\"event\": \"done\", \"descriptors\": %d, \"mappings\": %d}\n", count_descriptors(), count_mappings());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        struct round round;
        if (sscanf(line, "%15s %15s %15s %199s %3s %u", round.scenario, round.way, round.side, round.path, round.wait,
                   &round.seed) != 6)
            return 2;
        play(servers, &round);
    }
    for (int wait = 0; wait < 3; wait++)
        crossings_unlisten(servers[wait]);
    return 0;
}

int main(int count, char **arguments) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with the matrix */
    numbered_init();
    if (count == 10 && strcmp(arguments[1], "victim") == 0)
        return victim(arguments + 2);
    if (count == 3 && strcmp(arguments[1], "survivor") == 0)
        return survivor(arguments[2]);
    fputs("usage: see the first comment of test/kill/peer.c\n", stderr);
    return 2;
}
