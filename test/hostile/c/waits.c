/* Calls of the C library that sleep, or wake a peer that sleeps. Linked with --wrap=poll, recvmmsg and send. */
#include "c-tests.h"

#include "../../../native/doorbell.h"

#include <linux/filter.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/resource.h>

static volatile bool is_asleep;   /* a thread has begun to sleep */
static sigjmp_buf *leave_to;      /* the sleep ends as a signal handler would end it */
static crossings_channel *sender; /* sends, and its doorbell must ring */

int __real_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
    if (leave_to)
        siglongjmp(*leave_to, 1);
    is_asleep = true;
    if (sender) {
        EXPECT(crossings_try_send(sender, "hello", 5) == CROSSINGS_OK);
        EXPECT(__real_poll(polled, count, 0) == 1);
    }
    return __real_poll(polled, count, timeout_ms);
}

static void a_wait_that_was_left_does_not_spoil_the_next(void) {
    int ends[2];
    pthread_t thread;
    void *other;
    char text[8];
    size_t size;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    EXPECT(pthread_create(&thread, NULL, open_end, &ends[1]) == 0);
    crossings_channel *channel = open_end(&ends[0]);
    EXPECT(pthread_join(thread, &other) == 0);
    for (int sleeps = 0; sleeps < 3; sleeps++) {
        sigjmp_buf here;
        leave_to = &here;
        if (sigsetjmp(here, 1) == 0)
            crossings_receive(channel, text, sizeof text, &size, -1);
        leave_to = NULL;
        sender = other;
        EXPECT(crossings_receive(channel, text, sizeof text, &size, 60000) == CROSSINGS_OK && size == 5);
        sender = NULL;
    }
    crossings_close(other);
    crossings_close(channel);
}

/* ---- What a program has set for itself ---- */

/* As programs do that let nothing open files from then on. Every poll() fails. */
static void a_wait_without_descriptors_does_not_spin(void) {
    crossings_channel *channel;
    int pair[2], go[2];
    char text[8];
    size_t size;
    pid_t child;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 && pipe(go) == 0);
    EXPECT(open_both(pair, go, &channel, &child) == CROSSINGS_OK);
    EXPECT(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}) == 0);
    EXPECT(crossings_receive(channel, text, sizeof text, &size, 2000) == CROSSINGS_TIMEOUT);
    EXPECT(clock() < CLOCKS_PER_SEC); /* of processor time */
    EXPECT(write(go[1], "x", 1) == 1);
    EXPECT(crossings_receive(channel, text, sizeof text, &size, 60000) == CROSSINGS_OK && size == 5);
    crossings_close(channel);
    EXPECT(end_of(child) == 0);
}

static int refuse_calls; /* with this error */

static sigjmp_buf *leave_send_to; /* as a signal handler that comes at the call */

int __real_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout);

int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout);

int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout) {
    if (!refuse_calls)
        return __real_recvmmsg(fd, messages, count, flags, timeout);
    errno = refuse_calls;
    return -1;
}

ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags) {
    if (leave_send_to)
        siglongjmp(*leave_send_to, 1);
    if (!refuse_calls)
        return __real_send(fd, bytes, size, flags);
    errno = refuse_calls;
    return -1;
}

/* A sandbox may refuse calls that the handshake did not need. */
static void the_doorbell_uses_other_calls(void) {
    static const int errors[] = {EPERM, ENOSYS, EACCES, EINVAL};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        int pair[2];
        refuse_calls = errors[i];
        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        struct pollfd rung = {.fd = pair[1], .events = POLLIN};
        EXPECT(doorbell_ring(pair[0]));
        EXPECT(__real_poll(&rung, 1, 0) == 1);
        EXPECT(doorbell_drain(pair[1]) == DOORBELL_OPEN);
        EXPECT(__real_poll(&rung, 1, 0) == 0);
        close(pair[0]);
        EXPECT(doorbell_drain(pair[1]) == DOORBELL_CLOSED);
        close(pair[1]);
    }
}

static void *receive_one(void *end) {
    char text[8];
    size_t size;
    EXPECT(crossings_receive(end, text, sizeof text, &size, -1) == CROSSINGS_OK && size == 5);
    return NULL;
}

/* Start a thread that receives one message, and sleeps. */
static pthread_t receive_asleep(crossings_channel *channel) {
    pthread_t thread;
    is_asleep = false;
    alarm(10); /* otherwise it might sleep for ever */
    EXPECT(pthread_create(&thread, NULL, receive_one, channel) == 0);
    while (!is_asleep)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return thread;
}

/* Both ends drop packets of one byte, as those of the doorbell are. */
static void a_filter_hides_no_ring(void) {
    int ends[2];
    crossings_channel *other;
    struct sock_filter steps[] = {{BPF_LD | BPF_W | BPF_LEN, 0, 0, 0},
                                  {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 1},
                                  {BPF_RET | BPF_K, 0, 0, 0},
                                  {BPF_RET | BPF_K, 0, 0, 0xffff}};
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    for (int end = 0; end < 2; end++)
        EXPECT(setsockopt(ends[end], SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0);
    crossings_channel *channel = open_ends(ends, &other);
    pthread_t thread = receive_asleep(other);
    EXPECT(crossings_try_send(channel, "hello", 5) == CROSSINGS_OK);
    EXPECT(pthread_join(thread, NULL) == 0);
    crossings_close(other);
    crossings_close(channel);
}

static void a_ring_that_was_left_is_made_up_for(void) {
    crossings_channel *other, *channel = open_two(&other);
    pthread_t thread = receive_asleep(other);
    sigjmp_buf here;
    leave_send_to = &here;
    if (sigsetjmp(here, 1) == 0)
        crossings_try_send(channel, "hello", 5);
    leave_send_to = NULL;
    EXPECT(crossings_try_send(channel, "hello", 5) == CROSSINGS_OK);
    EXPECT(pthread_join(thread, NULL) == 0);
    crossings_close(other);
    crossings_close(channel);
}

enum { NUMBERS = 3000 }; /* more than the ring holds */

static void *send_numbers(void *end) {
    for (uint32_t number = 0; number < NUMBERS; number++)
        EXPECT(crossings_send(end, &number, sizeof number, -1) == CROSSINGS_OK);
    return NULL;
}

static uint32_t received; /* numbers */

static void receive_number(crossings_channel *channel) {
    uint32_t number;
    size_t size;
    EXPECT(crossings_receive(channel, &number, sizeof number, &size, -1) == CROSSINGS_OK && number == received);
    received++;
}

/* It is canceled at the first system call that is a cancellation point. */
static void *receive_canceled(void *end) {
    pthread_cancel(pthread_self());
    while (received < NUMBERS)
        receive_number(end);
    return NULL;
}

static void a_canceled_call_loses_no_message(void) {
    crossings_channel *other, *channel = open_two(&other);
    pthread_t sending, receiving;
    alarm(60);
    is_asleep = false;
    EXPECT(pthread_create(&sending, NULL, send_numbers, other) == 0);
    while (!is_asleep)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* the sender waits for room */
    EXPECT(pthread_create(&receiving, NULL, receive_canceled, channel) == 0);
    EXPECT(pthread_join(receiving, NULL) == 0);
    while (received < NUMBERS)
        receive_number(channel);
    EXPECT(pthread_join(sending, NULL) == 0);
    crossings_close(other);
    crossings_close(channel);
}

static void *open_spinning(void *end) {
    static const crossings_options spinning = {.capacity = 65536, .wait = CROSSINGS_SPIN, .timeout_ms = 60000};
    crossings_channel *channel;
    EXPECT(crossings_open(*(int *)end, &spinning, &channel) == CROSSINGS_OK);
    return channel;
}

/* It makes no system call but those that look for the peer's end. */
static void a_call_that_spins_is_canceled(void) {
    int ends[2];
    pthread_t thread;
    void *other, *result;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    EXPECT(pthread_create(&thread, NULL, open_spinning, &ends[1]) == 0);
    crossings_channel *channel = open_spinning(&ends[0]);
    EXPECT(pthread_join(thread, &other) == 0);
    alarm(30);
    EXPECT(pthread_create(&thread, NULL, receive_one, channel) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    EXPECT(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    crossings_close(other);
    crossings_close(channel);
}

/* A program that sends a heartbeat now and then, and otherwise polls. */
static void a_poller_that_also_sends_learns_of_the_end(void) {
    enum { LOOKS = 200000, LOOKS_PER_SEND = 1000 };
    crossings_channel *channel;
    crossings_status status = CROSSINGS_AGAIN;
    int pair[2], go[2];
    char text[8];
    size_t size;
    pid_t child;
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 && pipe(go) == 0);
    EXPECT(open_both(pair, go, &channel, &child) == CROSSINGS_OK);
    kill(child, SIGKILL);
    end_of(child);
    for (int i = 0; i < LOOKS && status == CROSSINGS_AGAIN; i++) {
        if (i % LOOKS_PER_SEND == 0)
            crossings_try_send(channel, "alive", 5);
        status = crossings_try_receive(channel, text, sizeof text, &size);
    }
    EXPECT(status == CROSSINGS_PEER_DIED);
    crossings_close(channel);
}

static const struct test tests[] = {
    {"a wait that a signal handler left does not spoil the next", a_wait_that_was_left_does_not_spoil_the_next},
    {"a wait without descriptors does not spin, and gets its message", a_wait_without_descriptors_does_not_spin},
    {"where send() and recvmmsg() are refused, the doorbell uses other calls", the_doorbell_uses_other_calls},
    {"a filter that the maker of the socket has attached hides no ring", a_filter_hides_no_ring},
    {"a ring of the doorbell that a signal handler left is made up for", a_ring_that_was_left_is_made_up_for},
    {"a call that is canceled loses no message", a_canceled_call_loses_no_message},
    {"a call that spins is canceled", a_call_that_spins_is_canceled},
    {"a program that polls and also sends learns of the end", a_poller_that_also_sends_learns_of_the_end},
};

int main(int count, char **arguments) {
    return run_tests(tests, sizeof tests / sizeof *tests, count, arguments);
}
