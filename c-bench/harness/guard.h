/*
 * The process that guards a measurement. It forks the supervisor and waits. If the supervisor is killed, it removes the
 * names that the mechanism may have left in the file system.
 */
#ifndef CROSSINGS_GUARD_H
#define CROSSINGS_GUARD_H

/* Call measure(context) in a forked supervisor, which ends when this process does. Returns its exit status, or 1 after
 * printing an error if it was killed. */
int run_guarded(int (*measure)(const void *context), const void *context);

#endif
