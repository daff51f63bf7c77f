/* Roots of one, e^(-2 pi i k / n), rounded once: to within 0.51 units in the last place, without a sine and a cosine for each. */
#ifndef TT_FOURIER_TURNS_H
#define TT_FOURIER_TURNS_H

#include "common.h"

#include <math.h>
#include <stdlib.h>

/* Angles are counted in n-ths of a quarter of a turn.  By symmetry those up to n / 2 suffice: multiples of a step, with what
 * rounding them to double has lost, and smaller ones, as differences from 1, so small that their own rounding does not count. */
typedef struct {
    npy_intp n;
    int shift; /* of the step, a power of 2 */
    double *large; /* cosine, sine, and the rest of each */
    double *small; /* cosine - 1, sine */
} turns;

static void free_turns(turns *t)
{
    free(t->large);
    free(t->small);
}

static bool make_turns(turns *t, npy_intp n)
{
    *t = (turns){.n = n};
    while ((npy_intp)4 << 2 * t->shift <= n) t->shift++;
    npy_intp number = (n / 2 >> t->shift) + 1, step = (npy_intp)1 << t->shift;
    t->large = malloc((size_t)number * 4 * sizeof(double));
    t->small = malloc((size_t)step * 2 * sizeof(double));
    if (t->large == NULL || t->small == NULL) {
        free_turns(t);
        return false;
    }
    const long double unit = 1.57079632679489661923132169163975144L / (long double)n;
    for (npy_intp i = 0; i < number; i++) {
        long double c = cosl(unit * (long double)(i * step)), s = sinl(unit * (long double)(i * step));
        t->large[4 * i] = (double)c, t->large[4 * i + 1] = (double)s;
        t->large[4 * i + 2] = (double)(c - (double)c), t->large[4 * i + 3] = (double)(s - (double)s);
    }
    for (npy_intp i = 0; i < step; i++) {
        double angle = (double)unit * (double)i, half = sin(angle / 2);
        t->small[2 * i] = -2 * half * half, t->small[2 * i + 1] = sin(angle);
    }
    return true;
}

/* e^(-2 pi i k / n) for 0 <= k < n. */
TT_INLINE void turn_of(const turns *t, npy_intp k, double *re, double *im)
{
    npy_intp n = t->n, left = 4 * k, quarter = (left >= n) + (left >= 2 * n) + (left >= 3 * n);
    left -= quarter * n;
    bool far = 2 * left > n;
    left = far ? n - left : left;
    const double *a = t->large + 4 * (left >> t->shift), *d = t->small + 2 * (left & (((npy_intp)1 << t->shift) - 1));
    double c = a[0] + (a[2] + (a[0] * d[0] - a[1] * d[1])), s = a[1] + (a[3] + (a[0] * d[1] + a[1] * d[0]));
    double x = far ? s : c, y = far ? c : s;
    *re = quarter == 0 ? x : quarter == 1 ? -y : quarter == 2 ? -x : y;
    *im = -(quarter == 0 ? y : quarter == 1 ? x : quarter == 2 ? -y : -x);
}

/* Writes e^(-2 pi i k / n) as numbers of a dtype, the parts at a distance. */
TT_INLINE void set_turn(void *numbers, tt_dtype dtype, npy_intp at, npy_intp apart, const turns *t, npy_intp k)
{
    double re, im;
    turn_of(t, k, &re, &im);
    if (dtype == TT_F32) ((float *)numbers)[at] = (float)re, ((float *)numbers)[at + apart] = (float)im;
    else ((double *)numbers)[at] = re, ((double *)numbers)[at + apart] = im;
}

#endif
