// What all kernels share: element types, conversions, vectors, strided indices, reductions over warps and blocks.
//
// The text is compiled by NVRTC for GPUs, and by a C++ compiler behind a shim that runs kernels on the host in tests.
// It includes nothing of CUDA or the standard library.  Types have the names of tt's dtypes, so that Python names an
// instance of a kernel as in "softmax_forward<bfloat16, 256>".
#ifndef TT_COMMON_CUH
#define TT_COMMON_CUH

// --- types -----------------------------------------------------------------------------------------------------

using uint8 = unsigned char;
using int8 = signed char;
using uint16 = unsigned short;
using int16 = short;
using uint32 = unsigned int;
using int32 = int;
using uint64 = unsigned long long;
using int64 = long long;
using float32 = float;
using float64 = double;

#define TT_INLINE __device__ __forceinline__

// Dynamic shared memory as an array: SHARED_ARRAY(float, buffer);
#ifndef TT_HOST
extern __shared__ uint64 tt_dynamic_shared[];
#endif
#define SHARED_ARRAY(type, name) type* name = reinterpret_cast<type*>(tt_dynamic_shared)

namespace bits {

TT_INLINE uint32 of(float value) { return __float_as_uint(value); }
TT_INLINE float to_float(uint32 value) { return __uint_as_float(value); }

#if defined(TT_HOST)
// Round to nearest, ties to even, as the hardware does.
TT_INLINE uint16 half_of(float value) {
    uint32 word = of(value);
    uint16 sign = uint16((word >> 16) & 0x8000u);
    word &= 0x7fffffffu;
    if (word > 0x7f800000u) return uint16(0x7fffu);
    if (word >= 0x477ff000u) return uint16(sign | 0x7c00u);
    if (word < 0x33000001u) return sign;
    uint32 kept, rest, half;
    if (word < 0x38800000u) {
        uint32 shift = 126u - (word >> 23);
        uint32 mantissa = (word & 0x7fffffu) | 0x800000u;
        kept = mantissa >> shift;
        rest = mantissa & ((1u << shift) - 1u);
        half = 1u << (shift - 1u);
    } else {
        kept = (word - 0x38000000u) >> 13;
        rest = word & 0x1fffu;
        half = 0x1000u;
    }
    if (rest > half || (rest == half && (kept & 1u))) ++kept;
    return uint16(sign | kept);
}

TT_INLINE float float_of_half(uint16 value) {
    uint32 sign = uint32(value & 0x8000u) << 16, word = value & 0x7fffu;
    if (word >= 0x7c00u) return to_float(sign | 0x7f800000u | ((word & 0x3ffu) << 13));
    if (word >= 0x400u) return to_float(sign | ((word << 13) + 0x38000000u));
    float small = float(word) * 5.9604644775390625e-08f;
    return sign ? -small : small;
}
#else
TT_INLINE uint16 half_of(float value) {
    uint16 found;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(found) : "f"(value));
    return found;
}

TT_INLINE float float_of_half(uint16 value) {
    float found;
    asm("cvt.f32.f16 %0, %1;" : "=f"(found) : "h"(value));
    return found;
}
#endif

TT_INLINE uint16 bfloat_of(float value) {
#if !defined(TT_HOST) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint16 found;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(found) : "f"(value));
    return found;
#else
    uint32 word = of(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return uint16((word >> 16) | 0x40u);
    return uint16((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
#endif
}

// The nearest float with the last bit sticky: rounding it again gives what rounding the double once would give.
TT_INLINE float to_odd(double value) {
    float found = float(value);
    if (!(value - value == 0.0) || double(found) == value) return found;
    uint32 word = of(found);
    if (found == 0.0f) return to_float(word | 1u);
    if (found - found != 0.0f) return to_float(word - 1u);
    double back = double(found);
    if (back < 0 ? back < value : back > value) word -= 1u;
    return to_float(word | 1u);
}

}  // namespace bits

// Both compute as float: arithmetic converts them, results are converted back explicitly.
struct float16 {
    uint16 word;
    float16() = default;
    TT_INLINE explicit float16(float value) : word(bits::half_of(value)) {}
    TT_INLINE explicit float16(double value) : word(bits::half_of(bits::to_odd(value))) {}
    template <typename T>
    TT_INLINE explicit float16(T value) : float16(double(value)) {}
    TT_INLINE operator float() const { return bits::float_of_half(word); }
};

struct bfloat16 {
    uint16 word;
    bfloat16() = default;
    TT_INLINE explicit bfloat16(float value) : word(bits::bfloat_of(value)) {}
    TT_INLINE explicit bfloat16(double value) : word(bits::bfloat_of(bits::to_odd(value))) {}
    template <typename T>
    TT_INLINE explicit bfloat16(T value) : bfloat16(double(value)) {}
    TT_INLINE operator float() const { return bits::to_float(uint32(word) << 16); }
};

template <typename T>
struct alignas(2 * sizeof(T)) complex {
    T re, im;
    complex() = default;
    TT_INLINE complex(T real, T imaginary = T(0)) : re(real), im(imaginary) {}
    template <typename U>
    TT_INLINE explicit complex(const complex<U>& other) : re(T(other.re)), im(T(other.im)) {}
};
using complex64 = complex<float>;
using complex128 = complex<double>;

// --- what is known of a type -----------------------------------------------------------------------------------

template <typename T> struct is_complex { static constexpr bool value = false; };
template <typename T> struct is_complex<complex<T>> { static constexpr bool value = true; };

template <typename T> struct is_floating { static constexpr bool value = false; };
template <> struct is_floating<float16> { static constexpr bool value = true; };
template <> struct is_floating<bfloat16> { static constexpr bool value = true; };
template <> struct is_floating<float> { static constexpr bool value = true; };
template <> struct is_floating<double> { static constexpr bool value = true; };

template <typename A, typename B> struct is_same { static constexpr bool value = false; };
template <typename A> struct is_same<A, A> { static constexpr bool value = true; };

template <bool choice, typename A, typename B> struct conditional { using type = A; };
template <typename A, typename B> struct conditional<false, A, B> { using type = B; };

template <typename T>
constexpr bool is_integral_v = !is_floating<T>::value && !is_complex<T>::value && !is_same<T, bool>::value;
template <typename T>
constexpr bool is_signed_v = is_integral_v<T> && T(-1) < T(1);

// The type in which values of a type are computed and summed: float for the half types, itself otherwise.
template <typename T> struct compute { using type = T; };
template <> struct compute<float16> { using type = float; };
template <> struct compute<bfloat16> { using type = float; };
template <typename T> using compute_t = typename compute<T>::type;

// The type in which sums are kept: as above, and int64 for integers and truth values.
template <typename T>
using sum_t = typename conditional<is_floating<T>::value || is_complex<T>::value, compute_t<T>, int64>::type;

template <typename T> struct limits;
#define TT_FLOAT_LIMITS(T, LOWEST, HIGHEST) \
    template <> struct limits<T> { \
        TT_INLINE static compute_t<T> lowest() { return LOWEST; } \
        TT_INLINE static compute_t<T> highest() { return HIGHEST; } \
    }
TT_FLOAT_LIMITS(float, __int_as_float(int(0xff800000u)), __int_as_float(0x7f800000));
TT_FLOAT_LIMITS(double, __longlong_as_double((long long)(0xfff0000000000000ull)), __longlong_as_double(0x7ff0000000000000ll));
TT_FLOAT_LIMITS(float16, __int_as_float(int(0xff800000u)), __int_as_float(0x7f800000));
TT_FLOAT_LIMITS(bfloat16, __int_as_float(int(0xff800000u)), __int_as_float(0x7f800000));
TT_FLOAT_LIMITS(bool, false, true);
TT_FLOAT_LIMITS(uint8, 0, 255);
TT_FLOAT_LIMITS(int8, -128, 127);
TT_FLOAT_LIMITS(uint16, 0, 65535);
TT_FLOAT_LIMITS(int16, -32768, 32767);
TT_FLOAT_LIMITS(uint32, 0, 4294967295u);
TT_FLOAT_LIMITS(int32, -2147483647 - 1, 2147483647);
TT_FLOAT_LIMITS(uint64, 0, 18446744073709551615ull);
TT_FLOAT_LIMITS(int64, -9223372036854775807ll - 1, 9223372036854775807ll);
#undef TT_FLOAT_LIMITS

// --- conversions -----------------------------------------------------------------------------------------------

// Floating numbers that an integer type does not hold are cut to it by way of int64, as PyTorch does; NaN gives 0.
template <typename To, typename From>
struct converter {
    TT_INLINE static To of(From value) {
        if constexpr (is_same<To, From>::value) {
            return value;
        } else if constexpr (is_complex<To>::value) {
            if constexpr (is_complex<From>::value) return To(value);
            else return To(decltype(To::re)(converter<decltype(To::re), From>::of(value)));
        } else if constexpr (is_complex<From>::value) {
            if constexpr (is_same<To, bool>::value) return value.re != 0 || value.im != 0;
            else return converter<To, decltype(From::re)>::of(value.re);
        } else if constexpr (is_same<To, bool>::value) {
            return compute_t<From>(value) != compute_t<From>(0);
        } else if constexpr (is_floating<From>::value && is_integral_v<To>) {
            compute_t<From> wide = compute_t<From>(value);
            if constexpr (is_same<To, uint64>::value) {
                if (wide >= compute_t<From>(9223372036854775808.0)) return uint64(wide);
            }
            return To(int64(wide));
        } else if constexpr (sizeof(To) == 2 && is_floating<To>::value && is_floating<From>::value) {
            return To(compute_t<From>(value));
        } else {
            return To(value);
        }
    }
};

template <typename To, typename From>
TT_INLINE To convert(From value) {
    return converter<To, From>::of(value);
}

// --- vectors ---------------------------------------------------------------------------------------------------

template <typename T, int N>
struct alignas(sizeof(T) * N) vector {
    T at[N];
};

// How many elements a load of 16 bytes brings.
template <typename T> constexpr int lanes_v = sizeof(T) >= 16 ? 1 : int(16 / sizeof(T));

template <int N, typename T>
TT_INLINE vector<T, N> load_vector(const T* place) {
    return *reinterpret_cast<const vector<T, N>*>(place);
}

template <int N, typename T>
TT_INLINE void store_vector(T* place, const vector<T, N>& value) {
    *reinterpret_cast<vector<T, N>*>(place) = value;
}

// --- positions -------------------------------------------------------------------------------------------------

constexpr int MAX_DIMS = 8;

// The first element of a thread, and the step to its next one, where a grid goes over elements.
TT_INLINE int64 first_element() { return int64(blockIdx.x) * blockDim.x + threadIdx.x; }
TT_INLINE int64 element_step() { return int64(gridDim.x) * blockDim.x; }

// Sizes and, for each of some operands, strides in elements; the last dimension is the innermost.  Python packs it.
template <int OPERANDS>
struct Strided {
    int64 dims;
    int64 size[MAX_DIMS];
    int64 stride[OPERANDS][MAX_DIMS];

    // Find the offsets of the element with a row-major number; Index is int32 where all numbers fit it.
    template <typename Index>
    TT_INLINE void locate(int64 element, int64 (&offset)[OPERANDS]) const {
        Index rest = Index(element);
        Index found[OPERANDS];
        for (int k = 0; k < OPERANDS; ++k) found[k] = 0;
#pragma unroll
        for (int d = MAX_DIMS - 1; d >= 0; --d) {
            if (d >= dims) continue;
            Index length = Index(size[d]);
            Index quotient = d == 0 ? Index(0) : Index(rest / length);
            Index place = rest - quotient * length;
            rest = quotient;
#pragma unroll
            for (int k = 0; k < OPERANDS; ++k) found[k] += place * Index(stride[k][d]);
        }
        for (int k = 0; k < OPERANDS; ++k) offset[k] = found[k];
    }
};

// --- functions of numbers --------------------------------------------------------------------------------------

namespace math {

#define TT_MATH1(name) \
    TT_INLINE float name(float x) { return ::name##f(x); } \
    TT_INLINE double name(double x) { return ::name(x); }
#define TT_MATH2(name) \
    TT_INLINE float name(float x, float y) { return ::name##f(x, y); } \
    TT_INLINE double name(double x, double y) { return ::name(x, y); }
TT_MATH1(exp) TT_MATH1(exp2) TT_MATH1(expm1) TT_MATH1(log) TT_MATH1(log2) TT_MATH1(log10) TT_MATH1(log1p)
TT_MATH1(sqrt) TT_MATH1(cbrt) TT_MATH1(rsqrt) TT_MATH1(sin) TT_MATH1(cos) TT_MATH1(tan) TT_MATH1(asin) TT_MATH1(acos)
TT_MATH1(atan) TT_MATH1(sinh) TT_MATH1(cosh) TT_MATH1(tanh) TT_MATH1(asinh) TT_MATH1(acosh) TT_MATH1(atanh)
TT_MATH1(erf) TT_MATH1(erfc) TT_MATH1(lgamma) TT_MATH1(tgamma) TT_MATH1(floor) TT_MATH1(ceil) TT_MATH1(trunc)
TT_MATH1(rint) TT_MATH1(fabs) TT_MATH2(pow) TT_MATH2(fmod) TT_MATH2(hypot) TT_MATH2(atan2) TT_MATH2(copysign)
TT_MATH2(nextafter)
#undef TT_MATH1
#undef TT_MATH2

template <typename T> TT_INLINE bool isnan(T x) { return x != x; }
template <typename T> TT_INLINE bool isinf(T x) { return fabs(x) == T(limits<T>::highest()); }
template <typename T> TT_INLINE bool isfinite(T x) { return x - x == T(0); }

template <typename T>
TT_INLINE T nan() {
    return T(__int_as_float(0x7fc00000));
}

// The larger and the smaller of two; NaN if one is NaN, as in PyTorch.  Of two zeros the second, as on the CPU.
template <typename T>
TT_INLINE T maximum(T a, T b) {
    if constexpr (is_floating<T>::value) return a != a || a > b ? a : b;
    else return a > b ? a : b;
}
template <typename T>
TT_INLINE T minimum(T a, T b) {
    if constexpr (is_floating<T>::value) return a != a || a < b ? a : b;
    else return a < b ? a : b;
}

}  // namespace math

// --- complex arithmetic ----------------------------------------------------------------------------------------

template <typename T> TT_INLINE complex<T> operator+(complex<T> a, complex<T> b) { return {a.re + b.re, a.im + b.im}; }
template <typename T> TT_INLINE complex<T> operator-(complex<T> a, complex<T> b) { return {a.re - b.re, a.im - b.im}; }
template <typename T> TT_INLINE complex<T> operator-(complex<T> a) { return {-a.re, -a.im}; }
template <typename T> TT_INLINE complex<T> operator*(complex<T> a, complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// Smith's quotient, which does not overflow where the result does not.
template <typename T> TT_INLINE complex<T> operator/(complex<T> a, complex<T> b) {
    T x = math::fabs(b.re), y = math::fabs(b.im);
    if (x == T(0) && y == T(0)) return {a.re / x, a.im / x};
    if (x >= y) {
        T ratio = b.im / b.re, scale = b.re + b.im * ratio;
        return {(a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale};
    }
    T ratio = b.re / b.im, scale = b.im + b.re * ratio;
    return {(a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale};
}
template <typename T> TT_INLINE bool operator==(complex<T> a, complex<T> b) { return a.re == b.re && a.im == b.im; }
template <typename T> TT_INLINE bool operator!=(complex<T> a, complex<T> b) { return !(a == b); }

// --- warps and blocks ------------------------------------------------------------------------------------------

[[maybe_unused]] constexpr unsigned int FULL_MASK = 0xffffffffu;

// Values of other lanes; 8 bytes go as two words, so that each type with 4 or 8 bytes can be exchanged.
template <typename T>
TT_INLINE T shuffle_xor(T value, int lanes) {
    return __shfl_xor_sync(FULL_MASK, value, lanes);
}
template <typename T>
TT_INLINE T shuffle_down(T value, int lanes) {
    return __shfl_down_sync(FULL_MASK, value, lanes);
}
template <typename T>
TT_INLINE T shuffle_up(T value, int lanes) {
    return __shfl_up_sync(FULL_MASK, value, lanes);
}
template <typename T>
TT_INLINE T shuffle(T value, int lane) {
    return __shfl_sync(FULL_MASK, value, lane);
}

struct Sum {
    template <typename T> TT_INLINE T operator()(T a, T b) const { return a + b; }
};
struct Maximum {
    template <typename T> TT_INLINE T operator()(T a, T b) const { return math::maximum(a, b); }
};
struct Minimum {
    template <typename T> TT_INLINE T operator()(T a, T b) const { return math::minimum(a, b); }
};

// Combine the values of all lanes of a warp; every lane gets the result.  All 32 lanes take part.
template <typename T, typename Combine>
TT_INLINE T warp_reduce(T value, Combine combine) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes >>= 1) value = combine(value, shuffle_xor(value, lanes));
    return value;
}

// Combine the values of all threads of a block along x; every thread gets the result.  THREADS is blockDim.x, a
// multiple of 32; all threads take part.  Can be called again at once.
template <int THREADS, typename T, typename Combine>
TT_INLINE T block_reduce(T value, Combine combine) {
    static_assert(THREADS % 32 == 0 && THREADS <= 1024, "blocks of whole warps");
    value = warp_reduce(value, combine);
    if constexpr (THREADS > 32) {
        __shared__ T partial[THREADS / 32];
        __syncthreads();  // an earlier call has been read
        if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
        __syncthreads();
        value = partial[0];
#pragma unroll
        for (int warp = 1; warp < THREADS / 32; ++warp) value = combine(value, partial[warp]);
    }
    return value;
}

template <typename T> TT_INLINE T warp_sum(T value) { return warp_reduce(value, Sum()); }
template <typename T> TT_INLINE T warp_max(T value) { return warp_reduce(value, Maximum()); }
template <int THREADS, typename T> TT_INLINE T block_sum(T value) { return block_reduce<THREADS>(value, Sum()); }
template <int THREADS, typename T> TT_INLINE T block_max(T value) { return block_reduce<THREADS>(value, Maximum()); }

#endif  // TT_COMMON_CUH
