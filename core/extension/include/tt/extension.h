/* What C and C++ functions of tt.utils.cpp_extension see of tensors.
 *
 * This is all of the interface: a struct and a handful of functions, the same in C and in C++.  It is included before
 * the sources of load_inline; files given to load include it themselves: #include <tt/extension.h>.
 */
#ifndef TT_EXTENSION_H
#define TT_EXTENSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_EXTENSION_VERSION 1

/* The most dimensions that a tensor has. */
#define TT_MAX_NDIM 64

/* The numbers of the dtypes; float16 and bfloat16 are two bytes each for which C has no portable type. */
enum {
    TT_BOOL, TT_UINT8, TT_INT8, TT_INT16, TT_INT32, TT_INT64, TT_UINT16, TT_UINT32, TT_UINT64,
    TT_FLOAT16, TT_BFLOAT16, TT_FLOAT32, TT_FLOAT64, TT_COMPLEX64, TT_COMPLEX128
};

/* A tensor.  What is passed as `const tt_tensor *` must not be written to. */
typedef struct tt_tensor {
    void *data;             /* the first element; aligned for its type */
    int32_t dtype;          /* TT_FLOAT32, ... */
    int32_t ndim;           /* how many dimensions */
    const int64_t *shape;   /* their sizes */
    const int64_t *strides; /* in elements, not bytes; 0 where a size is read again and again */
} tt_tensor;

#ifdef __cplusplus
extern "C" {
#endif

/* Returns a new contiguous tensor with any content, to be returned as a result; NULL when there is no memory.
 * It lives until the function returns.  To be called from the thread in which the function was called. */
tt_tensor *tt_empty(int32_t dtype, int32_t ndim, const int64_t *shape);

/* Notes a message, formatted as by printf, that becomes a Python exception when the function returns; returns NULL.
 * To be called from the thread in which the function was called. */
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
tt_tensor *tt_error(const char *format, ...);

#ifdef __cplusplus
}
#endif

/* The number of elements. */
static inline int64_t tt_numel(const tt_tensor *t) {
    int64_t count = 1;
    for (int32_t dim = 0; dim < t->ndim; dim++) count *= t->shape[dim];
    return count;
}

/* Whether the elements lie in row-major order without gaps. */
static inline bool tt_is_contiguous(const tt_tensor *t) {
    int64_t step = 1;
    for (int32_t dim = t->ndim - 1; dim >= 0; dim--) {
        if (t->shape[dim] != 1 && t->strides[dim] != step && tt_numel(t) != 0) return false;
        step *= t->shape[dim];
    }
    return true;
}

/* Where the element lies whose position in row-major order is `index`: for simple loops over any strides. */
static inline int64_t tt_offset(const tt_tensor *t, int64_t index) {
    int64_t offset = 0;
    for (int32_t dim = t->ndim - 1; dim >= 0; dim--) {
        offset += index % t->shape[dim] * t->strides[dim];
        index /= t->shape[dim];
    }
    return offset;
}

#endif
