// Kernels that work element by element: one functor for an operator, one kernel for a kind of layout.
//
// A kernel is named as in "pointwise_flat<Add, float16, Types<float16, float16>>": the functor, the type of the results,
// those of the operands.  Functors compute in compute_t of the operands' types; Python numbers come in `Numbers`.
#include "complex.cuh"
#include "integers.cuh"

// --- numbers ---------------------------------------------------------------------------------------------------

struct Number {
    double real, imaginary;
    int64 whole;
};

struct Numbers {
    Number given[3];

    template <typename T>
    TT_INLINE T as(int k) const {
        if constexpr (is_complex<T>::value) return T(decltype(T::re)(given[k].real), decltype(T::re)(given[k].imaginary));
        else if constexpr (is_floating<T>::value) return T(given[k].real);
        else return T(given[k].whole);
    }
};

// --- helpers of functors ---------------------------------------------------------------------------------------

namespace ops {

// Integers wrap around, bools are added by "or" and multiplied by "and".
template <typename T> TT_INLINE T plus(T a, T b) {
    if constexpr (is_same<T, bool>::value) return a || b;
    else if constexpr (is_integral_v<T>) return T(uint64(a) + uint64(b));
    else return a + b;
}
template <typename T> TT_INLINE T minus(T a, T b) {
    if constexpr (is_integral_v<T>) return T(uint64(a) - uint64(b));
    else return a - b;
}
template <typename T> TT_INLINE T times(T a, T b) {
    if constexpr (is_same<T, bool>::value) return a && b;
    else if constexpr (is_integral_v<T>) return T(uint64(a) * uint64(b));
    else return a * b;
}
template <typename T> TT_INLINE T negative(T a) {
    if constexpr (is_integral_v<T>) return T(uint64(0) - uint64(a));
    else return -a;
}
template <typename T> TT_INLINE auto absolute(T a) {
    if constexpr (is_complex<T>::value) return math::hypot(a.re, a.im);
    else if constexpr (is_floating<T>::value) return math::fabs(a);
    else if constexpr (is_signed_v<T>) return a < 0 ? negative(a) : a;
    else return a;
}
template <typename T> TT_INLINE bool truth(T a) { return convert<bool>(a); }
template <typename T> TT_INLINE bool not_a_number(T a) {
    if constexpr (is_complex<T>::value) return a.re != a.re || a.im != a.im;
    else return a != a;
}
template <typename T> TT_INLINE bool infinite(T a) {
    if constexpr (is_complex<T>::value) return math::isinf(a.re) || math::isinf(a.im);
    else if constexpr (is_floating<T>::value) return math::isinf(a);
    else return false;
}
template <typename T> TT_INLINE bool finite(T a) {
    if constexpr (is_complex<T>::value) return math::isfinite(a.re) && math::isfinite(a.im);
    else if constexpr (is_floating<T>::value) return math::isfinite(a);
    else return true;
}
template <typename T> TT_INLINE T sigmoid(T x) {
    if constexpr (is_complex<T>::value) {
        return math::sigmoid(x);
    } else {
        T small = math::exp(-math::fabs(x));
        return (x < T(0) ? small : T(1)) / (T(1) + small);
    }
}
template <typename T> TT_INLINE T softplus(T x) { return math::maximum(x, T(0)) + math::log1p(math::exp(-math::fabs(x))); }
template <typename T> TT_INLINE T clamp(T x, T low, T high) { return math::minimum(math::maximum(x, low), high); }
// With the sign of the divisor, also of a zero.
template <typename T> TT_INLINE T remainder(T a, T b) {
    T rest = math::fmod(a, b);
    if (rest == T(0)) return math::copysign(rest, b);
    return (b < T(0)) != (rest < T(0)) ? rest + b : rest;
}
// A division by zero gives what a division gives; a zero has the sign of the exact quotient.
template <typename T> TT_INLINE T floor_quotient(T a, T b) {
    if (b == T(0)) return a / b;
    if (math::isinf(b) && math::isfinite(a)) return a == T(0) || (a < T(0)) == (b < T(0)) ? a / b : T(-1);
    T quotient = (a - remainder(a, b)) / b;
    T rounded = math::floor(quotient);
    if (quotient - rounded > T(0.5)) rounded += T(1);
    return rounded == T(0) ? a / b * T(0) : rounded;
}
template <typename T> TT_INLINE T log_add_exp(T a, T b) {
    if (a == b && math::isinf(a)) return a;
    return math::maximum(a, b) + math::log1p(math::exp(-math::fabs(a - b)));
}
template <typename T> TT_INLINE T log_add_exp2(T a, T b) {
    if (a == b && math::isinf(a)) return a;
    return math::maximum(a, b) + math::log1p(math::exp2(-math::fabs(a - b))) * T(1.4426950408889634074);
}
template <typename T> TT_INLINE T x_log(T x, T y, T logarithm) { return y != y ? y : x == T(0) ? T(0) : x * logarithm; }
template <typename T> TT_INLINE T lerp(T a, T b, T weight) {
    if constexpr (is_complex<T>::value) {
        bool near = weight.re * weight.re + weight.im * weight.im < decltype(weight.re)(0.25);
        return near ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
    } else {
        return math::fabs(weight) < T(0.5) ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
    }
}
// Halves to the even neighbour, with `decimals` digits behind the point, or so many zeros before it.
template <typename T> TT_INLINE T round_digits(T x, T factor, bool behind) {
    return behind ? math::rint(x * factor) / factor : math::rint(x / factor) * factor;
}
template <typename T> TT_INLINE T sinc(T x) {
    T angle = x * T(3.14159265358979323846);
    return angle == T(0) ? T(1) : math::sin(angle) / angle;
}
template <typename T> TT_INLINE T gelu_inner(T x) {
    return T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
}

}  // namespace ops

// --- functors --------------------------------------------------------------------------------------------------
// x, y, z are the operands, N(k) is the number k in the type of x.

#define N(k) n.as<T>(k)
#define ONE(Name, result) \
    struct Name { \
        template <typename T> TT_INLINE static auto of(T x, const Numbers& n) { return result; } \
    };
#define TWO(Name, result) \
    struct Name { \
        template <typename T> TT_INLINE static auto of(T x, T y, const Numbers& n) { return result; } \
    }; \
    struct Name##Right { /* the second operand is number 0 */ \
        template <typename T> TT_INLINE static auto of(T x, const Numbers& n) { return Name::of(x, N(0), n); } \
    }; \
    struct Name##Left { /* the first one is */ \
        template <typename T> TT_INLINE static auto of(T x, const Numbers& n) { return Name::of(N(0), x, n); } \
    };
#define THREE(Name, result) \
    struct Name { \
        template <typename T> TT_INLINE static auto of(T x, T y, T z, const Numbers& n) { return result; } \
    };

// --- arithmetic
TWO(Add, ops::plus(x, y))
TWO(AddScaled, ops::plus(x, ops::times(N(1), y)))
TWO(Sub, ops::minus(x, y))
TWO(SubScaled, ops::minus(x, ops::times(N(1), y)))
TWO(ReverseSub, ops::minus(y, x))
TWO(ReverseSubScaled, ops::minus(y, ops::times(N(1), x)))
TWO(Mul, ops::times(x, y))
TWO(Div, x / y)
TWO(DivFloor, ops::floor_quotient(x, y))
TWO(DivTrunc, math::trunc(x / y))
TWO(Remainder, ops::remainder(x, y))
TWO(Fmod, math::fmod(x, y))
TWO(Pow, math::pow(x, y))
// Of integers; number 1 is the operator and number 2 the address at which a division by zero is noted.
#define DIVISOR integers::divisor(y, n.given[2].whole, n.given[1].whole)
TWO(IntegerFloor, integers::floor_quotient(x, DIVISOR))
TWO(IntegerTrunc, integers::quotient(x, DIVISOR))
TWO(IntegerRemainder, integers::remainder(x, DIVISOR))
TWO(IntegerFmod, integers::rest(x, DIVISOR))
#undef DIVISOR
TWO(IntegerPow, integers::power(x, y))
TWO(Gcd, integers::divisor_of_both(x, y))
TWO(Lcm, integers::multiple_of_both(x, y))
TWO(ShiftLeft, integers::left(x, y))
TWO(ShiftRight, integers::right(x, y))
TWO(Maximum2, math::maximum(x, y))
TWO(Minimum2, math::minimum(x, y))
TWO(Fmax, x != x ? y : (y != y || x > y) ? x : y)
TWO(Fmin, x != x ? y : (y != y || x < y) ? x : y)
TWO(CopySign, math::copysign(x, y))
TWO(NextAfter, math::nextafter(x, y))
TWO(Atan2, math::atan2(x, y))
TWO(Hypot, math::hypot(x, y))
TWO(LogAddExp, ops::log_add_exp(x, y))
TWO(LogAddExp2, ops::log_add_exp2(x, y))
TWO(XLogY, ops::x_log(x, y, math::log(y)))
TWO(XLog1PY, ops::x_log(x, y, math::log1p(y)))
TWO(Heaviside, x == T(0) ? y : T(x > T(0)))
ONE(Neg, ops::negative(x))
ONE(Abs, ops::absolute(x))
ONE(Sign, T((x > T(0)) - (x < T(0))))
ONE(Square, ops::times(x, x))
ONE(Reciprocal, T(1) / x)
THREE(AddCMul, ops::plus(x, ops::times(ops::times(N(0), y), z)))
THREE(AddCDiv, x + N(0) * (y / z))
THREE(Lerp, ops::lerp(x, y, z))
TWO(LerpNumber, ops::lerp(x, y, N(0)))
THREE(Clamp, math::minimum(math::maximum(x, y), z))
ONE(ClampNumbers, math::minimum(math::maximum(x, N(0)), N(1)))

// --- functions
ONE(Exp, math::exp(x))
ONE(Exp2, math::exp2(x))
ONE(Expm1, math::expm1(x))
ONE(Log, math::log(x))
ONE(Log2, math::log2(x))
ONE(Log10, math::log10(x))
ONE(Log1p, math::log1p(x))
ONE(Sqrt, math::sqrt(x))
ONE(Rsqrt, math::rsqrt(x))
ONE(Sin, math::sin(x))
ONE(Cos, math::cos(x))
ONE(Tan, math::tan(x))
ONE(Asin, math::asin(x))
ONE(Acos, math::acos(x))
ONE(Atan, math::atan(x))
ONE(Sinh, math::sinh(x))
ONE(Cosh, math::cosh(x))
ONE(Tanh, math::tanh(x))
ONE(Asinh, math::asinh(x))
ONE(Acosh, math::acosh(x))
ONE(Atanh, math::atanh(x))
ONE(Sigmoid, ops::sigmoid(x))
ONE(Erf, math::erf(x))
ONE(Erfc, math::erfc(x))
ONE(Lgamma, math::lgamma(x))
ONE(Floor, math::floor(x))
ONE(Ceil, math::ceil(x))
ONE(Trunc, math::trunc(x))
ONE(Round, math::rint(x))
ONE(RoundDigits, ops::round_digits(x, N(0), n.given[1].whole != 0))
ONE(Sinc, ops::sinc(x))
ONE(Frac, x - math::trunc(x))
ONE(Deg2Rad, x * T(0.017453292519943295769))
ONE(Rad2Deg, x * T(57.295779513082320877))
ONE(NanToNum, x != x ? N(0) : math::isinf(x) ? (x > T(0) ? N(1) : N(2)) : x)

// --- comparison, logic, bits
TWO(Eq, x == y)
TWO(Ne, x != y)
TWO(Lt, x < y)
TWO(Le, x <= y)
TWO(Gt, x > y)
TWO(Ge, x >= y)
TWO(BitAnd, T(x & y))
TWO(BitOr, T(x | y))
TWO(BitXor, T(x ^ y))
ONE(BitNot, (is_same<T, bool>::value ? T(!x) : T(~uint64(x))))
ONE(LogicalNot, !ops::truth(x))
ONE(IsNan, ops::not_a_number(x))
ONE(IsInf, ops::infinite(x))
ONE(IsFinite, ops::finite(x))
ONE(IsPosInf, x == T(limits<T>::highest()))
ONE(IsNegInf, x == T(limits<T>::lowest()))
ONE(SignBit, math::copysign(T(1), x) < T(0))
struct LogicalAnd { template <typename A, typename B> TT_INLINE static bool of(A x, B y, const Numbers&) { return ops::truth(x) && ops::truth(y); } };
struct LogicalOr { template <typename A, typename B> TT_INLINE static bool of(A x, B y, const Numbers&) { return ops::truth(x) || ops::truth(y); } };
struct LogicalXor { template <typename A, typename B> TT_INLINE static bool of(A x, B y, const Numbers&) { return ops::truth(x) != ops::truth(y); } };

// --- selection
struct Where { template <typename T> TT_INLINE static T of(bool c, T x, T y, const Numbers&) { return c ? x : y; } };
struct WhereRight { template <typename T> TT_INLINE static T of(bool c, T x, const Numbers& n) { return c ? x : N(0); } };
struct WhereLeft { template <typename T> TT_INLINE static T of(bool c, T x, const Numbers& n) { return c ? N(0) : x; } };

// --- activations
ONE(Relu, x < T(0) ? T(0) : x)
ONE(LeakyRelu, x > T(0) ? x : T(0) + x * N(0)) // of a negative zero, 0
ONE(HardTanh, ops::clamp(x, N(0), N(1)))
ONE(Threshold, x <= N(0) ? N(1) : x)
ONE(HardShrink, x >= -N(0) && x <= N(0) ? T(0) : x)
ONE(SoftShrink, x > N(0) ? x - N(0) : x < -N(0) ? x + N(0) : x != x ? x : T(0))
// Of a negative zero, 0.
ONE(Elu, x < T(0) ? T(0) + N(0) * math::expm1(x) : x)
ONE(Celu, x < T(0) ? T(0) + N(0) * math::expm1(x / N(0)) : x)
ONE(Selu, T(1.0507009873554804934) * (x > T(0) ? x : T(0) + T(1.6732632423543772848) * math::expm1(x)))
ONE(Silu, x * ops::sigmoid(x))
ONE(Mish, x * math::tanh(ops::softplus(x)))
ONE(LogSigmoid, -ops::softplus(-x)) // of infinity, -0
ONE(HardSigmoid, ops::clamp(x + T(3), T(0), T(6)) / T(6))
ONE(HardSwish, x * ops::clamp(x + T(3), T(0), T(6)) / T(6))
ONE(Softplus, x * N(0) > N(1) ? x : ops::softplus(x * N(0)) / N(0))
ONE(Gelu, T(0.5) * x * math::erfc(-x * T(0.70710678118654752440)))
ONE(GeluTanh, T(0.5) * x * (T(1) + math::tanh(ops::gelu_inner(x))))

// --- gradients of activations: x is the gradient of the result, y the argument or the result
TWO(ThresholdBackward, y <= N(0) ? T(0) : x)
TWO(LeakyReluBackward, y > T(0) ? x : x * N(0))
TWO(PRelu, x > T(0) ? x : x * y)
THREE(PReluBackward, y > T(0) ? x : x * z)
TWO(HardTanhBackward, y <= N(0) || y >= N(1) ? T(0) : x)
TWO(EluBackward, y <= T(0) ? x * N(2) * N(0) * N(1) * math::exp(y * N(2)) : x * N(1))
TWO(SigmoidBackward, x * (T(1) - y) * y)
TWO(TanhBackward, x * (T(1) - y * y))
TWO(SiluBackward, x * ops::sigmoid(y) * (T(1) + y * (T(1) - ops::sigmoid(y))))
struct MishBackward {
    template <typename T> TT_INLINE static T of(T x, T y, const Numbers&) {
        T inner = math::tanh(ops::softplus(y));
        return x * (inner + y * ops::sigmoid(y) * (T(1) - inner * inner));
    }
};
TWO(LogSigmoidBackward, x * ops::sigmoid(-y))
TWO(HardSigmoidBackward, y > T(-3) && y < T(3) ? x / T(6) : T(0))
TWO(HardSwishBackward, y <= T(-3) ? T(0) : y < T(3) ? x * ((y + T(1.5)) / T(3)) : x)
TWO(SoftplusBackward, y * N(0) > N(1) ? x : x * ops::sigmoid(y * N(0)))
TWO(GeluBackward, x * (T(0.5) * math::erfc(-y * T(0.70710678118654752440))
    + y * math::exp(T(-0.5) * y * y) * T(0.39894228040143267794)))
struct GeluTanhBackward {
    template <typename T> TT_INLINE static T of(T x, T y, const Numbers&) {
        T inner = math::tanh(ops::gelu_inner(y));
        T slope = T(0.79788456080286535588) * (T(1) + T(0.134145) * y * y);
        return x * T(0.5) * (T(1) + inner + y * (T(1) - inner * inner) * slope);
    }
};

// --- copies; a conversion between types is one, too
struct Copy { template <typename T> TT_INLINE static T of(T x, const Numbers&) { return x; } };
ONE(Fill, N(0))
struct MakeComplex { template <typename T> TT_INLINE static complex<T> of(T x, T y, const Numbers&) { return {x, y}; } };
struct Conj {
    template <typename T> TT_INLINE static T of(T x, const Numbers&) {
        if constexpr (is_complex<T>::value) return T(x.re, -x.im);
        else return x;
    }
};

#undef N
#undef ONE
#undef TWO
#undef THREE

// --- applying a functor ----------------------------------------------------------------------------------------

template <typename... T> struct Types {};

struct Operands {
    const void *a, *b, *c;
};

// The elements of an operand of which a vector of results is made: its own, or one for all where the step is 0.
template <int LANES, typename T>
TT_INLINE vector<T, LANES> lanes(const void* from, int64 at, int64 step) {
    const T* place = static_cast<const T*>(from) + at;
    if (step) return load_vector<LANES>(place);
    vector<T, LANES> same;
    T value = *place;
#pragma unroll
    for (int k = 0; k < LANES; ++k) same.at[k] = value;
    return same;
}

template <typename Op, typename Out, typename In> struct Apply;

template <typename Op, typename Out, typename A>
struct Apply<Op, Out, Types<A>> {
    static constexpr int COUNT = 1;
    static constexpr int WIDEST = sizeof(A) > sizeof(Out) ? sizeof(A) : sizeof(Out);
    TT_INLINE static Out one(Operands in, int64 i, int64, int64, const Numbers& n) {
        return value(static_cast<const A*>(in.a)[i], n);
    }
    TT_INLINE static Out value(A a, const Numbers& n) {
        if constexpr (is_same<Op, Copy>::value) return convert<Out>(a);
        else return convert<Out>(Op::of(compute_t<A>(a), n));
    }
    template <int LANES>
    TT_INLINE static vector<Out, LANES> many(
        Operands in, int64 i, int64, int64, int64 si, int64, int64, const Numbers& n) {
        vector<A, LANES> a = lanes<LANES, A>(in.a, i, si);
        vector<Out, LANES> out;
#pragma unroll
        for (int k = 0; k < LANES; ++k) out.at[k] = value(a.at[k], n);
        return out;
    }
};

template <typename Op, typename Out, typename A, typename B>
struct Apply<Op, Out, Types<A, B>> {
    static constexpr int COUNT = 2;
    static constexpr int WIDER = sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B);
    static constexpr int WIDEST = WIDER > sizeof(Out) ? WIDER : sizeof(Out);
    TT_INLINE static Out one(Operands in, int64 i, int64 j, int64, const Numbers& n) {
        return value(static_cast<const A*>(in.a)[i], static_cast<const B*>(in.b)[j], n);
    }
    TT_INLINE static Out value(A a, B b, const Numbers& n) {
        return convert<Out>(Op::of(compute_t<A>(a), compute_t<B>(b), n));
    }
    template <int LANES>
    TT_INLINE static vector<Out, LANES> many(
        Operands in, int64 i, int64 j, int64, int64 si, int64 sj, int64, const Numbers& n) {
        vector<A, LANES> a = lanes<LANES, A>(in.a, i, si);
        vector<B, LANES> b = lanes<LANES, B>(in.b, j, sj);
        vector<Out, LANES> out;
#pragma unroll
        for (int k = 0; k < LANES; ++k) out.at[k] = value(a.at[k], b.at[k], n);
        return out;
    }
};

template <typename Op, typename Out, typename A, typename B, typename C>
struct Apply<Op, Out, Types<A, B, C>> {
    static constexpr int COUNT = 3;
    static constexpr int WIDER = sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B);
    static constexpr int WIDER2 = WIDER > sizeof(C) ? WIDER : sizeof(C);
    static constexpr int WIDEST = WIDER2 > sizeof(Out) ? WIDER2 : sizeof(Out);
    TT_INLINE static Out one(Operands in, int64 i, int64 j, int64 k, const Numbers& n) {
        return value(static_cast<const A*>(in.a)[i], static_cast<const B*>(in.b)[j], static_cast<const C*>(in.c)[k], n);
    }
    TT_INLINE static Out value(A a, B b, C c, const Numbers& n) {
        return convert<Out>(Op::of(compute_t<A>(a), compute_t<B>(b), compute_t<C>(c), n));
    }
    template <int LANES>
    TT_INLINE static vector<Out, LANES> many(
        Operands in, int64 i, int64 j, int64 k, int64 si, int64 sj, int64 sk, const Numbers& n) {
        vector<A, LANES> a = lanes<LANES, A>(in.a, i, si);
        vector<B, LANES> b = lanes<LANES, B>(in.b, j, sj);
        vector<C, LANES> c = lanes<LANES, C>(in.c, k, sk);
        vector<Out, LANES> out;
#pragma unroll
        for (int l = 0; l < LANES; ++l) out.at[l] = value(a.at[l], b.at[l], c.at[l], n);
        return out;
    }
};

// How many elements a thread takes at once: 16 bytes of the widest operand.  Python knows the same rule.
template <typename Applied>
TT_INLINE constexpr int lanes_of() {
    return Applied::WIDEST >= 16 ? 1 : Applied::WIDEST <= 2 ? 8 : 16 / Applied::WIDEST;
}

// --- kernels ---------------------------------------------------------------------------------------------------

// All operands and the result lie densely in one order, at addresses that vectors may have.
template <typename Op, typename Out, typename In>
__global__ void pointwise_flat(
    Out* out, const void* a, const void* b, const void* c, Numbers numbers, int64 count) {
    using Applied = Apply<Op, Out, In>;
    constexpr int LANES = lanes_of<Applied>();
    Operands in{a, b, c};
    int64 vectors = count / LANES;
    for (int64 v = first_element(); v < vectors; v += element_step()) {
        int64 i = v * LANES;
        store_vector(out + i, Applied::template many<LANES>(in, i, i, i, 1, 1, 1, numbers));
    }
    int64 i = vectors * LANES + first_element();
    if (i < count) out[i] = Applied::one(in, i, i, i, numbers);
}

// The result lies densely in rows of whole vectors; in a row each operand has its elements side by side, or just one.
struct Rows {
    int64 vectors;    // in all
    int64 per_row;
    int64 row[3];     // from row to row, in elements
    int64 step[3];    // in a row: 1 or 0
};

template <typename Op, typename Index, typename Out, typename In>
__global__ void pointwise_rows(Out* out, const void* a, const void* b, const void* c, Numbers numbers, Rows rows) {
    using Applied = Apply<Op, Out, In>;
    constexpr int LANES = lanes_of<Applied>();
    Operands in{a, b, c};
    for (int64 v = first_element(); v < rows.vectors; v += element_step()) {
        Index row = Index(v) / Index(rows.per_row);
        int64 at = int64(Index(v) - row * Index(rows.per_row)) * LANES;
        store_vector(out + v * LANES, Applied::template many<LANES>(
            in, row * rows.row[0] + at * rows.step[0], row * rows.row[1] + at * rows.step[1],
            row * rows.row[2] + at * rows.step[2], rows.step[0], rows.step[1], rows.step[2], numbers));
    }
}

// Any strides: those of the result first.
template <typename Op, typename Index, typename Out, typename In>
__global__ void pointwise_strided(
    Out* out, const void* a, const void* b, const void* c, Numbers numbers, int64 count, Strided<4> layout) {
    Operands in{a, b, c};
    for (int64 i = first_element(); i < count; i += element_step()) {
        int64 offset[4];
        layout.locate<Index>(i, offset);
        out[offset[0]] = Apply<Op, Out, In>::one(in, offset[1], offset[2], offset[3], numbers);
    }
}

// --- transposed copies -----------------------------------------------------------------------------------------

// From columns that lie densely to rows that do, by way of tiles of 32 x 32 in shared memory; T is a word of the size of
// the elements.  Blocks have 32 x 8 threads; y and z of the grid go over rows of tiles and over batches.
template <typename T>
__global__ void transpose_tiles(
    T* out, const T* in, int64 rows, int64 columns, int64 column_stride, int64 in_batch, int64 out_row, int64 out_batch,
    int64 batches) {
    __shared__ T tile[32][33];
    for (int64 batch = blockIdx.z; batch < batches; batch += gridDim.z) {
        const T* source = in + batch * in_batch;
        T* target = out + batch * out_batch;
        for (int64 top = int64(blockIdx.y) * 32; top < rows; top += int64(gridDim.y) * 32) {
            int64 left = int64(blockIdx.x) * 32;
            for (int k = threadIdx.y; k < 32; k += 8) {
                int64 row = top + threadIdx.x, column = left + k;
                if (row < rows && column < columns) tile[k][threadIdx.x] = source[column * column_stride + row];
            }
            __syncthreads();
            for (int k = threadIdx.y; k < 32; k += 8) {
                int64 row = top + k, column = left + threadIdx.x;
                if (row < rows && column < columns) target[row * out_row + column] = tile[threadIdx.x][k];
            }
            __syncthreads();
        }
    }
}
