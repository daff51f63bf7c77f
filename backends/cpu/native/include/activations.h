/* Activation functions of one number and their gradients, given that of the result.  The float forms end in _f.  Free of Python
 * and NumPy; without branches, as vector_math.h. */
#ifndef TT_ACTIVATIONS_H
#define TT_ACTIVATIONS_H

#include "vector_math.h"

#define TT_SELU_ALPHA 1.6732632423543772848170429916717
#define TT_SELU_SCALE 1.0507009873554804934193349852946
#define TT_SQRT_2_OVER_PI 0x1.9884533d43651p-1

TT_INLINE float tt_hard_f(float x)
{
    float y = (x + 3.0f) * (1.0f / 6.0f);
    y = y < 0.0f ? 0.0f : y;
    return y > 1.0f ? 1.0f : y;
}

TT_INLINE double tt_hard(double x)
{
    double y = (x + 3.0) / 6.0;
    y = y < 0.0 ? 0.0 : y;
    return y > 1.0 ? 1.0 : y;
}

/* tanh(log(1 + exp(x))) = n / (n + 2) with n = e (e + 2), e = exp(x): no logarithm, no cancellation */
TT_INLINE float tt_mish_tanh_f(float x, float e)
{
    float n = e * (e + 2.0f), t = n / (n + 2.0f);
    return x > 20.0f ? 1.0f : t;
}

TT_INLINE double tt_mish_tanh(double x, double e)
{
    double n = e * (e + 2.0), t = n / (n + 2.0);
    return x > 40.0 ? 1.0 : t;
}

TT_INLINE float tt_mish_f(float x) { return x * tt_mish_tanh_f(x, tt_exp_f(x)); }
TT_INLINE double tt_mish(double x) { return x * tt_mish_tanh(x, tt_exp(x)); }

TT_INLINE float tt_silu_slope_f(float x)
{
    float s = tt_sigmoid_f(x);
    return s * (1.0f + x * (1.0f - s));
}

TT_INLINE double tt_silu_slope(double x)
{
    double s = tt_sigmoid(x);
    return s * (1.0 + x * (1.0 - s));
}

TT_INLINE float tt_mish_slope_f(float x)
{
    float e = tt_exp_f(x), t = tt_mish_tanh_f(x, e), s = tt_sigmoid_f(x);
    return t + x * s * (1.0f - t * t);
}

TT_INLINE double tt_mish_slope(double x)
{
    double e = tt_exp(x), t = tt_mish_tanh(x, e), s = tt_sigmoid(x);
    return t + x * s * (1.0 - t * t);
}

/* The distribution function of normal numbers and sqrt(2 pi) times its density, as tt_normal_f: but the square in the
 * exponent is rounded, so that the far tail is exact to some units in the sixth digit; and a quotient takes the place of a
 * longer polynomial.  exp(-at^2 / 2) is 2^n times a polynomial of at^2 less n steps, where n <= 0: so it needs neither a second factor
 * nor a limit, and is 2^32 times as large, so that it is never denormal, until p makes up for it. */
TT_INLINE float tt_gelu_normal_f(float x, float *density)
{
    float size = fabsf(x), at = size < 14.5f ? size : 14.5f, square = at * at;
    float rounded = square * -0x1.715476p-1f + (TT_ROUNDER_F + 32.0f), whole = rounded - (TT_ROUNDER_F + 32.0f);
    float s = (square + whole * 0x1.62e400p0f) + whole * 0x1.7f7d1cp-19f, e = 0x1.6a2352p-16f;
    e = e * s - 0x1.123a6cp-12f;
    e = e * s + 0x1.5558f4p-9f;
    e = e * s - 0x1.555490p-6f;
    e = e * s + 0x1.fffffcp-4f;
    e = e * s - 0.5f;
    e = e * s + 1.0f;
    float gauss = tt_from_bits_f((int32_t)((uint32_t)tt_bits_f(e) + ((uint32_t)tt_bits_f(rounded) << 23)));
    float p = 0x1.0d4502p-40f, q = 0x1.5179b2p-7f;
    p = p * at + 0x1.4c7312p-37f;
    q = q * at + 0x1.a0b0bap-4f;
    p = p * at + 0x1.76f4b2p-35f;
    q = q * at + 0x1.e0543ep-2f;
    p = p * at + 0x1.c09aeap-34f;
    q = q * at + 0x1.33ae18p0f;
    p = p * at + 0x1p-33f;
    q = q * at + 0x1.ac8fa6p0f;
    q = q * at + 1.0f;
    float tail = gauss * p / q;
    *density = gauss * 0x1p-32f;
    return x > 0.0f ? 1.0f - tail : tail;
}

/* (1 + tanh(u)) / 2 is the sigmoid of 2 u. */
TT_INLINE float tt_gelu_bend_f(float x) { return (float)(2 * TT_SQRT_2_OVER_PI) * (x + 0.044715f * x * x * x); }
TT_INLINE double tt_gelu_bend(double x) { return 2 * TT_SQRT_2_OVER_PI * (x + 0.044715 * x * x * x); }

TT_INLINE float tt_gelu_slope_f(float x)
{
    float density, below = tt_gelu_normal_f(x, &density);
    return below + x * density * 0x1.988454p-2f;
}

TT_INLINE double tt_gelu_slope(double x)
{
    double density, below = tt_normal(x, &density);
    return below + x * density * 0x1.9884533d43651p-2;
}

TT_INLINE float tt_gelu_tanh_slope_f(float x)
{
    float s = tt_sigmoid_f(tt_gelu_bend_f(x)), rise = (float)(2 * TT_SQRT_2_OVER_PI) * (1.0f + 3 * 0.044715f * x * x);
    float more = x * s * (1.0f - s) * rise;
    return s + (fabsf(x) > 15.0f && fabsf(x) < INFINITY ? 0.0f : more); /* x^2 may overflow */
}

TT_INLINE double tt_gelu_tanh_slope(double x)
{
    double s = tt_sigmoid(tt_gelu_bend(x)), rise = 2 * TT_SQRT_2_OVER_PI * (1.0 + 3 * 0.044715 * x * x);
    double more = x * s * (1.0 - s) * rise;
    return s + (fabs(x) > 40.0 && fabs(x) < (double)INFINITY ? 0.0 : more);
}

/* What is the same for both precisions. */
#define R float
#define FN(name) tt_##name##_f
#include "activations.inc"

#define R double
#define FN(name) tt_##name
#include "activations.inc"

TT_INLINE float tt_gelu_f(float x)
{
    float density;
    return x * tt_gelu_normal_f(x, &density);
}

TT_INLINE double tt_gelu(double x) { return x * tt_ndtr(x); }

#endif
