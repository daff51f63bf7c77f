/* Sine, cosine, tangent and their inverses; part of vector_math.h.
 *
 * The reduction by multiples of pi/2 is right up to TT_TURNS_F and TT_TURNS; loops give larger arguments to C's functions.
 */
#ifndef TT_VECTOR_TRIGONOMETRY_H
#define TT_VECTOR_TRIGONOMETRY_H

#define TT_TURNS_F 0x1p20f
#define TT_TURNS 0x1p20

/* --- sine, cosine, tangent ---------------------------------------------------------------------------------- */

/* x less a multiple of pi/2; the multiple's last bits */
TT_INLINE float tt_turned_f(float x, int32_t *quarter)
{
    double wide = x, rounded = wide * 0x1.45f306dc9c883p-1 + TT_ROUNDER;
    *quarter = (int32_t)tt_bits(rounded);
    double whole = rounded - TT_ROUNDER;
    return (float)((wide - whole * 0x1.921fb544p0) - whole * 0x1.0b4611a626331p-34);
}

TT_INLINE double tt_turned(double x, int64_t *quarter)
{
    double rounded = x * 0x1.45f306dc9c883p-1 + TT_ROUNDER;
    *quarter = tt_bits(rounded);
    double whole = rounded - TT_ROUNDER;
    /* The first two parts have 33 bits: their products are exact. */
    double r = x - whole * 0x1.921fb544p0;
    double more = whole * 0x1.0b4611a6p-34, less = r - more;
    double lost = (r - less) - more;
    return less + (lost - whole * 0x1.3198a2e037073p-69);
}

TT_INLINE float tt_sin_near_f(float r, float z)
{
    float p = -0x1.9ac8f8p-13f;
    p = p * z + 0x1.110c28p-7f;
    p = p * z - 0x1.555552p-3f;
    return r + r * z * p;
}

TT_INLINE float tt_cos_near_f(float z)
{
    float p = 0x1.9bd7f2p-16f;
    p = p * z - 0x1.6c12d2p-10f;
    p = p * z + 0x1.555554p-5f;
    return 1.0f - (0.5f * z - z * z * p);
}

TT_INLINE double tt_sin_near(double r, double z)
{
    double p = -0x1.ab1704267e8f8p-41;
    p = p * z + 0x1.61217dacec223p-33;
    p = p * z - 0x1.ae6454110e2c5p-26;
    p = p * z + 0x1.71de3a545f9b1p-19;
    p = p * z - 0x1.a01a01a019930p-13;
    p = p * z + 0x1.1111111111110p-7;
    p = p * z - 0x1.5555555555555p-3;
    return r + r * z * p;
}

TT_INLINE double tt_cos_near(double z)
{
    double p = 0x1.ab77a0cf3eb5dp-45;
    p = p * z - 0x1.9394b8d29b731p-37;
    p = p * z + 0x1.1eed8dead2aa6p-29;
    p = p * z - 0x1.27e4fb771265dp-22;
    p = p * z + 0x1.a01a01a019d07p-16;
    p = p * z - 0x1.6c16c16c16c16p-10;
    p = p * z + 0x1.5555555555555p-5;
    double half = 0.5 * z, near = 1.0 - half;
    return near + (((1.0 - near) - half) + z * z * p);
}

/* The sine of an argument that is `ahead` quarters of a turn ahead. */
TT_INLINE float tt_wave_f(float x, int32_t ahead)
{
    int32_t quarter;
    float r = tt_turned_f(x, &quarter), z = r * r;
    quarter += ahead;
    float y = quarter & 1 ? tt_cos_near_f(z) : tt_sin_near_f(r, z);
    return tt_from_bits_f(tt_bits_f(y) ^ (int32_t)((uint32_t)(quarter & 2) << 30));
}

TT_INLINE double tt_wave(double x, int64_t ahead)
{
    int64_t quarter;
    double r = tt_turned(x, &quarter), z = r * r;
    quarter += ahead;
    double y = quarter & 1 ? tt_cos_near(z) : tt_sin_near(r, z);
    return tt_from_bits(tt_bits(y) ^ (int64_t)((uint64_t)(quarter & 2) << 62));
}

TT_INLINE float tt_sin_f(float x)
{
    float y = tt_wave_f(x, 0);
    return x == 0.0f ? x : y;
}

TT_INLINE double tt_sin(double x)
{
    double y = tt_wave(x, 0);
    return x == 0.0 ? x : y;
}

TT_INLINE float tt_cos_f(float x) { return tt_wave_f(x, 1); }
TT_INLINE double tt_cos(double x) { return tt_wave(x, 1); }

TT_INLINE float tt_tan_f(float x)
{
    int32_t quarter;
    float r = tt_turned_f(x, &quarter), z = r * r, s = tt_sin_near_f(r, z), c = tt_cos_near_f(z);
    float y = quarter & 1 ? -c / s : s / c;
    return x == 0.0f ? x : y;
}

TT_INLINE double tt_tan(double x)
{
    int64_t quarter;
    double r = tt_turned(x, &quarter), z = r * r, s = tt_sin_near(r, z), c = tt_cos_near(z);
    double y = quarter & 1 ? -c / s : s / c;
    return x == 0.0 ? x : y;
}

/* --- inverses ----------------------------------------------------------------------------------------------- */

/* atan(x) for |x| up to tan(pi/8) */
TT_INLINE float tt_atan_near_f(float x)
{
    float z = x * x, p = -0x1.08cbdcp-4f;
    p = p * z + 0x1.b83f88p-4f;
    p = p * z - 0x1.2422d0p-3f;
    p = p * z + 0x1.999748p-3f;
    p = p * z - 0x1.555554p-2f;
    return x + x * z * p;
}

TT_INLINE double tt_atan_near(double x)
{
    double z = x * x, p = 0x1.0b52807cf7fdfp-6;
    p = p * z - 0x1.1b711aa4625ffp-5;
    p = p * z + 0x1.74f76cd0612fep-5;
    p = p * z - 0x1.ac809b6abd811p-5;
    p = p * z + 0x1.e19af58c15b22p-5;
    p = p * z - 0x1.110e92a60e084p-4;
    p = p * z + 0x1.3b13937dbc4cap-4;
    p = p * z - 0x1.745d16641d6edp-4;
    p = p * z + 0x1.c71c71c327546p-4;
    p = p * z - 0x1.249249248db0cp-3;
    p = p * z + 0x1.9999999999957p-3;
    p = p * z - 0x1.5555555555555p-2;
    return x + x * z * p;
}

/* The angle between 0 and pi/2 of the point (x, y) with x and y not negative. */
TT_INLINE float tt_angle_f(float y, float x)
{
    bool steep = y > x;
    float large = steep ? y : x, small = steep ? x : y;
    bool wide = small > 0x1.a8279ap-2f * large; /* beyond pi/8: less pi/4 */
    float top = wide ? small - large : small, bottom = wide ? small + large : large;
    float a = tt_atan_near_f(top / bottom);
    a = wide ? 0x1.921fb6p-1f + (a - 0x1.777a5cp-26f) : a;
    return steep ? 0x1.921fb6p0f - (a + 0x1.777a5cp-25f) : a;
}

TT_INLINE double tt_angle(double y, double x)
{
    bool steep = y > x;
    double large = steep ? y : x, small = steep ? x : y;
    bool wide = small > 0x1.a827999fcef32p-2 * large;
    double top = wide ? small - large : small, bottom = wide ? small + large : large;
    double a = tt_atan_near(top / bottom);
    a = wide ? 0x1.921fb54442d18p-1 + (a + 0x1.1a62633145c07p-55) : a;
    return steep ? 0x1.921fb54442d18p0 - (a - 0x1.1a62633145c07p-54) : a;
}

TT_INLINE float tt_atan_f(float x)
{
    float size = fabsf(x), y = tt_angle_f(size, 1.0f);
    y = size == INFINITY ? 0x1.921fb6p0f : y;
    return copysignf(y, x);
}

TT_INLINE double tt_atan(double x)
{
    double size = fabs(x), y = tt_angle(size, 1.0);
    y = size == (double)INFINITY ? 0x1.921fb54442d18p0 : y;
    return copysign(y, x);
}

/* asin(x) less x, for x^2 up to 1/4 */
TT_INLINE float tt_asin_rest_f(float x, float z)
{
    float p = 0x1.3a0ebap-5f;
    p = p * z + 0x1.b1073ap-6f;
    p = p * z + 0x1.70cefap-5f;
    p = p * z + 0x1.332636p-4f;
    p = p * z + 0x1.55555ep-3f;
    return x * z * p;
}

TT_INLINE double tt_asin_rest(double x, double z)
{
    double p = 0x1.db761ef669b67p-6;
    p = p * z - 0x1.f37902742d0dbp-7;
    p = p * z + 0x1.2145f93ea7d43p-6;
    p = p * z + 0x1.5f67209238822p-8;
    p = p * z + 0x1.53005d16e53a9p-7;
    p = p * z + 0x1.780879d4a50e2p-7;
    p = p * z + 0x1.c9d2262adf1a8p-7;
    p = p * z + 0x1.1c4d1a5732c8ep-6;
    p = p * z + 0x1.6e8bb2fa8a394p-6;
    p = p * z + 0x1.f1c71c15d189bp-6;
    p = p * z + 0x1.6db6db6e3f4c1p-5;
    p = p * z + 0x1.3333333332e3cp-4;
    p = p * z + 0x1.5555555555556p-3;
    return x * z * p;
}

TT_INLINE float tt_asin_f(float x)
{
    float size = fabsf(x);
    bool far = size > 0.5f;
    float z = far ? 0.5f * (1.0f - size) : x * x, s = far ? sqrtf(z) : size;
    float a = tt_asin_rest_f(s, z);
    a = far ? 0x1.921fb6p0f - (2.0f * (s + a) + 0x1.777a5cp-25f) : s + a;
    return copysignf(a, x);
}

TT_INLINE double tt_asin(double x)
{
    double size = fabs(x);
    bool far = size > 0.5;
    double z = far ? 0.5 * (1.0 - size) : x * x, s = far ? sqrt(z) : size;
    double a = tt_asin_rest(s, z);
    a = far ? 0x1.921fb54442d18p0 - (2.0 * (s + a) - 0x1.1a62633145c07p-54) : s + a;
    return copysign(a, x);
}

TT_INLINE float tt_acos_f(float x)
{
    float size = fabsf(x);
    bool far = size > 0.5f;
    float z = far ? 0.5f * (1.0f - size) : x * x, s = far ? sqrtf(z) : size;
    float a = s + tt_asin_rest_f(s, z);
    float beyond = x < 0.0f ? 0x1.921fb6p1f - (2.0f * a + 0x1.777a5cp-24f) : 2.0f * a;
    return far ? beyond : 0x1.921fb6p0f - (copysignf(a, x) + 0x1.777a5cp-25f);
}

TT_INLINE double tt_acos(double x)
{
    double size = fabs(x);
    bool far = size > 0.5;
    double z = far ? 0.5 * (1.0 - size) : x * x, s = far ? sqrt(z) : size;
    double a = s + tt_asin_rest(s, z);
    double beyond = x < 0.0 ? 0x1.921fb54442d18p1 - (2.0 * a - 0x1.1a62633145c07p-53) : 2.0 * a;
    return far ? beyond : 0x1.921fb54442d18p0 - (copysign(a, x) - 0x1.1a62633145c07p-54);
}

#endif
