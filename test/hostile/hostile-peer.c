/*
 * A hostile peer. It connects with a valid handshake, again and again, and then attacks: see attacks.h. Usage:
 *
 *   hostile-peer PATH... [--seed N] [--first N] [--sessions N] [--seconds S] [--mutations N]
 *                [--attack NAME,...] [--without NAME,...] [--capacity BYTES] [--ending NAME]
 *                [--fill KIND:SIZE] [--refusal BYTES] [--rounds N]
 *
 *   hostile-peer --run VICTIM ARGUMENT...
 *
 * The second form runs a victim that ends with the process that started it. The sessions take turns on the paths.
 * Session number N depends only on the seed and N, so --first N --sessions 1 repeats it. At its end the program prints
 * one line of JSON. Exit status: 0, or 1 if the victim published an invalid frame.
 */
#include "attacks.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CHOSEN 64
#define ROUNDS_PER_LOOK 16         /* rounds between two looks at the socket */
#define MOST_SESSION_ROUNDS 40000u /* about 2.5 million steps */
#define CONNECT_SECONDS 10
#define GREETING_SECONDS 2
#define WRITING_SECONDS 0.1 /* at most, after the end of a session */
#define PATIENCE_SECONDS 30 /* for the victim to notice the end of a session */

enum ending { CLOSE, DIE, CLOSE_AND_WRITE, DIE_AND_WRITE, KEEP_SOCKET_AND_WRITE, ENDINGS };
static const char *const ENDING_NAMES[] = {"close", "die", "close-and-write", "die-and-write", "closed-word-only"};

static struct {
    char **paths;
    unsigned path_count;
    uint64_t seed, first, sessions, mutations, rounds;
    double seconds;
    const struct attack *attacks[MAX_CHOSEN];
    unsigned attack_count;
    uint32_t capacity, fill_kind, fill_size, refusal;
    int ending;
    bool fill;
} options = {.sessions = UINT64_MAX, .mutations = UINT64_MAX, .rounds = UINT64_MAX, .seconds = 1e9, .ending = -1};

static struct attack_counts total;
static uint64_t sessions, unnoticed, closed_by_victim;
static const char *failure;
static volatile sig_atomic_t stopped; /* SIGTERM: report and end */
static struct {
    uint64_t number;
    const char *attack, *ending;
    uint32_t capacity;
} current = {.attack = "", .ending = ""};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* ---- The handshake ---- */

/* False: no victim is listening any more. */
static bool open_session(struct attacker *attacker) {
    char reason[HANDSHAKE_REASON_BYTES];
    double until = now() + CONNECT_SECONDS;
    enum handshake_status status;
    while ((status = listener_connect(options.paths[current.number % options.path_count], &attacker->fd)) ==
               HANDSHAKE_NO_LISTENER &&
           errno == EAGAIN && now() < until)
        pause_ms(1); /* its backlog is full */
    if (status != HANDSHAKE_OK)
        return false;
    if (region_create(&attacker->mine, current.capacity, attack_below(attacker, 4) ? 0 : RING_FLAG_NEVER_SLEEPS)) {
        perror("hostile-peer: cannot create a region");
        exit(2);
    }
    status = handshake_send(attacker->fd, &attacker->mine);
    while (status == HANDSHAKE_OK || status == HANDSHAKE_AGAIN) {
        status = handshake_receive(attacker->fd, false, &attacker->peer, reason);
        if (status == HANDSHAKE_OK)
            break;
        struct pollfd polled = {.fd = attacker->fd, .events = POLLIN};
        if (status == HANDSHAKE_AGAIN && poll(&polled, 1, 1000) <= 0 && now() > until)
            break;
    }
    if (status != HANDSHAKE_OK)
        return false;
    region_connect(&attacker->mine, &attacker->peer, &attacker->writer, &attacker->reader);
    return true;
}

static void release(struct attacker *attacker) {
    if (attacker->fd >= 0)
        close(attacker->fd);
    region_release(&attacker->mine);
    region_release(&attacker->peer);
    total.mutations += attacker->counts.mutations;
    total.frames += attacker->counts.frames;
    total.answers += attacker->counts.answers;
}

/* ---- A session ---- */

static bool victim_closed(const struct attacker *attacker) {
    return ring_load_acquire(&attacker->peer.header->closed) != 0;
}

/* Take the victim's doorbells. False: its end is closed. */
static bool socket_is_open(const struct attacker *attacker) {
    char ring;
    for (int i = 0; i < 64; i++) {
        ssize_t got = recv(attacker->fd, &ring, 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (got < 0)
            break;
    }
    return true;
}

/* True: the session has reached its end. False: the victim has ended it. */
static bool attack_for(struct attacker *attacker, uint64_t rounds, double until) {
    for (uint64_t round = 0; round < rounds; round++) {
        if (!attack_round(attacker)) {
            failure = "the victim published an invalid frame";
            return false;
        }
        if (victim_closed(attacker) || (round % ROUNDS_PER_LOOK == 0 && !socket_is_open(attacker)))
            return false;
        if (stopped || now() > until || total.mutations + attacker->counts.mutations >= options.mutations)
            return true;
    }
    return true;
}

/* Answer the victim's first request with a refusal of options.refusal bytes. */
static void refuse_at_length(struct attacker *attacker, double until) {
    const void *body;
    uint32_t size, kind, number;
    while (ring_peek(&attacker->reader, &body, &size, &kind) != RING_OK)
        if (stopped || victim_closed(attacker) || now() > until)
            return;
    memcpy(&number, body, sizeof number);
    ring_consume(&attacker->reader, size);
    void *answer;
    if (ring_reserve(&attacker->writer, options.refusal, &answer) != RING_OK)
        return;
    memset(answer, 'x', options.refusal);
    memcpy(answer, &number, sizeof number);
    ring_commit(&attacker->writer, options.refusal, RING_KIND_REFUSAL);
    ring_publish(&attacker->writer);
    doorbell_ring(attacker->fd);
    attacker->counts.mutations++;
}

/* Send one message and wait for a sign of the victim: it has read the message or sent one. */
static bool greet(struct attacker *attacker) {
    double until = now() + GREETING_SECONDS;
    const void *body;
    uint32_t size, kind;
    if (ring_write(&attacker->writer, "hello", 5, RING_KIND_MESSAGE) != RING_OK)
        return false;
    ring_publish(&attacker->writer);
    doorbell_ring(attacker->fd);
    while (ring_load_acquire(&attacker->peer.header->read_position) == 0 &&
           ring_peek(&attacker->reader, &body, &size, &kind) == RING_NO)
        if (stopped || now() > until || victim_closed(attacker))
            return false;
    return true;
}

static void end_session(struct attacker *attacker, enum ending ending) {
    bool closes = ending == CLOSE || ending == CLOSE_AND_WRITE || ending == KEEP_SOCKET_AND_WRITE;
    bool writes = ending == CLOSE_AND_WRITE || ending == DIE_AND_WRITE || ending == KEEP_SOCKET_AND_WRITE;
    if (closes)
        ring_store_release(&attacker->mine.header->closed, 1); /* pairs with the acquire in check_peer */
    if (ending == KEEP_SOCKET_AND_WRITE) {
        doorbell_ring(attacker->fd);
    } else {
        close(attacker->fd);
        attacker->fd = -1;
    }
    /* The memory is still mapped here, as it would be in an accomplice of a process that died. */
    double until = now() + PATIENCE_SECONDS;
    double quiet = now() + WRITING_SECONDS;
    bool noticed = false;
    while (!noticed && !stopped && now() < until) {
        if (writes && now() < quiet)
            attack_round(attacker);
        else
            pause_ms(1);
        noticed = victim_closed(attacker) || (attacker->fd >= 0 && !socket_is_open(attacker));
    }
    unnoticed += !noticed && !stopped;
}

/* False: no victim is listening any more. */
static bool run_session(uint64_t number, double until) {
    struct attacker attacker = {.fd = -1, .random = options.seed * 0x2545f4914f6cdd1du + number};
    attacker.attack = options.attacks[attack_below(&attacker, options.attack_count)];
    enum ending ending = options.ending >= 0 ? (enum ending)options.ending : attack_below(&attacker, ENDINGS);
    uint32_t most = MOST_SESSION_ROUNDS >> attack_below(&attacker, 16);
    uint64_t rounds = options.rounds != UINT64_MAX ? options.rounds : 1 + attack_below(&attacker, most);
    current.number = number;
    current.attack = attack_name(attacker.attack);
    current.ending = ENDING_NAMES[ending];
    current.capacity = options.capacity ? options.capacity : RING_MIN_CAPACITY << attack_below(&attacker, 5);
    bool opened = open_session(&attacker);
    if (opened) {
        /* A session that starts before the victim has finished its handshake cannot end before that, either. */
        bool hasty = options.ending < 0 && attack_below(&attacker, 16) == 0;
        bool greeted = !hasty && greet(&attacker);
        if (!greeted)
            ending = KEEP_SOCKET_AND_WRITE;
        if (options.fill)
            attack_fill(&attacker, options.fill_kind, options.fill_size);
        if (options.fill)
            doorbell_ring(attacker.fd);
        if (options.refusal && greeted)
            refuse_at_length(&attacker, until);
        if (attack_for(&attacker, rounds, until))
            end_session(&attacker, ending);
        else
            closed_by_victim++;
        sessions++;
    }
    release(&attacker);
    return opened;
}

/* ---- The command line ---- */

static void usage(const char *what) {
    fprintf(stderr, "hostile-peer: %s\n", what);
    exit(2);
}

/* Add or remove the attacks in a comma-separated list. */
static void choose(char *names, bool wanted) {
    if (wanted)
        options.attack_count = 0;
    for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
        const struct attack *attack = attack_named(name);
        if (!attack || options.attack_count >= MAX_CHOSEN)
            usage("unknown attack");
        if (wanted) {
            options.attacks[options.attack_count++] = attack;
            continue;
        }
        for (unsigned i = 0; i < options.attack_count; i++)
            if (options.attacks[i] == attack)
                options.attacks[i] = options.attacks[--options.attack_count];
    }
}

static int ending_named(const char *name) {
    for (int i = 0; i < ENDINGS; i++)
        if (strcmp(ENDING_NAMES[i], name) == 0)
            return i;
    usage("unknown ending");
    return -1;
}

static void read_options(int count, char **arguments) {
    static const struct option known[] = {
        {"seed", 1, NULL, 's'},      {"first", 1, NULL, 'f'},  {"sessions", 1, NULL, 'n'}, {"seconds", 1, NULL, 't'},
        {"mutations", 1, NULL, 'm'}, {"attack", 1, NULL, 'a'}, {"without", 1, NULL, 'w'},  {"capacity", 1, NULL, 'c'},
        {"ending", 1, NULL, 'e'},    {"fill", 1, NULL, 'l'},   {"refusal", 1, NULL, 'r'},  {"rounds", 1, NULL, 'o'},
        {NULL, 0, NULL, 0}};
    for (const struct attack *attack; (attack = attack_at(options.attack_count));)
        options.attacks[options.attack_count++] = attack;
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        switch (option) {
        case 's': options.seed = strtoull(optarg, NULL, 10); break;
        case 'f': options.first = strtoull(optarg, NULL, 10); break;
        case 'n': options.sessions = strtoull(optarg, NULL, 10); break;
        case 't': options.seconds = strtod(optarg, NULL); break;
        case 'm': options.mutations = strtoull(optarg, NULL, 10); break;
        case 'a': choose(optarg, true); break;
        case 'w': choose(optarg, false); break;
        case 'c': options.capacity = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'e': options.ending = ending_named(optarg); break;
        case 'l': options.fill = sscanf(optarg, "%u:%u", &options.fill_kind, &options.fill_size) == 2; break;
        case 'r': options.refusal = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'o': options.rounds = strtoull(optarg, NULL, 10); break;
        default: usage("unknown option");
        }
    }
    if (optind >= count || options.attack_count == 0)
        usage("a path and at least one attack are needed");
    options.paths = arguments + optind;
    options.path_count = (unsigned)(count - optind);
}

int main(int count, char **arguments) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing is left when the test is killed, not even a victim that spins */
    if (count > 2 && strcmp(arguments[1], "--run") == 0) {
        execvp(arguments[2], arguments + 2);
        usage(strerror(errno));
    }
    read_options(count, arguments);
    signal(SIGTERM, stop);
    double began = now(), until = began + options.seconds;
    bool listening = true;
    for (uint64_t i = 0; i < options.sessions && listening && !failure && !stopped && now() < until; i++) {
        if (total.mutations >= options.mutations)
            break;
        listening = run_session(options.first + i, until);
    }
    printf("{\"seed\":%llu,\"sessions\":%llu,\"mutations\":%llu,\"frames\":%llu,\"answers\":%llu,\"unnoticed\":%llu,"
           "\"closedByVictim\":%llu,\"seconds\":%.3f,\"listening\":%s,\"failure\":%s%s%s,\"last\":{\"session\":%llu,"
           "\"attack\":\"%s\",\"ending\":\"%s\",\"capacity\":%u}}\n",
           (unsigned long long)options.seed, (unsigned long long)sessions, (unsigned long long)total.mutations,
           (unsigned long long)total.frames, (unsigned long long)total.answers, (unsigned long long)unnoticed,
           (unsigned long long)closed_by_victim, now() - began, listening ? "true" : "false", failure ? "\"" : "",
           failure ? failure : "null", failure ? "\"" : "", (unsigned long long)current.number, current.attack,
           current.ending, current.capacity);
    return failure ? 1 : 0;
}
