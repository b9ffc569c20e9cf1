/* Listening, and accepting clients: many handshakes side by side, none of which can keep out the others. */
#include "channel.h"
#include "deadline.h"
#include "disposal.h"
#include "listener.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define LOCK_MS 1000      /* time to get the folder's lock before listening without it */
#define MAX_HANDSHAKES 64 /* of one server at the same time */
#define MAX_WAITS 40      /* of 5 ms each, for descriptors that other threads are closing */

struct crossings_server {
    struct process owner; /* as in a channel */
    struct listener listener;
    crossings_options options;
    /* Clients whose hello has not arrived, the oldest first. */
    struct handshake {
        crossings_channel *channel;
        uid_t user;
        uint64_t deadline;
    } handshakes[MAX_HANDSHAKES];
    int count;
    int waits; /* for descriptors, since a client was accepted or has finished */
};

static crossings_status start_listening(const char *path, const crossings_options *given, crossings_server **result) {
    crossings_options options;
    crossings_status status = channel_check_options(given, &options);
    if (status != CROSSINGS_OK)
        return status;
    crossings_server *server = calloc(1, sizeof *server);
    if (!server)
        return CROSSINGS_SYSTEM;
    server->owner = channel_this_process();
    server->options = options;
    uint64_t deadline = deadline_after(LOCK_MS);
    enum handshake_status listening = listener_open(path, options.allow_other_users, false, &server->listener);
    while (listening == HANDSHAKE_AGAIN) {
        sleep_before_retry();
        bool unlocked = remaining_ms(deadline) == 0;
        listening = listener_open(path, options.allow_other_users, unlocked, &server->listener);
    }
    status = channel_status_of(listening);
    if (status != CROSSINGS_OK) {
        int reason = errno;
        free(server);
        errno = reason;
        return status;
    }
    *result = server;
    return CROSSINGS_OK;
}

crossings_status crossings_listen(const char *path, const crossings_options *options, crossings_server **server) {
    int cancellation = hold_cancellation();
    crossings_status status = start_listening(path, options, server);
    allow_cancellation(cancellation);
    return status;
}

/* Was the client's hello received, but not answered yet? */
static bool has_hello(const crossings_server *server, int index) {
    return server->handshakes[index].channel->peer.header != NULL;
}

/* Remove a handshake from the list and return its channel. */
static crossings_channel *take_handshake(crossings_server *server, int index) {
    crossings_channel *channel = server->handshakes[index].channel;
    server->count--;
    memmove(&server->handshakes[index], &server->handshakes[index + 1],
            (size_t)(server->count - index) * sizeof server->handshakes[0]);
    return channel;
}

static void drop(crossings_channel *channel) {
    channel_give_up(channel, CROSSINGS_AGAIN);
}

/* The handshake to drop when there are too many: the oldest one of the user that has the most. So no user can keep
 * another out, and no silent client can keep out the next client of its own user. `spared` is the number of one that is
 * not dropped, or -1. Returns -1 if there is no other. */
static int find_victim(const crossings_server *server, int spared) {
    int victim = -1, most = 0;
    for (int i = 0; i < server->count; i++) {
        int of_user = 0;
        for (int j = i; j < server->count; j++)
            of_user += server->handshakes[j].user == server->handshakes[i].user;
        if (i != spared && of_user > most) {
            most = of_user;
            victim = i;
        }
    }
    return victim;
}

static bool out_of_descriptors(crossings_status status) {
    return status == CROSSINGS_SYSTEM && (errno == EMFILE || errno == ENFILE);
}

/* Peers whose hellos were refused may have brought this process to its limit of descriptors. Other threads are closing
 * them: wait a little, then look again. Not for ever, because a peer can make closing last. `was_busy`: they were at it
 * before the call that failed. */
static bool can_wait_for_descriptors(crossings_server *server, bool was_busy) {
    if (!(was_busy || disposal_unfinished() > 0) || server->waits >= MAX_WAITS)
        return false;
    server->waits++;
    sleep_before_retry();
    return true;
}

static int index_of(const crossings_server *server, const crossings_channel *channel) {
    int index = 0;
    while (server->handshakes[index].channel != channel)
        index++;
    return index;
}

/* Finish the handshake of this channel if the client's hello is there. CROSSINGS_AGAIN: it is not, or there are no
 * descriptors for it yet. If there will not be any, other clients that have not finished lose theirs, so the numbers of
 * the handshakes change. */
static crossings_status try_finish(crossings_server *server, crossings_channel *channel, crossings_channel **result) {
    for (;;) {
        bool was_busy = disposal_unfinished() > 0;
        crossings_status status = channel_finish_handshake(channel, server->options.capacity);
        if (status == CROSSINGS_AGAIN) {
            if (channel->peer.header)
                sleep_before_retry(); /* somebody has filled the client's socket */
            return status;
        }
        if (out_of_descriptors(status)) {
            if (can_wait_for_descriptors(server, was_busy))
                return CROSSINGS_AGAIN;
            int victim = find_victim(server, index_of(server, channel));
            if (victim >= 0) {
                drop(take_handshake(server, victim));
                continue;
            }
        }
        take_handshake(server, index_of(server, channel));
        server->waits = 0;
        if (status != CROSSINGS_OK)
            return channel_give_up(channel, status);
        *result = channel;
        return status;
    }
}

/* Look at this handshake once more: its hello may have arrived while the program did other things. CROSSINGS_AGAIN: it
 * has not, and the client was dropped; unless it waits only for descriptors that other threads are closing. Otherwise
 * the handshake has just finished or failed. */
static crossings_status finish_late(crossings_server *server, int index, crossings_channel **result) {
    int waits = server->waits;
    crossings_channel *late = server->handshakes[index].channel;
    crossings_status status = try_finish(server, late, result);
    if (status == CROSSINGS_AGAIN && server->waits == waits)
        drop(take_handshake(server, index_of(server, late)));
    return status;
}

/* Make room for another handshake. CROSSINGS_AGAIN: there is room now. Otherwise one has just finished or failed. */
static crossings_status make_room(crossings_server *server, crossings_channel **result) {
    crossings_channel *victim = server->handshakes[find_victim(server, -1)].channel;
    crossings_status status = try_finish(server, victim, result);
    if (status == CROSSINGS_AGAIN)
        drop(take_handshake(server, index_of(server, victim)));
    return status;
}

/* Accept one client and start its handshake. CROSSINGS_AGAIN: continue. */
static crossings_status accept_client(crossings_server *server, crossings_channel **result) {
    if (server->count == MAX_HANDSHAKES) {
        crossings_status status = make_room(server, result);
        if (status != CROSSINGS_AGAIN)
            return status;
    }
    int fd;
    bool was_busy = disposal_unfinished() > 0;
    enum handshake_status accepted = listener_accept(server->listener.fd, &fd);
    if (accepted == HANDSHAKE_SYSTEM && out_of_descriptors(CROSSINGS_SYSTEM)) {
        if (can_wait_for_descriptors(server, was_busy))
            return CROSSINGS_AGAIN;
        if (server->count > 0)
            return make_room(server, result); /* silent clients hold the descriptors */
        sleep_before_retry();                 /* the program may call this again at once */
    }
    if (accepted == HANDSHAKE_AGAIN)
        sleep_before_retry(); /* another process has accepted the client, or a filter of system calls hides it */
    if (accepted != HANDSHAKE_OK)
        return channel_status_of(accepted);
    server->waits = 0;
    struct handshake *handshake = &server->handshakes[server->count];
    handshake->deadline = deadline_after(server->options.timeout_ms);
    crossings_status status = channel_begin_handshake(fd, &server->options, &handshake->user, &handshake->channel);
    if (status != CROSSINGS_OK)
        return status;
    server->count++;
    return try_finish(server, handshake->channel, result); /* the hello is often there already */
}

/* `cancellation`: of the caller; the thread may be canceled while it waits for a client. */
static crossings_status accept_next(crossings_server *server, int timeout_ms, int cancellation,
                                    crossings_channel **channel) {
    uint64_t deadline = deadline_after(timeout_ms);
    for (int late = 0;;) {
        uint64_t until = deadline;
        int waits = server->waits;
        crossings_status status = CROSSINGS_AGAIN;
        for (int i = server->count - 1; i >= 0 && status == CROSSINGS_AGAIN; i--)
            if (i < server->count &&
                now_ns() >= server->handshakes[i].deadline) /* the look before may have dropped some */
                status = finish_late(server, i, channel);
        if (status != CROSSINGS_AGAIN)
            return status;
        for (int i = 0; i < server->count; i++)
            if (server->handshakes[i].deadline < until)
                until = server->handshakes[i].deadline;
        struct pollfd polled[MAX_HANDSHAKES + 1] = {{.fd = server->listener.fd, .events = POLLIN}};
        bool any_waits = false; /* its hello was received, and there was no descriptor for the answer */
        for (int i = 0; i < server->count; i++) {
            polled[i + 1] = (struct pollfd){.fd = server->handshakes[i].channel->fd, .events = POLLIN};
            any_waits = any_waits || has_hello(server, i);
        }
        allow_cancellation(cancellation);
        int ready = poll(polled, (nfds_t)server->count + 1, any_waits ? 0 : remaining_ms(until));
        hold_cancellation();
        if (ready < 0 && errno == EINVAL && server->count > 0) {
            /* More than the limit of descriptors, which the program has lowered. */
            drop(take_handshake(server, find_victim(server, -1)));
            continue;
        }
        if (ready < 0 && errno != EINTR) {
            sleep_before_retry(); /* the program may call this again at once, and poll() fail each time */
            return CROSSINGS_SYSTEM;
        }
        if (ready == 0 && remaining_ms(deadline) == 0)
            return CROSSINGS_TIMEOUT;
        if (ready < 0 || (ready == 0 && !any_waits))
            continue;
        bool hidden = false; /* readable, but nothing to receive: a filter of system calls says so */
        for (int i = server->count - 1; i >= 0 && status == CROSSINGS_AGAIN; i--) {
            if (i >= server->count || !(polled[i + 1].revents || has_hello(server, i))) /* likewise */
                continue;
            crossings_channel *readable = server->handshakes[i].channel;
            status = try_finish(server, readable, channel);
            hidden = hidden || (status == CROSSINGS_AGAIN && !readable->peer.header);
        }
        if (hidden)
            sleep_before_retry(); /* do not spin until the client's time is over */
        if (status == CROSSINGS_AGAIN && polled[0].revents)
            status = accept_client(server, channel);
        if (status != CROSSINGS_AGAIN)
            return status;
        /* After the time, serve only who may be here already: silent clients may keep coming. */
        if (remaining_ms(deadline) == 0 && (server->waits > waits || ++late > MAX_HANDSHAKES))
            return CROSSINGS_TIMEOUT;
    }
}

crossings_status crossings_accept(crossings_server *server, int timeout_ms, crossings_channel **channel) {
    int cancellation = hold_cancellation();
    disposal_retry();
    crossings_status status = accept_next(server, timeout_ms, cancellation, channel);
    allow_cancellation(cancellation);
    return status;
}

void crossings_unlisten(crossings_server *server) {
    if (!server)
        return;
    int cancellation = hold_cancellation();
    while (server->count > 0)
        drop(take_handshake(server, server->count - 1));
    if (channel_is_mine(server->owner)) {
        listener_close(&server->listener);
    } else {                                       /* a forked child: the parent continues to listen */
        disposal_close_later(server->listener.fd); /* with the clients that wait in it, if the parent has ended */
        close(server->listener.folder);
    }
    free(server);
    allow_cancellation(cancellation);
}
