/* The median. */
#ifndef CROSSINGS_MEDIAN_H
#define CROSSINGS_MEDIAN_H

#include <stdlib.h>

static inline int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of `count` values, at least one, which it sorts. */
static inline double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#endif
