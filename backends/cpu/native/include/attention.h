/* Attention: softmax(scale Q K^T) V, a block of queries at a time, so that their scores stay in the cache; and its
 * gradients, for which the weights are computed again from the logarithms of the sums of their exponentials.
 */
#include "vector_math.h"

#define TT_QUERIES 64 /* in a block */

typedef struct {
    tt_dtype dtype;
    npy_intp size;                          /* of an element */
    npy_intp number, ndim, shape[NPY_MAXDIMS]; /* of the batch */
    npy_intp queries, keys, width, out;     /* rows of Q; of K and V; columns of Q and K; of V */
    PyArrayObject *q, *k, *v, *mask;        /* NULL without a mask */
    PyArrayObject *grad, *found, *sums;     /* of the gradients: g, the result and its sums */
    char *result, *totals, *to_q, *to_k, *to_v;
    int causal;
    double scale;
    _Atomic int failed;
} attention;

#define T float
#define EXP tt_exp_f
#define LOG tt_log_f
#include "attention_rows.inc"

#define T double
#define EXP tt_exp
#define LOG tt_log
#include "attention_rows.inc"

/* The matrices of one element of the batch. */
typedef struct { const char *q, *k, *v, *mask, *grad, *found, *sums; } attention_part;

static const char *place_of(const attention *job, PyArrayObject *array, npy_intp number)
{
    if (array == NULL) return NULL;
    const char *at = PyArray_DATA(array);
    for (npy_intp d = job->ndim - 1; d >= 0; d--) {
        at += number % job->shape[d] * PyArray_STRIDE(array, (int)d);
        number /= job->shape[d];
    }
    return at;
}

static tt_gemm product_of(const attention *job, npy_intp m, npy_intp n, npy_intp k, const void *a, npy_intp ars, npy_intp acs,
                          const void *b, npy_intp brs, npy_intp bcs, void *c, npy_intp ldc, int add)
{
    return (tt_gemm){m, n, k, a, b, ars, acs, brs, bcs, c, ldc, add, NULL, TT_ANY_WAY};
}

/* The weights of some queries, in rows of `keys`; returns how many keys any of them sees.  The logarithms of the sums are
 * written to `totals`, or, without, read where the part has them. */
static npy_intp weights_of(attention *job, const attention_part *part, npy_intp first, npy_intp rows, char *scores, char *totals)
{
    npy_intp size = job->size, nd = job->ndim, keys = job->keys;
    npy_intp qr = PyArray_STRIDE(job->q, (int)nd) / size, qc = PyArray_STRIDE(job->q, (int)nd + 1) / size;
    npy_intp kr = PyArray_STRIDE(job->k, (int)nd) / size, kc = PyArray_STRIDE(job->k, (int)nd + 1) / size;
    npy_intp most = job->causal && first + rows < keys ? first + rows : keys;
    tt_gemm dots = product_of(job, rows, most, job->width, part->q + first * qr * size, qr, qc, part->k, kc, kr, scores, keys, 0);
    if (tt_gemm_code_of(job->dtype)->serial(&dots)) job->failed = 1;
    for (npy_intp i = 0; i < rows; i++) {
        npy_intp seen = job->causal && first + i + 1 < keys ? first + i + 1 : keys, step = 1;
        const char *mask = part->mask;
        if (mask != NULL) {
            mask += (first + i) * PyArray_STRIDE(job->mask, (int)nd);
            step = PyArray_STRIDE(job->mask, (int)nd + 1);
        }
        int masked = mask != NULL || job->causal;
        char *row = scores + i * keys * size;
        const char *sum = totals == NULL ? part->sums + (first + i) * PyArray_STRIDE(job->sums, (int)nd) : NULL;
        if (sum != NULL && size == 4) weigh_float((float *)row, seen, most, (float)job->scale, mask, step, *(const float *)sum);
        else if (sum != NULL) weigh_double((double *)row, seen, most, job->scale, mask, step, *(const double *)sum);
        else if (size == 4) ((float *)totals)[i] = soften_float((float *)row, seen, most, (float)job->scale, mask, step, masked);
        else ((double *)totals)[i] = soften_double((double *)row, seen, most, job->scale, mask, step, masked);
    }
    return most;
}

static attention_part part_of(const attention *job, npy_intp number)
{
    return (attention_part){place_of(job, job->q, number), place_of(job, job->k, number), place_of(job, job->v, number),
                            place_of(job, job->mask, number), place_of(job, job->grad, number), place_of(job, job->found, number),
                            place_of(job, job->sums, number)};
}

/* Blocks of queries [begin, end), counted over the batch. */
static void attend(int64_t begin, int64_t end, void *context)
{
    attention *job = context;
    npy_intp blocks = (job->queries + TT_QUERIES - 1) / TT_QUERIES, size = job->size, nd = job->ndim;
    npy_intp vr = PyArray_STRIDE(job->v, (int)nd) / size, vc = PyArray_STRIDE(job->v, (int)nd + 1) / size;
    char *scores = NULL;
    if (posix_memalign((void **)&scores, 64, (size_t)(TT_QUERIES * job->keys * size))) {
        job->failed = 1;
        return;
    }
    for (int64_t at = begin; at < end; at++) {
        npy_intp number = at / blocks, first = at % blocks * TT_QUERIES;
        npy_intp rows = job->queries - first < TT_QUERIES ? job->queries - first : TT_QUERIES;
        attention_part part = part_of(job, number);
        npy_intp seen = weights_of(job, &part, first, rows, scores, job->totals + (number * job->queries + first) * size);
        char *to = job->result + (number * job->queries + first) * job->out * size;
        tt_gemm sums = product_of(job, rows, job->out, seen, scores, job->keys, 1, part.v, vr, vc, to, job->out, 0);
        if (job->out && tt_gemm_code_of(job->dtype)->serial(&sums)) job->failed = 1;
    }
    free(scores);
}

/* Gradients for elements [begin, end) of the batch. */
static void attend_back(int64_t begin, int64_t end, void *context)
{
    attention *job = context;
    const tt_gemm_code *code = tt_gemm_code_of(job->dtype);
    npy_intp size = job->size, nd = job->ndim, keys = job->keys, width = job->width, out = job->out;
#define STRIDES(X, NAME) npy_intp NAME##r = PyArray_STRIDE(job->X, (int)nd) / size, NAME##c = PyArray_STRIDE(job->X, (int)nd + 1) / size
    STRIDES(q, q);
    STRIDES(k, k);
    STRIDES(v, v);
    STRIDES(grad, g);
#undef STRIDES
    npy_intp fr = PyArray_STRIDE(job->found, (int)nd), fc = PyArray_STRIDE(job->found, (int)nd + 1);
    char *scores = NULL;
    if (posix_memalign((void **)&scores, 64, (size_t)(2 * TT_QUERIES * keys * size))) {
        job->failed = 1;
        return;
    }
    char *slopes = scores + TT_QUERIES * keys * size;
    for (int64_t number = begin; number < end; number++) {
        attention_part part = part_of(job, number);
        char *to_k = job->to_k + number * keys * width * size, *to_v = job->to_v + number * keys * out * size;
        memset(to_k, 0, (size_t)(keys * width * size));
        memset(to_v, 0, (size_t)(keys * out * size));
        for (npy_intp first = 0; first < job->queries; first += TT_QUERIES) {
            npy_intp rows = job->queries - first < TT_QUERIES ? job->queries - first : TT_QUERIES;
            npy_intp seen = weights_of(job, &part, first, rows, scores, NULL);
            const char *g = part.grad + first * gr * size, *q = part.q + first * qr * size;
            char *to_q = job->to_q + (number * job->queries + first) * width * size;
            tt_gemm steps[4] = {
                product_of(job, seen, out, rows, scores, 1, keys, g, gr, gc, to_v, out, 1),
                product_of(job, rows, seen, out, g, gr, gc, part.v, vc, vr, slopes, keys, 0),
                product_of(job, rows, width, seen, slopes, keys, 1, part.k, kr, kc, to_q, width, 0),
                product_of(job, seen, width, rows, slopes, 1, keys, q, qr, qc, to_k, width, 1),
            };
            int failed = code->serial(&steps[0]) | code->serial(&steps[1]);
            for (npy_intp i = 0; i < rows; i++) {
                char *row = slopes + i * keys * size;
                const char *slope = g + i * gr * size, *found = part.found + (first + i) * fr;
                if (size == 4) harden_float((float *)row, (const float *)scores + i * keys, seen, (float)job->scale, dot_float(slope, gc * size, found, fc, out));
                else harden_double((double *)row, (const double *)scores + i * keys, seen, job->scale, dot_double(slope, gc * size, found, fc, out));
            }
            if (failed | code->serial(&steps[2]) | code->serial(&steps[3])) job->failed = 1;
        }
    }
    free(scores);
}

/* Takes query, key, value and mask, and behind others is_causal and scale; false with an error. */
static bool take_attention(attention *job, PyObject *const *args, PyObject *const *options)
{
    job->q = tt_plain(args[0]), job->k = tt_plain(args[1]), job->v = tt_plain(args[2]);
    job->mask = args[3] == Py_None ? NULL : tt_plain(args[3]);
    bool fits = job->q != NULL && job->k != NULL && job->v != NULL && (job->mask != NULL || args[3] == Py_None);
    fits = fits && (job->causal = PyObject_IsTrue(options[0])) >= 0 && tt_double(options[1], &job->scale);
    if (fits) {
        job->dtype = tt_dtype_of(job->q);
        int ndim = PyArray_NDIM(job->q);
        fits = (job->dtype == TT_F32 || job->dtype == TT_F64) && tt_dtype_of(job->k) == job->dtype && tt_dtype_of(job->v) == job->dtype;
        fits = fits && ndim >= 2 && PyArray_NDIM(job->k) == ndim && PyArray_NDIM(job->v) == ndim;
        fits = fits && (job->mask == NULL || (PyArray_NDIM(job->mask) == ndim && tt_dtype_of(job->mask) == TT_BOOL));
        job->ndim = ndim - 2;
        job->number = 1;
        job->size = fits ? tt_sizes[job->dtype] : 0;
        for (int d = 0; fits && d < ndim - 2; d++) {
            npy_intp length = job->shape[d] = PyArray_DIM(job->q, d);
            job->number *= length;
            fits = PyArray_DIM(job->k, d) == length && PyArray_DIM(job->v, d) == length && (job->mask == NULL || PyArray_DIM(job->mask, d) == length);
        }
        if (fits) {
            job->queries = PyArray_DIM(job->q, ndim - 2), job->width = PyArray_DIM(job->q, ndim - 1);
            job->keys = PyArray_DIM(job->k, ndim - 2), job->out = PyArray_DIM(job->v, ndim - 1);
            fits = PyArray_DIM(job->k, ndim - 1) == job->width && PyArray_DIM(job->v, ndim - 2) == job->keys;
            fits = fits && (job->mask == NULL || (PyArray_DIM(job->mask, ndim - 2) == job->queries && PyArray_DIM(job->mask, ndim - 1) == job->keys));
        }
    }
    if (!fits) refuse("attention takes queries, keys, values and a mask that fit");
    return fits;
}

static PyObject *_attention(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    attention job = {0};
    if (!tt_expect_count("_attention", count, 6, 6) || !take_attention(&job, args, args + 4)) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(job.q), (size_t)(job.ndim + 1) * sizeof(npy_intp));
    shape[job.ndim + 1] = job.out;
    PyArrayObject *result = tt_empty((int)job.ndim + 2, shape, job.dtype), *totals = tt_empty((int)job.ndim + 1, shape, job.dtype);
    PyObject *found = NULL;
    if (result != NULL && totals != NULL) {
        if (PyArray_SIZE(totals)) {
            job.result = PyArray_DATA(result), job.totals = PyArray_DATA(totals);
            npy_intp blocks = (job.queries + TT_QUERIES - 1) / TT_QUERIES, cost = TT_QUERIES * job.keys * (job.width + job.out + 16);
            TT_BEGIN_WORK(job.number * blocks * cost / 16)
            tt_parallel_for(0, job.number * blocks, 1 + 200000 / (cost + 1), attend, &job);
            TT_END_WORK
        }
        found = job.failed ? PyErr_NoMemory() : PyTuple_Pack(2, result, totals);
    }
    Py_XDECREF(result);
    Py_XDECREF(totals);
    return found;
}

static PyObject *_attention_backward(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    attention job = {0};
    if (!tt_expect_count("_attention_backward", count, 9, 9) || !take_attention(&job, args + 1, args + 7)) return NULL;
    job.grad = tt_plain(args[0]), job.found = tt_plain(args[5]), job.sums = tt_plain(args[6]);
    int ndim = (int)job.ndim + 2;
    bool fits = true;
    PyArrayObject *const given[3] = {job.grad, job.found, job.sums};
    for (int i = 0; fits && i < 3; i++) {
        int dims = i < 2 ? ndim : ndim - 1;
        fits = given[i] != NULL && tt_dtype_of(given[i]) == job.dtype && PyArray_NDIM(given[i]) == dims;
        for (int d = 0; fits && d < dims; d++) fits = PyArray_DIM(given[i], d) == (d < ndim - 1 ? PyArray_DIM(job.q, d) : job.out);
    }
    if (!fits) return refuse("the gradient, the result or its sums do not fit");
    PyArrayObject *to[3] = {tt_empty_of(ndim, PyArray_DIMS(job.q), job.q), tt_empty_of(ndim, PyArray_DIMS(job.k), job.k),
                            tt_empty_of(ndim, PyArray_DIMS(job.v), job.v)};
    PyObject *result = NULL;
    if (to[0] != NULL && to[1] != NULL && to[2] != NULL) {
        job.to_q = PyArray_DATA(to[0]), job.to_k = PyArray_DATA(to[1]), job.to_v = PyArray_DATA(to[2]);
        npy_intp cost = job.queries * job.keys * (3 * job.width + 2 * job.out + 32);
        TT_BEGIN_WORK(job.number * cost / 16)
        tt_parallel_for(0, job.number, 1 + 200000 / (cost + 1), attend_back, &job);
        TT_END_WORK
        result = job.failed ? PyErr_NoMemory() : PyTuple_Pack(3, to[0], to[1], to[2]);
    }
    for (int i = 0; i < 3; i++) Py_XDECREF(to[i]);
    return result;
}
