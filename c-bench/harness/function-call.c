/*
 * Times a function call that does what the answering process of a round trip does: it reads the whole request and
 * writes the whole reply. Each request is the reply of the call before, so the processor cannot overlap the calls.
 */
#include "function-call.h"

#include "../common/clock.h"
#include "../common/median.h"
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#define BATCHES 200
#define CALLS 1000 /* per batch: reading the clock costs nothing beside them; even */

static __attribute__((noinline)) void answer(const char *request, char *reply, size_t size) {
    memcpy(reply, request, size);
}

/* Volatile: the compiler can neither inline the function nor drop a call. */
static void (*volatile service)(const char *request, char *reply, size_t size) = answer;

double function_call_ns(size_t size) {
    char *one = message_buffer(size), *other = message_buffer(size);
    double batch_ns[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t start = clock_ticks();
        for (int i = 0; i < CALLS; i += 2) {
            service(one, other, size);
            service(other, one, size);
        }
        batch_ns[batch] = (double)(clock_ticks() - start) * clock_facts.ns_per_tick / CALLS;
    }
    free(one);
    free(other);
    return median(batch_ns, BATCHES);
}

#define STRING(value) #value
#define TEXT(value) STRING(value)
#define ADDITIONS 1000
#define ROUNDS 100 /* of ADDITIONS, per batch */

/* ADDITIONS additions, each of which needs the result of the one before. An addition of two registers takes one cycle
 * on all current processors (a constant might be added in none, when the register is renamed). */
static inline void add_in_a_chain(uint64_t step) {
    uint64_t sum = 0;
#if defined(__x86_64__)
    __asm__ volatile(".rept " TEXT(ADDITIONS) "\n add %1, %0\n .endr" : "+r"(sum) : "r"(step) : "cc");
#elif defined(__aarch64__)
    __asm__ volatile(".rept " TEXT(ADDITIONS) "\n add %0, %0, %1\n .endr" : "+r"(sum) : "r"(step));
#else
    (void)step, (void)sum;
#endif
}

double core_cycles_per_ns(void) {
#if defined(__x86_64__) || defined(__aarch64__)
    double batch_ns[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t start = clock_ticks();
        for (int i = 0; i < ROUNDS; i++)
            add_in_a_chain((uint64_t)i);
        batch_ns[batch] = (double)(clock_ticks() - start) * clock_facts.ns_per_tick;
    }
    return (double)(ADDITIONS * ROUNDS) / median(batch_ns, BATCHES);
#else
    return 0;
#endif
}
