/* What a confined program writes, for the guard to read without ever waiting. */
#ifndef CROSSINGS_STREAM_H
#define CROSSINGS_STREAM_H

/* Returns a non-blocking descriptor with what is written to the pipe `from`, and its end. A thread passes it on; if
 * none can be started, `from` itself is returned. */
int stream_of(int from);

#endif
