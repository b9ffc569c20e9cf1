/* Connects the two processes of a proof: by a ring, by two slots, or by pipes. */
#include "proofs.h"

#include "../../native/handshake.h"
#include "controls.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define CAPACITY (256u << 10) /* of the ring, bytes */

/* ---- The ring: each process makes a region of its own and gets the other's, as in c-bench/ring.c ---- */

static int sockets[2];

static int set_up_ring(struct end ends[2]) {
    (void)ends;
    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets);
}

static int take_ring(struct end *end, int side) {
    static struct region mine, peer;
    char reason[HANDSHAKE_REASON_BYTES];
    close(sockets[!side]);
    if (region_create(&mine, CAPACITY, RING_FLAG_NEVER_SLEEPS) || handshake_send(sockets[side], &mine) != HANDSHAKE_OK)
        return -1;
    poll(&(struct pollfd){.fd = sockets[side], .events = POLLIN}, 1, -1);
    if (handshake_receive(sockets[side], false, &peer, reason) != HANDSHAKE_OK) {
        errno = EPROTO;
        return -1;
    }
    region_connect(&mine, &peer, &end->writer, &end->reader);
    return 0;
}

/* ---- shm-spin ---- */

static int set_up_slots(struct end ends[2]) {
    struct slot *slots =
        mmap(NULL, 2 * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (slots == MAP_FAILED)
        return -1;
    ends[0].outgoing = ends[1].incoming = &slots[0];
    ends[1].outgoing = ends[0].incoming = &slots[1];
    return 0;
}

static int take_nothing(struct end *end, int side) {
    (void)end, (void)side;
    return 0;
}

/* ---- The pipe ---- */

static int set_up_pipes(struct end ends[2]) {
    int pipes[2][2];
    if (pipe(pipes[0]) || pipe(pipes[1]))
        return -1;
    for (int side = 0; side < 2; side++) {
        ends[side].write_fd = pipes[side][1];
        ends[side].read_fd = pipes[!side][0];
    }
    return 0;
}

static const struct proof ring = {
    .name = "c-ring",
    .title = "Ring in C (one way)",
    .set_up = set_up_ring,
    .take = take_ring,
    .run = {ring_send_all, ring_receive_all},
};

static const struct proof ring_round_trip = {
    .name = "c-ring-round-trip",
    .title = "Ring in C (round trips)",
    .set_up = set_up_ring,
    .take = take_ring,
    .run = {ring_ask_all, ring_answer_all},
};

static const struct proof shm_spin = {
    .name = "c-shm-spin",
    .title = "shm-spin in C (one way)",
    .set_up = set_up_slots,
    .take = take_nothing,
    .run = {spin_send_all, spin_receive_all},
};

static const struct proof pipe_control = {
    .name = "pipe-control",
    .title = "Control: a pipe in C",
    .wanted = "write",
    .set_up = set_up_pipes,
    .take = take_nothing,
    .run = {pipe_send_all, pipe_receive_all},
};

static const struct proof hidden_call_control = {
    .name = "hidden-call-control",
    .title = "Control: one getppid hidden in the ring",
    .wanted = "getppid",
    .set_up = set_up_ring,
    .take = take_ring,
    .run = {hidden_send_all, ring_receive_all},
};

const struct proof *const proofs[] = {
    &ring, &ring_round_trip, &shm_spin, &pipe_control, &hidden_call_control, NULL,
};
