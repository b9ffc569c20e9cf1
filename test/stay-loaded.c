/* Loads a plugin, with or without a call of its stay_loaded(), unloads it, and prints whether it is still there. Or,
 * as a static program, calls its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef STATIC
#include "../native/stay-loaded.h"

int main(void) {
    stay_loaded();
    puts("returned");
    return 0;
}
#else
int main(int count, char **words) {
    void *plugin = count == 3 ? dlopen(words[1], RTLD_NOW) : NULL;
    if (!plugin)
        return 2;
    void (*stay)(void) = (void (*)(void))dlsym(plugin, "stay_loaded");
    if (!stay)
        return 2;
    if (strcmp(words[2], "stay") == 0)
        stay();
    dlclose(plugin);
    puts(dlopen(words[1], RTLD_NOW | RTLD_NOLOAD) ? "loaded" : "unloaded");
    return 0;
}
#endif
