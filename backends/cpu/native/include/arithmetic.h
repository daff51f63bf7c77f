/* Arithmetic of one to three numbers that takes more than one instruction: remainders, powers, bounds, logarithms of sums.  The
 * float forms end in _f.  Free of Python and NumPy. */
#ifndef TT_ARITHMETIC_H
#define TT_ARITHMETIC_H

#include "vector_math.h"

TT_INLINE float tt_hypot_f(float a, float b)
{
    float y = (float)sqrt((double)a * a + (double)b * b);
    return fabsf(a) == INFINITY || fabsf(b) == INFINITY ? INFINITY : y;
}

TT_INLINE double tt_hypot(double a, double b)
{
    double x = fabs(a), y = fabs(b), large = x > y ? x : y, small = x > y ? y : x, r = small / large;
    double z = large * sqrt(1.0 + r * r);
    z = large == 0.0 ? large : z;
    z = x != x || y != y ? (double)NAN : z;
    return x == (double)INFINITY || y == (double)INFINITY ? (double)INFINITY : z;
}

/* Equal ones, which may be infinite, are no distance apart. */
TT_INLINE float tt_logaddexp_f(float a, float b)
{
    float large = a > b ? a : b, apart = fabsf(a - b), size = a == b ? 0.0f : apart;
    return large + tt_log1p_unit_f(tt_exp_f(-size));
}

TT_INLINE double tt_logaddexp(double a, double b)
{
    double large = a > b ? a : b, apart = fabs(a - b), size = a == b ? 0.0 : apart;
    return large + tt_log1p_unit(tt_exp(-size));
}

/* --- remainders --- */

/* a less the multiple of b that lies nearest below it in size; right where the quotient is below 2^29 and 2^51. */
TT_INLINE float tt_left_f(float a, float b)
{
    double wide = a, by = b, whole = trunc(wide / by), r = wide - whole * by; /* the product is exact */
    r = (r < 0.0) != (wide < 0.0) && r != 0.0 ? r + (wide < 0.0 ? -fabs(by) : fabs(by)) : r;
    r = fabsf(b) == INFINITY && fabsf(a) < INFINITY ? wide : r;
    return copysignf((float)r, a);
}

TT_INLINE double tt_left(double a, double b)
{
    double whole = trunc(a / b), r = fma(-whole, b, a);
    r = (r < 0.0) != (a < 0.0) && r != 0.0 ? r + (a < 0.0 ? -fabs(b) : fabs(b)) : r;
    r = fabs(b) == (double)INFINITY && fabs(a) < (double)INFINITY ? a : r;
    return copysign(r, a);
}

/* --- powers --- */

/* exp(x) to the precision of a float, in double: no result of it is too large or too small for one. */
TT_INLINE double tt_short_exp(double x)
{
    x = x > 100.0 ? 100.0 : x;
    x = x < -120.0 ? -120.0 : x;
    double rounded = x * 0x1.71547652b82fep0 + TT_ROUNDER;
    int64_t n = tt_bits(rounded) - tt_bits(TT_ROUNDER);
    double r = x - (rounded - TT_ROUNDER) * 0x1.62e42fefa39efp-1;
    double p = 0x1.a17eacp-13;
    p = p * r + 0x1.6d43b8p-10;
    p = p * r + 0x1.1110acp-7;
    p = p * r + 0x1.5554e8p-5;
    p = p * r + 0x1.555556p-3;
    p = p * r + 0.5;
    return (1.0 + (p * (r * r) + r)) * tt_from_bits((int64_t)((uint64_t)(n + 1023) << 52));
}

/* Of floats in double, where a logarithm and an exponential are exact enough. */
TT_INLINE float tt_power_f(float base, float power)
{
    const double x = base, exponent = power, endless = (double)INFINITY;
    double size = fabs(x), e, f = tt_split(size, &e);
    double log = e * 0x1.62e42fefa39efp-1 - (tt_log_less(f) - f), y = tt_short_exp(log * exponent);
    double half = exponent * 0.5;
    /* Adding and taking away 2^52 rounds to an integer; all larger numbers are integers, and even. */
    double whole = fabs(exponent) < 0x1p51 ? (exponent + TT_ROUNDER) - TT_ROUNDER : exponent;
    double even = fabs(exponent) < 0x1p51 ? (half + TT_ROUNDER) - TT_ROUNDER : half;
    double limit = exponent > 0.0 ? endless : 0.0, other = exponent > 0.0 ? 0.0 : endless;
    y = size == 0.0 ? other : y;
    y = size == endless ? limit : y;
    double far = size > 1.0 ? limit : other;
    y = fabs(exponent) == endless ? far : y;
    y = size == 1.0 ? 1.0 : y;
    double sign = whole == exponent ? (even == half ? 1.0 : -1.0) : size == endless || size == 0.0 ? 1.0 : (double)NAN;
    y = tt_bits(x) < 0 ? y * sign : y;
    y = x != x ? x : y;
    y = exponent != exponent ? exponent : y;
    y = x == 1.0 ? 1.0 : y;
    y = exponent == 0.0 ? 1.0 : y;
    return (float)y;
}

TT_INLINE float tt_usual_power_f(float base, float power)
{
    double e, f = tt_split(base, &e);
    return (float)tt_short_exp((e * 0x1.62e42fefa39efp-1 - (tt_log_less(f) - f)) * power);
}

/* --- both precisions --- */

#define R float
#define FN(name) tt_##name##_f
#define FLOOR floorf
#include "arithmetic.inc"

#define R double
#define FN(name) tt_##name
#define FLOOR floor
#include "arithmetic.inc"

#endif
