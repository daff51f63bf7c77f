/* Arithmetic of sizes that a caller gives: what passes 63 bits is noticed, and refused where the sizes are read. */
#ifndef TT_SIZES_H
#define TT_SIZES_H

#include "common.h"

/* a * b + c; false where it passes 63 bits. */
TT_INLINE bool tt_multiply_add(npy_intp a, npy_intp b, npy_intp c, npy_intp *result)
{
    npy_intp product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(product, c, result);
}

/* The product of sizes that are not negative, which has to stay below a limit even without those that are 0. */
TT_INLINE bool tt_product_below(const npy_intp *sizes, int count, npy_intp limit)
{
    npy_intp total = 1;
    for (int i = 0; i < count; i++)
        if (sizes[i] > 0 && (__builtin_mul_overflow(total, sizes[i], &total) || total >= limit)) return false;
    return true;
}

/* What windows of `kernel` elements, `gap` apart, span without their first element, and the size with its padding. */
TT_INLINE bool tt_window_sizes(npy_intp size, npy_intp pad, npy_intp kernel, npy_intp gap, npy_intp *span, npy_intp *padded)
{
    return tt_multiply_add(kernel - 1, gap, 0, span) && tt_multiply_add(2, pad, size, padded);
}

#endif
