/* The steps and the attacks of the hostile peer. */
#include "attacks.h"

#include <sys/socket.h>

#define STEPS_PER_ROUND 64
#define FRAMES_PER_ANSWER 8
#define TOGGLES 32
#define OPEN_REQUESTS 64
#define PAYLOAD_BYTES (1 << 20)

/* ---- Choices ---- */

/* splitmix64 */
uint64_t attack_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t attack_below(struct attacker *attacker, uint32_t limit) {
    return (uint32_t)(((attack_random(&attacker->random) >> 32) * limit) >> 32);
}

static uint32_t any_word(struct attacker *attacker) {
    return (uint32_t)attack_random(&attacker->random);
}

static void mutate(struct attacker *attacker, void *address, uint32_t value) {
    ring_store_relaxed((uint32_t *)address, value);
    attacker->counts.mutations++;
}

/* The frame that the victim is reading, as far as it shows its position, or one written lately. */
static struct ring_frame *target_frame(struct attacker *attacker) {
    uint32_t position = ring_load_relaxed(&attacker->peer.header->read_position);
    if (attacker->recent_count > 0 && attack_below(attacker, 2))
        position = attacker->recent[attack_below(
            attacker, attacker->recent_count < RECENT_FRAMES ? attacker->recent_count : RECENT_FRAMES)];
    return ring_frame_at(&attacker->writer, position & ~(RING_FRAME_ALIGN - 1));
}

static uint32_t largest(const struct attacker *attacker) {
    return ring_max_message(attacker->mine.capacity);
}

/* ---- Correct steps, which keep the victim in the conversation ---- */

/* A payload of any size. It starts with a value that v8.deserialize() accepts. */
static const void *payload(void) {
    static _Alignas(8) const unsigned char bytes[PAYLOAD_BYTES] = {0xff, 0x0f, 'o', '"', 1, 'a', 'I', 2, '{', 1};
    return bytes;
}

static uint32_t message_size(struct attacker *attacker) {
    uint32_t most = largest(attacker) < PAYLOAD_BYTES ? largest(attacker) : PAYLOAD_BYTES;
    switch (attack_below(attacker, 64)) {
    case 0: return most;
    case 1: return attack_below(attacker, most);
    case 2:
    case 3: return attack_below(attacker, 4096);
    case 4: return 0;
    default: return 4 + attack_below(attacker, 64);
    }
}

static void write_frame(struct attacker *attacker, uint32_t size, uint32_t kind) {
    uint32_t position = attacker->writer.position;
    enum ring_result result = ring_write(&attacker->writer, payload(), size, kind);
    /* The victim has followed a wrong size past the end of what was written. Go on where it is now. */
    if (result == RING_CORRUPT)
        attacker->writer.position = attacker->writer.peer_read =
            ring_load_relaxed(&attacker->peer.header->read_position);
    if (result != RING_OK)
        return;
    if (kind != RING_KIND_MESSAGE && size >= sizeof(uint32_t)) /* numbers that the victim may have given to a request */
        ring_store_relaxed((uint32_t *)(ring_frame_at(&attacker->writer, position) + 1),
                           1 + attack_below(attacker, 64));
    ring_publish(&attacker->writer);
    attacker->recent[attacker->recent_count++ % RECENT_FRAMES] = position;
    attacker->counts.frames++;
}

static void step_message(struct attacker *attacker) {
    write_frame(attacker, message_size(attacker), RING_KIND_MESSAGE);
}

static void step_empty_message(struct attacker *attacker) {
    write_frame(attacker, 0, RING_KIND_MESSAGE);
}

static void step_request(struct attacker *attacker) {
    write_frame(attacker, 4 + attack_below(attacker, 64), RING_KIND_REQUEST);
}

/* Like a correct peer in a hurry: never many requests without a response. */
static void step_polite_request(struct attacker *attacker) {
    uint64_t frames = attacker->counts.frames;
    if (attacker->open_requests < OPEN_REQUESTS)
        write_frame(attacker, 4 + attack_below(attacker, 64), RING_KIND_REQUEST);
    attacker->open_requests += attacker->counts.frames - frames;
}

static void step_response(struct attacker *attacker) {
    write_frame(attacker, 4 + attack_below(attacker, 64), RING_KIND_RESPONSE + attack_below(attacker, 2));
}

/* Read what the victim sent, and answer its requests. Also checks that a victim never publishes an invalid frame. */
static bool read_and_answer(struct attacker *attacker) {
    for (int i = 0; i < FRAMES_PER_ANSWER; i++) {
        const void *body;
        uint32_t size, kind, number;
        enum ring_result result = ring_peek(&attacker->reader, &body, &size, &kind);
        if (result == RING_NO)
            return true;
        if (result == RING_CORRUPT || kind > RING_KIND_REFUSAL || (kind != RING_KIND_MESSAGE && size < sizeof number))
            return false;
        if (kind == RING_KIND_REQUEST) {
            char answer[64] = "1234 an answer";
            memcpy(answer, body, sizeof number);
            uint32_t bytes = sizeof number + attack_below(attacker, sizeof answer - sizeof number);
            if (ring_write(&attacker->writer, answer, bytes, RING_KIND_RESPONSE + attack_below(attacker, 2)) == RING_OK)
                ring_publish(&attacker->writer);
            attacker->counts.answers++;
        }
        if ((kind == RING_KIND_RESPONSE || kind == RING_KIND_REFUSAL) && attacker->open_requests > 0)
            attacker->open_requests--;
        ring_consume(&attacker->reader, size);
    }
    return true;
}

/* ---- Mutations of frames ---- */

static void step_valid_size(struct attacker *attacker) {
    mutate(attacker, &target_frame(attacker)->signal, 1 + attack_below(attacker, largest(attacker) + 1));
}

static void step_small_size(struct attacker *attacker) {
    mutate(attacker, &target_frame(attacker)->signal, attack_below(attacker, 66));
}

static void step_edge_size(struct attacker *attacker) {
    const uint32_t most = largest(attacker), edges[] = {1, 0, 2, most, most + 1, 57, 58};
    mutate(attacker, &target_frame(attacker)->signal, edges[attack_below(attacker, 7)]);
}

static void step_invalid_size(struct attacker *attacker) {
    const uint32_t most = largest(attacker), capacity = attacker->mine.capacity;
    const uint32_t sizes[] = {most + 2,   capacity,   capacity + 1, 0x7fffffff,        0x80000000,
                              0x80000001, 0xffffffff, 0xfffffff8,   any_word(attacker)};
    mutate(attacker, &target_frame(attacker)->signal, sizes[attack_below(attacker, 9)]);
}

/* Change the size of the frame that the victim is reading, as fast as the cache line moves between the processors:
 * finds a size that is read twice. */
static void step_toggle(struct attacker *attacker) {
    uint32_t small = 1 + attack_below(attacker, 60), large = 1 + attack_below(attacker, largest(attacker) + 1);
    for (int i = 0; i < TOGGLES; i++) {
        uint32_t position = ring_load_relaxed(&attacker->peer.header->read_position) & ~(RING_FRAME_ALIGN - 1);
        struct ring_frame *frame = ring_frame_at(&attacker->writer, position);
        mutate(attacker, &frame->signal, small);
        mutate(attacker, &frame->signal, large);
    }
}

static void step_kind(struct attacker *attacker) {
    mutate(attacker, &target_frame(attacker)->kind, attack_below(attacker, 4));
}

static void step_invalid_kind(struct attacker *attacker) {
    const uint32_t kinds[] = {4, 5, 0x80000000, 0xffffffff, 0x7fffffff, 256, any_word(attacker)};
    mutate(attacker, &target_frame(attacker)->kind, kinds[attack_below(attacker, 7)]);
}

static void step_number(struct attacker *attacker) {
    uint32_t number = attack_below(attacker, 2) ? attack_below(attacker, 64) : any_word(attacker);
    mutate(attacker, target_frame(attacker) + 1, number);
}

static void step_payload(struct attacker *attacker) {
    char *start = (char *)(target_frame(attacker) + 1);
    mutate(attacker, start + 4 * attack_below(attacker, 64), any_word(attacker));
}

static void step_anywhere(struct attacker *attacker) {
    mutate(attacker, attacker->mine.data + 4 * attack_below(attacker, attacker->mine.capacity / 4), any_word(attacker));
}

/* ---- Mutations of the region's header ---- */

static void step_header(struct attacker *attacker) {
    mutate(attacker, (char *)attacker->mine.header + 4 * attack_below(attacker, RING_HEADER_BYTES / 4),
           any_word(attacker));
    attacker->has_lied = true;
}

static void step_constants(struct attacker *attacker) {
    mutate(attacker, &attacker->mine.header->magic + attack_below(attacker, 4), any_word(attacker));
}

static void step_read_position(struct attacker *attacker) {
    uint32_t position = attacker->reader.position - RING_FRAME_ALIGN * attack_below(attacker, 64);
    mutate(attacker, &attacker->mine.header->read_position, position);
}

static void step_invalid_read_position(struct attacker *attacker) {
    const uint32_t now = attacker->reader.position;
    const uint32_t positions[] = {now + 1, now + 8, now - 8, now + 0x40000000, now ^ 0x80000000, any_word(attacker)};
    mutate(attacker, &attacker->mine.header->read_position, positions[attack_below(attacker, 6)]);
    attacker->has_lied = true;
}

static void step_waiting(struct attacker *attacker) {
    struct ring_region *mine = attacker->mine.header;
    uint32_t *word = attack_below(attacker, 2) ? &mine->waiting_for_data : &mine->waiting_for_room;
    mutate(attacker, word, attack_below(attacker, 8) ? *word + 1 : any_word(attacker));
}

static void step_closed(struct attacker *attacker) {
    mutate(attacker, &attacker->mine.header->closed, attack_below(attacker, 4) ? 0 : any_word(attacker));
}

static void step_fill(struct attacker *attacker) {
    attack_fill(attacker, attack_below(attacker, 4) ? RING_KIND_MESSAGE : attack_below(attacker, 4),
                4 * attack_below(attacker, 4));
}

/* ---- Packets ---- */

static void send_packet(struct attacker *attacker, const void *bytes, size_t size, int descriptor) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec data = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        *CMSG_FIRSTHDR(&message) =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &descriptor, sizeof descriptor);
    }
    if (attacker->fd >= 0 && sendmsg(attacker->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        attacker->counts.mutations++;
}

static void step_doorbell(struct attacker *attacker) {
    send_packet(attacker, payload(), 1, -1);
}

/* Larger than a doorbell, so that it is truncated; sometimes with a descriptor that nobody expects. */
static void step_packet(struct attacker *attacker) {
    send_packet(attacker, payload(), 2 + attack_below(attacker, 4000), attack_below(attacker, 2) ? attacker->fd : -1);
}

static void step_empty_packet(struct attacker *attacker) {
    send_packet(attacker, payload(), 0, -1);
}

/* ---- Attacks ---- */

struct step {
    void (*run)(struct attacker *);
    unsigned weight;
};

#define MAX_STEPS 20

struct attack {
    const char *name;
    struct step steps[MAX_STEPS];
};

static const struct attack ATTACKS[] = {
    {"payload", {{step_message, 1}, {step_payload, 40}}},
    {"sizes", {{step_message, 4}, {step_valid_size, 8}, {step_small_size, 16}, {step_edge_size, 8}}},
    {"toggle", {{step_toggle, 8}, {step_message, 1}}},
    {"small-sizes", {{step_message, 2}, {step_small_size, 32}, {step_payload, 8}}},
    {"invalid-sizes", {{step_message, 40}, {step_payload, 4}, {step_invalid_size, 1}}},
    {"kinds", {{step_message, 4}, {step_request, 2}, {step_response, 1}, {step_kind, 16}, {step_number, 8}}},
    {"invalid-kinds", {{step_message, 40}, {step_request, 8}, {step_kind, 4}, {step_invalid_kind, 1}}},
    {"messages", {{step_message, 1}}},
    {"request-flood", {{step_request, 1}}},
    {"polite-request-flood", {{step_polite_request, 1}}},
    {"response-flood", {{step_response, 1}}},
    {"doorbell-flood", {{step_message, 1}, {step_doorbell, 8}, {step_packet, 4}}},
    {"deaf-request-flood", {{step_request, 1}}},
    {"deaf", {{step_message, 8}, {step_request, 1}, {step_waiting, 1}}},
    {"requests", {{step_request, 8}, {step_number, 4}, {step_payload, 8}}},
    {"responses", {{step_response, 8}, {step_number, 4}, {step_payload, 8}}},
    {"empty-messages", {{step_empty_message, 8}, {step_message, 1}, {step_payload, 8}}},
    {"waiting", {{step_message, 8}, {step_request, 1}, {step_waiting, 32}}},
    {"positions", {{step_message, 8}, {step_read_position, 32}}},
    {"invalid-positions", {{step_message, 64}, {step_read_position, 64}, {step_invalid_read_position, 1}}},
    {"closed", {{step_message, 512}, {step_payload, 512}, {step_closed, 1}}},
    {"constants", {{step_message, 8}, {step_constants, 32}}},
    {"doorbells", {{step_message, 8}, {step_doorbell, 8}, {step_packet, 4}, {step_payload, 64}}},
    {"empty-packets", {{step_message, 64}, {step_doorbell, 64}, {step_payload, 64}, {step_empty_packet, 1}}},
    {"full-ring", {{step_message, 512}, {step_payload, 512}, {step_fill, 1}}},
    {"anywhere", {{step_message, 16}, {step_anywhere, 16}, {step_header, 1}}},
    {"everything",
     {{step_message, 1024},
      {step_request, 128},
      {step_response, 128},
      {step_valid_size, 64},
      {step_small_size, 256},
      {step_edge_size, 64},
      {step_invalid_size, 1},
      {step_kind, 64},
      {step_invalid_kind, 1},
      {step_number, 64},
      {step_payload, 2048},
      {step_constants, 16},
      {step_read_position, 128},
      {step_invalid_read_position, 1},
      {step_waiting, 256},
      {step_closed, 1},
      {step_doorbell, 16},
      {step_packet, 8},
      {step_fill, 1}}},
};
#define ATTACK_COUNT (sizeof ATTACKS / sizeof *ATTACKS)

const struct attack *attack_at(unsigned index) {
    return index < ATTACK_COUNT ? &ATTACKS[index] : NULL;
}

const struct attack *attack_named(const char *name) {
    for (unsigned i = 0; i < ATTACK_COUNT; i++)
        if (strcmp(ATTACKS[i].name, name) == 0)
            return &ATTACKS[i];
    return NULL;
}

/* An attack whose name begins like this never reads what the victim sends. */
static bool is_deaf(const struct attack *attack) {
    return strncmp(attack->name, "deaf", 4) == 0;
}

const char *attack_name(const struct attack *attack) {
    return attack->name;
}

bool attack_round(struct attacker *attacker) {
    const struct step *steps = attacker->attack->steps;
    unsigned total = 0;
    for (unsigned i = 0; i < MAX_STEPS; i++)
        total += steps[i].weight;
    for (unsigned i = 0; i < STEPS_PER_ROUND; i++) {
        unsigned chosen = attack_below(attacker, total);
        const struct step *step = steps;
        for (; chosen >= step->weight; step++)
            chosen -= step->weight;
        step->run(attacker);
    }
    /* Read or not: a victim that sends may find its ring full for a while. */
    bool valid =
        attacker->has_lied || is_deaf(attacker->attack) || attack_below(attacker, 4) > 0 || read_and_answer(attacker);
    if (attacker->fd >= 0 && (ring_reader_sleeps(&attacker->writer) || ring_writer_sleeps(&attacker->reader)))
        doorbell_ring(attacker->fd);
    return valid;
}

void attack_fill(struct attacker *attacker, uint32_t kind, uint32_t size) {
    for (uint32_t position = 0; position < attacker->mine.capacity; position += ring_frame_bytes(position, size)) {
        struct ring_frame *frame = ring_frame_at(&attacker->writer, position);
        ring_store_relaxed(&frame->kind, kind);
        ring_store_release(&frame->signal, size + 1); /* pairs with the acquire in ring_peek */
        attacker->counts.mutations += 2;
    }
}
