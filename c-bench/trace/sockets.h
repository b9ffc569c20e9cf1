/* The ends of a socket. */
#ifndef CROSSINGS_SOCKETS_H
#define CROSSINGS_SOCKETS_H

#include "trace.h"

/* Add the member "socket": {"family", "type", "listens", "local", "remote", "peer"}, as far as they are known. */
void print_socket(const struct tracee *tracee, int fd, uint64_t inode);

#endif
