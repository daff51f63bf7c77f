/* Products of vectors, matrices and batches of matrices. */
#include "blas.h"
#include "fallback.h"

#if 0 /* what follows is made of this, too: the build looks for such lines */
#include "gemm.inc"
#endif
#define TT_SOURCE "gemm.inc"
#include "instances.h"

#define NV 3
#define T uint8_t
#define W uint16_t
#define P uint32_t
#define S(name) TT_CAT(name, _u8)
#include "gemm_integers.inc"
#define T uint16_t
#define W uint16_t
#define P uint32_t
#define S(name) TT_CAT(name, _u16)
#include "gemm_integers.inc"
#define T uint32_t
#define W uint32_t
#define P uint32_t
#define S(name) TT_CAT(name, _u32)
#include "gemm_integers.inc"
#undef NV
#if VB == 64 || !defined(__SSE2__)
#define NV 3
#else
#include <immintrin.h>
#define NV 1 /* with two sums of each element, more do not stay in registers */
#if VB == 32
#define TIMES_HALVES(x, y) (V_u64)_mm256_mul_epu32((__m256i)(x), (__m256i)(y))
#else
#define TIMES_HALVES(x, y) (V_u64)_mm_mul_epu32((__m128i)(x), (__m128i)(y))
#endif
#endif
#define T uint64_t
#define W uint64_t
#define P uint64_t
#define S(name) TT_CAT(name, _u64)
#include "gemm_integers.inc"
#undef NV

static const tt_gemm_code *tt_gemm_code_of(tt_dtype dtype)
{
    switch (dtype) {
    case TT_F32: return &code_f32;
    case TT_F64: return &code_f64;
    case TT_I8: case TT_U8: return &code_u8;
    case TT_I16: case TT_U16: return &code_u16;
    case TT_I32: case TT_U32: return &code_u32;
    case TT_I64: case TT_U64: return &code_u64;
    default: return NULL;
    }
}

/* --- operands --- */

TT_INLINE npy_intp stride_of(PyArrayObject *array, int dim, npy_intp size)
{
    return PyArray_STRIDE(array, dim) / size;
}

TT_INLINE bool is_floating(tt_dtype dtype) { return dtype == TT_F32 || dtype == TT_F64; }

/* Two arrays of the same dtype, float32, float64 or of integers, that can be read where they lie. */
TT_INLINE tt_dtype both(PyObject *const *args, PyArrayObject **a, PyArrayObject **b)
{
    *a = tt_plain(args[0]);
    *b = tt_plain(args[1]);
    if (*a == NULL || *b == NULL) return TT_NONE;
    tt_dtype dtype = tt_dtype_of(*a);
    return dtype != TT_NONE && tt_gemm_code_of(dtype) != NULL && tt_dtype_of(*b) == dtype ? dtype : TT_NONE;
}

static PyObject *refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

/* --- one product --- */

typedef struct {
    tt_dtype dtype;
    const tt_gemm *job;
} vector_rows;

static void rows_of_vector(int64_t begin, int64_t end, void *context)
{
    const vector_rows *rows = context;
    tt_gemm part = *rows->job;
    npy_intp size = tt_sizes[rows->dtype];
    part.m = end - begin;
    part.a = (const char *)part.a + begin * part.ars * size;
    part.c = (char *)part.c + begin * part.ldc * size;
    tt_gemm_code_of(rows->dtype)->vector(&part);
}

#define TT_LONG_PIECE 1024 /* elements; with 512, a fifth less bandwidth, with 16 half of it */

/* Chooses between products of matrices and of a matrix and a vector; nonzero without memory. */
static int multiply(tt_dtype dtype, const tt_gemm *job, bool alone)
{
    tt_gemm turned = *job;
    if (job->n == 1) {
        turned.ldc = job->ldc;
    } else if (job->m == 1) { /* y = x B is y = B^T x */
        turned.m = job->n, turned.n = 1;
        turned.a = job->b, turned.ars = job->bcs, turned.acs = job->brs;
        turned.b = job->a, turned.brs = job->acs;
        turned.ldc = 1;
    } else if (tt_blas_named() && is_floating(dtype) && tt_blas_takes(job)) {
        return tt_blas_run(dtype, job, alone);
    } else {
        return alone ? tt_gemm_code_of(dtype)->serial(job) : tt_gemm_run(dtype, job);
    }
    vector_rows rows = {dtype, &turned};
    npy_intp grain = alone ? turned.m : 1 + 65536 / (turned.k + 1);
    if (!alone && turned.ars == 1 && turned.acs != 1) { /* long pieces of rows, which the processor fetches ahead */
        npy_intp threads = tt_threads->thread_count(), share = (turned.m + threads - 1) / threads;
        npy_intp least = share < TT_LONG_PIECE ? share : TT_LONG_PIECE;
        if (grain < least) grain = least;
    }
    tt_parallel_for(0, turned.m, grain, rows_of_vector, &rows);
    return 0;
}

static PyObject *finish(PyArrayObject *result, int failed)
{
    if (!failed) return (PyObject *)result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

static tt_gemm job_of(PyArrayObject *a, PyArrayObject *b, PyArrayObject *result, npy_intp size)
{
    npy_intp n = PyArray_DIM(b, 1);
    return (tt_gemm){PyArray_DIM(a, 0), n, PyArray_DIM(a, 1), PyArray_DATA(a), PyArray_DATA(b),
                     stride_of(a, 0, size), stride_of(a, 1, size), stride_of(b, 0, size), stride_of(b, 1, size),
                     PyArray_DATA(result), n, 0, NULL, TT_ANY_WAY};
}

static int run(tt_dtype dtype, const tt_gemm *job)
{
    int failed;
    TT_BEGIN_WORK(job->m * job->n * job->k / 16)
    failed = multiply(dtype, job, false);
    TT_END_WORK
    return failed;
}

static PyObject *mm(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *a, *b;
    if (!tt_expect_count("mm", count, 2, 2)) return NULL;
    tt_dtype dtype = both(args, &a, &b);
    if (dtype == TT_NONE) return refuse("mm() takes two matrices of one dtype");
    if (PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 0)) {
        return refuse("mm() takes matrices that fit");
    }
    npy_intp shape[2] = {PyArray_DIM(a, 0), PyArray_DIM(b, 1)};
    PyArrayObject *result = tt_empty(2, shape, dtype);
    if (result == NULL || shape[0] == 0 || shape[1] == 0) return (PyObject *)result;
    tt_gemm job = job_of(a, b, result, tt_sizes[dtype]);
    return finish(result, run(dtype, &job));
}

static PyObject *mv(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *a, *x;
    if (!tt_expect_count("mv", count, 2, 2)) return NULL;
    tt_dtype dtype = both(args, &a, &x);
    if (dtype == TT_NONE) return refuse("mv() takes a matrix and a vector of one dtype");
    if (PyArray_NDIM(a) != 2 || PyArray_NDIM(x) != 1 || PyArray_DIM(a, 1) != PyArray_DIM(x, 0)) {
        return refuse("mv() takes a matrix and a vector that fit");
    }
    PyArrayObject *result = tt_empty(1, PyArray_DIMS(a), dtype);
    if (result == NULL || PyArray_DIM(a, 0) == 0) return (PyObject *)result;
    npy_intp size = tt_sizes[dtype];
    tt_gemm job = {PyArray_DIM(a, 0), 1, PyArray_DIM(a, 1), PyArray_DATA(a), PyArray_DATA(x), stride_of(a, 0, size),
                   stride_of(a, 1, size), stride_of(x, 0, size), 1, PyArray_DATA(result), 1, 0, NULL, TT_ANY_WAY};
    return finish(result, run(dtype, &job));
}

static PyObject *dot_of(tt_dtype dtype, PyArrayObject *x, PyArrayObject *y)
{
    if (PyArray_DIM(x, 0) != PyArray_DIM(y, 0)) return refuse("the vectors are not equally long");
    PyArrayObject *result = tt_empty(0, NULL, dtype);
    if (result == NULL) return NULL;
    npy_intp size = tt_sizes[dtype], length = PyArray_DIM(x, 0);
    void *sum = PyArray_DATA(result);
    TT_BEGIN_WORK(length / 4)
    tt_gemm_code_of(dtype)->dot(length, PyArray_DATA(x), stride_of(x, 0, size), PyArray_DATA(y), stride_of(y, 0, size), sum);
    TT_END_WORK
    return (PyObject *)result;
}

static PyObject *dot(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x, *y;
    if (!tt_expect_count("dot", count, 2, 2)) return NULL;
    tt_dtype dtype = both(args, &x, &y);
    if (dtype == TT_NONE || PyArray_NDIM(x) != 1 || PyArray_NDIM(y) != 1) return refuse("dot() takes two vectors");
    return dot_of(dtype, x, y);
}

/* --- batches --- */

typedef struct {
    tt_dtype dtype;
    tt_gemm job;                                /* of the first matrices */
    int ndim;                                   /* of the batch */
    npy_intp shape[NPY_MAXDIMS], a[NPY_MAXDIMS], b[NPY_MAXDIMS]; /* its sizes, and strides in bytes */
    npy_intp c;                                 /* bytes from result to result */
    bool alone;
    _Atomic int failed;
} batch;

static void products_of(int64_t begin, int64_t end, void *context)
{
    batch *all = context;
    for (int64_t at = begin; at < end; at++) {
        tt_gemm job = all->job;
        npy_intp rest = at, a = 0, b = 0;
        for (int d = all->ndim - 1; d >= 0; d--) {
            npy_intp place = rest % all->shape[d];
            rest /= all->shape[d];
            a += place * all->a[d];
            b += place * all->b[d];
        }
        job.a = (const char *)job.a + a;
        job.b = (const char *)job.b + b;
        job.c = (char *)job.c + at * all->c;
        if (multiply(all->dtype, &job, all->alone)) all->failed = 1;
    }
}

static int run_batch(batch *all, npy_intp number)
{
    const tt_gemm *job = &all->job;
    npy_intp cost = job->m * job->n * (job->k + 1);
    /* Large matrices one after the other, each by all threads; small ones beside each other. */
    all->alone = number >= tt_threads->thread_count() || cost < TT_GEMM_SHARED;
    TT_BEGIN_WORK(number * cost / 16)
    bool one_by_one = tt_blas_named() && tt_blas.whole; /* whose threads would meet those of the pool */
    if (all->alone && !one_by_one) tt_parallel_for(0, number, 1 + TT_GEMM_SHARED / 4 / cost, products_of, all);
    else products_of(0, number, all);
    TT_END_WORK
    return all->failed;
}

/* The dimensions of a batch as rows of one matrix, where a stride leads from each row to the next: 0 if not. */
static npy_intp rows_together(PyArrayObject *a, npy_intp size, npy_intp *stride)
{
    int ndim = PyArray_NDIM(a);
    npy_intp rows = 1;
    *stride = 0;
    for (int d = ndim - 2; d >= 0; d--) {
        npy_intp length = PyArray_DIM(a, d);
        if (length == 1) continue;
        if (rows == 1) *stride = stride_of(a, d, size);
        else if (stride_of(a, d, size) != rows * *stride) return 0;
        rows *= length;
    }
    return rows;
}

static PyObject *matmul_of(tt_dtype dtype, PyArrayObject *a, PyArrayObject *b)
{
    int andim = PyArray_NDIM(a), bndim = PyArray_NDIM(b);
    if (andim == 0 || bndim == 0) return refuse("matmul() takes vectors and matrices");
    if (andim == 1 && bndim == 1) return dot_of(dtype, a, b);
    npy_intp size = tt_sizes[dtype], shape[NPY_MAXDIMS];
    npy_intp *adims = PyArray_DIMS(a), *bdims = PyArray_DIMS(b);
    npy_intp m = andim > 1 ? adims[andim - 2] : 1, k = adims[andim - 1], n = bndim > 1 ? bdims[bndim - 1] : 1;
    if (k != (bndim > 1 ? bdims[bndim - 2] : bdims[0])) return refuse("the matrices do not fit");
    batch all;
    all.dtype = dtype;
    all.failed = 0;
    int abatch = andim > 2 ? andim - 2 : 0, bbatch = bndim > 2 ? bndim - 2 : 0;
    int ndim = all.ndim = abatch > bbatch ? abatch : bbatch;
    npy_intp number = 1;
    for (int d = 0; d < ndim; d++) {
        int i = d - (ndim - abatch), j = d - (ndim - bbatch);
        npy_intp one = i < 0 ? 1 : adims[i], other = j < 0 ? 1 : bdims[j];
        if (one != other && one != 1 && other != 1) return refuse("the batches do not fit");
        shape[d] = all.shape[d] = one == 1 ? other : one;
        all.a[d] = one == 1 ? 0 : PyArray_STRIDE(a, i);
        all.b[d] = other == 1 ? 0 : PyArray_STRIDE(b, j);
        number *= shape[d];
    }
    int at = ndim;
    if (andim > 1) shape[at++] = m;
    if (bndim > 1) shape[at++] = n;
    PyArrayObject *result = tt_empty(at, shape, dtype);
    if (result == NULL || number * m * n == 0) return (PyObject *)result;
    all.job = (tt_gemm){m, n, k, PyArray_DATA(a), PyArray_DATA(b),
                        andim > 1 ? stride_of(a, andim - 2, size) : 0, stride_of(a, andim - 1, size),
                        stride_of(b, bndim > 1 ? bndim - 2 : 0, size), bndim > 1 ? stride_of(b, bndim - 1, size) : 1,
                        PyArray_DATA(result), n, 0, NULL, TT_ANY_WAY};
    all.c = m * n * size;
    npy_intp stride, rows;
    if (number > 1 && bbatch == 0 && (rows = rows_together(a, size, &stride)) == number * m) {
        all.job.m = rows; /* one matrix serves all, so that they are one product */
        all.job.ars = stride;
        number = 1;
    }
    return finish(result, number == 1 ? run(dtype, &all.job) : run_batch(&all, number));
}

static PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *a, *b;
    if (!tt_expect_count("matmul", count, 2, 2)) return NULL;
    tt_dtype dtype = both(args, &a, &b);
    return dtype == TT_NONE ? refuse("matmul() takes arrays of one dtype") : matmul_of(dtype, a, b);
}

static PyObject *bmm(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *a, *b;
    if (!tt_expect_count("bmm", count, 2, 2)) return NULL;
    tt_dtype dtype = both(args, &a, &b);
    if (dtype == TT_NONE || PyArray_NDIM(a) != 3 || PyArray_NDIM(b) != 3 || PyArray_DIM(a, 0) != PyArray_DIM(b, 0)) {
        return refuse("bmm() takes two batches of as many matrices");
    }
    return matmul_of(dtype, a, b);
}

/* --- all pairs --- */

typedef struct {
    tt_dtype dtype;
    const char *x, *y;
    char *result;
    npy_intp xs, ys, columns; /* strides in bytes */
} pairs;

#define T float
#include "products_pairs.inc"

#define T double
#include "products_pairs.inc"

static void pairs_of(int64_t begin, int64_t end, void *context)
{
    const pairs *all = context;
    if (all->dtype == TT_F32) pairs_float(all, begin, end);
    else pairs_double(all, begin, end);
}

static PyObject *outer(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x, *y;
    if (!tt_expect_count("outer", count, 2, 2)) return NULL;
    tt_dtype dtype = both(args, &x, &y);
    if (!is_floating(dtype) || PyArray_NDIM(x) != 1 || PyArray_NDIM(y) != 1) return refuse("outer() takes two vectors");
    npy_intp shape[2] = {PyArray_DIM(x, 0), PyArray_DIM(y, 0)};
    PyArrayObject *result = tt_empty(2, shape, dtype);
    if (result == NULL || shape[0] == 0 || shape[1] == 0) return (PyObject *)result;
    pairs all = {dtype, PyArray_DATA(x), PyArray_DATA(y), PyArray_DATA(result), PyArray_STRIDE(x, 0), PyArray_STRIDE(y, 0), shape[1]};
    TT_BEGIN_WORK(shape[0] * shape[1])
    tt_parallel_for(0, shape[0], 1 + 32768 / shape[1], pairs_of, &all);
    TT_END_WORK
    return (PyObject *)result;
}

/* --- sums with products --- */

/* Writes an array, broadcast, to a new one that is contiguous. */
static int fill_with(PyArrayObject *result, PyArrayObject *values)
{
    int ndim = PyArray_NDIM(result);
    npy_intp columns = ndim ? PyArray_DIM(result, ndim - 1) : 1, size = PyArray_ITEMSIZE(result);
    if (ndim > 0 && PyArray_NDIM(values) == 1 && PyArray_DIM(values, 0) == columns && PyArray_STRIDE(values, 0) == size) {
        char *to = PyArray_DATA(result);
        for (npy_intp row = PyArray_SIZE(result) / (columns ? columns : 1); row > 0; row--, to += columns * size) {
            memcpy(to, PyArray_DATA(values), (size_t)(columns * size));
        }
        return 0;
    }
    return PyArray_CopyInto(result, values);
}

static PyObject *linear(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x, *w, *bias = NULL;
    if (!tt_expect_count("linear", count, 3, 3)) return NULL;
    tt_dtype dtype = both(args, &x, &w);
    if (dtype == TT_NONE) return refuse("linear() takes arrays of one dtype");
    if (args[2] != Py_None && ((bias = tt_plain(args[2])) == NULL || tt_dtype_of(bias) != dtype)) {
        return refuse("linear() takes a bias of the same dtype");
    }
    int ndim = PyArray_NDIM(x), wdim = PyArray_NDIM(w);
    if (ndim < 1 || wdim < 1 || wdim > 2 || PyArray_DIM(w, wdim - 1) != PyArray_DIM(x, ndim - 1)) {
        return refuse("linear() takes an input and a weight that fit");
    }
    npy_intp size = tt_sizes[dtype], shape[NPY_MAXDIMS], number = 1;
    for (int d = 0; d < ndim - 1; d++) number *= shape[d] = PyArray_DIM(x, d);
    int rdim = ndim - 1;
    npy_intp n = wdim == 2 ? PyArray_DIM(w, 0) : 1;
    if (wdim == 2) shape[rdim++] = n;
    int bdim = bias != NULL ? PyArray_NDIM(bias) : 0;
    if (bdim > rdim || (bias != NULL && ndim == 2 && wdim == 1)) return refuse("linear() takes a bias that fits");
    for (int d = 0; d < bdim; d++) {
        npy_intp length = PyArray_DIM(bias, d);
        if (length != 1 && length != shape[rdim - bdim + d]) return refuse("linear() takes a bias that fits");
    }
    PyArrayObject *result = tt_empty(rdim, shape, dtype);
    if (result == NULL || number * n == 0) return (PyObject *)result;
    bool in_product = bias != NULL && n > 1 && number > 1 && bdim == 1 && PyArray_DIM(bias, 0) == n && PyArray_STRIDE(bias, 0) == size;
    if (bias != NULL && !in_product && fill_with(result, bias)) {
        Py_DECREF(result);
        return NULL;
    }
    npy_intp stride, rows = rows_together(x, size, &stride);
    PyArrayObject *copy = NULL;
    if (rows != number) {
        copy = tt_copied(x, NPY_CORDER);
        if (copy == NULL) {
            Py_DECREF(result);
            return NULL;
        }
        x = copy;
        stride = PyArray_DIM(x, ndim - 1);
    }
    tt_gemm job = {number, n, PyArray_DIM(x, ndim - 1), PyArray_DATA(x), PyArray_DATA(w), stride, stride_of(x, ndim - 1, size),
                   stride_of(w, wdim - 1, size), wdim == 2 ? stride_of(w, 0, size) : 1, PyArray_DATA(result), n, bias != NULL && !in_product,
                   in_product ? PyArray_DATA(bias) : NULL, TT_ANY_WAY};
    int failed = run(dtype, &job);
    Py_XDECREF(copy);
    return finish(result, failed);
}

/* addmm(self, mat1, mat2, beta=1, alpha=1) */
static PyObject *addmm(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *a, *b, *self;
    if (!tt_expect_count("addmm", count, 3, 5)) return NULL;
    tt_dtype dtype = both(args + 1, &a, &b);
    double beta = 1, alpha = 1;
    if (dtype == TT_NONE || (self = tt_plain(args[0])) == NULL || tt_dtype_of(self) != dtype) return refuse("addmm() takes arrays of one dtype");
    if (count == 5 && !is_floating(dtype)) return refuse("addmm() of integers takes no factors");
    if (count == 5 && (!tt_double(args[3], &beta) || !tt_double(args[4], &alpha))) return refuse("the factors are not real");
    if (PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 0)) {
        return refuse("addmm() takes matrices that fit");
    }
    npy_intp shape[2] = {PyArray_DIM(a, 0), PyArray_DIM(b, 1)};
    for (int d = 0, ndim = PyArray_NDIM(self); d < ndim; d++) {
        if (ndim > 2 || (PyArray_DIM(self, d) != 1 && PyArray_DIM(self, d) != shape[2 - ndim + d])) return refuse("self does not fit");
    }
    PyArrayObject *result = tt_empty(2, shape, dtype);
    if (result == NULL || shape[0] == 0 || shape[1] == 0) return (PyObject *)result;
    tt_gemm job = job_of(a, b, result, tt_sizes[dtype]);
    npy_intp total = shape[0] * shape[1];
    job.add = beta != 0 && alpha == 1;
    if (beta != 0 && fill_with(result, self)) {
        Py_DECREF(result);
        return NULL;
    }
#define SCALE(T, FACTOR) for (npy_intp i = 0; i < total; i++) ((T *)PyArray_DATA(result))[i] *= (T)(FACTOR)
    if (job.add) {
        if (beta != 1 && dtype == TT_F32) SCALE(float, beta);
        else if (beta != 1) SCALE(double, beta);
        return finish(result, run(dtype, &job));
    }
    if (beta == 0) {
        int failed = run(dtype, &job);
        if (alpha != 1 && dtype == TT_F32) SCALE(float, alpha);
        else if (alpha != 1) SCALE(double, alpha);
        return finish(result, failed);
    }
#undef SCALE
    PyArrayObject *product = tt_empty(2, shape, dtype);
    if (product == NULL) {
        Py_DECREF(result);
        return NULL;
    }
    job.c = PyArray_DATA(product);
    int failed = run(dtype, &job);
    if (dtype == TT_F32) combine_float(PyArray_DATA(result), PyArray_DATA(product), total, (float)beta, (float)alpha);
    else combine_double(PyArray_DATA(result), PyArray_DATA(product), total, beta, alpha);
    Py_DECREF(product);
    return finish(result, failed);
}

#include "attention/attention.h"

static PyMethodDef methods[] = {
    TT_METHOD(_attention, "_attention(query, key, value, mask, is_causal, scale)"),
    TT_METHOD(_attention_backward, "_attention_backward(grad, query, key, value, mask, output, logsumexp, is_causal, scale)"),
    TT_METHOD(mm, "mm(self, mat2)"),
    TT_METHOD(mv, "mv(self, vec)"),
    TT_METHOD(dot, "dot(self, tensor)"),
    TT_METHOD(bmm, "bmm(self, mat2)"),
    TT_METHOD(matmul, "matmul(self, other)"),
    TT_METHOD(outer, "outer(self, vec2)"),
    TT_METHOD(linear, "linear(input, weight, bias)"),
    TT_METHOD(addmm, "addmm(self, mat1, mat2, beta=1, alpha=1)"),
    TT_METHOD(_serve_by, "_serve_by(sgemm, dgemm, fortran, whole)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _products
#define DOC "Products of vectors and matrices."
#include "module.inc"
