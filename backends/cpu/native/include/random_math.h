/* Sine and cosine of the angles from which normal numbers are made: from 0 to 2 pi, without branches.
 *
 * Both are made of one reduction.  The polynomials are those of Cephes (float32) and fdlibm (float64), 1 ULP or a little more.
 * Logarithms are those of vector_math.h, so that exponential numbers are the same where a composite draws them.
 */
#ifndef TT_RANDOM_MATH_H
#define TT_RANDOM_MATH_H

#include "vector_math.h"

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
