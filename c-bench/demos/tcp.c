/*
 * TCP over the loopback interface: the same calls as over a network, and the whole protocol under them, between two
 * processes of one machine. send() copies into the kernel, recv() copies out again. Messages are lines of JSON.
 */
#include "demo.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* INADDR_LOOPBACK: nobody outside this machine can connect. Port 0: the kernel chooses one that is free. */
static struct sockaddr_in address = {.sin_family = AF_INET};
static socklen_t address_bytes = sizeof address;

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

static void be_writer(int count) {
    begin_as(WRITER);
    int on = 1, connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, address_bytes))
        fail("connect");
    /* Or a small message would wait until the one before it is acknowledged (Nagle's algorithm). */
    if (setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        fail("setsockopt");
    send_messages(connection, count);
    phase(TEARDOWN);
    close(connection);
    _exit(0);
}

/* The server listens before it makes the client, so that the client need not wait for it. */
void tcp_demo(int count) {
    phase(SETUP);
    demo.role = READER;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    /* For servers with a port of their own: they get it back at once when they are started again. Here the system
     * chooses one. */
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on))
        fail("setsockopt");
    if (bind(listener, (struct sockaddr *)&address, address_bytes) || listen(listener, 1))
        fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &address_bytes)) /* which port was it? */
        fail("getsockname");

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
    close(listener);
    receive_messages(connection, count);
    phase(TEARDOWN);
    close(connection);
    wait_for(writer);
    _exit(0);
}
