/*
 * A C program that talks to a hostile peer: victim PATH WAY. It listens at PATH, and with each client it exchanges
 * messages in one way (see WAYS), until the channel reports the peer's end or a corrupt peer. Meanwhile two threads
 * exchange messages over a channel of their own, and a third one ends the process if a call does not return. It stops
 * at the end of its standard input and prints one line of JSON. Built with the sanitizers and guards.h.
 */
#include "../../native/crossings.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LARGEST (1u << 20) /* bytes: the attacker's rings are at most this large */
#define CALL_MS 20
#define STUCK_SECONDS 60
#define STATUSES (CROSSINGS_LIMIT_EXCEEDED + 1)

static char *message;
static uint64_t sessions, messages, statuses[STATUSES], pings;
static uint64_t overlong; /* sessions that the victim had to end itself */
static uint64_t calls;    /* read by the watchdog */
static bool stopped;

static void fail(const char *why) {
    fprintf(stderr, "victim: %s\n", why);
    abort();
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool is_stopped(void) {
    return __atomic_load_n(&stopped, __ATOMIC_RELAXED);
}

/* ---- Ways of receiving ---- */

static crossings_status try_receive(crossings_channel *channel, size_t *size) {
    crossings_status status = crossings_try_receive(channel, message, LARGEST, size);
    /* A loop of tries does not learn of the peer's end here; a call that waits does. */
    return status == CROSSINGS_AGAIN ? crossings_receive(channel, message, LARGEST, size, 0) : status;
}

static crossings_status receive(crossings_channel *channel, size_t *size) {
    return crossings_receive(channel, message, LARGEST, size, CALL_MS);
}

/* The buffer has exactly the room that the call is told, so that the address sanitizer sees any byte too many. */
static crossings_status receive_exact(crossings_channel *channel, size_t *size) {
    static unsigned next;
    static const size_t rooms[] = {64, 0, 1, 8, 63, 65, 4096, 512};
    size_t room = rooms[next++ % (sizeof rooms / sizeof *rooms)];
    char *exact = malloc(room);
    crossings_status status = crossings_receive(channel, exact, room, size, CALL_MS);
    if (status == CROSSINGS_OK && *size > room)
        fail("a message is larger than its buffer");
    if (status == CROSSINGS_TOO_LARGE && *size <= room && room > 0)
        fail("a message that fits was refused");
    free(exact);
    return status == CROSSINGS_TOO_LARGE ? receive(channel, size) : status;
}

static crossings_status echo(crossings_channel *channel, size_t *size) {
    crossings_status status = receive(channel, size);
    if (status != CROSSINGS_OK || *size > crossings_max_message(channel))
        return status;
    status = crossings_send(channel, message, *size, CALL_MS);
    return status == CROSSINGS_TIMEOUT ? CROSSINGS_OK : status;
}

static crossings_status send_only(crossings_channel *channel, size_t *size) {
    static char own[300];
    static unsigned next;
    *size = 0;
    return crossings_send(channel, own, next++ % sizeof own, CALL_MS);
}

static const struct way {
    const char *name;
    crossings_status (*call)(crossings_channel *, size_t *);
    crossings_options options;
} WAYS[] = {
    {"try", try_receive, {.capacity = 65536}},
    {"receive", receive, {.capacity = 65536}},
    {"spin", receive, {.capacity = 65536, .wait = CROSSINGS_SPIN}},
    {"sleep", receive, {.capacity = 65536, .wait = CROSSINGS_SLEEP}},
    {"exact", receive_exact, {.capacity = 65536}},
    {"echo", echo, {.capacity = 65536}},
    {"send", send_only, {.capacity = 65536}},
};

static void converse(const struct way *way, crossings_channel *channel) {
    const char *limit = getenv("SESSION_MS"); /* then the victim closes the channel itself */
    double until = now() + (limit ? atof(limit) : 3000) / 1000;
    crossings_status status = CROSSINGS_OK;
    unsigned received = 0;
    while (!is_stopped()) {
        size_t size = 0;
        status = way->call(channel, &size);
        __atomic_store_n(&calls, calls + 1, __ATOMIC_RELAXED);
        bool continues = status == CROSSINGS_OK || status == CROSSINGS_TIMEOUT || status == CROSSINGS_AGAIN;
        if (status == CROSSINGS_OK && size > LARGEST)
            fail("a message is larger than the peer's ring");
        messages += status == CROSSINGS_OK;
        if (!continues)
            break;
        if ((status != CROSSINGS_OK || ++received % 1024 == 0) && now() > until) {
            overlong++;
            break;
        }
    }
    statuses[status]++;
    sessions++;
    bool sane = status == CROSSINGS_OK || status == CROSSINGS_TIMEOUT || status == CROSSINGS_AGAIN ||
                status == CROSSINGS_END || status == CROSSINGS_PEER_DIED || status == CROSSINGS_PEER_CORRUPT;
    if (!sane)
        fail(crossings_status_text(status));
    if (status == CROSSINGS_PEER_CORRUPT && way->call != send_only && way->call != echo) {
        size_t size;
        /* What is corrupt stays corrupt or changes; the call must return in any case. */
        crossings_receive(channel, message, LARGEST, &size, 0);
    }
    crossings_close(channel);
}

/* ---- A good channel in the same process ---- */

static const crossings_options GOOD = {.wait = CROSSINGS_SLEEP};

static void *echo_pings(void *argument) {
    crossings_channel *channel;
    uint64_t number;
    size_t size;
    if (crossings_open(*(int *)argument, &GOOD, &channel) != CROSSINGS_OK)
        fail("the good channel could not be opened");
    while (crossings_receive(channel, &number, sizeof number, &size, -1) == CROSSINGS_OK)
        if (crossings_send(channel, &number, size, -1) != CROSSINGS_OK)
            fail("the good channel could not send");
    crossings_close(channel);
    return NULL;
}

static void *ping(void *argument) {
    crossings_channel *channel;
    if (crossings_open(*(int *)argument, &GOOD, &channel) != CROSSINGS_OK)
        fail("the good channel could not be opened");
    bool last = false; /* one message more after the attack, which also a short one must leave possible */
    for (uint64_t number = 0; !last; number++) {
        last = is_stopped();
        uint64_t answer = ~number;
        size_t size = 0;
        if (crossings_send(channel, &number, sizeof number, -1) != CROSSINGS_OK ||
            crossings_receive(channel, &answer, sizeof answer, &size, 1000 * STUCK_SECONDS) != CROSSINGS_OK ||
            answer != number || size != sizeof number)
            fail("the good channel was disturbed");
        pings++;
        poll(NULL, 0, 1);
    }
    crossings_close(channel);
    return NULL;
}

/* ---- The watchdog, which also waits for the end of the standard input ---- */

static void *watch(void *argument) {
    (void)argument;
    uint64_t seen = 0;
    double seen_at = now();
    struct pollfd polled = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&polled, 1, 100) == 0) {
        uint64_t here = __atomic_load_n(&calls, __ATOMIC_RELAXED);
        if (here != seen) {
            seen = here;
            seen_at = now();
        }
        if (now() - seen_at > STUCK_SECONDS)
            fail("a call does not return");
    }
    __atomic_store_n(&stopped, true, __ATOMIC_RELAXED);
    return NULL;
}

/* Private memory of this process in KiB. */
static long private_kib(void) {
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

int main(int count, char **arguments) {
    const struct way *way = NULL;
    for (unsigned i = 0; count == 3 && i < sizeof WAYS / sizeof *WAYS; i++)
        if (strcmp(WAYS[i].name, arguments[2]) == 0)
            way = &WAYS[i];
    crossings_server *server;
    pthread_t threads[3];
    int ends[2];
    if (!way || crossings_listen(arguments[1], &way->options, &server) != CROSSINGS_OK)
        fail("usage: victim PATH WAY");
    if (!(message = malloc(LARGEST)) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        fail("no memory or no sockets");
    pthread_create(&threads[0], NULL, echo_pings, &ends[0]);
    pthread_create(&threads[1], NULL, ping, &ends[1]);
    pthread_create(&threads[2], NULL, watch, NULL);
    puts("{\"ready\":true}");
    fflush(stdout);
    long before = private_kib(), most = before;
    while (!is_stopped()) {
        crossings_channel *channel;
        crossings_status status = crossings_accept(server, 100, &channel);
        __atomic_store_n(&calls, calls + 1, __ATOMIC_RELAXED);
        if (status == CROSSINGS_OK)
            converse(way, channel);
        else if (status != CROSSINGS_TIMEOUT && status != CROSSINGS_PEER_DIED && status != CROSSINGS_PROTOCOL)
            fail(crossings_status_text(status));
        if (sessions % 256 == 0) {
            long kib = private_kib();
            most = kib > most ? kib : most;
        }
    }
    crossings_unlisten(server);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    free(message);
    printf("{\"sessions\":%llu,\"messages\":%llu,\"pings\":%llu,\"end\":%llu,\"died\":%llu,\"corrupt\":%llu,"
           "\"overlong\":%llu,\"grownKib\":%ld}\n",
           (unsigned long long)sessions, (unsigned long long)messages, (unsigned long long)pings,
           (unsigned long long)statuses[CROSSINGS_END], (unsigned long long)statuses[CROSSINGS_PEER_DIED],
           (unsigned long long)statuses[CROSSINGS_PEER_CORRUPT], (unsigned long long)overlong, most - before);
    return 0;
}
