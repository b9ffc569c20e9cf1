/* The byte streams of the kernel. */
#ifndef CROSSINGS_STREAMS_H
#define CROSSINGS_STREAMS_H

#include "sweep.h"

extern const struct transport pipe_transport, socketpair_transport, uds_transport, tcp_transport;

#endif
