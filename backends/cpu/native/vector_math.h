/* Elementary functions that compilers turn into vector instructions: no branches, no tables, no calls.
 *
 * The float forms end in f.  Their errors, in units in the last place, are measured by the tests.  Arguments that are NaN or
 * infinite, zeros with their signs and denormal numbers give what C's own functions give.
 */
#ifndef TT_VECTOR_MATH_H
#define TT_VECTOR_MATH_H

#include "common.h"

/* --- bits --------------------------------------------------------------------------------------------------- */

TT_INLINE int32_t tt_bits_f(float x) { union { float x; int32_t i; } u = {x}; return u.i; }
TT_INLINE float tt_from_bits_f(int32_t i) { union { int32_t i; float x; } u = {i}; return u.x; }
TT_INLINE int64_t tt_bits(double x) { union { double x; int64_t i; } u = {x}; return u.i; }
TT_INLINE double tt_from_bits(int64_t i) { union { int64_t i; double x; } u = {i}; return u.x; }

#define TT_ROUNDER_F 0x1.8p23f /* adding it rounds to an integer, which then stands in the lower bits */
#define TT_ROUNDER 0x1.8p52

/* --- exp ---------------------------------------------------------------------------------------------------- */

/* x * 2^n for |n| up to 2 * 126: by halves, so that denormal results are right but for their rounding. */
TT_INLINE float tt_scale_f(float x, int32_t n)
{
    int32_t half = n >> 1;
    return x * tt_from_bits_f((half + 127) << 23) * tt_from_bits_f((n - half + 127) << 23);
}

TT_INLINE double tt_scale(double x, int64_t n)
{
    int64_t half = n >> 1;
    return x * tt_from_bits((half + 1023) << 52) * tt_from_bits((n - half + 1023) << 52);
}

TT_INLINE float tt_exp_f(float x)
{
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    float rounded = x * 0x1.715476p0f + TT_ROUNDER_F;
    int32_t n = tt_bits_f(rounded) - tt_bits_f(TT_ROUNDER_F);
    float whole = rounded - TT_ROUNDER_F;
    float r = (x - whole * 0x1.62e400p-1f) - whole * 0x1.7f7d1cp-20f;
    float p = 0x1.6d7966p-10f;
    p = p * r + 0x1.12100ep-7f;
    p = p * r + 0x1.5554d0p-5f;
    p = p * r + 0x1.5554f6p-3f;
    p = p * r + 0.5f;
    p = p * (r * r) + r;
    return tt_scale_f(p + 1.0f, n);
}

TT_INLINE double tt_exp(double x)
{
    x = x > 710.0 ? 710.0 : x;
    x = x < -746.0 ? -746.0 : x;
    double rounded = x * 0x1.71547652b82fep0 + TT_ROUNDER;
    int64_t n = tt_bits(rounded) - tt_bits(TT_ROUNDER);
    double whole = rounded - TT_ROUNDER;
    double r = (x - whole * 0x1.62e42fefa0000p-1) - whole * 0x1.cf79abc9e3b39p-40;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * (r * r) + r;
    return tt_scale(p + 1.0, n);
}

#endif
