/*
 * The filter of a proof for the main thread of a Node process, as a Node addon. lib/experiments/prove/node/side.js uses
 * it; the package does not. The threads of V8 are not filtered: they make system calls of their own (futex, madvise).
 */
#include "../common/gate.h"
#include "../common/syscalls.h"
#include "../common/topology.h"
#include "filter.h"

#include <errno.h>
#include <node_api.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct filter filter;
static useconds_t limit_us;

/* What JavaScript and this file share: see lib/experiments/prove/node/filter.js. */
static struct memory {
    double progress;      /* messages exchanged so far; JavaScript writes it */
    _Atomic int32_t stop; /* 1: the time is up */
} *memory;

static void note_forbidden(int number) {
    char line[160];
    int length = snprintf(line, sizeof line, "{\"type\":\"killed\",\"by\":\"%s\",\"messages\":%.0f}\n",
                          syscall_name((uint64_t)number), memory->progress);
    if (write(filter.report_fd, line, (size_t)length) < 0)
        return; /* nobody listens */
}

static napi_value throw(napi_env env, const char *code, const char *text) {
    napi_throw_error(env, code, text);
    return NULL;
}

static int number_of(const char *name) {
    for (int number = 0; number < MAX_SYSCALLS; number++)
        if (strcmp(syscall_name((uint64_t)number), name) == 0)
            return number;
    return -1; /* this architecture does not have it */
}

/* A thread that is not filtered. The filtered one needs no clock, which might be a system call on this machine. */
static void *stop_later(void *unused) {
    usleep(limit_us);
    memory->stop = 1;
    return unused;
}

/* enter(reportFd, countedNames, limitMs): from now on, this thread may only write to reportFd, exit, and make the
 * counted calls. */
static napi_value enter(napi_env env, napi_callback_info info) {
    napi_value arguments[3], item;
    size_t count = 3;
    uint32_t names = 0, limit_ms;
    pthread_t timer;
    napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
    if (napi_get_value_int32(env, arguments[0], &filter.report_fd) != napi_ok ||
        napi_get_array_length(env, arguments[1], &names) != napi_ok || names > FILTER_MAX_CALLS ||
        napi_get_value_uint32(env, arguments[2], &limit_ms) != napi_ok)
        return throw(env, "ERR_INVALID_ARGUMENT", "enter() takes a descriptor, an array of names and a time limit.");
    limit_us = limit_ms * 1000;
    filter.on_forbidden = note_forbidden;
    filter.counted_size = 0;
    for (uint32_t i = 0; i < names; i++) {
        char name[64];
        if (napi_get_element(env, arguments[1], i, &item) != napi_ok ||
            napi_get_value_string_utf8(env, item, name, sizeof name, NULL) != napi_ok)
            return throw(env, "ERR_INVALID_ARGUMENT", "The name of a system call must be a string.");
        int number = number_of(name);
        if (number >= 0)
            filter.counted[filter.counted_size++] = number;
    }
    int error = pthread_create(&timer, NULL, stop_later, NULL);
    if (error) {
        char text[160];
        snprintf(text, sizeof text, "cannot start a thread: %s", strerror(error));
        return throw(env, "ERR_SYSTEM", text);
    }
    const char *reason;
    return filter_enter(&filter, &reason) ? NULL : throw(env, "ERR_FILTER_REFUSED", reason);
}

/* counts(): how often each counted call was made, by name. */
static napi_value counts(napi_env env, napi_callback_info info) {
    napi_value result, value;
    (void)info;
    napi_create_object(env, &result);
    for (size_t i = 0; i < filter.counted_size; i++) {
        unsigned long made = filter_count(filter.counted[i]);
        if (made == 0)
            continue;
        napi_create_double(env, (double)made, &value);
        napi_set_named_property(env, result, syscall_name((uint64_t)filter.counted[i]), value);
    }
    return result;
}

/* die(): makes a forbidden call. Returns only if the filter is not in force. */
static napi_value die(napi_env env, napi_callback_info info) {
    (void)env, (void)info;
    filter_die();
    return NULL;
}

/* endWithParent(pid): false if pid is not the parent of this process any more. */
static napi_value end_with(napi_env env, napi_callback_info info) {
    napi_value argument, result;
    size_t count = 1;
    int32_t parent;
    napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
    if (napi_get_value_int32(env, argument, &parent) != napi_ok)
        return throw(env, "ERR_INVALID_ARGUMENT", "endWithParent() takes a process ID.");
    napi_get_boolean(env, end_with_parent(parent), &result);
    return result;
}

/* pin(core): pins this thread. */
static napi_value pin(napi_env env, napi_callback_info info) {
    napi_value argument;
    size_t count = 1;
    int32_t core;
    napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
    if (napi_get_value_int32(env, argument, &core) != napi_ok)
        return throw(env, "ERR_INVALID_ARGUMENT", "pin() takes the number of a core.");
    return pin_process(0, core) ? NULL : throw(env, "ERR_SYSTEM", strerror(errno));
}

NAPI_MODULE_INIT() {
    napi_value buffer;
    napi_create_arraybuffer(env, sizeof *memory, (void **)&memory, &buffer);
    memset(memory, 0, sizeof *memory);
    napi_property_descriptor properties[] = {
        {"enter", NULL, enter, NULL, NULL, NULL, napi_enumerable, NULL},
        {"counts", NULL, counts, NULL, NULL, NULL, napi_enumerable, NULL},
        {"die", NULL, die, NULL, NULL, NULL, napi_enumerable, NULL},
        {"endWithParent", NULL, end_with, NULL, NULL, NULL, napi_enumerable, NULL},
        {"pin", NULL, pin, NULL, NULL, NULL, napi_enumerable, NULL},
        {"memory", NULL, NULL, NULL, NULL, buffer, napi_enumerable, NULL},
    };
    napi_define_properties(env, exports, sizeof properties / sizeof *properties, properties);
    return exports;
}
