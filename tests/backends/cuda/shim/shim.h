// What CUDA C++ knows and C++ does not, so that kernels compile for the host.  Included before a program's text.
//
// A block runs on one thread of the system.  Its CUDA threads are fibers, which give way only where they wait for each
// other, in an order that the runtime chooses: a kernel that lacks a __syncthreads gives other results in another order.
#pragma once
#include <math.h>
#include <string.h>

#define TT_HOST 1
#define __global__ static
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(n) alignas(n)

struct dim3 {
    unsigned int x, y, z;
    dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};

#define TT_SHIM_VECTORS(T, name) \
    struct name##2 { T x, y; }; struct name##3 { T x, y, z; }; struct alignas(16) name##4 { T x, y, z, w; }; \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; } \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
TT_SHIM_VECTORS(float, float)
TT_SHIM_VECTORS(int, int)
TT_SHIM_VECTORS(unsigned int, uint)
#undef TT_SHIM_VECTORS
struct alignas(16) double2 { double x, y; };
struct alignas(16) longlong2 { long long x, y; };

// --- the runtime (runtime.cpp) ---

extern "C" {
extern uint3 tt_thread, tt_block;
extern dim3 tt_block_size, tt_grid_size;
extern unsigned long long* tt_dynamic_shared;
void tt_wait_block(void);                                       // until all threads of the block are here
void tt_wait_warp(unsigned int mask);                           // until the lanes are here
void tt_exchange(unsigned int mask, const void* value, int size);  // show a value to the lanes of the warp, and wait
bool tt_shown(int lane, void* value, int size);                 // what a lane showed; false where it took no part
unsigned long long tt_block_total(unsigned long long value, int how);  // 0 sums, 1 ands, 2 ors over the block
}
#define threadIdx tt_thread
#define blockIdx tt_block
#define blockDim tt_block_size
#define gridDim tt_grid_size
constexpr int warpSize = 32;

inline void __syncthreads() { tt_wait_block(); }
inline int __syncthreads_count(int p) { return int(tt_block_total(p != 0, 0)); }
inline int __syncthreads_and(int p) { return int(tt_block_total(p != 0, 1)); }
inline int __syncthreads_or(int p) { return int(tt_block_total(p != 0, 2)); }
inline void __syncwarp(unsigned int mask = 0xffffffffu) { tt_wait_warp(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

inline int tt_lane() {
    return int((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32u);
}
template <typename T>
T tt_take(unsigned int mask, T value, int lane, bool inside) {
    static_assert(sizeof(T) <= 8, "values of up to 8 bytes are exchanged");
    tt_exchange(mask, &value, int(sizeof(T)));
    T found = value;
    if (inside) tt_shown(lane, &found, int(sizeof(T)));
    return found;
}
// CUDA exchanges these types and no others.
template <typename T> struct tt_exchangeable { static constexpr bool value = false; };
#define TT_SHIM_EXCHANGE(T) template <> struct tt_exchangeable<T> { static constexpr bool value = true; };
TT_SHIM_EXCHANGE(int) TT_SHIM_EXCHANGE(unsigned int) TT_SHIM_EXCHANGE(long) TT_SHIM_EXCHANGE(unsigned long)
TT_SHIM_EXCHANGE(long long) TT_SHIM_EXCHANGE(unsigned long long) TT_SHIM_EXCHANGE(float) TT_SHIM_EXCHANGE(double)
#undef TT_SHIM_EXCHANGE
#define TT_SHIM_SHUFFLE(name, argument, target, condition) \
    template <typename T> \
    T name(unsigned int mask, T value, argument, int width = 32) { \
        static_assert(tt_exchangeable<T>::value, "CUDA does not shuffle values of this type"); \
        int lane = tt_lane(), first = lane / width * width, other = target; \
        (void)first; \
        return tt_take(mask, value, other, condition); \
    }
TT_SHIM_SHUFFLE(__shfl_sync, int source, first + ((source % width) + width) % width, true)
TT_SHIM_SHUFFLE(__shfl_xor_sync, int bits, lane ^ bits, other < first + width)
TT_SHIM_SHUFFLE(__shfl_down_sync, unsigned int delta, lane + int(delta), other < first + width)
TT_SHIM_SHUFFLE(__shfl_up_sync, unsigned int delta, lane - int(delta), other >= first)
#undef TT_SHIM_SHUFFLE
inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
    unsigned int mine = predicate != 0, found = 0;
    tt_exchange(mask, &mine, 4);
    for (int lane = 0; lane < 32; ++lane) {
        unsigned int theirs = 0;
        if ((mask >> lane & 1u) && tt_shown(lane, &theirs, 4) && theirs) found |= 1u << lane;
    }
    return found;
}
inline int __any_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

// --- bits ---

template <typename To, typename From>
To tt_bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "of one size");
    To found;
    memcpy(&found, &value, sizeof(To));
    return found;
}
inline float __int_as_float(int x) { return tt_bits<float>(x); }
inline int __float_as_int(float x) { return tt_bits<int>(x); }
inline float __uint_as_float(unsigned int x) { return tt_bits<float>(x); }
inline unsigned int __float_as_uint(float x) { return tt_bits<unsigned int>(x); }
inline double __longlong_as_double(long long x) { return tt_bits<double>(x); }
inline long long __double_as_longlong(double x) { return tt_bits<long long>(x); }
inline unsigned int __umulhi(unsigned int a, unsigned int b) {
    return (unsigned int)(((unsigned long long)a * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned int)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned int __brev(unsigned int x) {
    unsigned int found = 0;
    for (int i = 0; i < 32; ++i) found |= (x >> i & 1u) << (31 - i);
    return found;
}
template <typename T> T __ldg(const T* place) { return *place; }

// --- functions that C lacks ---

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline double sinpi(double x) { return sin(fmod(x, 2.0) * M_PI); }
inline float sinpif(float x) { return float(sinpi(x)); }
inline double cospi(double x) { return cos(fmod(x, 2.0) * M_PI); }
inline float cospif(float x) { return float(cospi(x)); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
inline void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
#define TT_SHIM_MINMAX(T) \
    inline T min(T a, T b) { return b < a ? b : a; } \
    inline T max(T a, T b) { return b > a ? b : a; }
TT_SHIM_MINMAX(int) TT_SHIM_MINMAX(unsigned int) TT_SHIM_MINMAX(long long) TT_SHIM_MINMAX(unsigned long long)
TT_SHIM_MINMAX(float) TT_SHIM_MINMAX(double)
#undef TT_SHIM_MINMAX

// --- atomics: no other fiber runs meanwhile ---

#define TT_SHIM_ATOMIC(T, name, result) \
    inline T name(T* place, T value) { \
        T old = *place; \
        *place = result; \
        return old; \
    }
#define TT_SHIM_ATOMICS(T) \
    TT_SHIM_ATOMIC(T, atomicAdd, old + value) \
    TT_SHIM_ATOMIC(T, atomicExch, value)
#define TT_SHIM_INTEGER_ATOMICS(T) \
    TT_SHIM_ATOMICS(T) \
    TT_SHIM_ATOMIC(T, atomicMax, old > value ? old : value) \
    TT_SHIM_ATOMIC(T, atomicMin, old < value ? old : value) \
    TT_SHIM_ATOMIC(T, atomicAnd, old & value) \
    TT_SHIM_ATOMIC(T, atomicOr, old | value) \
    TT_SHIM_ATOMIC(T, atomicXor, old ^ value) \
    inline T atomicCAS(T* place, T compare, T value) { \
        T old = *place; \
        if (old == compare) *place = value; \
        return old; \
    }
TT_SHIM_ATOMIC(int, atomicSub, old - value)
TT_SHIM_INTEGER_ATOMICS(int)
TT_SHIM_INTEGER_ATOMICS(unsigned int)
TT_SHIM_INTEGER_ATOMICS(unsigned long long)
TT_SHIM_ATOMIC(long long, atomicMax, old > value ? old : value)
TT_SHIM_ATOMIC(long long, atomicMin, old < value ? old : value)
TT_SHIM_ATOMICS(float)
TT_SHIM_ATOMIC(double, atomicAdd, old + value)
inline unsigned short atomicCAS(unsigned short* place, unsigned short compare, unsigned short value) {
    unsigned short old = *place;
    if (old == compare) *place = value;
    return old;
}
#undef TT_SHIM_INTEGER_ATOMICS
#undef TT_SHIM_ATOMICS
#undef TT_SHIM_ATOMIC

// --- calling a kernel with packed arguments ---

template <typename T> struct tt_code {
    static_assert(alignof(T) == 8, "structs that are passed by value have the alignment 8");
    static void write(char*& text) {
        memcpy(text, "0q", 2), text += 2;
        char digits[12];
        int count = 0;
        for (unsigned long size = sizeof(T); size; size /= 10) digits[count++] = char('0' + size % 10);
        while (count) *text++ = digits[--count];
        *text++ = 's';
    }
};
template <typename T> struct tt_code<T*> { static void write(char*& text) { *text++ = 'P'; } };
#define TT_SHIM_CODE(T, letter) \
    template <> struct tt_code<T> { static void write(char*& text) { *text++ = letter; } };
TT_SHIM_CODE(bool, '?') TT_SHIM_CODE(signed char, 'b') TT_SHIM_CODE(unsigned char, 'B') TT_SHIM_CODE(short, 'h')
TT_SHIM_CODE(unsigned short, 'H') TT_SHIM_CODE(int, 'i') TT_SHIM_CODE(unsigned int, 'I') TT_SHIM_CODE(long long, 'q')
TT_SHIM_CODE(unsigned long long, 'Q') TT_SHIM_CODE(float, 'f') TT_SHIM_CODE(double, 'd')
#undef TT_SHIM_CODE

template <typename T> struct tt_plain { using type = T; };
template <typename T> struct tt_plain<const T> { using type = T; };

template <typename T>
typename tt_plain<T>::type tt_unpack(const char*& place) {
    unsigned long address = ((unsigned long)place + alignof(T) - 1) / alignof(T) * alignof(T);
    typename tt_plain<T>::type found;
    memcpy((void*)&found, (const void*)address, sizeof(T));
    place = (const char*)address + sizeof(T);
    return found;
}

template <typename... A>
void tt_signature(void (*)(A...), char* text) {
    (tt_code<typename tt_plain<A>::type>::write(text), ...);
    *text = 0;
}
template <typename... A>
void tt_run(void (*kernel)(A...), const char* place) {
    // Braces evaluate from left to right.
    struct Bound {
        Bound(void (*f)(A...), A... values) { f(values...); }
    } bound{kernel, tt_unpack<A>(place)...};
    (void)bound;
}
