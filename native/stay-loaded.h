/* A plugin that contains this library stays in memory when its program unloads it. */
#ifndef CROSSINGS_STAY_LOADED_H
#define CROSSINGS_STAY_LOADED_H

/* Call it before a thread of this library is started: a peer decides how long closing takes, and dlclose() would remove
 * the code that the thread returns to. Later calls do nothing. Leaves errno as it is. */
void stay_loaded(void);

#endif
