// Arithmetic and norms over lists of tensors: one launch for all tensors of a dtype, by tables as steps of optimizers have them.
#ifndef TT_FOREACH_CUH
#define TT_FOREACH_CUH

#include "optimizer.cuh"
#include "reduction.cuh"

struct EachOptions {
    double number;
    uint64 at;  // the address of the number if it is on the device
    int64 kind;
    int64 chunk;  // elements
};

// --- element by element ------------------------------------------------------------------------------------------------

// INPUTS: how many lists are read; n is a number.
namespace each {

#define TT_EACH(name, inputs, expression)                                                                               \
    struct name {                                                                                                       \
        static constexpr int INPUTS = inputs;                                                                           \
        template <typename A>                                                                                           \
        TT_INLINE static A of([[maybe_unused]] A x, [[maybe_unused]] A y, [[maybe_unused]] A z, [[maybe_unused]] A n) { \
            return expression;                                                                                          \
        }                                                                                                               \
    };
TT_EACH(AddNumber, 1, x + n)
TT_EACH(SubNumber, 1, x - n)
TT_EACH(MulNumber, 1, x * n)
TT_EACH(DivNumber, 1, x / n)
TT_EACH(MaximumNumber, 1, math::maximum(x, n))
TT_EACH(MinimumNumber, 1, math::minimum(x, n))
TT_EACH(Abs, 1, math::fabs(x))
TT_EACH(Neg, 1, -x)
TT_EACH(Sign, 1, A((x > A(0)) - (x < A(0))))
TT_EACH(Reciprocal, 1, A(1) / x)
TT_EACH(Rsqrt, 1, A(1) / math::sqrt(x))
TT_EACH(Sigmoid, 1, A(1) / (A(1) + math::exp(-x)))
TT_EACH(Frac, 1, x - math::trunc(x))
TT_EACH(Round, 1, math::rint(x))
#define TT_EACH_OF(name, function) TT_EACH(name, 1, math::function(x))
TT_EACH_OF(Acos, acos) TT_EACH_OF(Asin, asin) TT_EACH_OF(Atan, atan) TT_EACH_OF(Ceil, ceil) TT_EACH_OF(Cos, cos)
TT_EACH_OF(Cosh, cosh) TT_EACH_OF(Erf, erf) TT_EACH_OF(Erfc, erfc) TT_EACH_OF(Exp, exp) TT_EACH_OF(Expm1, expm1)
TT_EACH_OF(Floor, floor) TT_EACH_OF(Lgamma, lgamma) TT_EACH_OF(Log, log) TT_EACH_OF(Log10, log10) TT_EACH_OF(Log1p, log1p)
TT_EACH_OF(Log2, log2) TT_EACH_OF(Sin, sin) TT_EACH_OF(Sinh, sinh) TT_EACH_OF(Sqrt, sqrt) TT_EACH_OF(Tan, tan)
TT_EACH_OF(Tanh, tanh) TT_EACH_OF(Trunc, trunc)
#undef TT_EACH_OF
TT_EACH(Add, 2, x + n * y)
TT_EACH(Sub, 2, x - n * y)
TT_EACH(Mul, 2, x * y)
TT_EACH(Div, 2, x / y)
TT_EACH(Maximum, 2, math::maximum(x, y))
TT_EACH(Minimum, 2, math::minimum(x, y))
TT_EACH(Lerp, 2, math::fabs(n) < A(0.5) ? x + n * (y - x) : y - (y - x) * (A(1) - n))
TT_EACH(AddCMul, 3, x + n * y * z)
TT_EACH(AddCDiv, 3, x + n * (y / z))
#undef TT_EACH

}  // namespace each

// The first array of each tensor is written, the others are read; the first may be one of them.
template <typename T, typename Op>
__global__ void each_tensor(const Stepped* tensors, const Chunk* chunks, const EachOptions o) {
    using A = compute_t<T>;
    const Chunk chunk = chunks[blockIdx.x];
    const Stepped tensor = tensors[chunk.tensor];
    T* out = reinterpret_cast<T*>(tensor.arrays[0]);
    const T *x = reinterpret_cast<const T*>(tensor.arrays[1]), *y = reinterpret_cast<const T*>(tensor.arrays[2]),
            *z = reinterpret_cast<const T*>(tensor.arrays[3]);
    const A number = A(number_at(o.at, o.kind, o.number));
    each_of_chunk(tensor, chunk.first, o.chunk, [&](int64 i) {
        const A second = Op::INPUTS > 1 ? A(y[i]) : A(0), third = Op::INPUTS > 2 ? A(z[i]) : A(0);
        out[i] = convert<T>(Op::of(A(x[i]), second, third, number));
    });
}

// --- norms -------------------------------------------------------------------------------------------------------------

// What each chunk gives; Op is one of the norms that a reduction has.
template <typename Op, int THREADS>
__global__ void norm_parts(const Stepped* tensors, const Chunk* chunks, typename Op::Acc* parts, const EachOptions o) {
    using T = typename Op::Element;
    using C = compute_t<T>;
    const Chunk chunk = chunks[blockIdx.x];
    const Stepped tensor = tensors[chunk.tensor];
    const T* x = reinterpret_cast<const T*>(tensor.arrays[1]);
    typename Op::Acc acc = Op::start();
    each_of_chunk(tensor, chunk.first, o.chunk, [&](int64 i) { Op::take(acc, C(x[i]), C(0), i, C(0), 0.0); });
    merge_block<Op, THREADS>(acc);
    if (threadIdx.x == 0) parts[blockIdx.x] = acc;
}

// A block merges the chunks of a tensor, which lie together, in their order.
template <typename Op, int THREADS>
__global__ void norm_wholes(const Stepped* tensors, const Chunk* chunks, const typename Op::Acc* parts, int64 count,
                            const EachOptions o) {
    const Stepped tensor = tensors[blockIdx.x];
    int64 from = 0, to = count;  // the first chunk of the tensor is searched
    while (from < to) {
        const int64 middle = (from + to) / 2;
        if (chunks[middle].tensor < int64(blockIdx.x)) from = middle + 1;
        else to = middle;
    }
    const int64 own = (tensor.count + o.chunk - 1) / o.chunk;
    typename Op::Acc acc = Op::start();
    for (int64 i = threadIdx.x; i < own; i += THREADS) Op::merge(acc, parts[from + i]);
    merge_block<Op, THREADS>(acc);
    if (threadIdx.x != 0) return;
    auto* out = reinterpret_cast<typename Op::Result*>(tensor.arrays[0]);
    Op::finish(acc, typename Op::Own(0), 0.0, tensor.count, out, nullptr);
}

#endif  // TT_FOREACH_CUH
