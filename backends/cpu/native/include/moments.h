/* Mean and variance as reductions. */
#ifndef TT_MOMENTS_H
#define TT_MOMENTS_H

#include "lanes.h"
#include "reduce.h"

typedef struct { double count, mean, squares; } moments;

TT_INLINE void moments_add(moments *a, double count, double mean, double squares)
{
    if (a->count == 0) {
        *a = (moments){count, mean, squares};
        return;
    }
    double total = a->count + count, apart = mean - a->mean;
    a->mean = fabs(apart) <= DBL_MAX ? a->mean + apart * (count / total) : a->mean + mean;
    a->squares += squares + apart * apart * (a->count * count / total);
    a->count = total;
}

static void moments_merge(char *acc, const char *other, int64_t count)
{
    moments *a = (moments *)acc;
    const moments *b = (const moments *)other;
    for (int64_t j = 0; j < count; j++)
        if (b[j].count > 0) moments_add(&a[j], b[j].count, b[j].mean, b[j].squares);
}

#define C float
#define S f32
#include "moments.inc"

#define C double
#define S f64
#include "moments.inc"

#endif
