/* Elementary functions that compilers turn into vector instructions: no branches, no tables, no calls.
 *
 * The float forms end in _f.  The tests measure their errors.  Arguments that are NaN or infinite, zeros with their signs and
 * denormal numbers give what C's own functions give.  The coefficients are minimax fits (Remez) in 50 digits.
 */
#ifndef TT_VECTOR_MATH_H
#define TT_VECTOR_MATH_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compilers.h"

/* --- bits --------------------------------------------------------------------------------------------------- */

TT_INLINE int32_t tt_bits_f(float x) { union { float x; int32_t i; } u = {x}; return u.i; }
TT_INLINE float tt_from_bits_f(int32_t i) { union { int32_t i; float x; } u = {i}; return u.x; }
TT_INLINE int64_t tt_bits(double x) { union { double x; int64_t i; } u = {x}; return u.i; }
TT_INLINE double tt_from_bits(int64_t i) { union { int64_t i; double x; } u = {i}; return u.x; }

#define TT_ROUNDER_F 0x1.8p23f /* adding it rounds to an integer, which then stands in the lower bits */
#define TT_ROUNDER 0x1.8p52

TT_INLINE float tt_abs_f(float x) { return fabsf(x); }
TT_INLINE double tt_abs(double x) { return fabs(x); }
TT_INLINE float tt_copysign_f(float x, float sign) { return copysignf(x, sign); }
TT_INLINE double tt_copysign(double x, double sign) { return copysign(x, sign); }
TT_INLINE float tt_sqrt_f(float x) { return sqrtf(x); }
TT_INLINE double tt_sqrt(double x) { return sqrt(x); }

/* --- exp ---------------------------------------------------------------------------------------------------- */

/* What rounds to an integer n as TT_ROUNDER does, whose lowest bits then hold n + 2 * 127, or n + 2 * 1023. */
#define TT_TWO_HALVES_F (TT_ROUNDER_F + 254.0f)
#define TT_TWO_HALVES (TT_ROUNDER + 2046.0)

/* x * 2^n by halves, so that denormal results are right but for their rounding; the lowest bits hold n + 2 * 127. */
TT_INLINE float tt_scale_f(float x, int32_t bits)
{
    uint32_t both = (uint32_t)bits, half = both >> 1;
    return x * tt_from_bits_f((int32_t)(half << 23)) * tt_from_bits_f((int32_t)((both - half) << 23));
}

TT_INLINE double tt_scale(double x, int64_t bits)
{
    uint64_t both = (uint64_t)bits, half = both >> 1;
    return x * tt_from_bits((int64_t)(half << 52)) * tt_from_bits((int64_t)((both - half) << 52));
}

/* x between a negative and a positive limit; of NaN one of them.  By the bits: of comparisons with constants compilers make a
 * way of its own for each limit, and blend their results, which takes eight instructions more. */
TT_INLINE float tt_between_f(float least, float x, float most)
{
    int32_t bits = tt_bits_f(x), above = tt_bits_f(most);
    uint32_t below = (uint32_t)tt_bits_f(least), u = (uint32_t)(bits < above ? bits : above);
    return tt_from_bits_f((int32_t)(u < below ? u : below));
}

/* y, or NaN where x is. */
TT_INLINE float tt_or_nan_f(float y, float x) { return tt_from_bits_f(tt_bits_f(y) | (x != x ? 0x7fc00000 : 0)); }

/* exp(r) - 1 for |r| up to ln(2) / 2 */
TT_INLINE float tt_expm1_near_f(float r)
{
    float p = 0x1.a17eacp-13f;
    p = p * r + 0x1.6d43b8p-10f;
    p = p * r + 0x1.1110acp-7f;
    p = p * r + 0x1.5554e8p-5f;
    p = p * r + 0x1.555556p-3f;
    p = p * r + 0.5f;
    return p * (r * r) + r;
}

TT_INLINE double tt_expm1_near(double r)
{
    double p = 0x1.1f8b95345c29ap-29;
    p = p * r + 0x1.af4e56d3373b2p-26;
    p = p * r + 0x1.27e4cca2d4ee8p-22;
    p = p * r + 0x1.71de01fce71cfp-19;
    p = p * r + 0x1.a01a01ad0ca59p-16;
    p = p * r + 0x1.a01a01abf8a8ep-13;
    p = p * r + 0x1.6c16c16c151ccp-10;
    p = p * r + 0x1.11111111100bdp-7;
    p = p * r + 0x1.5555555555558p-5;
    p = p * r + 0x1.5555555555557p-3;
    p = p * r + 0.5;
    return p * (r * r) + r;
}

/* exp(x + small) * 2^lessen for x from -106 to 90 */
TT_INLINE float tt_exp_within_f(float x, float small, int32_t lessen)
{
    float rounded = x * 0x1.715476p0f + TT_TWO_HALVES_F;
    float whole = rounded - TT_TWO_HALVES_F;
    float r = (x - whole * 0x1.62e400p-1f) - (whole * 0x1.7f7d1cp-20f - small);
    return tt_scale_f(tt_expm1_near_f(r) + 1.0f, tt_bits_f(rounded) + lessen);
}

/* exp(x + small) * 2^lessen for x from -750 to 711 */
TT_INLINE double tt_exp_within(double x, double small, int64_t lessen)
{
    double rounded = x * 0x1.71547652b82fep0 + TT_TWO_HALVES;
    double whole = rounded - TT_TWO_HALVES;
    double r = (x - whole * 0x1.62e42fefa0000p-1) - (whole * 0x1.cf79abc9e3b39p-40 - small);
    return tt_scale(tt_expm1_near(r) + 1.0, tt_bits(rounded) + lessen);
}

/* exp(x + small) * 2^lessen */
TT_INLINE float tt_exp_sum_f(float x, float small, int32_t lessen)
{
    return tt_or_nan_f(tt_exp_within_f(tt_between_f(-105.0f, x, 90.0f), small, lessen), x);
}

TT_INLINE double tt_exp_sum(double x, double small, int64_t lessen)
{
    x = x > 711.0 ? 711.0 : x;
    x = x < -747.0 ? -747.0 : x;
    return tt_exp_within(x, small, lessen);
}

TT_INLINE float tt_exp_f(float x) { return tt_exp_sum_f(x, 0.0f, 0); }
TT_INLINE double tt_exp(double x) { return tt_exp_sum(x, 0.0, 0); }

TT_INLINE float tt_exp2_f(float x)
{
    float at = tt_between_f(-151.0f, x, 129.0f), rounded = at + TT_TWO_HALVES_F;
    float r = at - (rounded - TT_TWO_HALVES_F);
    return tt_or_nan_f(tt_scale_f(tt_expm1_near_f(r * 0x1.62e430p-1f) + 1.0f, tt_bits_f(rounded)), x);
}

TT_INLINE double tt_exp2(double x)
{
    x = x > 1025.0 ? 1025.0 : x;
    x = x < -1076.0 ? -1076.0 : x;
    double rounded = x + TT_TWO_HALVES;
    double r = x - (rounded - TT_TWO_HALVES);
    return tt_scale(tt_expm1_near(r * 0x1.62e42fefa39efp-1) + 1.0, tt_bits(rounded));
}

/* exp(x) - 1 for x from -30 to 89, or from -60 to 710; with 2^(n - 1), since 2^n may be too large */
TT_INLINE float tt_expm1_within_f(float x)
{
    const float rounder = TT_ROUNDER_F + 126.0f;
    float rounded = x * 0x1.715476p0f + rounder, whole = rounded - rounder;
    float r = (x - whole * 0x1.62e400p-1f) - whole * 0x1.7f7d1cp-20f;
    float half = tt_from_bits_f((int32_t)((uint32_t)tt_bits_f(rounded) << 23));
    return (tt_expm1_near_f(r) * half + (half - 0.5f)) * 2.0f;
}

TT_INLINE double tt_expm1_within(double x)
{
    /* The rounder of exp: sinh needs both functions, and with it their polynomial only once (a fifth of its time). */
    double rounded = x * 0x1.71547652b82fep0 + TT_TWO_HALVES, whole = rounded - TT_TWO_HALVES;
    double r = (x - whole * 0x1.62e42fefa0000p-1) - whole * 0x1.cf79abc9e3b39p-40;
    double half = tt_from_bits((int64_t)(((uint64_t)tt_bits(rounded) - 1024) << 52));
    return (tt_expm1_near(r) * half + (half - 0.5)) * 2.0;
}

TT_INLINE float tt_expm1_f(float x)
{
    float y = tt_expm1_within_f(tt_between_f(-30.0f, x, 89.0f));
    return fabsf(x) >= 0x1p-24f ? y : x; /* of NaN, too */
}

TT_INLINE double tt_expm1(double x)
{
    double at = x > 710.0 ? 710.0 : x;
    at = at < -60.0 ? -60.0 : at;
    double y = tt_expm1_within(at);
    return fabs(x) >= 0x1p-53 ? y : x;
}

/* The same for x that are not positive. */
TT_INLINE float tt_expm1_down_f(float x)
{
    uint32_t bits = (uint32_t)tt_bits_f(x), below = (uint32_t)tt_bits_f(-30.0f);
    float y = tt_expm1_within_f(tt_from_bits_f((int32_t)(bits < below ? bits : below)));
    return fabsf(x) >= 0x1p-24f ? y : x;
}

TT_INLINE double tt_expm1_down(double x)
{
    double y = tt_expm1_within(x < -60.0 ? -60.0 : x);
    return fabs(x) >= 0x1p-53 ? y : x;
}

/* --- log ---------------------------------------------------------------------------------------------------- */

/* x = (1 + f) 2^e with 1 + f between the square roots of 1/2 and of 2, for positive finite x */
TT_INLINE float tt_split_f(float x, float *e)
{
    bool tiny = x < 0x1p-126f;
    x = tiny ? x * 0x1p24f : x;
    int32_t bits = (int32_t)((uint32_t)tt_bits_f(x) - 0x3f3504f3u);
    int32_t n = bits >> 23;
    float m = tt_from_bits_f((bits & 0x7fffff) + 0x3f3504f3);
    *e = (float)n - (tiny ? 24.0f : 0.0f);
    return m - 1.0f;
}

TT_INLINE double tt_split(double x, double *e)
{
    bool tiny = x < 0x1p-1022;
    x = tiny ? x * 0x1p54 : x;
    int64_t bits = (int64_t)((uint64_t)tt_bits(x) - 0x3fe6a09e667f3bcdULL);
    double m = tt_from_bits((bits & 0xfffffffffffffLL) + 0x3fe6a09e667f3bcdLL);
    /* The exponent as a double: baseline x86-64 has no conversion of 64-bit integers in vectors. */
    int64_t n = (bits >> 52) + tt_bits(TT_ROUNDER);
    *e = (tt_from_bits(n) - TT_ROUNDER) - (tiny ? 54.0 : 0.0);
    return m - 1.0;
}

/* The same for x that are no denormal numbers. */
TT_INLINE float tt_split_plain_f(float x, float *e)
{
    int32_t bits = (int32_t)((uint32_t)tt_bits_f(x) - 0x3f3504f3u);
    *e = (float)(bits >> 23);
    return tt_from_bits_f((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
}

TT_INLINE double tt_split_plain(double x, double *e)
{
    int64_t bits = (int64_t)((uint64_t)tt_bits(x) - 0x3fe6a09e667f3bcdULL);
    *e = tt_from_bits((bits >> 52) + tt_bits(TT_ROUNDER)) - TT_ROUNDER;
    return tt_from_bits((bits & 0xfffffffffffffLL) + 0x3fe6a09e667f3bcdLL) - 1.0;
}

/* log(1 + f) - f + f^2 / 2, and log(1 + f) as f less something small */
TT_INLINE float tt_log_rest_f(float f)
{
    float p = -0x1.5431aap-4f;
    p = p * f + 0x1.061f80p-3f;
    p = p * f - 0x1.0914c8p-3f;
    p = p * f + 0x1.229dacp-3f;
    p = p * f - 0x1.54dbcep-3f;
    p = p * f + 0x1.99a374p-3f;
    p = p * f - 0x1.0000bcp-2f;
    p = p * f + 0x1.555550p-2f;
    return p * f * (f * f);
}

TT_INLINE double tt_log_less(double f) /* f - log(1 + f) */
{
    double s = f / (2.0 + f), z = s * s, square = 0.5 * f * f;
    double p = 0x1.2b662bd638363p-3;
    p = p * z + 0x1.39fd33f7c7c28p-3;
    p = p * z + 0x1.7462be2caad05p-3;
    p = p * z + 0x1.c71c62c21809fp-3;
    p = p * z + 0x1.2492492e0f030p-2;
    p = p * z + 0x1.99999999951bfp-2;
    p = p * z + 0x1.5555555555558p-1;
    return square - s * (square + z * p);
}

/* What a logarithm is where its argument is no positive number. */
TT_INLINE float tt_log_special_f(float x, float y)
{
    y = x == INFINITY ? x : y;
    y = x == 0.0f ? -INFINITY : y;
    return x >= 0.0f ? y : NAN;
}

TT_INLINE double tt_log_special(double x, double y)
{
    y = x == (double)INFINITY ? x : y;
    y = x == 0.0 ? -(double)INFINITY : y;
    return x >= 0.0 ? y : (double)NAN;
}

/* The logarithm of a positive normal number; of anything else, any number. */
TT_INLINE float tt_log_plain_f(float x)
{
    float e, f = tt_split_plain_f(x, &e);
    float rest = tt_log_rest_f(f) + e * 0x1.7f7d1cp-20f;
    return (f + (rest - 0.5f * (f * f))) + e * 0x1.62e4p-1f;
}

TT_INLINE double tt_log_plain(double x)
{
    double e, f = tt_split_plain(x, &e);
    return e * 0x1.62e42feep-1 - ((tt_log_less(f) - e * 0x1.a39ef35793c76p-33) - f);
}

TT_INLINE float tt_log_f(float x)
{
    float e, f = tt_split_f(x, &e);
    float rest = tt_log_rest_f(f) + e * 0x1.7f7d1cp-20f;
    return tt_log_special_f(x, (f + (rest - 0.5f * (f * f))) + e * 0x1.62e4p-1f);
}

TT_INLINE double tt_log(double x)
{
    double e, f = tt_split(x, &e);
    return tt_log_special(x, e * 0x1.62e42feep-1 - ((tt_log_less(f) - e * 0x1.a39ef35793c76p-33) - f));
}

TT_INLINE float tt_log2_f(float x)
{
    float e, f = tt_split_f(x, &e), rest = tt_log_rest_f(f) - 0.5f * (f * f);
    /* f / ln 2 in two parts, of which the first is exact */
    float high = tt_from_bits_f(tt_bits_f(f) & ~0xfff), low = rest + (f - high);
    return tt_log_special_f(x, low * 0x1.715476p0f + high * 0x1.47652cp-12f + (high * 0x1.714p0f + e));
}

TT_INLINE double tt_log2(double x)
{
    double e, f = tt_split(x, &e), less = tt_log_less(f);
    double high = tt_from_bits(tt_bits(f) & ~0x7ffffffLL), low = (f - high) - less;
    return tt_log_special(x, low * 0x1.71547652b82fep0 + high * 0x1.4ae0bf85ddf44p-26 + (high * 0x1.715476p0 + e));
}

TT_INLINE float tt_log10_f(float x)
{
    float e, f = tt_split_f(x, &e), rest = tt_log_rest_f(f) - 0.5f * (f * f);
    float high = tt_from_bits_f(tt_bits_f(f) & ~0xfff), low = rest + (f - high);
    float small = low * 0x1.bcb7b2p-2f + high * 0x1.7b1526p-14f + e * 0x1.3509f8p-18f;
    return tt_log_special_f(x, small + high * 0x1.bcap-2f + e * 0x1.344p-2f);
}

TT_INLINE double tt_log10(double x)
{
    double e, f = tt_split(x, &e), less = tt_log_less(f);
    double high = tt_from_bits(tt_bits(f) & ~0x7ffffffLL), low = (f - high) - less;
    double small = low * 0x1.bcb7b1526e50ep-2 + high * 0x1.49b9438ca9aaep-28 + e * 0x1.e7fbcc47c4acdp-40;
    return tt_log_special(x, small + (high * 0x1.bcb7b1p-2 + e * 0x1.34413509f0000p-2));
}

#include "vector_trigonometry.h"

/* What follows from these is written once for both precisions. */
#define R float
#define FN(name) tt_##name##_f
#define C(x) x##f
#define HUGE_ARGUMENT 0x1p30f
#define LARGE 0x1p100f
#define SCALE_DOWN 0x1p-26f
#define SMALL 0x1p-90f
#define SCALE_UP 0x1p50f
#define PI_REST -0x1.777a5cp-24f
#include "vector_derived.inc"
#undef R
#undef FN
#undef C
#undef HUGE_ARGUMENT
#undef LARGE
#undef SCALE_DOWN
#undef SMALL
#undef SCALE_UP
#undef PI_REST

#define R double
#define FN(name) tt_##name
#define C(x) x
#define HUGE_ARGUMENT 0x1p60
#define LARGE 0x1p1000
#define SCALE_DOWN 0x1p-60
#define SMALL 0x1p-900
#define SCALE_UP 0x1p120
#define PI_REST 0x1.1a62633145c07p-53
#include "vector_derived.inc"
#undef R
#undef FN
#undef C
#undef HUGE_ARGUMENT
#undef LARGE
#undef SCALE_DOWN
#undef SMALL
#undef SCALE_UP
#undef PI_REST

#include "vector_erf.h"

#endif
