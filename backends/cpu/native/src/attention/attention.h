/* Attention: softmax(scale Q K^T) V, by tiles of queries and keys whose scores stay in the cache, with the greatest score
 * and the sum of exponentials of each query so far; and its gradients, for which the weights are computed again from the
 * logarithms of the sums.
 */
#include "vector_math.h"

/* Queries that are taken at once, and keys of a tile, so that tiles stay in the second-level cache.  Blocks of queries pack keys
 * and values once, so that large ones pack less; below TT_PACKING queries they are read in place. */
#define TT_QUERIES 64
#define TT_BLOCK (4 * TT_QUERIES)
#define TT_PACKING 12
#define TT_KEYS 240 /* whole columns of blocks of products, for each instruction set */

typedef struct {
    tt_dtype dtype;
    npy_intp size;                          /* of an element */
    npy_intp number, ndim, shape[NPY_MAXDIMS]; /* of the batch */
    npy_intp queries, keys, width, out;     /* rows of Q; of K and V; columns of Q and K; of V */
    npy_intp high;                          /* queries of a block */
    PyArrayObject *q, *k, *v, *mask;        /* NULL without a mask */
    PyArrayObject *grad, *found, *sums;     /* of the gradients: g, the result and its sums */
    char *result, *totals, *to_q, *to_k, *to_v;
    char *shares_k, *shares_v;              /* of each block of queries in the gradients of keys and values */
    int causal, added;                      /* whether the mask is added to the scores, and not one of bools */
    tt_dtype half;                          /* of such a mask, where the others were converted to float; TT_NONE otherwise */
    double scale;
    _Atomic int failed;
} attention;

/* The matrices of one element of the batch. */
typedef struct { const char *q, *k, *v, *mask, *grad, *found, *sums; } attention_part;

/* Queries [first, first + rows), keys [begin, begin + count). */
typedef struct { npy_intp first, rows, begin, count; } attention_tile;

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

static attention_part part_of(const attention *job, npy_intp number)
{
    return (attention_part){place_of(job, job->q, number), place_of(job, job->k, number), place_of(job, job->v, number),
                            place_of(job, job->mask, number), place_of(job, job->grad, number), place_of(job, job->found, number),
                            place_of(job, job->sums, number)};
}

/* How many keys at least one of the queries up to `end` sees. */
static npy_intp seen_before(const attention *job, npy_intp end) { return job->causal && end < job->keys ? end : job->keys; }

static npy_intp least(npy_intp a, npy_intp b) { return a < b ? a : b; }

/* How many keys of a tile a query sees. */
static npy_intp seen_by(const attention *job, npy_intp query, npy_intp begin, npy_intp count)
{
    npy_intp seen = job->causal ? query + 1 - begin : count;
    return seen < 0 ? 0 : seen < count ? seen : count;
}

/* The mask of a query from a key on, or NULL. */
static const char *mask_at(const attention *job, const attention_part *part, npy_intp query, npy_intp key)
{
    if (part->mask == NULL) return NULL;
    return part->mask + query * PyArray_STRIDE(job->mask, (int)job->ndim) + key * PyArray_STRIDE(job->mask, (int)job->ndim + 1);
}

/* exp(x) of distances from the greatest score: x <= 0, and what float32 has no normal number for is 0.  So 2^n needs no halves. */
TT_INLINE float weight_f32(float x)
{
    float rounded = x * 0x1.715476p0f + (TT_ROUNDER_F + 127.0f);
    float r = x * 0x1.715476p0f - (rounded - (TT_ROUNDER_F + 127.0f));
    float p = 0x1.470b4ap-13f; /* (2^r - 1) / r */
    p = p * r + 0x1.5f7276p-10f;
    p = p * r + 0x1.3b270ep-7f;
    p = p * r + 0x1.c6ae72p-5f;
    p = p * r + 0x1.ebfbe2p-3f;
    p = p * r + 0x1.62e432p-1f;
    p = (p * r + 1.0f) * tt_from_bits_f((int32_t)((uint32_t)tt_bits_f(rounded) << 23));
    return x < -87.0f ? 0.0f : p;
}

TT_INLINE double weight_f64(double x) { return tt_exp(x); }

/* exp(x) of any distances: logarithms of sums that are given may be rounded, or those of other scores. */
TT_INLINE float any_weight_f32(float x) { return weight_f32(x > 88.0f ? 88.0f : x); }
TT_INLINE double any_weight_f64(double x) { return tt_exp(x); }

TT_INLINE float logarithm_f32(float x) { return tt_log_f(x); }
TT_INLINE double logarithm_f64(double x) { return tt_log(x); }

#if 0 /* for the build, as in products.c */
#include "attention.inc"
#include "attention_rows.inc"
#endif
#undef TT_SOURCE
#undef TT_CODE_OF
#define TT_SOURCE "attention/attention.inc"
#include "instances.h"

/* Queries of a block, from `least` to `most`, for as many parts: by sizes alone, so that threads change no bits. */
static npy_intp block_of(const attention *job, npy_intp least, npy_intp most, npy_intp parts)
{
    npy_intp high = most;
    while (high > least && (high / 2 >= job->queries || job->number * ((job->queries + high - 1) / high) < parts)) high /= 2;
    return high;
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
        fits = fits && (job->mask == NULL || PyArray_NDIM(job->mask) == ndim);
        tt_dtype masks = job->mask == NULL ? TT_BOOL : tt_dtype_of(job->mask);
        job->half = job->dtype == TT_F32 && (masks == TT_F16 || masks == TT_BF16) ? masks : TT_NONE;
        job->added = masks == job->dtype || job->half != TT_NONE;
        fits = fits && (job->added || masks == TT_BOOL);
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
            job.high = block_of(&job, TT_BLOCK, 4 * TT_BLOCK, 32);
            if (job.high == TT_BLOCK) job.high = block_of(&job, TT_QUERIES, TT_BLOCK, 8);
            npy_intp blocks = (job.queries + job.high - 1) / job.high, cost = job.high * job.keys * (job.width + job.out + 16);
            TT_BEGIN_WORK(job.number * blocks * cost / 16)
            tt_parallel_for(0, job.number * blocks, 1 + 200000 / (cost + 1), job.dtype == TT_F32 ? attend_f32 : attend_f64, &job);
            TT_END_WORK
        }
        found = job.failed ? PyErr_NoMemory() : PyTuple_Pack(2, result, totals);
    }
    Py_XDECREF(result);
    Py_XDECREF(totals);
    return found;
}

/* Each block of queries has a share in the gradients of keys and values.  A large batch has one block for each of its elements,
 * whose share is the gradient; else the shares are added in the order of the blocks. */
static void run_backward(attention *job)
{
    npy_intp all = TT_QUERIES;
    while (all < job->queries) all *= 2;
    job->high = block_of(job, TT_QUERIES, all, 8);
    npy_intp blocks = (job->queries + job->high - 1) / job->high, size = job->size * job->number * job->keys;
    npy_intp cost = least(job->high, job->queries) * job->keys * (3 * job->width + 2 * job->out + 32);
    char *shares = NULL;
    job->shares_k = job->to_k, job->shares_v = job->to_v;
    if (blocks == 0) {
        memset(job->to_k, 0, (size_t)(size * job->width));
        memset(job->to_v, 0, (size_t)(size * job->out));
        return;
    }
    if (blocks > 1) {
        shares = malloc((size_t)(size * blocks * (job->width + job->out)) + 1);
        if (shares == NULL) {
            job->failed = 1;
            return;
        }
        job->shares_k = shares, job->shares_v = shares + size * blocks * job->width;
    }
    TT_BEGIN_WORK(job->number * blocks * cost / 16)
    tt_parallel_for(0, job->number * blocks, 1 + 200000 / (cost + 1), job->dtype == TT_F32 ? attend_back_f32 : attend_back_f64, job);
    if (blocks > 1) {
        npy_intp added = job->number * blocks * (job->width + job->out);
        tt_parallel_for(0, job->keys, 1 + 32768 / (added + 1), job->dtype == TT_F32 ? add_blocks_f32 : add_blocks_f64, job);
    }
    TT_END_WORK
    free(shares);
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
        run_backward(&job);
        result = job.failed ? PyErr_NoMemory() : PyTuple_Pack(3, to[0], to[1], to[2]);
    }
    for (int i = 0; i < 3; i++) Py_XDECREF(to[i]);
    return result;
}
