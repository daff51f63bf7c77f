/* Logarithm, sine and cosine for the numbers from which normal ones are made, without branches.
 *
 * Arguments are what the definitions in docs/design/random.md allow: numbers above 0 that are not denormal, angles from 0
 * to 2 pi.  Reductions and polynomials are those of fdlibm (float64) and of Cephes and fdlibm (float32), 1 ULP or a little
 * more.
 */
#ifndef TT_RANDOM_MATH_H
#define TT_RANDOM_MATH_H

#include "common.h"

TT_INLINE float log_positive_f32(float x)
{
    union { float value; int32_t bits; } u = {x}, m;
    int32_t shifted = u.bits - 0x3f3504f3; /* so that the significand is from sqrt(0.5) to sqrt(2) */
    int32_t exponent = shifted >> 23;
    m.bits = (shifted & 0x007fffff) + 0x3f3504f3;
    float f = m.value - 1.0f, k = (float)exponent;
    float s = f / (2.0f + f), z = s * s;
    float r = z * (0.66666662693f + z * (0.40000972152f + z * (0.28498786688f + z * 0.24279078841f)));
    float half = 0.5f * f * f;
    return k * 6.9313812256e-01f - ((half - (s * (half + r) + k * 9.0580006145e-06f)) - f);
}

TT_INLINE void sin_cos_f32(float angle, float *sine, float *cosine)
{
    int32_t quarter = (int32_t)(angle * 0.636619772f + 0.5f);
    float k = (float)quarter;
    float r = ((angle - k * 1.5703125f) - k * 4.837512969970703125e-4f) - k * 7.549789948768648e-8f;
    float z = r * r;
    float s = r + r * z * (-1.6666654611e-1f + z * (8.3321608736e-3f + z * -1.9515295891e-4f));
    float c = 1.0f - 0.5f * z + z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
    float first = quarter & 1 ? c : s, second = quarter & 1 ? s : c;
    *sine = quarter & 2 ? -first : first;
    *cosine = (quarter + 1) & 2 ? -second : second;
}

TT_INLINE double log_positive_f64(double x)
{
    union { double value; int64_t bits; } u = {x}, m, e;
    int64_t shifted = u.bits - 0x3fe6a09e667f3bcdLL;
    m.bits = (shifted & 0x000fffffffffffffLL) + 0x3fe6a09e667f3bcdLL;
    /* The exponent as a double, by way of the bits of 1.5 * 2**52: vector units convert no 64-bit integers. */
    e.bits = (int64_t)((uint64_t)shifted >> 52) + 0x4338000000000000LL;
    double k = e.value - 6755399441055744.0;
    k = k >= 2048.0 ? k - 4096.0 : k;
    double f = m.value - 1.0;
    double s = f / (2.0 + f), z = s * s, w = z * z;
    double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double t2 = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 +
                w * 1.479819860511658591e-01)));
    double r = t1 + t2, half = 0.5 * f * f;
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + r) + k * 1.90821492927058770002e-10)) - f);
}

TT_INLINE void sin_cos_f64(double angle, double *sine, double *cosine)
{
    double k = (angle * 0.63661977236758134308 + 6755399441055744.0) - 6755399441055744.0; /* rounds */
    double r = (angle - k * 1.57079632673412561417e+00) - k * 6.07710050650619224932e-11;
    double z = r * r;
    double s = r + r * z * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 +
               z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 +
               z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
    double c = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 +
               z * (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 +
               z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    bool odd = k == 1.0 || k == 3.0;
    double first = odd ? c : s, second = odd ? s : c;
    *sine = k == 2.0 || k == 3.0 ? -first : first;
    *cosine = k == 1.0 || k == 2.0 ? -second : second;
}

#endif
