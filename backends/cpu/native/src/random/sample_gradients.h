/* How gamma and beta numbers change with their concentration, for blocks of them.
 *
 * At the same quantile, another concentration a gives another number x: dx/da = -(dF/da) / (dF/dx).  With F as an integral over
 * x exp(w) (of beta numbers: over the odds of x times exp(w)) this is the integral of a positive function of w from 0 to one side,
 *
 *     |log(x exp(w)) - E[log x]| exp(-E(w)),    E(w) = x expm1(w) - a w    (gamma numbers)
 *
 * below the mean of the logarithm to -infinity, above it to infinity.  E is convex; it ends where E(w) = cut, and
 * between the formula of Gauss and Legendre has all the digits wanted.  Only about small x the integrand has two scales, and there
 * the power series of F and its derivative need few terms.
 *
 * Of large a, z = a (1 + m) has dz/da = D(m) with (1 + m) D' = (a m + 1) D - a (1 + m) (log(1 + m) + log(a) - digamma(a)), as
 * differentiating F twice says.  So D = D0 + D1 / a + D2 / a^2 + ..., where D0 = (1 + m) log(1 + m) / m and
 * D[k + 1] = ((1 + m) (D[k]' + c[k + 1]) - D[k]) / m, with the coefficients c of log(a) - digamma(a) in powers of 1 / a.
 *
 * Loops run over the elements of a block inside of those over nodes and terms, so that compilers vectorise them.
 */
#ifndef TT_SAMPLE_GRADIENTS_H
#define TT_SAMPLE_GRADIENTS_H

#include "vector_math.h"

#define TT_SAMPLES 128     /* elements of a block */
#define TT_SAMPLES_STEP 16 /* parts of blocks are filled up to a multiple of this: whole vectors */

/* Nodes and weights for integrals from 0 to 1. */
static const double node_14[] = {
    0.006858095651593831, 0.03578255816821324, 0.0863993424651175, 0.15635354759415726, 0.24237568182092295,
    0.3404438155360551, 0.44597252564632817, 0.5540274743536718, 0.6595561844639449, 0.757624318179077,
    0.8436464524058427, 0.9136006575348825, 0.9642174418317867, 0.9931419043484062,
};
static const double weight_14[] = {
    0.01755973016587593, 0.040079043579880104, 0.06075928534395159, 0.07860158357909677, 0.09276919873896891,
    0.1025992318606478, 0.1076319267315789, 0.1076319267315789, 0.1025992318606478, 0.09276919873896891,
    0.07860158357909677, 0.06075928534395159, 0.040079043579880104, 0.01755973016587593,
};
static const double node_24[] = {
    0.00240639000148932, 0.012635722014345251, 0.030862723998633622, 0.056792236497799485, 0.08999900701304854,
    0.12993790421072282, 0.17595317403151223, 0.22728926430558022, 0.2831032461869774, 0.3424786601519183,
    0.40444056626319186, 0.4679715535686972, 0.5320284464313028, 0.5955594337368082, 0.6575213398480817,
    0.7168967538130225, 0.7727107356944197, 0.8240468259684878, 0.8700620957892772, 0.9100009929869515,
    0.9432077635022005, 0.9691372760013663, 0.9873642779856547, 0.9975936099985107,
};
static const double weight_24[] = {
    0.0061706148999936, 0.014265694314466832, 0.022138719408709904, 0.02964929245771839, 0.03667324070554015,
    0.04309508076597664, 0.04880932605205694, 0.05372213505798282, 0.0577528340268628, 0.060835236463901696,
    0.06291872817341415, 0.06396909767337608, 0.06396909767337608, 0.06291872817341415, 0.060835236463901696,
    0.0577528340268628, 0.05372213505798282, 0.04880932605205694, 0.04309508076597664, 0.03667324070554015,
    0.02964929245771839, 0.022138719408709904, 0.014265694314466832, 0.0061706148999936,
};

/* How far series and integrals are taken: to 1e-6 for results in single precision, for others to 3e-11 (beta: 3e-10). */
typedef struct {
    double cut; /* integrands are left out from exp(-cut) on */
    int gamma_terms, beta_terms, nodes;
    const double *node, *weight;
} tt_precision;

static const tt_precision tt_single = {17.0, 17, 46, 14, node_14, weight_14};
static const tt_precision tt_twice = {32.0, 25, 66, 24, node_24, weight_24};

#define TT_GAMMA_BY_SERIES 2.0 /* numbers up to which the series are taken */
#define TT_GAMMA_HUGE 1e25     /* concentrations beyond which only the exponent of the distribution counts, to all digits */
#define TT_GAMMA_LARGE 64.0    /* concentrations from which the expansion is taken, where m is at most TT_GAMMA_NEAR: to 1e-12 */
#define TT_GAMMA_NEAR 0.4
#define TT_BETA_BY_SERIES 3.0  /* these times the sum of both concentrations */

#define TT_NEWTON_STEPS 2

/* log(u) - digamma(u), for u from 8 on */
TT_INLINE double tt_digamma_rest(double u)
{
    double p = 1.0 / u, q = p * p, y = -691.0 / 32760.0;
    y = y * q + 1.0 / 132.0;
    y = y * q - 1.0 / 240.0;
    y = y * q + 1.0 / 252.0;
    y = y * q - 1.0 / 120.0;
    y = y * q + 1.0 / 12.0;
    return p * (0.5 + p * y);
}

/* The sum of 1 / (a + k) for k below 8: pairs from both ends have a numerator in common. */
TT_INLINE double tt_eight_reciprocals(double a)
{
    double v = a * (a + 7.0);
    return (2.0 * a + 7.0) * ((2.0 * v + 6.0) / (v * (v + 6.0)) + (2.0 * v + 22.0) / ((v + 10.0) * (v + 12.0)));
}

TT_INLINE double tt_two_reciprocals(double x, double y) { return (x + y) / (x * y); }

/* log(z) - digamma(a): digamma has a recurrence, and about its root no digits are lost. */
TT_INLINE double tt_log_less_digamma(double z, double a)
{
    double u = a + 8.0, ratio = z / u;
    double near = tt_log1p((z - u) / u), far = tt_log(ratio);
    return (fabs(ratio - 1.0) < 0.5 ? near : far) + tt_digamma_rest(u) + tt_eight_reciprocals(a);
}

/* digamma(a + b) - digamma(a): b is a factor of all terms. */
TT_INLINE double tt_digamma_step(double a, double b)
{
    double t = a + b;
    double sum = tt_two_reciprocals(t * a, (t + 1.0) * (a + 1.0));
    sum += tt_two_reciprocals((t + 2.0) * (a + 2.0), (t + 3.0) * (a + 3.0));
    sum += tt_two_reciprocals((t + 4.0) * (a + 4.0), (t + 5.0) * (a + 5.0));
    sum += tt_two_reciprocals((t + 6.0) * (a + 6.0), (t + 7.0) * (a + 7.0));
    double p = 1.0 / (a + 8.0), r = 1.0 / (t + 8.0), x = p * p, y = r * r, s = x + y, m = x * y;
    double f = 1.0 / 12.0 - s / 120.0 + (s * s - m) / 252.0 - s * (s * s - 2.0 * m) / 240.0 +
               (s * s * (s * s - 3.0 * m) + m * m) / 132.0;
    return b * sum + tt_log1p(b * p) + b * p * r * (0.5 + (p + r) * f);
}

/* expm1(w) - w */
TT_INLINE double tt_exp_curve(double w)
{
    double near = w * w * (0.5 + w * (1.0 / 6.0 + w * (1.0 / 24.0))), far = tt_expm1(w) - w;
    return fabs(w) < 1e-4 ? near : far;
}

TT_INLINE int tt_samples_filled(int count) { return (count + TT_SAMPLES_STEP - 1) / TT_SAMPLES_STEP * TT_SAMPLES_STEP; }

/* --- gamma numbers ------------------------------------------------------------------------------------------- */

TT_INLINE void tt_gamma_series(const double *restrict a, const double *restrict z, double *restrict y, int count, const tt_precision *to)
{
    double term[TT_SAMPLES], harmonic[TT_SAMPLES], sum[TT_SAMPLES], slope[TT_SAMPLES];
    for (int i = 0; i < count; i++) {
        term[i] = sum[i] = 1.0;
        harmonic[i] = slope[i] = 0.0;
    }
    for (int n = 1; n < to->gamma_terms; n++) {
        for (int i = 0; i < count; i++) {
            double part = 1.0 / (a[i] + n);
            harmonic[i] += part;
            term[i] *= z[i] * part;
            sum[i] += term[i];
            slope[i] += term[i] * harmonic[i];
        }
    }
    for (int i = 0; i < count; i++) {
        double rest = tt_log(z[i]) - (tt_log(a[i] + 9.0) - tt_digamma_rest(a[i] + 9.0));
        y[i] = z[i] / a[i] * (slope[i] - sum[i] * (rest + tt_eight_reciprocals(a[i] + 1.0)));
    }
}

TT_INLINE void tt_gamma_integral(const double *restrict a, const double *restrict z, double *restrict y, int count, const tt_precision *to)
{
    double rest[TT_SAMPLES], end[TT_SAMPLES], sum[TT_SAMPLES], cut = to->cut;
    for (int i = 0; i < count; i++) rest[i] = tt_log_less_digamma(z[i], a[i]);
    for (int i = 0; i < count; i++) {
        /* The square that E begins as says about where it is `cut`, and Newton's steps say it well enough. */
        double sign = rest[i] < 0.0 ? -1.0 : 1.0, apart = sign * (z[i] - a[i]), tilt = apart > 0.0 ? apart : 0.0;
        end[i] = 2.0 * cut / (tilt + sqrt(tilt * tilt + 2.0 * z[i] * cut));
        sum[i] = 0.0;
    }
    for (int step = 0; step < TT_NEWTON_STEPS; step++) {
        for (int i = 0; i < count; i++) {
            double sign = rest[i] < 0.0 ? -1.0 : 1.0, apart = sign * (z[i] - a[i]), s = end[i];
            double curve = tt_exp_curve(sign * s), e = z[i] * curve + apart * s;
            double rise = z[i] * sign * (curve + sign * s) + apart;
            double better = s - (e - cut) / rise;
            end[i] = rise > 0.0 ? better : 2.0 * s;
        }
    }
    for (int k = 0; k < to->nodes; k++) {
        double node = to->node[k], weight = to->weight[k];
        for (int i = 0; i < count; i++) {
            double sign = rest[i] < 0.0 ? -1.0 : 1.0, s = end[i] * node;
            double e = z[i] * tt_exp_curve(sign * s) + sign * (z[i] - a[i]) * s;
            sum[i] += weight * (s + fabs(rest[i])) * tt_exp(-e);
        }
    }
    for (int i = 0; i < count; i++) y[i] = z[i] * end[i] * sum[i];
}

/* The power series of D1 to D5 in m. */
static const double gamma_part_1[] = {
    0.16666666666666666, 0.08333333333333333, -0.03333333333333333, 0.016666666666666666, -0.009523809523809525,
    0.005952380952380952, -0.003968253968253968, 0.002777777777777778, -0.00202020202020202, 0.0015151515151515152,
    -0.0011655011655011655, 0.0009157509157509158, -0.0007326007326007326, 0.0005952380952380953,
    -0.0004901960784313725, 0.0004084967320261438, -0.0003439972480220158, 0.00029239766081871346,
};
static const double gamma_part_2[] = {
    0.016666666666666666, 0.016666666666666666, -0.004761904761904762, 0.0011904761904761906, 0.0,
    -0.0003968253968253968, 0.000505050505050505, -0.000505050505050505, 0.0004662004662004662,
    -0.00041625041625041625, 0.0003663003663003663, -0.0003205128205128205, 0.00028011204481792715,
    -0.00024509803921568627,
};
static const double gamma_part_3[] = {
    -0.009523809523809525, -0.0011904761904761906, 0.002380952380952381, -0.001984126984126984, 0.001443001443001443,
    -0.00101010101010101, 0.0006993006993006993, -0.00048285048285048285, 0.000333000333000333,
    -0.00022893772893772894,
};
static const double gamma_part_4[] = {
    -0.0035714285714285713, -0.0035714285714285713, 0.0018037518037518038, -0.0007215007215007215,
    0.0001554001554001554, 0.00011655011655011655,
};
static const double gamma_part_5[] = {
    0.0036075036075036075, -0.00036075036075036075, -0.0008214008214008214, 0.001048951048951049,
};
static const double *const gamma_parts[] = {gamma_part_1, gamma_part_2, gamma_part_3, gamma_part_4, gamma_part_5};
static const int gamma_part_terms[] = {18, 14, 10, 6, 4};

TT_INLINE void tt_gamma_expansion(const double *restrict a, const double *restrict z, double *restrict y, int count, const tt_precision *to)
{
    double m[TT_SAMPLES], part[TT_SAMPLES];
    (void)to;
    for (int i = 0; i < count; i++) {
        m[i] = (z[i] - a[i]) / a[i];
        y[i] = 0.0;
    }
    for (int k = 4; k >= 0; k--) {
        for (int i = 0; i < count; i++) part[i] = 0.0;
        for (int n = gamma_part_terms[k] - 1; n >= 0; n--) {
            double coefficient = gamma_parts[k][n];
            for (int i = 0; i < count; i++) part[i] = part[i] * m[i] + coefficient;
        }
        for (int i = 0; i < count; i++) y[i] = (y[i] + part[i]) / a[i];
    }
    for (int i = 0; i < count; i++) {
        double off = m[i] != 0.0 ? m[i] : 1e-300;
        y[i] += (1.0 + m[i]) * tt_log1p(off) / off;
    }
}

/* out = the derivatives of z by a, which may be the same memory as either; NaN where they are not those of a gamma number. */
TT_INLINE void tt_gamma_slopes(const double *a, const double *z, double *out, int count, const tt_precision *to)
{
    double pairs[3][2][TT_SAMPLES], y[TT_SAMPLES];
    int places[3][TT_SAMPLES], found[3] = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        if (!(a[i] > 0.0 && a[i] < (double)INFINITY && z[i] >= 0.0 && z[i] < (double)INFINITY)) {
            out[i] = (double)NAN;
            continue;
        }
        if (a[i] > TT_GAMMA_HUGE) {
            double ratio = z[i] / a[i];
            out[i] = ratio == 1.0 ? 1.0 : ratio > 0.0 ? ratio * tt_log(ratio) / (ratio - 1.0) : 0.0;
            continue;
        }
        int way = z[i] > TT_GAMMA_BY_SERIES;
        if (a[i] >= TT_GAMMA_LARGE && fabs(z[i] - a[i]) <= TT_GAMMA_NEAR * a[i]) way = 2;
        int at = found[way]++;
        pairs[way][0][at] = a[i];
        pairs[way][1][at] = z[i] > 1e-300 ? z[i] : 1e-300;
        places[way][at] = i;
    }
    for (int way = 0; way < 3; way++) {
        if (!found[way]) continue;
        int filled = tt_samples_filled(found[way]);
        for (int i = found[way]; i < filled; i++) pairs[way][0][i] = pairs[way][1][i] = 1.0;
        (way == 0 ? tt_gamma_series : way == 1 ? tt_gamma_integral : tt_gamma_expansion)(pairs[way][0], pairs[way][1], y, filled, to);
        for (int i = 0; i < found[way]; i++) out[places[way][i]] = y[i];
    }
}

/* --- beta numbers -------------------------------------------------------------------------------------------- */

/* The smaller one of x and 1 - x is q; where it is x, c is a, and else b.  Of 1 - x, the other side's series is taken. */
TT_INLINE void tt_beta_series(const double *restrict x, const double *restrict a, const double *restrict b, double *restrict y, int count, const tt_precision *to)
{
    double term[TT_SAMPLES], harmonic[TT_SAMPLES], sum[TT_SAMPLES], slope[TT_SAMPLES];
    for (int i = 0; i < count; i++) {
        term[i] = sum[i] = 1.0;
        harmonic[i] = slope[i] = 0.0;
    }
    for (int n = 0; n < to->beta_terms; n++) {
        for (int i = 0; i < count; i++) {
            bool left = x[i] <= 0.5;
            double q = left ? x[i] : 1.0 - x[i], above = a[i] + b[i] + n, below = (left ? a[i] : b[i]) + (n + 1);
            double part = 1.0 / (above * below);
            harmonic[i] += (left ? 1.0 - b[i] : below) * part;
            term[i] *= q * above * above * part;
            sum[i] += term[i];
            slope[i] += term[i] * harmonic[i];
        }
    }
    for (int i = 0; i < count; i++) {
        bool left = x[i] <= 0.5;
        double rest = tt_log(x[i]) + tt_digamma_step(a[i], b[i]);
        double of_left = (1.0 / a[i] - rest) * sum[i] - slope[i], of_right = rest * sum[i] + slope[i];
        y[i] = x[i] * (left ? of_left / a[i] : of_right / b[i]);
    }
}

TT_INLINE void tt_beta_integral(const double *restrict x, const double *restrict a, const double *restrict b, double *restrict y, int count, const tt_precision *to)
{
    double rest[TT_SAMPLES], end[TT_SAMPLES], sum[TT_SAMPLES], cut = to->cut;
    for (int i = 0; i < count; i++) rest[i] = tt_log(x[i]) + tt_digamma_step(a[i], b[i]);
    for (int i = 0; i < count; i++) {
        bool left = x[i] <= 0.5;
        double t = a[i] + b[i], q = left ? x[i] : 1.0 - x[i], c = left ? a[i] : b[i];
        double sign = (rest[i] < 0.0) == left ? -1.0 : 1.0, apart = sign * (t * q - c), tilt = apart > 0.0 ? apart : 0.0;
        end[i] = 2.0 * cut / (tilt + sqrt(tilt * tilt + 2.0 * t * q * (1.0 - q) * cut));
        sum[i] = 0.0;
    }
    for (int step = 0; step < TT_NEWTON_STEPS; step++) {
        for (int i = 0; i < count; i++) {
            bool left = x[i] <= 0.5;
            double t = a[i] + b[i], q = left ? x[i] : 1.0 - x[i], c = left ? a[i] : b[i];
            double sign = (rest[i] < 0.0) == left ? -1.0 : 1.0, s = end[i];
            double grown = tt_expm1(sign * s), e = t * tt_log1p(q * grown) - c * sign * s;
            double rise = sign * (t * q * (grown + 1.0) / (1.0 + q * grown) - c);
            double better = s - (e - cut) / rise;
            end[i] = rise > 0.0 ? better : 2.0 * s;
        }
    }
    for (int k = 0; k < to->nodes; k++) {
        double node = to->node[k], weight = to->weight[k];
        for (int i = 0; i < count; i++) {
            bool left = x[i] <= 0.5;
            double q = left ? x[i] : 1.0 - x[i], c = left ? a[i] : b[i], s = end[i] * node;
            double w = ((rest[i] < 0.0) == left ? -s : s), grown = tt_log1p(q * tt_expm1(w));
            double distance = (left ? w - grown : -grown) + rest[i];
            sum[i] += weight * fabs(distance) * tt_exp(c * w - (a[i] + b[i]) * grown);
        }
    }
    for (int i = 0; i < count; i++) y[i] = x[i] * end[i] * sum[i];
}

/* out = the derivatives of x by a, divided by 1 - x; b is the sum of both concentrations without a. */
TT_INLINE void tt_beta_slopes(const double *x, const double *a, const double *b, double *out, int count, const tt_precision *to)
{
    double triples[2][3][TT_SAMPLES], y[TT_SAMPLES];
    int places[2][TT_SAMPLES], found[2] = {0, 0};
    for (int i = 0; i < count; i++) {
        if (!(a[i] > 0.0 && b[i] > 0.0 && a[i] + b[i] < (double)INFINITY && x[i] >= 0.0 && x[i] <= 1.0)) {
            out[i] = (double)NAN;
            continue;
        }
        double at_least = x[i] > 1e-300 ? x[i] : 1e-300, number = at_least < 1.0 ? at_least : 1.0 - 0x1p-53;
        double q = number <= 0.5 ? number : 1.0 - number;
        /* Far below the mean of numbers that are nearly 1, the series would be the difference of nearly equal sums. */
        bool far_below = number > 0.5 && number < 0.6 && b[i] < 0.2 && a[i] > 2.0;
        int way = far_below || q * (a[i] + b[i]) > TT_BETA_BY_SERIES, at = found[way]++;
        triples[way][0][at] = number;
        triples[way][1][at] = a[i];
        triples[way][2][at] = b[i];
        places[way][at] = i;
    }
    for (int way = 0; way < 2; way++) {
        if (!found[way]) continue;
        int filled = tt_samples_filled(found[way]);
        for (int i = found[way]; i < filled; i++) {
            triples[way][0][i] = 0.5;
            triples[way][1][i] = triples[way][2][i] = 1.0;
        }
        double (*of)[TT_SAMPLES] = triples[way];
        (way ? tt_beta_integral : tt_beta_series)(of[0], of[1], of[2], y, filled, to);
        for (int i = 0; i < found[way]; i++) out[places[way][i]] = y[i];
    }
}

#endif
