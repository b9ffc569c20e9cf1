/* Signals that these programs need: whatever started them may have left them ignored or blocked. */
#ifndef CROSSINGS_SIGNALS_H
#define CROSSINGS_SIGNALS_H

/* Give SIGCHLD and SIGTERM their default actions, and unblock them. First in main(): fork() and exec() inherit both. */
void reset_signals(void);

#endif
