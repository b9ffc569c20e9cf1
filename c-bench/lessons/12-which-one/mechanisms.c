/*
 * The mechanisms of this course side by side: messages of 56 bytes between two processes, there and back, and as
 * many as possible in one direction. In shared memory, a slot carries them, and its reader spins or sleeps.
 */
#include "../common/pair.h"

#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { SIZE = 56, PER_ROUND = 100, PIPE = 0, UNIX, TCP, SLEEP, SPIN, MECHANISMS };

static const char *names[MECHANISMS] = {"pipe", "unix", "tcp", "sleep", "spin"};
static int in[MECHANISMS][2], out[MECHANISMS][2]; /* the descriptors of each process */

static struct slot {
    _Alignas(64) int full;
    char message[SIZE];
} *slots; /* two for each mechanism: the first one carries the parent's messages */

/* Wait until the slot is full, or empty. */
static void await(struct slot *slot, int full, int sleeps) {
    for (int looks = 0; __atomic_load_n(&slot->full, __ATOMIC_ACQUIRE) != full; looks++) {
        if (sleeps)
            syscall(SYS_futex, &slot->full, FUTEX_WAIT, !full, NULL, NULL, 0);
        else
            look_again(looks);
    }
}

static void set(struct slot *slot, int full, int sleeps) {
    __atomic_store_n(&slot->full, full, __ATOMIC_RELEASE); /* pairs with the acquire in await() */
    if (sleeps)
        syscall(SYS_futex, &slot->full, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void put(int mechanism, const char *message) {
    struct slot *slot = &slots[2 * mechanism + me];
    if (mechanism < SLEEP) {
        if (write(out[mechanism][me], message, SIZE) != SIZE)
            exit(2);
        return;
    }
    await(slot, 0, mechanism == SLEEP);
    memcpy(slot->message, message, SIZE);
    set(slot, 1, mechanism == SLEEP);
}

static void get(int mechanism, char *message) {
    struct slot *slot = &slots[2 * mechanism + !me];
    if (mechanism < SLEEP) {
        for (ssize_t got = 0, more; got < SIZE; got += more) /* a stream may deliver a message in parts */
            if ((more = read(in[mechanism][me], message + got, SIZE - got)) <= 0)
                exit(2);
        return;
    }
    await(slot, 1, mechanism == SLEEP);
    memcpy(message, slot->message, SIZE);
    set(slot, 0, mechanism == SLEEP);
}

static void there_and_back(int mechanism, int unused) {
    char message[SIZE] = {(char)unused};
    for (int i = 0; i < PER_ROUND; i++) {
        if (me)
            get(mechanism, message);
        put(mechanism, message);
        if (!me)
            get(mechanism, message);
    }
}

static void one_way(int mechanism, int unused) {
    char message[SIZE] = {(char)unused};
    for (int i = 0; i < PER_ROUND; i++) {
        if (me)
            get(mechanism, message);
        else
            put(mechanism, message);
    }
}

static int connect_all(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int there[2], back[2], ends[2], on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (pipe(there) || pipe(back) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return -1;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        return -1;
    out[PIPE][0] = there[1], in[PIPE][1] = there[0], out[PIPE][1] = back[1], in[PIPE][0] = back[0];
    for (int side = 0; side < 2; side++) {
        in[UNIX][side] = out[UNIX][side] = ends[side];
        int end = side ? accept(listener, NULL, NULL) : socket(AF_INET, SOCK_STREAM, 0);
        if (side == 0 && connect(end, (struct sockaddr *)&address, length))
            return -1;
        setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        in[TCP][side] = out[TCP][side] = end;
    }
    return 0;
}

int main(int argc, char **argv) {
    static struct kind kinds[2 * MECHANISMS];
    check_options(argc, argv);
    if (connect_all()) {
        perror("Cannot connect two processes");
        return 2;
    }
    slots = (struct slot *)begin_pair();
    for (int i = 0; i < MECHANISMS; i++) {
        kinds[i] = (struct kind){.work = there_and_back, .a = i};
        kinds[MECHANISMS + i] = (struct kind){.work = one_way, .a = i};
    }
    measure(kinds, 2 * MECHANISMS);
    for (int i = 0; i < MECHANISMS; i++) {
        printf("%sTrip = %.2f us\n", names[i], kinds[i].ns / PER_ROUND / 1e3);
        printf("%sRate = %.1f k/s\n", names[i], 1e6 * PER_ROUND / kinds[MECHANISMS + i].ns);
    }
    double slowest = 0;
    for (int i = PIPE; i <= TCP; i++)
        slowest = kinds[MECHANISMS + i].ns > slowest ? kinds[MECHANISMS + i].ns : slowest;
    printf("kernelRate = %.1f k/s\ncores = %d cores\n", 1e6 * PER_ROUND / slowest, cores);
    return 0;
}
