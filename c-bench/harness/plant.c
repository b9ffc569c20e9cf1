/* Wraps a mechanism's send() and receive() to add a system call or a delay. */
#include "plant.h"

#include "../common/clock.h"
#include "../common/options.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_DELAY_NS 1000000u

static const struct mechanism *original;
static struct plant planted;
static uint64_t delay_ticks;
static bool every_call;

struct plant plant_read(const char *text) {
    struct plant plant = {0};
    if (strcmp(text, "getppid") == 0) {
        plant.getppid = true;
        return plant;
    }
    int used = 0;
    if (sscanf(text, "%7u,%7u%n", &plant.message_ns, &plant.trip_ns, &used) != 2 || text[used] ||
        plant.message_ns > MAX_DELAY_NS || plant.trip_ns > MAX_DELAY_NS)
        refuse("--plant must be getppid, or two delays from 0 to %u ns, as in 100,1200; got \"%s\".", MAX_DELAY_NS,
               text);
    return plant;
}

/* A delay of 0 already takes one reading of the clock, and a longer one exceeds its end by half a reading on average.
 */
void plant_delay(unsigned ns, bool in_every_call) {
    double until_ns = ns ? ns + clock_facts.overhead_ns / 2 : 0;
    delay_ticks = (uint64_t)(until_ns / clock_facts.ns_per_tick);
    every_call = in_every_call;
}

/* The fence: without it, a short delay would overlap with the stores of the previous message on their way to the other
 * core, and would cost nothing. It orders no data and pairs with none. A delay of 0 takes the fence and the readings
 * too, so a mechanism with a delay differs from one with a delay of 0 by the delay only. */
static void delay(void) {
    atomic_thread_fence(memory_order_seq_cst);
    for (uint64_t start = clock_ticks(); clock_ticks() - start < delay_ticks;)
        continue;
}

static enum outcome planted_send(enum side side, const void *message, size_t size) {
    if (planted.getppid)
        syscall(SYS_getppid);
    if (every_call || side == SIDE_A)
        delay();
    return original->send(side, message, size);
}

static enum outcome planted_receive(enum side side, void *message, size_t size) {
    enum outcome outcome = original->receive(side, message, size);
    if (every_call)
        delay();
    return outcome;
}

const struct mechanism *plant_into(const struct mechanism *mechanism, const struct plant *plant) {
    static struct mechanism wrapped;
    original = mechanism;
    planted = *plant;
    wrapped = *mechanism;
    wrapped.send = planted_send;
    wrapped.receive = planted_receive;
    return &wrapped;
}
