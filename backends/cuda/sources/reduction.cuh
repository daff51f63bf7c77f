// Reductions along any dimensions: sums, products, extremes and their places, truth, moments, norms.
#ifndef TT_REDUCTION_CUH
#define TT_REDUCTION_CUH
#include "walks.cuh"

// --- what is accumulated -----------------------------------------------------------------------------------------------
// take() adds an element with its number along the line; `extra` has a number for each line, `fact` one for all.

namespace reduction {

// What is a single number.
template <typename C>
struct Single {
    C value;
};

template <>
struct Single<bool> {
    int value;
};
template <>
struct Single<uint8> {
    int value;
};
template <>
struct Single<int8> {
    int value;
};
template <>
struct Single<int16> {
    int value;
};
template <>
struct Single<uint16> {
    int value;
};

template <typename T>
struct Sum : Operation<T> {
    using C = sum_t<T>;
    using Acc = Single<C>;
    TT_INLINE static Acc start() { return {C(0)}; }
    TT_INLINE static void take(Acc& a, compute_t<T> x, compute_t<T>, int64, C, double) { a.value += C(x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value += b.value; }
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, int64*) { *out = T(a.value); }
};

template <typename T>
struct Mean : Sum<T> {
    using C = compute_t<T>;
    using Acc = typename Sum<T>::Acc;
    TT_INLINE static void finish(const Acc& a, C, double, int64 count, T* out, int64*) { *out = T(a.value / C(count)); }
};

template <typename T>
struct NanSum : Sum<T> {
    using C = compute_t<T>;
    using Acc = typename Sum<T>::Acc;
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value += x == x ? x : C(0); }
};

template <typename T>
struct Product : Operation<T> {
    using C = sum_t<T>;
    using Acc = Single<C>;
    TT_INLINE static Acc start() { return {C(1)}; }
    TT_INLINE static void take(Acc& a, compute_t<T> x, compute_t<T>, int64, C, double) { a.value *= C(x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value *= b.value; }
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, int64*) { *out = T(a.value); }
};

template <typename T>
struct Largest : Operation<T> {
    using C = compute_t<T>;
    using Acc = Single<C>;
    TT_INLINE static Acc start() { return {limits<T>::lowest()}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value = math::maximum(C(a.value), x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value = math::maximum(C(a.value), C(b.value)); }
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, int64*) { *out = T(a.value); }
};

template <typename T>
struct Smallest : Operation<T> {
    using C = compute_t<T>;
    using Acc = Single<C>;
    TT_INLINE static Acc start() { return {limits<T>::highest()}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value = math::minimum(C(a.value), x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value = math::minimum(C(a.value), C(b.value)); }
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, int64*) { *out = T(a.value); }
};

// The extreme element that comes first, and its place; of floating numbers the first NaN.
template <typename T, bool MOST>
struct Extreme : Operation<T> {
    using C = compute_t<T>;
    struct Acc {
        int64 place;
        C value;
    };
    TT_INLINE static bool beats(C x, C y) {
        if constexpr (is_floating<T>::value) {
            if (x != x) return y == y;
            if (y != y) return false;
        }
        return MOST ? x > y : x < y;
    }
    TT_INLINE static Acc start() {
        Acc a;
        a.place = -1;
        a.value = C(0);
        return a;
    }
    TT_INLINE static void take(Acc& a, C x, C, int64 at, C, double) {
        if (a.place < 0 || beats(x, a.value) || (at < a.place && !beats(a.value, x))) {
            a.value = x;
            a.place = at;
        }
    }
    TT_INLINE static void merge(Acc& a, const Acc& b) {
        if (b.place >= 0) take(a, b.value, C(0), b.place, C(0), 0);
    }
    // The places alone, the values alone, or both.
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, int64* places) {
        if (out) *out = T(a.value);
        if (places) *places = a.place;
    }
};
template <typename T>
using FirstLargest = Extreme<T, true>;
template <typename T>
using FirstSmallest = Extreme<T, false>;

template <typename T>
struct SmallestAndLargest : Operation<T> {
    using Second = T;
    using C = compute_t<T>;
    struct Acc {
        Single<C> low, high;
    };
    TT_INLINE static Acc start() { return {{limits<T>::highest()}, {limits<T>::lowest()}}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) {
        a.low.value = math::minimum(C(a.low.value), x);
        a.high.value = math::maximum(C(a.high.value), x);
    }
    TT_INLINE static void merge(Acc& a, const Acc& b) {
        a.low.value = math::minimum(C(a.low.value), C(b.low.value));
        a.high.value = math::maximum(C(a.high.value), C(b.high.value));
    }
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, T* other) {
        *out = T(a.low.value);
        *other = T(a.high.value);
    }
};
template <typename T>
TT_INLINE bool is_true(T x) {
    return convert<bool>(x);
}

// The results of all and any are bool, or uint8 of uint8.
template <typename T>
using truth_t = typename conditional<is_same<T, uint8>::value, uint8, bool>::type;

template <typename T>
struct All : Operation<T, truth_t<T>> {
    using C = compute_t<T>;
    using Acc = Single<int>;
    TT_INLINE static Acc start() { return {1}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value &= is_true(x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value &= b.value; }
    TT_INLINE static void finish(const Acc& a, C, double, int64, truth_t<T>* out, int64*) { *out = a.value != 0; }
};

template <typename T>
struct Any : All<T> {
    using C = compute_t<T>;
    using Acc = Single<int>;
    TT_INLINE static Acc start() { return {0}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value |= is_true(x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value |= b.value; }
};

template <typename T>
struct CountNonzero : Operation<T, int64> {
    using C = compute_t<T>;
    using Acc = Single<int64>;
    TT_INLINE static Acc start() { return {0}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value += is_true(x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value += b.value; }
    TT_INLINE static void finish(const Acc& a, C, double, int64, int64* out, int64*) { *out = a.value; }
};

// --- moments -----------------------------------------------------------------------------------------------------------

// Welford's mean and sum of squared deviations, merged as Chan, Golub and LeVeque do: no digits are lost where the mean
// is large.  The plain sum gives the mean where it is infinite.
template <typename T, bool ROOT>
struct Moments : Operation<T> {
    using Second = T;
    using C = compute_t<T>;
    struct Acc {
        C count, mean, squares, sum;
    };
    TT_INLINE static Acc start() { return {C(0), C(0), C(0), C(0)}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) {
        a.count += C(1);
        const C off = x - a.mean;
        a.mean += off / a.count;
        a.squares += off * (x - a.mean);
        a.sum += x;
    }
    TT_INLINE static void merge(Acc& a, const Acc& b) {
        if (b.count == C(0)) return;
        if (a.count == C(0)) {
            a = b;
            return;
        }
        const C count = a.count + b.count, off = b.mean - a.mean, share = b.count / count;
        a.mean += off * share;
        a.squares += b.squares + off * off * a.count * share;
        a.count = count;
        a.sum += b.sum;
    }
    // fact: how many degrees of freedom there are.
    TT_INLINE static void finish(const Acc& a, C, double fact, int64 count, T* out, T* mean) {
        const C variance = count ? a.squares / C(fact) : math::nan<C>();
        *out = T(ROOT ? math::sqrt(variance) : variance);
        if (mean) *mean = T(math::isfinite(a.mean) && count ? a.mean : a.sum / C(count));
    }
};
template <typename T>
using Variance = Moments<T, false>;
template <typename T>
using Deviation = Moments<T, true>;

template <typename T>
struct LogSumExp : Operation<T> {
    using C = compute_t<T>;
    using Acc = typename Exponentials<C>::Acc;
    TT_INLINE static Acc start() { return Exponentials<C>::start(); }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { Exponentials<C>::add(a, x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { Exponentials<C>::merge(a, b); }
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, int64*) { *out = T(Exponentials<C>::log_sum(a)); }
};

// --- norms -------------------------------------------------------------------------------------------------------------

// In double the squares of all float32 numbers are exact and in range.
template <typename T>
struct Norm1 : Operation<T> {
    using C = compute_t<T>;
    using Acc = Single<C>;
    TT_INLINE static Acc start() { return {C(0)}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value += math::fabs(x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value += b.value; }
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, int64*) { *out = T(a.value); }
};

template <typename T>
struct Norm2 : Operation<T> {
    using C = compute_t<T>;
    using Acc = Single<double>;
    TT_INLINE static Acc start() { return {0.0}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value += double(x) * double(x); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value += b.value; }
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, int64*) { *out = T(C(math::sqrt(a.value))); }
};

// Double has no wider type: squares of what is divided by the largest so far.
template <>
struct Norm2<double> : Operation<double> {
    struct Acc {
        double scale, sum;
    };
    TT_INLINE static Acc start() { return {0.0, 0.0}; }
    TT_INLINE static void take(Acc& a, double x, double, int64, double, double) {
        const double size = math::fabs(x);
        if (!(size > a.scale)) {
            if (size == limits<double>::highest() || size != size) a.sum += size;
            else if (size > 0.0) a.sum += (size / a.scale) * (size / a.scale);
        } else if (size == limits<double>::highest()) {
            a.sum = a.sum == a.sum ? size : a.sum;
            a.scale = size;
        } else {
            a.sum = a.scale > 0.0 ? a.sum * (a.scale / size) * (a.scale / size) + 1.0 : a.sum + 1.0;
            a.scale = size;
        }
    }
    TT_INLINE static void merge(Acc& a, const Acc& b) {
        const bool mine = a.scale >= b.scale;
        const double top = mine ? a.scale : b.scale, low = mine ? b.scale : a.scale;
        if (top == limits<double>::highest() || !(low > 0.0)) {
            a.sum += b.sum;
        } else {
            const double ratio = low / top;
            a.sum = mine ? a.sum + b.sum * ratio * ratio : a.sum * ratio * ratio + b.sum;
        }
        a.scale = top;
    }
    TT_INLINE static void finish(const Acc& a, double, double, int64, double* out, int64*) {
        if (a.scale == limits<double>::highest() || !(a.scale > 0.0)) *out = a.sum;
        else *out = a.scale * math::sqrt(a.sum);
    }
};

// The largest and the smallest absolute values, as T or as they are computed.
template <typename T, typename R>
struct LargestSizeAs : Operation<T, R> {
    using C = compute_t<T>;
    using Acc = Single<C>;
    TT_INLINE static Acc start() { return {C(0)}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value = math::maximum(a.value, math::fabs(x)); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value = math::maximum(a.value, b.value); }
    TT_INLINE static void finish(const Acc& a, C, double, int64, R* out, int64*) { *out = R(a.value); }
};
template <typename T, typename R>
struct SmallestSizeAs : LargestSizeAs<T, R> {
    using C = compute_t<T>;
    using Acc = Single<C>;
    TT_INLINE static Acc start() { return {limits<T>::highest()}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value = math::minimum(a.value, math::fabs(x)); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value = math::minimum(a.value, b.value); }
};
template <typename T> using LargestSize = LargestSizeAs<T, T>;
template <typename T> using SmallestSize = SmallestSizeAs<T, T>;
template <typename T> using LargestSizeWide = LargestSizeAs<T, compute_t<T>>;
template <typename T> using SmallestSizeWide = SmallestSizeAs<T, compute_t<T>>;

template <typename T>
struct Norm0 : Operation<T> {
    using C = compute_t<T>;
    using Acc = Single<int64>;
    TT_INLINE static Acc start() { return {0}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.value += x != C(0); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value += b.value; }
    TT_INLINE static void finish(const Acc& a, C, double, int64, T* out, int64*) { *out = T(C(a.value)); }
};

// Of absolute values divided by the one that decides, which keeps powers in range.
template <typename T>
struct NormP : Operation<T> {
    using C = compute_t<T>;
    using Acc = Single<double>;
    TT_INLINE static double scale_of(C extra) { return extra > C(0) && math::isfinite(extra) ? double(extra) : 1.0; }
    TT_INLINE static Acc start() { return {0.0}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C extra, double fact) {
        a.value += math::pow(double(math::fabs(x)) / scale_of(extra), fact);
    }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value += b.value; }
    TT_INLINE static void finish(const Acc& a, C extra, double fact, int64, T* out, int64*) {
        *out = T(C(math::pow(a.value, 1.0 / fact) * scale_of(extra)));
    }
};

}  // namespace reduction

#endif  // TT_REDUCTION_CUH
