/* Factors of lengths, and what transforms by them take. */
#ifndef TT_FOURIER_FACTORS_H
#define TT_FOURIER_FACTORS_H

#include "fourier.h"

static npy_intp number_size(tt_dtype dtype) { return dtype == TT_F32 ? 8 : 16; } /* of a complex number */

/* Finds the factors of a length: 4, then 2 and odd primes up to DIRECT; the product of larger ones.  With AVX-512, two of 8 are the last
 * three of 4, or one the last 4 and 2: the registers hold eight numbers, which then pass through the caches less often. */
static npy_intp factor_length(npy_intp n, int *radix, int *count)
{
    for (npy_intp r = 4; r <= DIRECT; r = r == 4 ? 2 : r == 2 ? 3 : r + 2) {
        for (; n % r == 0; n /= r) radix[(*count)++] = (int)r;
        if (VB == 64 && r == 4 && *count > 3 && n % 2 != 0) radix[*count - 3] = radix[*count - 2] = 8, (*count)--;
        if (VB == 64 && r == 2 && *count > 1 && radix[*count - 1] == 2) radix[--*count - 1] = 8;
    }
    return n;
}

/* Whether the stages serve a length: the convolution for its largest factor must not be too long. */
static bool has_stages(npy_intp n)
{
    int radix[STAGES], count = 0;
    return n >= 1 && n <= LONGEST && factor_length(n, radix, &count) <= LONGEST / 2;
}

/* About how many operations a number takes, with factors up to DIRECT. */
static double cost_of(npy_intp n)
{
    int radix[STAGES], count = 0;
    if (factor_length(n, radix, &count) > 1) return INFINITY;
    double cost = 0;
    for (int s = 0; s < count; s++) cost += radix[s] == 2 ? 6 : radix[s] == 3 ? 8 : radix[s] == 4 ? 9 : radix[s] == 5 ? 12 : radix[s] == 8 ? 14 : radix[s] + 8;
    return cost;
}

#endif
