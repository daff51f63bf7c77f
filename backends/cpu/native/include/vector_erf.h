/* The error function and its kin; part of vector_math.h. */
#ifndef TT_VECTOR_ERF_H
#define TT_VECTOR_ERF_H

/* exp(x^2) erfc(x) for x >= 0 */
TT_INLINE float tt_erfcx_f(float x)
{
    float t = 4.0f / (x + 2.0f) - 1.0f, p = 0x1.bd262cp-16f;
    p = p * t - 0x1.21a2dcp-13f;
    p = p * t + 0x1.12e14ep-15f;
    p = p * t + 0x1.f8aff8p-11f;
    p = p * t - 0x1.b8dbb8p-11f;
    p = p * t - 0x1.ca41b6p-8f;
    p = p * t + 0x1.e91f08p-9f;
    p = p * t + 0x1.437e6ep-4f;
    p = p * t + 0x1.eeea86p-3f;
    p = p * t + 0x1.b57036p-2f;
    return p * t + 0x1.058672p-2f;
}

TT_INLINE double tt_erfcx(double x)
{
    double t = 6.0 / (x + 3.0) - 1.0, p = 0x1.d5b4786b0fe23p-32;
    p = p * t + 0x1.ed8902a2add09p-32;
    p = p * t - 0x1.af91232f72c26p-28;
    p = p * t + 0x1.4314f48249a7ap-32;
    p = p * t + 0x1.7227bfd0c7ccep-25;
    p = p * t - 0x1.01557d8758e33p-25;
    p = p * t - 0x1.f0af6799cd087p-23;
    p = p * t + 0x1.3cb0dd4e5ff47p-22;
    p = p * t + 0x1.4fb38b57fe314p-20;
    p = p * t - 0x1.1c9a665d6ef72p-19;
    p = p * t - 0x1.0bad8a5c7080cp-17;
    p = p * t + 0x1.af87fe2fa99bap-17;
    p = p * t + 0x1.0cac05201371cp-14;
    p = p * t - 0x1.7ba11299bd63ap-15;
    p = p * t - 0x1.39084b76eebc1p-11;
    p = p * t - 0x1.73101e59285e1p-11;
    p = p * t + 0x1.17c838ec119e5p-8;
    p = p * t + 0x1.8fa58eb5c6368p-6;
    p = p * t + 0x1.258b13b019660p-4;
    p = p * t + 0x1.336ffbef08cabp-3;
    p = p * t + 0x1.f6ff204105938p-3;
    p = p * t + 0x1.4e102b9cf8511p-2;
    return p * t + 0x1.6e9827d229d2dp-3;
}

/* exp(-factor x^2) for x >= 0 where that is not zero: the square is split, since its rounding would be magnified */
TT_INLINE float tt_gauss_f(float x, float factor)
{
    float high = tt_from_bits_f(tt_bits_f(x) & ~0xfff);
    return tt_exp_within_f(-factor * (high * high), -factor * ((x - high) * (x + high)), 0);
}

TT_INLINE double tt_gauss(double x, double factor)
{
    double high = tt_from_bits(tt_bits(x) & ~0x7ffffffLL);
    return tt_exp_within(-factor * (high * high), -factor * ((x - high) * (x + high)), 0);
}

TT_INLINE float tt_erfc_f(float x)
{
    float size = fabsf(x), at = size > 10.2f ? 10.2f : size;
    float y = tt_gauss_f(at, 1.0f) * tt_erfcx_f(at);
    return x < 0.0f ? 2.0f - y : y;
}

TT_INLINE double tt_erfc(double x)
{
    double size = fabs(x), at = size > 27.3 ? 27.3 : size;
    double y = tt_gauss(at, 1.0) * tt_erfcx(at);
    return x < 0.0 ? 2.0 - y : y;
}

TT_INLINE float tt_erf_f(float x)
{
    float z = x * x, p = 0x1.4ae4c6p-14f;
    p = p * z - 0x1.a485f8p-11f;
    p = p * z + 0x1.5419fap-8f;
    p = p * z - 0x1.b7fbb6p-6f;
    p = p * z + 0x1.ce2d20p-4f;
    p = p * z - 0x1.81273ep-2f;
    p = p * z + 0x1.20dd74p0f;
    float far = copysignf(1.0f - tt_erfc_f(fabsf(x)), x);
    return fabsf(x) < 1.0f ? x * p : far;
}

TT_INLINE double tt_erf(double x)
{
    double z = x * x, p = 0x1.062759c5be8ecp-34;
    p = p * z - 0x1.38ac2290d3965p-30;
    p = p * z + 0x1.f7b99d7c8709ap-27;
    p = p * z - 0x1.5f1f40faeea79p-23;
    p = p * z + 0x1.b9df305cad6f7p-20;
    p = p * z - 0x1.f4d1e434bc0cfp-17;
    p = p * z + 0x1.f9a321e4b84f9p-14;
    p = p * z - 0x1.c02db3db49762p-11;
    p = p * z + 0x1.565bcd0dbd921p-8;
    p = p * z - 0x1.b82ce31284f38p-6;
    p = p * z + 0x1.ce2f21a042b34p-4;
    p = p * z - 0x1.812746b0379e6p-2;
    p = p * z + 0x1.20dd750429b6dp0;
    double far = copysign(1.0 - tt_erfc(fabs(x)), x);
    return fabs(x) < 1.0 ? x * p : far;
}

/* The distribution function of normal numbers, and what its density is multiplied by sqrt(2 pi). */
TT_INLINE float tt_normal_f(float x, float *density)
{
    float size = fabsf(x), at = size > 14.5f ? 14.5f : size, gauss = tt_gauss_f(at, 0.5f);
    float tail = 0.5f * gauss * tt_erfcx_f(at * 0x1.6a09e6p-1f);
    *density = gauss;
    return x > 0.0f ? 1.0f - tail : tail;
}

TT_INLINE double tt_normal(double x, double *density)
{
    double size = fabs(x), at = size > 38.7 ? 38.7 : size, gauss = tt_gauss(at, 0.5);
    double tail = 0.5 * gauss * tt_erfcx(at * 0x1.6a09e667f3bcdp-1);
    *density = gauss;
    return x > 0.0 ? 1.0 - tail : tail;
}

TT_INLINE float tt_ndtr_f(float x) { float density; return tt_normal_f(x, &density); }
TT_INLINE double tt_ndtr(double x) { double density; return tt_normal(x, &density); }

#endif
