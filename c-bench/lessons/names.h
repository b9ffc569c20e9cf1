/*
 * The names that programs of lessons and pitfalls create in /dev/shm. Without a namespace of their own they share this
 * folder with the whole machine, so what they leave there is removed by name and inode, never by a pattern.
 */
#ifndef CROSSINGS_NAMES_H
#define CROSSINGS_NAMES_H

#include <semaphore.h>
#include <sys/types.h>

/* Begin a list that this process shares with those that it forks from now on. Without one, nothing is listed. */
void begin_names(void);

/* Nothing is listed in this process and those that it forks: they have a /dev/shm of their own. */
void forget_names(void);

/* Remove every listed name that is still the file that was created. */
void remove_names(void);

/* shm_open() and sem_open(), which list what they create. */
int listed_shm_open(const char *name, int flags, mode_t mode);
sem_t *listed_sem_open(const char *name, int flags, ...);

#endif
