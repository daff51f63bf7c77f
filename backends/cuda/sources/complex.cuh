// Functions of complex numbers: `math::exp` and its relatives for `complex<T>`.
//
// Note [Functions of complex numbers]
// -----------------------------------
// complex64 is computed in double precision, where nothing that it holds overflows, and rounded once.  complex128 takes
// care by itself: sizes are scaled where their squares overflow, logarithms of sizes near 1 come from what the sum of the
// squares lacks to 1, with the rounding errors of the squares, and inverse functions from products of square roots in
// which nothing cancels (Kahan, "Branch cuts for complex elementary functions", 1987); zeros keep their signs, which say
// on which side of a cut a number lies.
#ifndef TT_COMPLEX_CUH
#define TT_COMPLEX_CUH

#include "common.cuh"

namespace math {

constexpr double LN2 = 0.69314718055994530942, LN10 = 2.30258509299404568402, HALF_PI = 1.57079632679489661923;

// A product with its rounding error, which no compiler joins to other operations.
struct Exact {
    double value, error;
};
TT_INLINE Exact product(double a, double b) {
#if defined(TT_HOST)
    volatile double rounded = a * b;
    double value = rounded;
#else
    double value = __dmul_rn(a, b);
#endif
    return {value, ::fma(a, b, -value)};
}
TT_INLINE Exact sum(double a, double b) {
    double value = a + b, part = value - a;
    return {value, (a - (value - part)) + (b - part)};
}

// log |x + iy|.
TT_INLINE double log_size(double x, double y) {
    double a = ::fabs(x), b = ::fabs(y);
    if (a < b) {
        double kept = a;
        a = b;
        b = kept;
    }
    if (!(a < 1.7976931348623157e308)) return ::log(::hypot(a, b));
    if (a > 1e300) return ::log(::hypot(0.5 * a, 0.5 * b)) + LN2;
    if (a < 0.5 || a > 2.0) return ::log(::hypot(a, b));
    Exact p = product(a, a), q = product(b, b), first = sum(p.value, -1.0), all = sum(first.value, q.value);
    return 0.5 * ::log1p(all.value + (all.error + first.error + p.error + q.error));
}

TT_INLINE complex128 times_i(complex128 z) { return {-z.im, z.re}; }
TT_INLINE complex128 over_i(complex128 z) { return {z.im, -z.re}; }

TT_INLINE complex128 sqrt(complex128 z) {
    double x = z.re, y = z.im;
    if (x == 0.0 && y == 0.0) return {0.0, y};
    if (isinf(y)) return {limits<double>::highest(), y};
    if (isnan(x)) return {x, x};
    if (isinf(x)) {
        double nothing = isnan(y) ? y : 0.0;
        return x > 0.0 ? complex128(x, isnan(y) ? y : ::copysign(0.0, y))
                       : complex128(nothing, isnan(y) ? limits<double>::highest() : ::copysign(-x, y));
    }
    double most = ::fmax(::fabs(x), ::fabs(y)), scale = 1.0;
    if (most > 4e307) {
        x *= 0.0625, y *= 0.0625, scale = 4.0;
    } else if (most < 1e-290) {
        x *= 1.8014398509481984e16, y *= 1.8014398509481984e16, scale = 7.450580596923828125e-9;  // 2^54 and 2^-27
    }
    double root = ::sqrt(0.5 * (::fabs(x) + ::hypot(x, y)));
    if (z.re >= 0.0) return {scale * root, scale * (y / (2.0 * root))};
    return {scale * (::fabs(y) / (2.0 * root)), scale * ::copysign(root, z.im)};
}

// e^x (cos y + i sin y), also where e^x overflows and the products do not.
TT_INLINE complex128 turned(double x, double y, double factor) {
    double s, c;
    ::sincos(y, &s, &c);
    if (x > 700.0 && x < 2100.0) {
        double third = ::exp(x / 3.0);
        return {factor * third * c * third * third, y == 0.0 ? y : factor * third * s * third * third};
    }
    double size = factor * ::exp(x);
    if (size == 0.0 && !isfinite(y)) return {0.0, 0.0};
    return {size * c, y == 0.0 ? y : size * s};
}

TT_INLINE complex128 exp(complex128 z) { return turned(z.re, z.im, 1.0); }
TT_INLINE complex128 exp2(complex128 z) {
    // The angle is rounded, and what that loses turns the result a little further.
    Exact angle = product(z.im, LN2);
    double s, c, lost = angle.error + z.im * 2.3190468138462996e-17, size = ::exp2(0.5 * z.re);
    ::sincos(angle.value, &s, &c);
    if (size == 0.0 && !isfinite(z.im)) return {0.0, 0.0};
    return {size * (c - lost * s) * size, z.im == 0.0 ? z.im : size * (s + lost * c) * size};
}
TT_INLINE complex128 expm1(complex128 z) {
    double half = ::sin(0.5 * z.im);
    if (z.re > 700.0) {
        complex128 found = exp(z);
        return {found.re - 1.0, found.im};
    }
    return {::expm1(z.re) * ::cos(z.im) - 2.0 * half * half, z.im == 0.0 ? z.im : ::exp(z.re) * ::sin(z.im)};
}
TT_INLINE complex128 log(complex128 z) { return {log_size(z.re, z.im), ::atan2(z.im, z.re)}; }
TT_INLINE complex128 log2(complex128 z) { return {log_size(z.re, z.im) / LN2, ::atan2(z.im, z.re) / LN2}; }
TT_INLINE complex128 log10(complex128 z) { return {log_size(z.re, z.im) / LN10, ::atan2(z.im, z.re) / LN10}; }
TT_INLINE complex128 log1p(complex128 z) {
    double size;
    if (::fabs(z.re) < 0.5 && ::fabs(z.im) < 1.0) {
        Exact p = product(z.re, z.re), q = product(z.im, z.im), first = sum(2.0 * z.re, q.value), all = sum(first.value, p.value);
        size = 0.5 * ::log1p(all.value + (all.error + first.error + p.error + q.error));
    } else {
        size = log_size(1.0 + z.re, z.im);
    }
    return {size, ::atan2(z.im, 1.0 + z.re)};
}

TT_INLINE complex128 sinh(complex128 z) {
    double x = z.re, y = z.im;
    if (::fabs(x) > 700.0) {
        complex128 found = turned(::fabs(x), y, 0.5);
        return {::copysign(1.0, x) * found.re, found.im};
    }
    return {y == 0.0 || isfinite(y) ? ::sinh(x) * ::cos(y) : x == 0.0 ? x : ::sinh(x) * ::cos(y),
            y == 0.0 ? y : ::cosh(x) * ::sin(y)};
}
TT_INLINE complex128 cosh(complex128 z) {
    double x = z.re, y = z.im;
    if (::fabs(x) > 700.0) {
        complex128 found = turned(::fabs(x), y, 0.5);
        return {found.re, ::copysign(1.0, x) * found.im};
    }
    double imaginary = x == 0.0 || y == 0.0 ? ::copysign(1.0, x) * ::copysign(0.0, y) : ::sinh(x) * ::sin(y);
    return {::cosh(x) * ::cos(y), imaginary};
}
TT_INLINE complex128 tanh(complex128 z) {
    double x = z.re, y = z.im;
    if (::fabs(x) > 20.0) {
        double small = isfinite(y) ? 4.0 * ::sin(y) * ::cos(y) * ::exp(-2.0 * ::fabs(x)) : 0.0;
        return {::copysign(1.0, x), y == 0.0 ? y : small};
    }
    double t = ::tan(y), beta = 1.0 + t * t, s = ::sinh(x), rho = ::sqrt(1.0 + s * s), scale = 1.0 + beta * s * s;
    if (isinf(t)) return {rho / s, 1.0 / t};
    return {beta * rho * s / scale, t / scale};
}
TT_INLINE complex128 sin(complex128 z) { return over_i(sinh(times_i(z))); }
TT_INLINE complex128 cos(complex128 z) { return cosh(times_i(z)); }
TT_INLINE complex128 tan(complex128 z) { return over_i(tanh(times_i(z))); }

// a b and conj(a) b, where their terms add up.
TT_INLINE double real_of_product(complex128 a, complex128 b) { return a.re * b.re - a.im * b.im; }
TT_INLINE double imaginary_of_turned(complex128 a, complex128 b) { return a.re * b.im - a.im * b.re; }

// Far from zero the inverse functions are logarithms of 2 z.
TT_INLINE bool far(complex128 z) { return ::fabs(z.re) > 1e150 || ::fabs(z.im) > 1e150; }

TT_INLINE complex128 asin(complex128 z) {
    if (far(z)) return {::atan2(z.re, ::fabs(z.im)), ::copysign(log_size(z.re, z.im) + LN2, z.im)};
    complex128 below = sqrt(complex128(1.0 - z.re, -z.im)), above = sqrt(complex128(1.0 + z.re, z.im));
    return {::atan2(z.re, real_of_product(below, above)), ::asinh(imaginary_of_turned(below, above))};
}
TT_INLINE complex128 acos(complex128 z) {
    if (far(z)) return {::atan2(::fabs(z.im), z.re), -::copysign(log_size(z.re, z.im) + LN2, z.im)};
    complex128 below = sqrt(complex128(1.0 - z.re, -z.im)), above = sqrt(complex128(1.0 + z.re, z.im));
    return {2.0 * ::atan2(below.re, above.re), ::asinh(imaginary_of_turned(above, below))};
}
TT_INLINE complex128 acosh(complex128 z) {
    if (far(z)) return {log_size(z.re, z.im) + LN2, ::atan2(z.im, z.re)};
    complex128 below = sqrt(complex128(z.re - 1.0, z.im)), above = sqrt(complex128(z.re + 1.0, z.im));
    return {::asinh(below.re * above.re + below.im * above.im), 2.0 * ::atan2(below.im, above.re)};
}
TT_INLINE complex128 asinh(complex128 z) { return over_i(asin(times_i(z))); }
TT_INLINE complex128 atanh(complex128 z) {
    double x = ::fabs(z.re), y = ::fabs(z.im), real, imaginary;
    if (x > 1e150 || y > 1e150) {
        // 1 / z, as far as it is not zero.
        double most = ::fmax(x, y), u = x / most, v = y / most;
        real = isfinite(most) ? u / (u * u + v * v) / most : isnan(x) && !isinf(y) ? x : 0.0;
        imaginary = isnan(z.im) ? z.im : HALF_PI;
    } else if (x == 1.0 && y < 1e-150) {
        real = y == 0.0 ? limits<double>::highest() : 0.5 * (LN2 - ::log(y));
        imaginary = y == 0.0 ? 0.0 : 0.5 * HALF_PI;
    } else {
        real = 0.25 * ::log1p(4.0 * x / ((1.0 - x) * (1.0 - x) + y * y));
        imaginary = 0.5 * ::atan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y);
    }
    return {::copysign(real, z.re), ::copysign(imaginary, z.im)};
}
TT_INLINE complex128 atan(complex128 z) { return over_i(atanh(times_i(z))); }

// By multiplication where the exponent is a small whole number, which is exact where the products are.
TT_INLINE complex128 pow(complex128 z, complex128 w) {
    if (w.re == 0.0 && w.im == 0.0) return {1.0, 0.0};
    if (z.re == 0.0 && z.im == 0.0) {
        if (w.re > 0.0 && w.im == 0.0) return {0.0, 0.0};
        return {nan<double>(), nan<double>()};
    }
    if (w.im == 0.0 && ::fabs(w.re) <= 100.0 && w.re == ::trunc(w.re)) {
        int left = int(::fabs(w.re));
        complex128 power = z, found = {1.0, 0.0};
        bool begun = false;
        for (; left; left >>= 1, power = power * power) {
            if (left & 1) found = begun ? found * power : power;
            begun = begun || (left & 1);
        }
        return w.re < 0.0 ? complex128(1.0) / found : found;
    }
    complex128 found = w * log(z);
    return exp(found);
}

// 1 / (1 + e^-z), or e^z / (1 + e^z), whichever does not overflow; near a pole the terms of the divisor add up.
TT_INLINE complex128 sigmoid(complex128 z) {
    double x = -::fabs(z.re), y = z.re < 0.0 ? z.im : -z.im, half = ::cos(0.5 * y);
    complex128 small = exp(complex128(x, y)), below(2.0 * half * half + ::cos(y) * ::expm1(x), small.im);
    return (z.re < 0.0 ? small : complex128(1.0)) / below;
}
TT_INLINE complex128 rsqrt(complex128 z) { return complex128(1.0) / sqrt(z); }

#define TT_COMPLEX(name) \
    TT_INLINE complex64 name(complex64 z) { return complex64(name(complex128(z))); }
TT_COMPLEX(sqrt) TT_COMPLEX(exp) TT_COMPLEX(exp2) TT_COMPLEX(expm1) TT_COMPLEX(log) TT_COMPLEX(log2) TT_COMPLEX(log10)
TT_COMPLEX(log1p) TT_COMPLEX(sinh) TT_COMPLEX(cosh) TT_COMPLEX(tanh) TT_COMPLEX(sin) TT_COMPLEX(cos) TT_COMPLEX(tan)
TT_COMPLEX(asin) TT_COMPLEX(acos) TT_COMPLEX(acosh) TT_COMPLEX(asinh) TT_COMPLEX(atanh) TT_COMPLEX(atan)
TT_COMPLEX(sigmoid) TT_COMPLEX(rsqrt)
#undef TT_COMPLEX
TT_INLINE complex64 pow(complex64 z, complex64 w) { return complex64(pow(complex128(z), complex128(w))); }

}  // namespace math

#endif  // TT_COMPLEX_CUH
