/* The inverse of the error function, and the logarithm of the gamma function of floats.
 *
 * erfinv(x) / x is a smooth function of w = -log(1 - x^2) about zero, and of its root farther out: a polynomial for each
 * stretch, through Chebyshev's points in 40 digits.
 */
#ifndef TT_VECTOR_INVERSE_H
#define TT_VECTOR_INVERSE_H

#include "vector_math.h"

TT_INLINE float tt_erfinv_f(float x)
{
    float w = -tt_log_f((1.0f - x) * (1.0f + x)), s = sqrtf(w);
    float t = w * 0.32f - 1.0f, u = (s - 3.25f) * 0x1.555556p0f;
    float p = 0x1.042992p-14f;
    p = p * t - 0x1.12a31cp-13f;
    p = p * t - 0x1.e94a3p-13f;
    p = p * t + 0x1.44c144p-10f;
    p = p * t - 0x1.50e864p-10f;
    p = p * t - 0x1.0f3b1ap-8f;
    p = p * t + 0x1.23cfc2p-6f;
    p = p * t - 0x1.72597p-6f;
    p = p * t - 0x1.e2b1d4p-5f;
    p = p * t + 0x1.8040cap-1f;
    p = p * t + 0x1.a755e8p0f;
    float q = -0x1.aa546ap-19f;
    q = q * u - 0x1.213bccp-15f;
    q = q * u + 0x1.6c5e08p-13f;
    q = q * u - 0x1.ae8beep-12f;
    q = q * u + 0x1.9cb6ap-11f;
    q = q * u - 0x1.9e1ebp-10f;
    q = q * u + 0x1.8bff6cp-9f;
    q = q * u + 0x1.8204f4p-1f;
    q = q * u + 0x1.8abcc4p1f;
    float y = (w < 6.25f ? p : q) * x;
    return fabsf(x) == 1.0f ? copysignf(INFINITY, x) : y;
}

TT_INLINE double tt_erfinv(double x)
{
    double w = -tt_log((1.0 - x) * (1.0 + x)), s = sqrt(w);
    double t = w * 0.32 - 1.0, u = (s - 3.25) / 0.75, v = (s - 5.125) / 1.125;
    double p = -0x1.293907e988d13p-32;
    p = p * t + 0x1.a6b974c51a6fp-31;
    p = p * t + 0x1.a75c19e5e82b6p-30;
    p = p * t - 0x1.263713f720005p-27;
    p = p * t + 0x1.495443ba8969ap-28;
    p = p * t + 0x1.50562a1255795p-25;
    p = p * t - 0x1.a7d0a7435fc08p-24;
    p = p * t - 0x1.5df5816a743d4p-27;
    p = p * t + 0x1.219afa7cafd04p-21;
    p = p * t - 0x1.1c5c0331bf7ecp-20;
    p = p * t - 0x1.6f1195e98efe1p-21;
    p = p * t + 0x1.de7d7378497fbp-18;
    p = p * t - 0x1.79bba2ad89922p-17;
    p = p * t - 0x1.f83f0cb11fcd4p-17;
    p = p * t + 0x1.879c793a90afcp-14;
    p = p * t - 0x1.ea446faa53915p-14;
    p = p * t - 0x1.153ca28c1a44cp-12;
    p = p * t + 0x1.4316b4d75322bp-10;
    p = p * t - 0x1.4d5dd2d0660bp-10;
    p = p * t - 0x1.0f249df1bb639p-8;
    p = p * t + 0x1.23c5aee6b6ed2p-6;
    p = p * t - 0x1.7259eca3a141fp-6;
    p = p * t - 0x1.e2b19456a07dep-5;
    p = p * t + 0x1.8040caa12786bp-1;
    p = p * t + 0x1.a755e7c99ae86p0;
    double q = 0x1.ac779dcd8e589p-36;
    q = q * u - 0x1.1c9f3aa5fca5cp-34;
    q = q * u - 0x1.034978cde5adp-33;
    q = q * u + 0x1.0fe3d18357c1fp-30;
    q = q * u - 0x1.522c2c004e34cp-29;
    q = q * u - 0x1.95c96666ea5fcp-32;
    q = q * u + 0x1.c5882c111f3a6p-26;
    q = q * u - 0x1.96b02bed2c552p-24;
    q = q * u + 0x1.8ef95c14a2ac8p-24;
    q = q * u + 0x1.1aa4689f7720ap-21;
    q = q * u - 0x1.65a99e8f8b629p-19;
    q = q * u + 0x1.5816a1b416477p-18;
    q = q * u + 0x1.42e8e2a16deb9p-19;
    q = q * u - 0x1.8d8d2c990c866p-15;
    q = q * u + 0x1.63d0370fa4c6bp-13;
    q = q * u - 0x1.a418d38d78871p-12;
    q = q * u + 0x1.9d4ce3863b087p-11;
    q = q * u - 0x1.9eda88e4f2509p-10;
    q = q * u + 0x1.8bfc9e26da6ep-9;
    q = q * u + 0x1.8204fa4162bffp-1;
    q = q * u + 0x1.8abcc380d5a48p1;
    double r = -0x1.6ac956977143fp-34;
    r = r * v + 0x1.dd1e077a611bdp-34;
    r = r * v + 0x1.151ecdd2f1223p-31;
    r = r * v - 0x1.eb87945bf7ed7p-30;
    r = r * v + 0x1.007343244131ap-28;
    r = r * v - 0x1.0c204ccc6c8ddp-27;
    r = r * v + 0x1.02975aae7d157p-26;
    r = r * v - 0x1.b9d6256c9e3fap-26;
    r = r * v + 0x1.93a80b9b6fb5cp-25;
    r = r * v - 0x1.016335be31464p-23;
    r = r * v + 0x1.d294172b7376fp-22;
    r = r * v - 0x1.e77ab451ddfbdp-20;
    r = r * v + 0x1.fdda9071cf19fp-18;
    r = r * v - 0x1.f5904fc056c0dp-16;
    r = r * v + 0x1.b29f5df530334p-14;
    r = r * v - 0x1.0ca5c8da2c238p-12;
    r = r * v - 0x1.1a24434a266f5p-12;
    r = r * v + 0x1.22f42cba319e7p0;
    r = r * v + 0x1.3e79eb73b06f4p2;
    double y = (w < 6.25 ? p : w < 16.0 ? q : r) * x;
    return fabs(x) == 1.0 ? copysign((double)INFINITY, x) : y;
}

/* log(|gamma(x)|) for x >= 0.5: Stirling's series, of x + 8 where that is needed. */
TT_INLINE double tt_lgamma_right(double x)
{
    bool small = x < 8.0;
    double at = small ? x : 1.0, z = small ? x + 8.0 : x, r = 1.0 / z, q = r * r;
    double product = at * (at + 1.0) * (at + 2.0) * (at + 3.0) * (at + 4.0) * (at + 5.0) * (at + 6.0) * (at + 7.0);
    double p = -3617.0 / 122400.0;
    p = p * q + 1.0 / 156.0;
    p = p * q - 691.0 / 360360.0;
    p = p * q + 1.0 / 1188.0;
    p = p * q - 1.0 / 1680.0;
    p = p * q + 1.0 / 1260.0;
    p = p * q - 1.0 / 360.0;
    p = p * q + 1.0 / 12.0;
    double y = (z - 0.5) * tt_log(z) - z + 0x1.d67f1c864beb5p-1 + p * r;
    return small ? y - tt_log(product) : y;
}

/* |sin(pi x) / pi| */
TT_INLINE double tt_sine(double x)
{
    double whole = (x + TT_ROUNDER) - TT_ROUNDER, apart = x - whole, q = apart * apart;
    double p = -0x1.d7353939082f7p-39;
    p = p * q + 0x1.79788684225e6p-33;
    p = p * q - 0x1.f5f9d970ca6d9p-28;
    p = p * q + 0x1.0fc992ff39e11p-22;
    p = p * q - 0x1.d42498d1ce095p-18;
    p = p * q + 0x1.374719fab3913p-13;
    p = p * q - 0x1.33816aa4607aap-9;
    p = p * q + 0x1.ac6805cf350a5p-6;
    p = p * q - 0x1.86a8e4720db66p-3;
    p = p * q + 0x1.9f9cb402bc46cp-1;
    p = p * q - 0x1.a51a6625307d3p0;
    p = p * q + 1.0;
    return fabs(p * apart);
}

#define TT_LGAMMA_BLOCK 256

/* log(|gamma(x)|) of up to TT_LGAMMA_BLOCK numbers, to about 10^-14: that leaves floats all digits about zeros, too.  In
 * steps, as compilers would branch around what only some numbers need. */
TT_INLINE void tt_lgamma_block(double *x, ptrdiff_t n)
{
    double right[TT_LGAMMA_BLOCK], sine[TT_LGAMMA_BLOCK];
    int left = 0;
    for (ptrdiff_t i = 0; i < n; i++) left |= x[i] < 0.5;
    for (ptrdiff_t i = 0; i < n; i++) right[i] = tt_lgamma_right(x[i] < 0.5 ? 1.0 - x[i] : x[i]);
    if (left) {
        for (ptrdiff_t i = 0; i < n; i++) sine[i] = tt_sine(x[i]);
        for (ptrdiff_t i = 0; i < n; i++) sine[i] = tt_log(sine[i]);
        for (ptrdiff_t i = 0; i < n; i++) right[i] = x[i] < 0.5 ? -sine[i] - right[i] : right[i];
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        double y = (x[i] == 1.0) | (x[i] == 2.0) ? 0.0 : right[i];
        x[i] = fabs(x[i]) == (double)INFINITY ? (double)INFINITY : y;
    }
}

#endif
