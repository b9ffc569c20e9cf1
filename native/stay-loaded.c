/* Keeping the object that contains this library loaded, as the linker's option -z nodelete does. */
#include "stay-loaded.h"

#include <errno.h> /* also for __GLIBC__ */

/* musl's dlclose() unloads nothing. Only code that is compiled for shared libraries can be in one; in a static program,
 * the linker would warn of dlopen(). */
#if defined __GLIBC__ && defined __PIC__ && !defined __PIE__
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>

/* Before glibc 2.34 they are missing without -ldl. A program that loads plugins has them. */
#pragma weak dladdr1
#pragma weak dlopen

static void keep(void) {
    Dl_info info;
    struct link_map *object = NULL;
    if (!dladdr1 || !dlopen || !dladdr1((void *)keep, &info, (void **)&object, RTLD_DL_LINKMAP) || !object)
        return;
    /* The program itself has an empty name, and is never unloaded. Others are found by their name: no file is opened.
     */
    if (object->l_name[0])
        dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void stay_loaded(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int reason = errno;
    pthread_once(&once, keep);
    errno = reason;
}
#else
void stay_loaded(void) {
}
#endif
