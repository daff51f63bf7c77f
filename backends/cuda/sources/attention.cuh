// Attention: values weighted by the softmax of the scaled products of queries and keys, without the matrix of the
// weights in memory.
//
// Note [Online softmax]: a block has ROWS queries and walks over the keys tile by tile.  Four threads share a query:
// each has every fourth number of it and of the result in registers, and the products are exchanged between the four.
// The greatest score so far, the sum of the exponentials and the result are kept relative to that greatest score;
// where a tile raises it, what was summed is scaled once for the tile.
//
// Backward computes the weights again from the logarithm of their sum, which the forward keeps: `attention_means` writes
// the product of each result and its gradient, `attention_queries` walks over keys as the forward does, `attention_keys`
// has keys and walks over queries.  Nothing is added by atomics, so the gradients are the same in every run.
//
// Every tensor comes as four strides (batch, head, row, column) and any layout is read in place, but for the results and
// the numbers that each query has, which lie in order.  A mask of bools may repeat itself with strides of zero.  A query
// without any key that takes part gives zeros and a logarithm of minus infinity, and has no gradient.

#ifndef TT_ATTENTION_CUH
#define TT_ATTENTION_CUH

#include "common.cuh"

#define LANES 4

struct Layout {
    int64 batch, head, row, column;
};

// How many rows of two tensors fit into 32 KiB of shared memory.
template <typename S, int WIDE>
struct Rows {
    static constexpr int fitting = 32768 / (2 * (WIDE + 1) * int(sizeof(S)));
    static constexpr int value = fitting < 32 ? fitting : 32;
};

template <typename S>
TT_INLINE S shared_by_lanes(S value) {
    value += shuffle_xor(value, 1);
    value += shuffle_xor(value, 2);
    return value;
}

// Copies rows of a tensor into shared memory, zeros behind its end.
template <typename T, typename S, int WIDE, int COUNT, int THREADS>
TT_INLINE void copy_rows(S (*target)[WIDE + 1], const T* source, Layout layout, int64 first,
                                          int64 rows, int64 width) {
    for (int at = threadIdx.x; at < COUNT * WIDE; at += THREADS) {
        int row = at / WIDE, column = at % WIDE;
        bool inside = first + row < rows && column < width;
        target[row][column] =
            inside ? convert<S>(source[(first + row) * layout.row + column * layout.column]) : S(0);
    }
}

template <typename S, int WIDE>
TT_INLINE S product_of(const S* mine, const S* row, int lane) {
    S sum = S(0);
    for (int i = 0; i < WIDE / LANES; i++) sum += mine[i] * row[lane + i * LANES];
    return shared_by_lanes(sum);
}

template <typename T, typename S, int WIDE>
TT_INLINE void load_lane(S* mine, const T* source, Layout layout, int64 row, bool inside,
                                          int64 width, int lane) {
    for (int i = 0; i < WIDE / LANES; i++) {
        int column = lane + i * LANES;
        mine[i] = inside && column < width ? convert<S>(source[row * layout.row + column * layout.column]) : S(0);
    }
}

template <typename T, typename S, int WIDE>
TT_INLINE void store_lane(const S* mine, T* target, int64 row, bool inside, int64 width,
                                           int lane) {
    for (int i = 0; i < WIDE / LANES; i++) {
        int column = lane + i * LANES;
        if (inside && column < width) target[row * width + column] = convert<T>(mine[i]);
    }
}

TT_INLINE bool takes_part(const bool* mask, Layout layout, int64 query, int64 key,
                                           int64 keys, bool causal) {
    if (key >= keys || (causal && key > query)) return false;
    return !mask || mask[query * layout.row + key * layout.column];
}

// --- forward -----------------------------------------------------------------------------------------------------------

template <typename T, int WIDE, int ROWS>
__global__ void attention_forward(const T* q, const T* k, const T* v, const bool* mask, T* result, sum_t<T>* sums,
                                  Layout ql, Layout kl, Layout vl, Layout ml, int64 heads, int64 queries, int64 keys,
                                  int64 width, int64 value_width, bool causal, double scale_given) {
    using S = sum_t<T>;
    const int THREADS = ROWS * LANES, TILE = Rows<S, WIDE>::value;
    __shared__ S key_rows[TILE][WIDE + 1];
    __shared__ S value_rows[TILE][WIDE + 1];
    const S scale = S(scale_given);
    const int64 batch = blockIdx.x / heads, head = blockIdx.x % heads, item = blockIdx.x;
    const int64 first = int64(blockIdx.y) * ROWS, query = first + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    const bool inside = query < queries;
    k += batch * kl.batch + head * kl.head;
    v += batch * vl.batch + head * vl.head;
    if (mask) mask += batch * ml.batch + head * ml.head;
    S mine[WIDE / LANES], found[WIDE / LANES];
    load_lane<T, S, WIDE>(mine, q + batch * ql.batch + head * ql.head, ql, query, inside, width, lane);
    for (int i = 0; i < WIDE / LANES; i++) found[i] = S(0);
    S greatest = limits<S>::lowest(), sum = S(0);
    const int64 last = first + ROWS < queries ? first + ROWS : queries;
    const int64 end = causal && last < keys ? last : keys;
    for (int64 start = 0; start < end; start += TILE) {
        __syncthreads();
        copy_rows<T, S, WIDE, TILE, THREADS>(key_rows, k, kl, start, keys, width);
        copy_rows<T, S, WIDE, TILE, THREADS>(value_rows, v, vl, start, keys, value_width);
        __syncthreads();
        S scores[TILE], raised = greatest;
        for (int j = 0; j < TILE; j++) {
            S score = product_of<S, WIDE>(mine, key_rows[j], lane) * scale;
            scores[j] = inside && takes_part(mask, ml, query, start + j, keys, causal) ? score : limits<S>::lowest();
            // A score that is no number stays so in the result.
            raised = scores[j] > raised || scores[j] != scores[j] ? scores[j] : raised;
        }
        if (raised == limits<S>::lowest()) continue;  // no key so far: what would be subtracted is infinite
        const S factor = greatest == limits<S>::lowest() ? S(0) : math::exp(greatest - raised);
        sum *= factor;
        for (int i = 0; i < WIDE / LANES; i++) found[i] *= factor;
        for (int j = 0; j < TILE; j++) {
            const S weight = scores[j] == limits<S>::lowest() ? S(0) : math::exp(scores[j] - raised);
            sum += weight;
            for (int i = 0; i < WIDE / LANES; i++) found[i] += weight * value_rows[j][lane + i * LANES];
        }
        greatest = raised;
    }
    const bool empty = greatest == limits<S>::lowest();
    for (int i = 0; i < WIDE / LANES; i++) found[i] = empty ? S(0) : found[i] / sum;
    store_lane<T, S, WIDE>(found, result + item * queries * value_width, query, inside, value_width, lane);
    if (inside && lane == 0)
        sums[item * queries + query] = empty ? limits<S>::lowest() : greatest + math::log(sum);
}

// --- backward ----------------------------------------------------------------------------------------------------------

template <typename T>
__global__ void attention_means(const T* result, const T* g, sum_t<T>* means, Layout rl, Layout gl, int64 heads,
                                int64 queries, int64 value_width, int64 count) {
    using S = sum_t<T>;
    const int lane = threadIdx.x % LANES;
    const int64 steps = int64(gridDim.x) * blockDim.x / LANES;
    for (int64 start = int64(blockIdx.x) * blockDim.x / LANES; start < count; start += steps) {
        const int64 at = start + threadIdx.x / LANES, item = at / queries, row = at % queries;
        const int64 batch = item / heads, head = item % heads;
        S sum = S(0);
        if (at < count) {
            const T* one = result + batch * rl.batch + head * rl.head + row * rl.row;
            const T* two = g + batch * gl.batch + head * gl.head + row * gl.row;
            for (int64 column = lane; column < value_width; column += LANES)
                sum += convert<S>(one[column * rl.column]) * convert<S>(two[column * gl.column]);
        }
        sum = shared_by_lanes(sum);
        if (at < count && lane == 0) means[at] = sum;
    }
}

// The logarithm of a sum of weights with which they are computed again: infinity makes all of an empty row zero.
template <typename S>
TT_INLINE S total_of(S sum) {
    return sum == limits<S>::lowest() ? limits<S>::highest() : sum;
}

template <typename T, int WIDE, int ROWS>
__global__ void attention_queries(const T* q, const T* k, const T* v, const bool* mask, const T* g,
                                  const sum_t<T>* sums,
                                  const sum_t<T>* means, T* query_grad, Layout ql, Layout kl,
                                  Layout vl, Layout ml, Layout gl, int64 heads, int64 queries,
                                  int64 keys, int64 width, int64 value_width, bool causal,
                                  double scale_given) {
    using S = sum_t<T>;
    const int THREADS = ROWS * LANES, TILE = Rows<S, WIDE>::value;
    __shared__ S key_rows[TILE][WIDE + 1];
    __shared__ S value_rows[TILE][WIDE + 1];
    const S scale = S(scale_given);
    const int64 batch = blockIdx.x / heads, head = blockIdx.x % heads, item = blockIdx.x;
    const int64 first = int64(blockIdx.y) * ROWS, query = first + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    const bool inside = query < queries;
    k += batch * kl.batch + head * kl.head;
    v += batch * vl.batch + head * vl.head;
    if (mask) mask += batch * ml.batch + head * ml.head;
    S mine[WIDE / LANES], slope[WIDE / LANES], found[WIDE / LANES];
    load_lane<T, S, WIDE>(mine, q + batch * ql.batch + head * ql.head, ql, query, inside, width, lane);
    load_lane<T, S, WIDE>(slope, g + batch * gl.batch + head * gl.head, gl, query, inside, value_width, lane);
    for (int i = 0; i < WIDE / LANES; i++) found[i] = S(0);
    const S total = inside ? total_of(sums[item * queries + query]) : limits<S>::highest();
    const S mean = inside ? means[item * queries + query] : S(0);
    const int64 last = first + ROWS < queries ? first + ROWS : queries;
    const int64 end = causal && last < keys ? last : keys;
    for (int64 start = 0; start < end; start += TILE) {
        __syncthreads();
        copy_rows<T, S, WIDE, TILE, THREADS>(key_rows, k, kl, start, keys, width);
        copy_rows<T, S, WIDE, TILE, THREADS>(value_rows, v, vl, start, keys, value_width);
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            const S score = product_of<S, WIDE>(mine, key_rows[j], lane) * scale;
            const S given = product_of<S, WIDE>(slope, value_rows[j], lane);
            const bool part = inside && takes_part(mask, ml, query, start + j, keys, causal);
            const S weight = part ? math::exp(score - total) : S(0);
            const S change = weight * (given - mean) * scale;
            for (int i = 0; i < WIDE / LANES; i++)
                if (part) found[i] += change * key_rows[j][lane + i * LANES];
        }
    }
    store_lane<T, S, WIDE>(found, query_grad + item * queries * width, query, inside, width, lane);
}

template <typename T, int WIDE, int ROWS>
__global__ void attention_keys(const T* q, const T* k, const T* v, const bool* mask, const T* g,
                               const sum_t<T>* sums, const sum_t<T>* means,
                               T* key_grad, T* value_grad, Layout ql, Layout kl, Layout vl, Layout ml, Layout gl,
                               int64 heads, int64 queries, int64 keys, int64 width,
                               int64 value_width, bool causal, double scale_given) {
    using S = sum_t<T>;
    const int THREADS = ROWS * LANES, TILE = Rows<S, WIDE>::value;
    __shared__ S query_rows[TILE][WIDE + 1];
    __shared__ S slope_rows[TILE][WIDE + 1];
    const S scale = S(scale_given);
    const int64 batch = blockIdx.x / heads, head = blockIdx.x % heads, item = blockIdx.x;
    const int64 first = int64(blockIdx.y) * ROWS, key = first + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    const bool inside = key < keys;
    q += batch * ql.batch + head * ql.head;
    g += batch * gl.batch + head * gl.head;
    if (mask) mask += batch * ml.batch + head * ml.head;
    S mine[WIDE / LANES], values[WIDE / LANES], found[WIDE / LANES], shares[WIDE / LANES];
    load_lane<T, S, WIDE>(mine, k + batch * kl.batch + head * kl.head, kl, key, inside, width, lane);
    load_lane<T, S, WIDE>(values, v + batch * vl.batch + head * vl.head, vl, key, inside, value_width, lane);
    for (int i = 0; i < WIDE / LANES; i++) found[i] = shares[i] = S(0);
    // With a causal mask the queries before the first key of the block see none of its keys.
    for (int64 start = causal ? first / TILE * TILE : 0; start < queries; start += TILE) {
        __syncthreads();
        copy_rows<T, S, WIDE, TILE, THREADS>(query_rows, q, ql, start, queries, width);
        copy_rows<T, S, WIDE, TILE, THREADS>(slope_rows, g, gl, start, queries, value_width);
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            const int64 query = start + j;
            const S score = product_of<S, WIDE>(mine, query_rows[j], lane) * scale;
            const S given = product_of<S, WIDE>(values, slope_rows[j], lane);
            if (!inside || query >= queries || !takes_part(mask, ml, query, key, keys, causal)) continue;
            const S weight = math::exp(score - total_of(sums[item * queries + query]));
            const S change = weight * (given - means[item * queries + query]) * scale;
            for (int i = 0; i < WIDE / LANES; i++) {
                found[i] += change * query_rows[j][lane + i * LANES];
                shares[i] += weight * slope_rows[j][lane + i * LANES];
            }
        }
    }
    store_lane<T, S, WIDE>(found, key_grad + item * keys * width, key, inside, width, lane);
    store_lane<T, S, WIDE>(shares, value_grad + item * keys * value_width, key, inside, value_width, lane);
}

#endif  // TT_ATTENTION_CUH
