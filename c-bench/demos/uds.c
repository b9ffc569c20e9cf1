/*
 * Unix domain socket: a name in the file system where one process listens and others come to it. Both ends of a
 * connection are sockets, each with a buffer of its own in the kernel: send() copies into the other end's, recv()
 * copies out of one's own. Messages are lines of JSON.
 */
#include "demo.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address = {.sun_family = AF_UNIX};

/* A stream of bytes knows no messages: one recv() may bring several lines, or half of one. */
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

/* The client: all it knows of the other is the name. */
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

/* The server listens before it makes the client, so that the client need not wait for it. */
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
    unlink(address.sun_path); /* connected: the name is needed no more, and would stay */
    close(listener);
    receive_messages(connection, count);
    phase(TEARDOWN);
    close(connection);
    wait_for(writer);
    _exit(0);
}
