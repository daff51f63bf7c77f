// Convolutions over one to three dimensions (fewer come with sizes of 1): x (N, C, ...), w (O, C / groups, ...) and
// y (N, O, ...), all contiguous.  Each is a product of the other two:
//     forward     y from x and w
//     transposed  x from y and w, the gradient of the input
//     weights     w from x and y, the gradient of the filters
//
// Note [Implicit products]: a convolution is a matrix product whose one factor holds elements of the input again and
// again.  `product` multiplies tile by tile and computes, while it fills a tile, from where an element comes, so that
// factor never lies in memory.  What the three have different is said by `Forward`, `Transposed` and `Weights`: rows,
// columns and depth of the product, the elements of both factors, and where the result goes.

#ifndef TT_CONVOLUTION_CUH
#define TT_CONVOLUTION_CUH

#include "common.cuh"

struct Geometry {
    int64 count, channels, outputs, groups;
    int64 size[3], width[3], out[3], hop[3], pad[3], gap[3];

    __device__ int64 places() const { return out[0] * out[1] * out[2]; }
    __device__ int64 elements() const { return size[0] * size[1] * size[2]; }
    __device__ int64 window() const { return width[0] * width[1] * width[2]; }
};

// The element of x at which the window of a place has its element `tap`, or -1 in the padding.
TT_INLINE int64 tapped(const Geometry& g, int64 place, int64 tap) {
    int64 p2 = place % g.out[2], p1 = place / g.out[2] % g.out[1], p0 = place / (g.out[2] * g.out[1]);
    int64 t2 = tap % g.width[2], t1 = tap / g.width[2] % g.width[1], t0 = tap / (g.width[2] * g.width[1]);
    int64 a = p0 * g.hop[0] - g.pad[0] + t0 * g.gap[0];
    int64 b = p1 * g.hop[1] - g.pad[1] + t1 * g.gap[1];
    int64 c = p2 * g.hop[2] - g.pad[2] + t2 * g.gap[2];
    bool inside = a >= 0 && a < g.size[0] && b >= 0 && b < g.size[1] && c >= 0 && c < g.size[2];
    return inside ? (a * g.size[1] + b) * g.size[2] + c : -1;
}

// The place whose window has a position as its element `tap` along a dimension, or -1 where none has.
TT_INLINE int64 placed(const Geometry& g, int dim, int64 position, int64 tap) {
    int64 shifted = position + g.pad[dim] - tap * g.gap[dim];
    if (shifted < 0 || shifted % g.hop[dim]) return -1;
    int64 place = shifted / g.hop[dim];
    return place < g.out[dim] ? place : -1;
}

// The place whose window has an element of x as its element `tap`, or -1 where none has.
TT_INLINE int64 reached(const Geometry& g, int64 element, int64 tap) {
    int64 e2 = element % g.size[2], e1 = element / g.size[2] % g.size[1], e0 = element / (g.size[2] * g.size[1]);
    int64 t2 = tap % g.width[2], t1 = tap / g.width[2] % g.width[1], t0 = tap / (g.width[2] * g.width[1]);
    int64 a = placed(g, 0, e0, t0), b = placed(g, 1, e1, t1), c = placed(g, 2, e2, t2);
    return a < 0 || b < 0 || c < 0 ? -1 : (a * g.out[1] + b) * g.out[2] + c;
}

// --- the three products --------------------------------------------------------------------------------------------

template <typename T>
struct Forward {
    using Sum = sum_t<T>;
    Geometry g;
    const T *x, *w, *bias;
    T* y;

    __device__ int64 rows() const { return g.outputs / g.groups; }
    __device__ int64 columns() const { return g.count * g.places(); }
    __device__ int64 depth() const { return g.channels / g.groups * g.window(); }
    __device__ Sum left(int64 group, int64 row, int64 k) const {
        return convert<sum_t<T>>(w[(group * rows() + row) * depth() + k]);
    }
    __device__ Sum right(int64 group, int64 k, int64 column) const {
        int64 item = column / g.places(), channel = k / g.window(), each = g.channels / g.groups;
        int64 at = tapped(g, column % g.places(), k % g.window());
        return at < 0 ? Sum(0) : convert<sum_t<T>>(x[(item * g.channels + group * each + channel) * g.elements() + at]);
    }
    __device__ void store(int64 group, int64 row, int64 column, int64, Sum value) const {
        int64 item = column / g.places(), output = group * rows() + row;
        if (bias) value = value + convert<sum_t<T>>(bias[output]);
        y[(item * g.outputs + output) * g.places() + column % g.places()] = convert<T>(value);
    }
};

template <typename T>
struct Transposed {
    using Sum = sum_t<T>;
    Geometry g;
    const T *y, *w, *bias;
    T* x;

    __device__ int64 rows() const { return g.channels / g.groups; }
    __device__ int64 columns() const { return g.count * g.elements(); }
    __device__ int64 depth() const { return g.outputs / g.groups * g.window(); }
    __device__ Sum left(int64 group, int64 row, int64 k) const {
        int64 output = group * (g.outputs / g.groups) + k / g.window();
        return convert<sum_t<T>>(w[(output * rows() + row) * g.window() + k % g.window()]);
    }
    __device__ Sum right(int64 group, int64 k, int64 column) const {
        int64 item = column / g.elements(), output = group * (g.outputs / g.groups) + k / g.window();
        int64 place = reached(g, column % g.elements(), k % g.window());
        return place < 0 ? Sum(0) : convert<sum_t<T>>(y[(item * g.outputs + output) * g.places() + place]);
    }
    __device__ void store(int64 group, int64 row, int64 column, int64, Sum value) const {
        int64 item = column / g.elements(), channel = group * rows() + row;
        if (bias) value = value + convert<sum_t<T>>(bias[channel]);
        x[(item * g.channels + channel) * g.elements() + column % g.elements()] = convert<T>(value);
    }
};

template <typename T, typename R>
struct Weights {
    using Sum = sum_t<T>;
    Geometry g;
    const T *x, *y;
    R* w;  // (parts, O, C / groups, ...): each part of the depth has a result of its own

    __device__ int64 rows() const { return g.outputs / g.groups; }
    __device__ int64 columns() const { return g.channels / g.groups * g.window(); }
    __device__ int64 depth() const { return g.count * g.places(); }
    __device__ Sum left(int64 group, int64 row, int64 k) const {
        int64 item = k / g.places();
        return convert<sum_t<T>>(y[(item * g.outputs + group * rows() + row) * g.places() + k % g.places()]);
    }
    __device__ Sum right(int64 group, int64 k, int64 column) const {
        int64 item = k / g.places(), channel = group * (g.channels / g.groups) + column / g.window();
        int64 at = tapped(g, k % g.places(), column % g.window());
        return at < 0 ? Sum(0) : convert<sum_t<T>>(x[(item * g.channels + channel) * g.elements() + at]);
    }
    __device__ void store(int64 group, int64 row, int64 column, int64 part, Sum value) const {
        w[((part * g.groups + group) * rows() + row) * columns() + column] = convert<R>(value);
    }
};

// --- one block, one tile of the result -------------------------------------------------------------------------------

// A block of (TILE / EACH)^2 threads computes TILE x TILE elements; each thread has EACH x EACH of them in registers.
// Blocks: x for the columns, y for the rows, z for groups * parts.
template <typename P, int TILE, int EACH, int DEEP>
__device__ void product(const P& problem, int64 parts) {
    using Sum = typename P::Sum;
    const int SIDE = TILE / EACH, THREADS = SIDE * SIDE;
    // One column more than needed: threads of a warp that walk down a column meet different banks.
    __shared__ Sum left[DEEP][TILE + 1];
    __shared__ Sum right[DEEP][TILE + 1];
    const int64 rows = problem.rows(), columns = problem.columns(), depth = problem.depth();
    const int64 group = blockIdx.z / parts, part = blockIdx.z % parts;
    const int64 first_row = int64(blockIdx.y) * TILE, first_column = int64(blockIdx.x) * TILE;
    const int64 share = ((depth + parts - 1) / parts + DEEP - 1) / DEEP * DEEP;
    const int64 begin = part * share, end = begin + share < depth ? begin + share : depth;
    const int thread = threadIdx.x, my_row = thread / SIDE, my_column = thread % SIDE;
    Sum sums[EACH][EACH];
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) sums[i][j] = Sum(0);
    for (int64 k = begin; k < end; k += DEEP) {
        for (int at = thread; at < TILE * DEEP; at += THREADS) {
            // Neighbours in memory lie along the depth in the left factor, along the columns in the right one.
            int deep = at % DEEP, row = at / DEEP;
            bool inside = first_row + row < rows && k + deep < end;
            left[deep][row] = inside ? problem.left(group, first_row + row, k + deep) : Sum(0);
        }
        for (int at = thread; at < TILE * DEEP; at += THREADS) {
            int column = at % TILE, deep = at / TILE;
            bool inside = first_column + column < columns && k + deep < end;
            right[deep][column] = inside ? problem.right(group, k + deep, first_column + column) : Sum(0);
        }
        __syncthreads();
        for (int deep = 0; deep < DEEP; deep++) {
            Sum a[EACH], b[EACH];
            for (int i = 0; i < EACH; i++) a[i] = left[deep][my_row + i * SIDE];
            for (int j = 0; j < EACH; j++) b[j] = right[deep][my_column + j * SIDE];
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++) sums[i][j] = sums[i][j] + a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
            int64 row = first_row + my_row + i * SIDE, column = first_column + my_column + j * SIDE;
            if (row < rows && column < columns) problem.store(group, row, column, part, sums[i][j]);
        }
}

template <typename T, int TILE, int EACH, int DEEP>
__global__ void convolution_forward(const T* x, const T* w, const T* bias, T* y, Geometry g) {
    product<Forward<T>, TILE, EACH, DEEP>(Forward<T>{g, x, w, bias, y}, 1);
}

template <typename T, int TILE, int EACH, int DEEP>
__global__ void convolution_transposed(const T* y, const T* w, const T* bias, T* x, Geometry g) {
    product<Transposed<T>, TILE, EACH, DEEP>(Transposed<T>{g, y, w, bias, x}, 1);
}

template <typename T, typename R, int TILE, int EACH, int DEEP>
__global__ void convolution_weights(const T* x, const T* y, R* w, int64 parts, Geometry g) {
    product<Weights<T, R>, TILE, EACH, DEEP>(Weights<T, R>{g, x, y, w}, parts);
}

// The sums of what the parts of the depth gave, in the order of the parts.
template <typename S, typename T>
__global__ void convolution_parts(const S* found, T* w, int64 parts, int64 each) {
    for (int64 i = first_element(); i < each; i += element_step()) {
        S sum = S(0);
        for (int64 part = 0; part < parts; part++) sum = sum + found[part * each + i];
        w[i] = convert<T>(sum);
    }
}

// --- few filters in a group: a thread for each element of the result ---------------------------------------------------

template <typename P>
__device__ void each_alone(const P& problem) {
    using Sum = typename P::Sum;
    const int64 rows = problem.rows(), columns = problem.columns(), depth = problem.depth();
    const int64 all = problem.g.groups * rows * columns;
    for (int64 i = first_element(); i < all; i += element_step()) {
        int64 column = i % columns, row = i / columns % rows, group = i / (columns * rows);
        Sum sum = Sum(0);
        for (int64 k = 0; k < depth; k++) sum = sum + problem.left(group, row, k) * problem.right(group, k, column);
        problem.store(group, row, column, 0, sum);
    }
}

template <typename T>
__global__ void convolution_forward_alone(const T* x, const T* w, const T* bias, T* y, Geometry g) {
    each_alone(Forward<T>{g, x, w, bias, y});
}

template <typename T>
__global__ void convolution_transposed_alone(const T* y, const T* w, const T* bias, T* x, Geometry g) {
    each_alone(Transposed<T>{g, y, w, bias, x});
}

// The depth of the filters' gradient is the whole batch, so a block sums each of them: every thread its own share,
// then pairs of threads.  The order does not depend on what runs when.
template <typename T, int THREADS>
__global__ void convolution_weights_alone(const T* x, const T* y, T* w, Geometry g) {
    using Sum = sum_t<T>;
    __shared__ Sum found[THREADS];
    Weights<T, T> problem{g, x, y, w};
    const int64 rows = problem.rows(), columns = problem.columns(), depth = problem.depth();
    const int64 all = g.groups * rows * columns;
    for (int64 i = blockIdx.x; i < all; i += gridDim.x) {
        int64 column = i % columns, row = i / columns % rows, group = i / (columns * rows);
        Sum sum = Sum(0);
        for (int64 k = threadIdx.x; k < depth; k += THREADS)
            sum = sum + problem.left(group, row, k) * problem.right(group, k, column);
        found[threadIdx.x] = sum;
        __syncthreads();
        for (int half_of = THREADS / 2; half_of > 0; half_of /= 2) {
            if (threadIdx.x < half_of) found[threadIdx.x] = found[threadIdx.x] + found[threadIdx.x + half_of];
            __syncthreads();
        }
        if (threadIdx.x == 0) problem.store(group, row, column, 0, found[0]);
        __syncthreads();
    }
}

#endif  // TT_CONVOLUTION_CUH
