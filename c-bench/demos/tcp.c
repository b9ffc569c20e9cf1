/*
 * TCP over the loopback interface: the same calls and the same protocol as over a network, between two processes on one
 * machine. send() copies a message into the kernel, and recv() copies it out. The messages are lines of JSON.
 *
 * demos/uds.c repeats much of this file on purpose: the page shows one file, and highlights the lines that it runs.
 */
#include "demo.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* The port is 0: the kernel chooses a free one. */
static struct sockaddr_in address = {.sin_family = AF_INET};
static socklen_t address_bytes = sizeof address;

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

static void be_writer(int count) {
    begin_as(WRITER);
    int on = 1, connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, address_bytes))
        fail("connect");
    /* Otherwise a small message waits for the acknowledgment of the one before it (Nagle's algorithm). */
    if (setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        fail("setsockopt");
    send_messages(connection, count);
    phase(TEARDOWN);
    close(connection);
    _exit(0);
}

/* The server listens before it forks the client, so the client can connect immediately. */
void tcp_demo(int count) {
    phase(SETUP);
    demo.role = READER;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* only processes on this machine can connect */
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    /* SO_REUSEADDR lets a server with a fixed port use it again right after a restart. This one does not need it. */
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on))
        fail("setsockopt");
    if (bind(listener, (struct sockaddr *)&address, address_bytes) || listen(listener, 1))
        fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &address_bytes)) /* get the port */
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
