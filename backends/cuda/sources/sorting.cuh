// The order of keys: a stable radix sort of integers, by digits of eight bits from the lowest on.
//
// Each digit takes three launches: how many keys of each digit a block has, where those of each digit and block begin, and
// the keys with their numbers moved there.  Nothing is allocated and nobody waits, so a graph can capture it; equal keys stay in
// their order, so what is combined in the order found here has the same bits in every run.
#ifndef TT_SORTING_CUH
#define TT_SORTING_CUH

#include "common.cuh"

struct Digits {
    int64 members, tile, blocks;
    int64 shift, bias;  // the digit of a key is ((key + bias) >> shift) & 255
};

TT_INLINE int digit_of(uint64 key, const Digits &p) { return int((key + uint64(p.bias)) >> p.shift & 255); }

// counts[digit, block]; blocks of 256 threads.
__global__ void count_digits(int64 *counts, const uint64 *keys, const Digits p) {
    __shared__ int found[256];
    const int thread = threadIdx.x;
    const int64 first = int64(blockIdx.x) * p.tile, last = first + p.tile < p.members ? first + p.tile : p.members;
    found[thread] = 0;
    __syncthreads();
    for (int64 i = first + thread; i < last; i += 256) atomicAdd(&found[digit_of(keys[i], p)], 1);
    __syncthreads();
    counts[thread * p.blocks + blockIdx.x] = found[thread];
}

// Each count becomes the sum of those before it; one block of 256 threads.
__global__ void begin_digits(int64 *counts, const int64 count) {
    __shared__ int64 sums[256];
    const int thread = threadIdx.x;
    const int64 share = (count + 255) / 256, first = thread * share, last = first + share < count ? first + share : count;
    int64 sum = 0;
    for (int64 i = first; i < last; i++) sum += counts[i];
    sums[thread] = sum;
    __syncthreads();
    int64 before = 0;
    for (int i = 0; i < thread; i++) before += sums[i];
    for (int64 i = first; i < last; i++) {
        int64 own = counts[i];
        counts[i] = before;
        before += own;
    }
}

// Moves keys and their numbers to where their digit begins, in their order; without `order` the numbers are 0, 1, 2, ...
__global__ void move_digits(uint64 *keys_out, int64 *order_out, const uint64 *keys, const int64 *order, const int64 *begins, const Digits p) {
    __shared__ int64 next[256];
    __shared__ int digits[256];
    const int thread = threadIdx.x;
    const int64 first = int64(blockIdx.x) * p.tile, last = first + p.tile < p.members ? first + p.tile : p.members;
    next[thread] = begins[thread * p.blocks + blockIdx.x];
    for (int64 start = first; start < last; start += 256) {
        const int64 i = start + thread;
        const uint64 key = i < last ? keys[i] : 0;
        const int digit = i < last ? digit_of(key, p) : 256;
        digits[thread] = digit;
        __syncthreads();
        int rank = 0, same = 0;
        for (int other = 0; other < 256; other++) {
            if (digits[other] == digit) {
                same++;
                if (other < thread) rank++;
            }
        }
        if (i < last) {
            const int64 place = next[digit] + rank;
            keys_out[place] = key;
            order_out[place] = order ? order[i] : i;
        }
        __syncthreads();
        if (i < last && rank == same - 1) next[digit] += same;  // the last of its digit
        __syncthreads();
    }
}

// --- searching ---------------------------------------------------------------------------------------------------------

// Where values belong in ascending rows, behind equal elements if RIGHT; one row (`shared`), or one for each `columns` values.
// NaN is larger than all numbers.
template <typename T>
__global__ void search_rows(const T* rows, const T* values, int64* out, int64 count, int64 columns, int64 size, bool shared,
                            bool right) {
    using C = compute_t<T>;
    for (int64 i = first_element(); i < count; i += element_step()) {
        const T* row = shared ? rows : rows + i / columns * size;
        const C value = C(values[i]);
        int64 low = 0, high = size;
        while (low < high) {
            const int64 middle = low + (high - low) / 2;
            const C seen = C(row[middle]);
            // As on the CPU, by comparisons that NaN fails: it belongs behind all others.
            const bool stays = right ? seen > value : seen >= value;
            if (stays) high = middle;
            else low = middle + 1;
        }
        out[i] = low;
    }
}

#endif  // TT_SORTING_CUH
