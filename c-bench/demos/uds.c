/*
 * Unix domain socket: one process listens at a name in the file system, and others connect to it. Each end of a
 * connection is a socket with its own buffer in the kernel: send() copies a message into the buffer of the other end,
 * and recv() copies it out. The messages are lines of JSON.
 *
 * demos/tcp.c repeats much of this file on purpose: the page shows one file, and highlights the lines that it runs.
 */
#include "demo.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address = {.sun_family = AF_UNIX};

/* A byte stream has no message boundaries: one recv() may return several lines, or part of one. */
static void receive_messages(int connection, int count) {
    char text[4096];
    size_t held = 0;
    phase(MESSAGES);
    for (int next = 1; next <= count;) {
        message_begins(next);
        ssize_t got = recv(connection, text + held, sizeof text - held, 0);
        if (got <= 0)
            fail("recv");
        held += (size_t)got;
        size_t taken = check_lines(text, held, &next, count);
        held -= taken;
        memmove(text, text + taken, held);
    }
}

static void send_messages(int connection, int count) {
    phase(MESSAGES);
    for (int n = 1; n <= count; n++) {
        char line[LINE_BYTES];
        message_begins(n);
        size_t bytes = make_line(line, n, count);
        if (send(connection, line, bytes, 0) != (ssize_t)bytes)
            fail("send");
    }
}

/* The client. All it needs to know is the server's name. */
static void be_writer(int count) {
    begin_as(WRITER);
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address))
        fail("connect");
    send_messages(connection, count);
    phase(TEARDOWN);
    close(connection);
    _exit(0);
}

/* The server listens before it forks the client, so the client can connect immediately. */
void uds_demo(int count) {
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/%s.sock", own_name());
    phase(SETUP);
    demo.role = READER;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address))
        fail("bind");
    if (listen(listener, 1))
        fail("listen");

    pid_t writer = fork();
    if (writer < 0)
        fail("fork");
    if (writer == 0) {
        close(listener);
        be_writer(count);
    }
    int connection = accept(listener, NULL, NULL);
    if (connection < 0)
        fail("accept");
    unlink(address.sun_path); /* connected; the name is no longer needed, and would remain after exit */
    close(listener);
    receive_messages(connection, count);
    phase(TEARDOWN);
    close(connection);
    wait_for(writer);
    _exit(0);
}
