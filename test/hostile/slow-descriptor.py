"""
A descriptor whose close() waits for an hour: a TCP socket that lingers, in the queue of a Unix socket, where nobody can tell it
not to.

slow-descriptor.py lent PROGRAM...    Runs a program with the end of a socket pair, which somebody has claimed and put it into.
slow-descriptor.py stream PATH        Connects to a server over sockets and sends it one byte with it.
"""
import socket
import struct
import subprocess
import sys


def slow_descriptor():
    listener = socket.create_server(("127.0.0.1", 0))
    tcp = socket.create_connection(listener.getsockname())
    kept = listener.accept()[0]  # and never reads
    tcp.setblocking(False)
    try:
        while True:
            tcp.send(bytes(65536))
    except BlockingIOError:
        pass
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    carrier, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(other, [b"x"], [tcp.fileno()])
    tcp.close()
    other.close()
    return carrier, kept


carrier, kept = slow_descriptor()
if sys.argv[1] == "lent":
    theirs, mine = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.bind("\0crossings-end-0123456789abcdef")
    socket.send_fds(mine, [b"x"], [carrier.fileno()])
    carrier.close()
    mine.close()
    with subprocess.Popen(sys.argv[2:], pass_fds=[theirs.fileno()], env={"END": str(theirs.fileno())}) as child:
        theirs.close()
        sys.exit(child.wait())
else:
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[2])
    try:
        socket.send_fds(client, [b"x"], [carrier.fileno()])
    except PermissionError:  # the server refuses descriptors
        pass
    carrier.close()
    sys.stdin.read()  # until the test ends it
