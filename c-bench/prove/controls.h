/* The controls: the same loops with a system call in them. A filter that lets them live proves nothing. */
#ifndef CROSSINGS_CONTROLS_H
#define CROSSINGS_CONTROLS_H

#include "hot-path.h"

exchange pipe_send_all, pipe_receive_all;
/* The ring, with one getppid() before message end->hidden_at. */
exchange hidden_send_all;

#endif
