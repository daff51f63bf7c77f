// Random numbers: Philox4x32-10, and what its words become, as docs/design/random.md says.
//
// A thread makes a block of four words and all numbers that come of it: four of 32 bits, two of 64.  Every number is a function
// of its place, so neither grid nor device change any.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#ifndef TT_RANDOM_CUH
#define TT_RANDOM_CUH

#include "common.cuh"
#include "failures.cuh"

struct Words {
    uint32 w[4];
};

TT_INLINE Words philox(uint64 seed, uint64 block) {
    uint32 c0 = uint32(block), c1 = uint32(block >> 32), c2 = 0, c3 = 0;
    uint32 k0 = uint32(seed), k1 = uint32(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint64 p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
        c0 = uint32(p1 >> 32) ^ c1 ^ k0;
        c1 = uint32(p1);
        c2 = uint32(p0 >> 32) ^ c3 ^ k1;
        c3 = uint32(p0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

TT_INLINE uint64 joined(const Words &words, int pair) {
    return words.w[2 * pair] | uint64(words.w[2 * pair + 1]) << 32;
}

// The state of a generator when the call was made.  A graph has it in memory, where each replay writes it anew: `state` is the
// address of seed and offset, and the offset here counts from there.
struct Drawn {
    uint64 seed, offset;
    int64 count;  // numbers
    const uint64 *state;
};

__global__ void write_state(const uint64 address, const uint64 seed, const uint64 offset) {
    uint64 *state = reinterpret_cast<uint64 *>(address);
    state[0] = seed;
    state[1] = offset;
}

// Calls `write(i, words)` for each block, which makes the numbers 4 i to 4 i + 3, or with 64 bits 2 i and 2 i + 1.
template <typename Write>
TT_INLINE void each_block(const Drawn &drawn, int numbers, Write write) {
    const int64 blocks = (drawn.count + numbers - 1) / numbers;
    const uint64 seed = drawn.state ? drawn.state[0] : drawn.seed, offset = drawn.state ? drawn.state[1] + drawn.offset : drawn.offset;
    for (int64 block = int64(first_element()); block < blocks; block += int64(element_step())) write(block * numbers, philox(seed, offset + uint64(block)));
}

// Writes up to N neighbouring numbers, all at once where they fit.
template <typename T, int N>
TT_INLINE void store_block(T *out, int64 first, int64 count, const T (&values)[N]) {
    if (first + N <= count && reinterpret_cast<uint64>(out) % (sizeof(T) * N) == 0) {
        struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) Together {
            T v[N];
        };
        *reinterpret_cast<Together *>(out + first) = *reinterpret_cast<const Together *>(values);
    } else {
        for (int i = 0; i < N && first + i < count; i++) out[first + i] = values[i];
    }
}

// --- uniform numbers ---------------------------------------------------------------------------------------

template <typename T> struct Unit;  // numbers from 0 to before 1 with as many bits as the dtype has digits

template <> struct Unit<float> {
    static constexpr int numbers = 4;
    TT_INLINE static float of(const Words &words, int i) { return float(words.w[i] >> 8) * 5.9604644775390625e-8f; }
};

template <> struct Unit<float16> {
    static constexpr int numbers = 4;
    TT_INLINE static float of(const Words &words, int i) { return float(words.w[i] >> 21) * 4.8828125e-4f; }
};

template <> struct Unit<bfloat16> {
    static constexpr int numbers = 4;
    TT_INLINE static float of(const Words &words, int i) { return float(words.w[i] >> 24) * 3.90625e-3f; }
};

template <> struct Unit<double> {
    static constexpr int numbers = 2;
    TT_INLINE static double of(const Words &words, int i) {
        return double(joined(words, i) >> 11) * 1.1102230246251565e-16;
    }
};

// Products and sums that no compiler joins to one rounding.
#if defined(TT_HOST)
template <typename A>
TT_INLINE A multiply_rounded(A a, A b) {
    volatile A product = a * b;
    return product;
}
template <typename A>
TT_INLINE A add_rounded(A a, A b) {
    volatile A sum = a + b;
    return sum;
}
#else
TT_INLINE float multiply_rounded(float a, float b) { return __fmul_rn(a, b); }
TT_INLINE double multiply_rounded(double a, double b) { return __dmul_rn(a, b); }
TT_INLINE float add_rounded(float a, float b) { return __fadd_rn(a, b); }
TT_INLINE double add_rounded(double a, double b) { return __dadd_rn(a, b); }
#endif

// scale * number + shift with the roundings of arithmetic on arrays: float16 after each step, bfloat16 in the end.  Of
// complex numbers (PARTS = 2) the real part is shifted.
struct Affine {
    double scale, shift;
    int64 parts, plain;
};

template <typename T>
TT_INLINE T moved(compute_t<T> number, const Affine &f, int64 place) {
    using A = compute_t<T>;
    if (f.plain) return convert<T>(number);
    const A shift = place % f.parts ? A(0) : A(convert<T>(f.shift));
    if constexpr (is_same<T, float16>::value) {
        T product = convert<T>(A(convert<T>(number)) * A(convert<T>(f.scale)));
        return convert<T>(A(product) + shift);
    } else if constexpr (is_same<T, bfloat16>::value) {
        return convert<T>(add_rounded(multiply_rounded(A(convert<T>(number)), A(f.scale)), place % f.parts ? A(0) : A(f.shift)));
    } else {
        return convert<T>(add_rounded(multiply_rounded(number, A(f.scale)), shift));
    }
}

template <typename T>
__global__ void draw_uniform(T *out, const Drawn drawn, const Affine f) {
    constexpr int N = Unit<T>::numbers;
    each_block(drawn, N, [&](int64 first, const Words &words) {
        T values[N];
        for (int i = 0; i < N; i++) values[i] = moved<T>(Unit<T>::of(words, i), f, first + i);
        store_block<T, N>(out, first, drawn.count, values);
    });
}

// --- normal numbers (Box and Muller) -----------------------------------------------------------------------

TT_INLINE void normal_pair(uint32 a, uint32 b, float &first, float &second) {
    float u = add_rounded(multiply_rounded(float(a), 2.3283064365386963e-10f), 1.1641532182693481e-10f);
    float angle = float(b) * 1.4629180792671596e-09f, sine, cosine;
    float radius = sqrtf(-2.0f * logf(u));
    sincosf(angle, &sine, &cosine);
    first = radius * cosine;
    second = radius * sine;
}

TT_INLINE void normal_pair(uint64 a, uint64 b, double &first, double &second) {
    double u = double(a >> 11) * 1.1102230246251565e-16 + 5.5511151231257827e-17;
    double angle = double(b >> 11) * 1.1102230246251565e-16 * 6.283185307179586, sine, cosine;
    double radius = sqrt(-2.0 * log(u));
    sincos(angle, &sine, &cosine);
    first = radius * cosine;
    second = radius * sine;
}

// `unit` is the deviation of the standard numbers, below 1 for the parts of complex ones.
template <typename T>
__global__ void draw_normal(T *out, const Drawn drawn, double unit, const Affine f) {
    constexpr int N = Unit<T>::numbers;
    using A = compute_t<T>;
    each_block(drawn, N, [&](int64 first, const Words &words) {
        A numbers[N];
        if constexpr (N == 2) {
            normal_pair(joined(words, 0), joined(words, 1), numbers[0], numbers[1]);
        } else {
            normal_pair(words.w[0], words.w[1], numbers[0], numbers[1]);
            normal_pair(words.w[2], words.w[3], numbers[2], numbers[3]);
        }
        T values[N];
        for (int i = 0; i < N; i++) {
            A number = unit == 1.0 ? numbers[i] : multiply_rounded(numbers[i], A(unit));
            values[i] = moved<T>(number, f, first + i);
        }
        store_block<T, N>(out, first, drawn.count, values);
    });
}

// --- integers ----------------------------------------------------------------------------------------------

// Integers from low on, modulo 2**64; span is 0 for 2**64 different ones, and the sum is signed where low is negative.
template <typename T, int N>
__global__ void draw_integers(T *out, const Drawn drawn, int64 low, int64 span, int64 negative) {
    each_block(drawn, N, [&](int64 first, const Words &words) {
        T values[N];
        for (int i = 0; i < N; i++) {
            uint64 number;
            if constexpr (N == 4) number = (words.w[i] * uint64(span)) >> 32;
            else number = span ? joined(words, i) % uint64(span) : joined(words, i);
            number += uint64(low);
            if (negative) values[i] = convert<T>(int64(number));
            else values[i] = convert<T>(number);
        }
        store_block<T, N>(out, first, drawn.count, values);
    });
}

__global__ void draw_words(uint64 *out, const Drawn drawn) {
    each_block(drawn, 2, [&](int64 first, const Words &words) {
        for (int i = 0; i < 2 && first + i < drawn.count; i++) out[first + i] = joined(words, i);
    });
}

// --- yes or no ---------------------------------------------------------------------------------------------

template <typename T>
__global__ void draw_below(T *out, const Drawn drawn, int64 limit) {
    each_block(drawn, 4, [&](int64 first, const Words &words) {
        T values[4];
        for (int i = 0; i < 4; i++) values[i] = T(int64(words.w[i]) < limit ? 1.0f : 0.0f);
        store_block<T, 4>(out, first, drawn.count, values);
    });
}

// P is float16, bfloat16, float or double; a probability that is none is noted.
template <typename T, typename P>
__global__ void draw_bernoulli(T *out, const P *probability, const Drawn drawn, int64 failure, int64 what) {
    using U = compute_t<P>;  // halves are compared in float32
    constexpr int N = Unit<U>::numbers;
    each_block(drawn, N, [&](int64 first, const Words &words) {
        for (int i = 0; i < N && first + i < drawn.count; i++) {
            U p = U(probability[first + i]);
            if (!(p >= U(0) && p <= U(1))) note_failure(uint64(failure), what, first + i, 0, drawn.count);
            out[first + i] = T(Unit<U>::of(words, i) < p ? 1.0f : 0.0f);
        }
    });
}

// --- exponential numbers -----------------------------------------------------------------------------------

template <typename T>
__global__ void draw_exponential(T *out, const Drawn drawn, double rate) {
    using U = compute_t<T>;
    constexpr int N = Unit<U>::numbers;
    constexpr double half_step = N == 2 ? 5.5511151231257827e-17 : 2.9802322387695312e-08;
    each_block(drawn, N, [&](int64 first, const Words &words) {
        T values[N];
        for (int i = 0; i < N; i++) {
            double number = log(double(Unit<U>::of(words, i)) + half_step) / -rate;
            values[i] = convert<T>(number);
        }
        store_block<T, N>(out, first, drawn.count, values);
    });
}

// Functions of uniform numbers in double precision, to which half a step is added, so that none is 0.
struct Cauchy {
    TT_INLINE static double of(double number, double median, double sigma, double) {
        const double angle = multiply_rounded(number - 0.5, 3.14159265358979323846);
        return add_rounded(multiply_rounded(tan(angle), sigma), median);
    }
};
// How many trials it takes until the first success; `slope` is the logarithm of the chance to fail.
struct Geometric {
    TT_INLINE static double of(double number, double slope, double, double most) {
        const double trials = ceil(log(number) / slope), some = trials < 1.0 ? 1.0 : trials;
        return some > most ? most : some;
    }
};

template <typename T, typename Function>
__global__ void draw_by_function(T *out, const Drawn drawn, double a, double b, double c) {
    each_block(drawn, 2, [&](int64 first, const Words &words) {
        T values[2];
        for (int i = 0; i < 2; i++)
            values[i] = convert<T>(Function::of(add_rounded(Unit<double>::of(words, i), 5.5511151231257827e-17), a, b, c));
        store_block<T, 2>(out, first, drawn.count, values);
    });
}

template <typename T>
__global__ void draw_log_normal(T *out, const Drawn drawn, double mean, double deviation) {
    each_block(drawn, 2, [&](int64 first, const Words &words) {
        double numbers[2];
        normal_pair(joined(words, 0), joined(words, 1), numbers[0], numbers[1]);
        T values[2];
        for (int i = 0; i < 2; i++)
            values[i] = convert<T>(exp(add_rounded(multiply_rounded(numbers[i], deviation), mean)));
        store_block<T, 2>(out, first, drawn.count, values);
    });
}

// --- places by their weights -------------------------------------------------------------------------------

// Note rows with a weight that is none (index 0), and rows whose weights are all zero (index 1); a warp for a row.
template <typename T>
__global__ void check_weights(const T *weights, int64 rows, int64 columns, int64 failure, int64 what) {
    const int64 warps = int64(element_step()) / 32;
    for (int64 row = int64(first_element()) / 32; row < rows; row += warps) {
        bool fine = true, some = false;
        for (int64 i = threadIdx.x % 32; i < columns; i += 32) {
            const compute_t<T> weight = compute_t<T>(weights[row * columns + i]);
            fine = fine && weight >= compute_t<T>(0) && math::isfinite(weight);
            some = some || weight > compute_t<T>(0);
        }
        const bool all_fine = __all_sync(FULL_MASK, fine), any = __any_sync(FULL_MASK, some);
        if (threadIdx.x % 32 == 0 && !(all_fine && any)) note_failure(uint64(failure), what, all_fine ? 1 : 0, 0, columns);
    }
}

// The first place of a row whose sum exceeds a uniform number times that of the row, which has a weight.
__global__ void pick_places(int64 *out, const double *sums, const double *weights, const Drawn drawn, int64 samples, int64 columns) {
    each_block(drawn, 2, [&](int64 first, const Words &words) {
        for (int i = 0; i < 2 && first + i < drawn.count; i++) {
            const int64 start = (first + i) / samples * columns;
            const double whole = sums[start + columns - 1];
            double target = multiply_rounded(Unit<double>::of(words, i), whole);
            if (!(target < whole)) target = nextafter(whole, 0.0);  // reached by rounding
            int64 low = 0, high = columns - 1;
            while (low < high) {
                const int64 middle = (low + high) / 2;
                if (sums[start + middle] <= target) low = middle + 1;
                else high = middle;
            }
            // Sums of parts are rounded in different orders, so that one may seem to grow where nothing is added.
            int64 place = low;
            while (place < columns && !(weights[start + place] > 0.0)) place++;
            if (place == columns) {
                place = low;
                while (place > 0 && !(weights[start + place] > 0.0)) place--;
            }
            out[first + i] = place;
        }
    });
}

// The negative rates of times that are drawn with the weights: of a few places without repetition, the smallest come first.
template <typename T>
__global__ void draw_rates(double *out, const T *weights, const Drawn drawn) {
    each_block(drawn, 4, [&](int64 first, const Words &words) {
        for (int i = 0; i < 4 && first + i < drawn.count; i++) {
            const float time = float(-log(double(Unit<float>::of(words, i)) + 2.9802322387695312e-08));
            out[first + i] = -(double(compute_t<T>(weights[first + i])) / double(time));
        }
    });
}

// --- dropout -----------------------------------------------------------------------------------------------

// Elements whose word is below the limit times `scale`, the others times 0; PARTS is 2 for complex numbers.
template <typename T, int PARTS>
__global__ void drop_elements(T *out, bool *mask, const T *input, const Drawn drawn, int64 limit, double scale) {
    using A = compute_t<T>;
    const A factor = A(convert<T>(scale));
    each_block(drawn, 4, [&](int64 first, const Words &words) {
        constexpr int N = 4 * PARTS;
        bool kept[4];
        T values[N];
        for (int i = 0; i < 4; i++) kept[i] = int64(words.w[i]) < limit;
        for (int i = 0; i < N && first * PARTS + i < drawn.count * PARTS; i++) {
            values[i] = convert<T>(A(input[first * PARTS + i]) * (kept[i / PARTS] ? factor : A(0)));
        }
        store_block<T, N>(out, first * PARTS, drawn.count * PARTS, values);
        store_block<bool, 4>(mask, first, drawn.count, kept);
    });
}

template <typename T, int PARTS>
__global__ void drop_gradient(T *out, const T *gradient, const bool *mask, int64 count, double scale) {
    using A = compute_t<T>;
    const A factor = A(convert<T>(scale));
    for (int64 id = int64(first_element()); id < count * PARTS; id += int64(element_step())) {
        out[id] = convert<T>(A(gradient[id]) * (mask[id / PARTS] ? factor : A(0)));
    }
}

#endif  // TT_RANDOM_CUH
