/* Batches of matrices of float32 and float64, of any strides. */
#ifndef TT_MATRICES_H
#define TT_MATRICES_H

#include "common.h"

typedef struct {
    tt_dtype dtype;
    int ndim;                                          /* of the batch */
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS]; /* of the batch, in bytes */
    const char *data;
    npy_intp rows, columns, rs, cs;                    /* of a matrix; strides in bytes */
} tt_matrices;

/* Describes a batch; false where the kernels leave it to NumPy, as they do an array without elements. */
static bool tt_matrices_of(PyArrayObject *array, tt_matrices *batch)
{
    if (array == NULL || PyArray_NDIM(array) < 2 || PyArray_SIZE(array) == 0) return false;
    int ndim = PyArray_NDIM(array) - 2;
    batch->dtype = tt_dtype_of(array);
    if (batch->dtype != TT_F32 && batch->dtype != TT_F64) return false;
    batch->ndim = ndim;
    for (int d = 0; d < ndim; d++) batch->shape[d] = PyArray_DIM(array, d), batch->strides[d] = PyArray_STRIDE(array, d);
    batch->data = PyArray_BYTES(array);
    batch->rows = PyArray_DIM(array, ndim), batch->columns = PyArray_DIM(array, ndim + 1);
    batch->rs = PyArray_STRIDE(array, ndim), batch->cs = PyArray_STRIDE(array, ndim + 1);
    return true;
}

/* How many matrices a batch has. */
TT_INLINE npy_intp tt_matrices_count(const tt_matrices *batch)
{
    npy_intp count = 1;
    for (int d = 0; d < batch->ndim; d++) count *= batch->shape[d];
    return count;
}

/* Matrix `at` of a batch, in row-major order. */
TT_INLINE const char *tt_matrix_at(const tt_matrices *batch, int64_t at)
{
    const char *found = batch->data;
    for (int d = batch->ndim - 1; d >= 0; d--) {
        found += at % batch->shape[d] * batch->strides[d];
        at /= batch->shape[d];
    }
    return found;
}

#endif
