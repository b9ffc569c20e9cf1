/*
 * In place of the C++ library's demangler, which is two thirds of an addon. The library calls it only to print the type
 * of an exception that nothing caught, and then prints the mangled name instead.
 */
#include <stddef.h>

char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status) {
    (void)name;
    (void)buffer;
    (void)length;
    if (status)
        *status = -1;
    return NULL;
}
