// Steps of optimizers over lists of tensors: one launch for all tensors of a dtype.
//
// A table in the memory of the device names the arrays of each parameter; a second one cuts them into chunks of equal size, one
// for each block.  Numbers that may lie on the device (learning rate, number of the step, scale of the gradients, whether one of
// them is infinite) are read there, so a step waits for nothing.
#ifndef TT_OPTIMIZER_CUH
#define TT_OPTIMIZER_CUH

#include "common.cuh"

// The arrays of a parameter: param, gradient and up to three of state; `step` is the address of its number of steps.
struct Stepped {
    uint64 arrays[5];
    uint64 step;
    int64 count, step_kind;
};

struct Chunk {
    int64 tensor, first;
};

enum NumberKind { NO_NUMBER = 0, FLOAT32 = 1, FLOAT64 = 2, FLOAT16 = 3, BFLOAT16 = 4, INT64 = 5, INT32 = 6 };

TT_INLINE double number_at(uint64 address, int64 kind, double otherwise) {
    switch (kind) {
    case FLOAT32: return *reinterpret_cast<const float *>(address);
    case FLOAT64: return *reinterpret_cast<const double *>(address);
    case FLOAT16: return float(*reinterpret_cast<const float16 *>(address));
    case BFLOAT16: return float(*reinterpret_cast<const bfloat16 *>(address));
    case INT64: return double(*reinterpret_cast<const int64 *>(address));
    case INT32: return *reinterpret_cast<const int *>(address);
    default: return otherwise;
    }
}

struct StepOptions {
    double rate, weight_decay;
    double first, second, third;  // SGD: momentum, dampening; Adam: beta1, beta2, eps; Adagrad: decay of the rate, eps
    uint64 rate_at, scale_at, infinite_at;  // addresses of numbers on the device
    int64 rate_kind, scale_kind, infinite_kind;
    int64 chunk;  // elements
    int maximize, flag, other_flag, reserved;
};

// The gradient with which a step is taken, divided by the scale in place first.
template <typename T>
TT_INLINE compute_t<T> stepped_gradient(T *gradients, int64 i, const StepOptions &o, compute_t<T> scale) {
    using A = compute_t<T>;
    A gradient = A(gradients[i]);
    if (o.scale_kind != NO_NUMBER) {
        T divided = convert<T>(gradient / scale);
        gradients[i] = divided;
        gradient = A(divided);
    }
    return o.maximize ? -gradient : gradient;
}

// Calls `step(i)` for the elements of the chunk that this block has.
template <typename Step>
TT_INLINE void each_of_chunk(const Stepped &tensor, int64 first, int64 chunk, Step step) {
    int64 stop = first + chunk < tensor.count ? first + chunk : tensor.count;
    for (int64 i = first + threadIdx.x; i < stop; i += blockDim.x) step(i);
}

#define TT_STEP_BEGIN                                                                                                   \
    using A = compute_t<T>;                                                                                           \
    if (number_at(o.infinite_at, o.infinite_kind, 0.0) == 1.0) return;                                                  \
    const Chunk chunk = chunks[blockIdx.x];                                                                             \
    const Stepped tensor = tensors[chunk.tensor];                                                                       \
    T *params = reinterpret_cast<T *>(tensor.arrays[0]), *gradients = reinterpret_cast<T *>(tensor.arrays[1]);          \
    const A scale = A(number_at(o.scale_at, o.scale_kind, 1.0));                                           \
    const double rate = number_at(o.rate_at, o.rate_kind, o.rate);

// flag: nesterov; other_flag: the momenta begin with the gradients.
template <typename T>
__global__ void step_sgd(const Stepped *tensors, const Chunk *chunks, const StepOptions o) {
    TT_STEP_BEGIN
    T *momenta = reinterpret_cast<T *>(tensor.arrays[2]);
    const A momentum = A(o.first), rest = A(1 - o.second), decay = A(o.weight_decay);
    each_of_chunk(tensor, chunk.first, o.chunk, [&](int64 i) {
        A param = A(params[i]), gradient = stepped_gradient(gradients, i, o, scale);
        if (o.weight_decay != 0.0) gradient = gradient + param * decay;
        if (o.first != 0.0) {
            A moved = o.other_flag ? gradient : A(momenta[i]) * momentum + gradient * rest;
            momenta[i] = convert<T>(moved);
            gradient = o.flag ? gradient + moved * momentum : moved;
        }
        params[i] = convert<T>(param - gradient * A(rate));
    });
}

// flag: AMSGrad; DECOUPLED: weight decay shrinks the parameters by itself (AdamW) and is no part of the gradient.
template <typename T, bool DECOUPLED>
__global__ void step_adam(const Stepped *tensors, const Chunk *chunks, const StepOptions o) {
    TT_STEP_BEGIN
    T *firsts = reinterpret_cast<T *>(tensor.arrays[2]), *seconds = reinterpret_cast<T *>(tensor.arrays[3]);
    T *largest = reinterpret_cast<T *>(tensor.arrays[4]);
    const double number = number_at(tensor.step, tensor.step_kind, 1.0);
    const A root = A(sqrt(1.0 - pow(o.second, number)));
    const A step = A(rate / (1.0 - pow(o.first, number)));
    const A decay = A(DECOUPLED ? 1.0 - rate * o.weight_decay : o.weight_decay);
    const A towards = A(1.0 - o.first), kept = A(o.second), added = A(1.0 - o.second);
    const A eps = A(o.third);
    each_of_chunk(tensor, chunk.first, o.chunk, [&](int64 i) {
        A param = A(params[i]), gradient = stepped_gradient(gradients, i, o, scale);
        if (o.weight_decay != 0.0) {
            if (DECOUPLED) param = param * decay;
            else gradient = gradient + param * decay;
        }
        A first = A(firsts[i]), second = A(seconds[i]);
        first = first + (gradient - first) * towards;
        second = second * kept + gradient * gradient * added;
        firsts[i] = convert<T>(first);
        seconds[i] = convert<T>(second);
        if (o.flag) {
            A most = A(largest[i]);
            second = most > second || most != most ? most : second;
            largest[i] = convert<T>(second);
        }
        params[i] = convert<T>(param - step * first / (sqrt(second) / root + eps));
    });
}

template <typename T>
__global__ void step_adagrad(const Stepped *tensors, const Chunk *chunks, const StepOptions o) {
    TT_STEP_BEGIN
    T *sums = reinterpret_cast<T *>(tensor.arrays[2]);
    const double number = number_at(tensor.step, tensor.step_kind, 1.0);
    const A step = A(rate / (1.0 + (number - 1.0) * o.first)), eps = A(o.second);
    const A decay = A(o.weight_decay);
    each_of_chunk(tensor, chunk.first, o.chunk, [&](int64 i) {
        A param = A(params[i]), gradient = stepped_gradient(gradients, i, o, scale);
        if (o.weight_decay != 0.0) gradient = gradient + param * decay;
        A sum = A(sums[i]) + gradient * gradient;
        sums[i] = convert<T>(sum);
        params[i] = convert<T>(param - step * gradient / (sqrt(sum) + eps));
    });
}

// --- steps by rule -----------------------------------------------------------------------------------------------------

// `decay` times the parameter is added to the gradient, and the parameter is `kept` times what it was; then the rule's numbers.
struct RuleOptions {
    double decay, kept, numbers[6];
    int64 chunk;
    int maximize, moves, centered, reserved;
};

// Each rule changes parameter and states of one element.  `s` are its states, in float for half types; o.numbers are read as
// the operator's composite reads them.
namespace rules {

template <typename A>
TT_INLINE A towards(A mean, A gradient, double share) {
    return mean + (gradient - mean) * A(share);
}
template <typename A>
TT_INLINE A of_squares(A square, A gradient, double kept) {
    return square * A(kept) + A(1.0 - kept) * gradient * gradient;
}

struct Adamax {
    static constexpr int STATES = 2;
    template <typename A>
    TT_INLINE static A step(A param, A gradient, A* s, const RuleOptions& o) {
        s[0] = towards(s[0], gradient, 1.0 - o.numbers[0]);
        s[1] = math::maximum(s[1] * A(o.numbers[1]), math::fabs(gradient) + A(o.numbers[2]));
        return param + A(o.numbers[3]) * s[0] / s[1];
    }
};
struct Nadam {
    static constexpr int STATES = 2;
    template <typename A>
    TT_INLINE static A step(A param, A gradient, A* s, const RuleOptions& o) {
        s[0] = towards(s[0], gradient, 1.0 - o.numbers[0]);
        s[1] = of_squares(s[1], gradient, o.numbers[1]);
        const A divisor = math::sqrt(s[1] / A(o.numbers[3])) + A(o.numbers[2]);
        return param + (A(o.numbers[4]) * gradient + A(o.numbers[5]) * s[0]) / divisor;
    }
};
struct Radam {
    static constexpr int STATES = 2;
    template <typename A>
    TT_INLINE static A step(A param, A gradient, A* s, const RuleOptions& o) {
        s[0] = towards(s[0], gradient, 1.0 - o.numbers[0]);
        s[1] = of_squares(s[1], gradient, o.numbers[1]);
        if (o.numbers[4] == 0.0) return param + A(o.numbers[3]) * s[0];
        return param + A(o.numbers[4]) * (s[0] / (math::sqrt(s[1]) + A(o.numbers[2])));
    }
};
struct Adadelta {
    static constexpr int STATES = 2;
    template <typename A>
    TT_INLINE static A step(A param, A gradient, A* s, const RuleOptions& o) {
        const A eps = A(o.numbers[1]);
        s[0] = of_squares(s[0], gradient, o.numbers[0]);
        const A delta = math::sqrt(s[1] + eps) / math::sqrt(s[0] + eps) * gradient;
        s[1] = of_squares(s[1], delta, o.numbers[0]);
        return param + A(o.numbers[2]) * delta;
    }
};
// States: squares, then the velocities if it `moves`, then the means if it is `centered`.
struct Rmsprop {
    static constexpr int STATES = 3;
    template <typename A>
    TT_INLINE static A step(A param, A gradient, A* s, const RuleOptions& o) {
        A& mean = s[o.moves ? 2 : 1];
        A spread = s[0] = of_squares(s[0], gradient, o.numbers[0]);
        if (o.centered) {
            mean = towards(mean, gradient, 1.0 - o.numbers[0]);
            spread -= mean * mean;
        }
        A step = gradient / (math::sqrt(spread) + A(o.numbers[1]));
        if (o.moves) step = s[1] = step + s[1] * A(o.numbers[3]);
        return param + A(o.numbers[2]) * step;
    }
};
struct Rprop {
    static constexpr int STATES = 2;
    template <typename A>
    TT_INLINE static A step(A param, A gradient, A* s, const RuleOptions& o) {
        const A agreement = gradient * s[0], least = A(o.numbers[2]), most = A(o.numbers[3]);
        A size = s[1] * (agreement > A(0) ? A(o.numbers[1]) : agreement < A(0) ? A(o.numbers[0]) : A(1));
        s[1] = size = size < least ? least : size > most ? most : size;
        s[0] = gradient = agreement < A(0) ? A(0) : gradient;
        return param - (gradient > A(0) ? size : gradient < A(0) ? -size : gradient);
    }
};
struct Asgd {
    static constexpr int STATES = 1;
    template <typename A>
    TT_INLINE static A step(A param, A gradient, A* s, const RuleOptions& o) {
        param = param * A(1.0 - o.numbers[0] * o.numbers[1]) - A(o.numbers[1]) * gradient;
        s[0] = o.numbers[2] != 1.0 ? s[0] + (param - s[0]) * A(o.numbers[2]) : param;
        return param;
    }
};

}  // namespace rules

template <typename T, typename Rule>
__global__ void step_by_rule(const Stepped* tensors, const Chunk* chunks, const RuleOptions o) {
    using A = compute_t<T>;
    const Chunk chunk = chunks[blockIdx.x];
    const Stepped tensor = tensors[chunk.tensor];
    T *params = reinterpret_cast<T*>(tensor.arrays[0]), *states[Rule::STATES];
    const T* gradients = reinterpret_cast<const T*>(tensor.arrays[1]);
#pragma unroll
    for (int k = 0; k < Rule::STATES; k++) states[k] = reinterpret_cast<T*>(tensor.arrays[2 + k]);
    each_of_chunk(tensor, chunk.first, o.chunk, [&](int64 i) {
        A param = A(params[i]), gradient = A(gradients[i]), s[Rule::STATES];
        if (o.maximize) gradient = -gradient;
        if (o.decay != 0.0) gradient += A(o.decay) * param;
        param *= A(o.kept);
#pragma unroll
        for (int k = 0; k < Rule::STATES; k++) s[k] = states[k] ? A(states[k][i]) : A(0);
        params[i] = convert<T>(Rule::step(param, gradient, s, o));
#pragma unroll
        for (int k = 0; k < Rule::STATES; k++)
            if (states[k]) states[k][i] = convert<T>(s[k]);
    });
}

#endif  // TT_OPTIMIZER_CUH
