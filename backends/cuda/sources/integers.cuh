// Arithmetic of integers that C++ leaves undefined in places: division, powers and shifts, as on the CPU.
#ifndef TT_INTEGERS_CUH
#define TT_INTEGERS_CUH

#include "failures.cuh"

namespace integers {

template <typename T> TT_INLINE T negative(T a) { return T(uint64(0) - uint64(a)); }

// The divisor, or 1 in the place of 0, which is noted: `address` is that of the record, `what` the operator.
template <typename T>
TT_INLINE T divisor(T b, int64 address, int64 what) {
    if (b != T(0)) return b;
    note_failure(uint64(address), what, 0, 0, 0);
    return T(1);
}

// The smallest number divided by -1 is itself, as sums wrap around, too.
template <typename T>
TT_INLINE T quotient(T a, T b) {
    if constexpr (is_signed_v<T>) {
        if (b == T(-1)) return negative(a);
    }
    return T(a / b);
}
template <typename T>
TT_INLINE T rest(T a, T b) {
    if constexpr (is_signed_v<T>) {
        if (b == T(-1)) return T(0);
    }
    return T(a % b);
}
template <typename T>
TT_INLINE T floor_quotient(T a, T b) {
    T found = quotient(a, b);
    if constexpr (is_signed_v<T>) {
        if (rest(a, b) != T(0) && (a < T(0)) != (b < T(0))) --found;
    }
    return found;
}
template <typename T>
TT_INLINE T remainder(T a, T b) {
    T found = rest(a, b);
    if constexpr (is_signed_v<T>) {
        if (found != T(0) && (found < T(0)) != (b < T(0))) found = T(found + b);
    }
    return found;
}

// By Euclid's algorithm; the result is not negative, except where the smallest number has no counterpart.
template <typename T>
TT_INLINE T magnitude(T a) {
    if constexpr (is_signed_v<T>) return a < T(0) ? negative(a) : a;
    else return a;
}
template <typename T>
TT_INLINE T divisor_of_both(T a, T b) {
    while (b != T(0)) {
        const T left = rest(a, b);
        a = b;
        b = left;
    }
    return magnitude(a);
}
template <typename T>
TT_INLINE T multiple_of_both(T a, T b) {
    const T divisor = divisor_of_both(a, b);
    if (divisor == T(0)) return T(0);
    return magnitude(T(uint64(quotient(a, divisor)) * uint64(b)));
}

// Powers wrap around; a negative exponent gives what the inverse rounds to: 0, 1 or -1.
template <typename T>
TT_INLINE T power(T a, T exponent) {
    if constexpr (is_signed_v<T>) {
        if (exponent < T(0)) return a == T(1) ? T(1) : a == T(-1) ? (exponent & 1 ? T(-1) : T(1)) : T(0);
    }
    uint64 found = 1, factor = uint64(a);
    for (uint64 left = uint64(exponent); left; left >>= 1, factor *= factor) {
        if (left & 1) found *= factor;
    }
    return T(found);
}

// Shifts by fewer than no bits, or as many as there are, shift all out.
template <typename T>
TT_INLINE bool within(T places) {
    return places >= T(0) && uint64(places) < 8 * sizeof(T);
}
template <typename T>
TT_INLINE T left(T a, T places) {
    return within(places) ? T(uint64(a) << uint64(places)) : T(0);
}
template <typename T>
TT_INLINE T right(T a, T places) {
    if (within(places)) return T(a >> int(places));
    return T(is_signed_v<T> && a < T(0) ? -1 : 0);
}

}  // namespace integers

#endif  // TT_INTEGERS_CUH
