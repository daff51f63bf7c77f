/* Attention: softmax(scale Q K^T) V, by tiles of queries and keys whose scores stay in the cache, with the greatest score
 * and the sum of exponentials of each query so far; and its gradients, for which the weights are computed again from the
 * logarithms of the sums.
 */
#include "vector_math.h"

/* Queries of a block, and keys of a tile.  Each block packs all keys and values again, so that large blocks pack less;
 * where each query sees the keys before it only, small ones compute less that counts for nothing. */
#define TT_FEW_QUERIES 64
#define TT_QUERIES 256
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
    int causal, added;                      /* whether the mask is added to the scores, and not one of bools */
    tt_dtype half;                          /* of such a mask, where the others were converted to float; TT_NONE otherwise */
    double scale;
    _Atomic int failed;
} attention;

/* The matrices of one element of the batch. */
typedef struct { const char *q, *k, *v, *mask, *grad, *found, *sums; } attention_part;

/* Queries [first, first + rows), keys [begin, begin + count). */
typedef struct { npy_intp first, rows, begin, count; } attention_tile;

#define T float
#define EXP tt_exp_f
#define LOG tt_log_f
#include "attention_rows.inc"

#define T double
#define EXP tt_exp
#define LOG tt_log
#include "attention_rows.inc"

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

/* Adds a product to C, or writes it. */
static void multiply_tile(attention *job, npy_intp m, npy_intp n, npy_intp k, const void *a, npy_intp ars, npy_intp acs,
                          const void *b, npy_intp brs, npy_intp bcs, void *c, npy_intp ldc, int add)
{
    tt_gemm product = {m, n, k, a, b, ars, acs, brs, bcs, c, ldc, add, NULL, TT_ANY_WAY};
    if (n > 0 && tt_gemm_code_of(job->dtype)->serial(&product)) job->failed = 1;
}

/* How many keys at least one of the queries up to `end` sees. */
static npy_intp seen_before(const attention *job, npy_intp end) { return job->causal && end < job->keys ? end : job->keys; }

/* The products of the queries and the keys of a tile, in rows of TT_KEYS. */
static void score(attention *job, const attention_part *part, const attention_tile *tile, char *scores)
{
    npy_intp size = job->size, nd = job->ndim;
    npy_intp qr = PyArray_STRIDE(job->q, (int)nd) / size, qc = PyArray_STRIDE(job->q, (int)nd + 1) / size;
    npy_intp kr = PyArray_STRIDE(job->k, (int)nd) / size, kc = PyArray_STRIDE(job->k, (int)nd + 1) / size;
    multiply_tile(job, tile->rows, tile->count, job->width, part->q + tile->first * qr * size, qr, qc,
                  part->k + tile->begin * kr * size, kc, kr, scores, TT_KEYS, 0);
}

static npy_intp least(npy_intp a, npy_intp b) { return a < b ? a : b; }

/* Blocks of queries [begin, end), counted over the batch. */
static void attend(int64_t begin, int64_t end, void *context)
{
    attention *job = context;
    npy_intp blocks = (job->queries + job->high - 1) / job->high, size = job->size, nd = job->ndim;
    npy_intp vr = PyArray_STRIDE(job->v, (int)nd) / size, vc = PyArray_STRIDE(job->v, (int)nd + 1) / size;
    char *scores = NULL;
    if (posix_memalign((void **)&scores, 64, (size_t)(job->high * (TT_KEYS + 2) * size))) {
        job->failed = 1;
        return;
    }
    char *tops = scores + job->high * TT_KEYS * size, *sums = tops + job->high * size;
    for (int64_t at = begin; at < end; at++) {
        npy_intp number = at / blocks, first = at % blocks * job->high, rows = least(job->queries - first, job->high);
        attention_part part = part_of(job, number);
        char *to = job->result + (number * job->queries + first) * job->out * size;
        for (npy_intp i = 0; i < rows; i++) {
            if (size == 4) ((float *)tops)[i] = -INFINITY, ((float *)sums)[i] = 0;
            else ((double *)tops)[i] = -INFINITY, ((double *)sums)[i] = 0;
        }
        npy_intp most = seen_before(job, first + rows);
        if (most == 0) memset(to, 0, (size_t)(rows * job->out * size));
        for (npy_intp key = 0; key < most; key += TT_KEYS) {
            attention_tile tile = {first, rows, key, least(most - key, TT_KEYS)};
            score(job, &part, &tile, scores);
            if (size == 4) soften_rows_float(job, &part, &tile, scores, tops, sums, to);
            else soften_rows_double(job, &part, &tile, scores, tops, sums, to);
            multiply_tile(job, rows, job->out, tile.count, scores, TT_KEYS, 1, part.v + key * vr * size, vr, vc, to, job->out, key > 0);
        }
        char *totals = job->totals + (number * job->queries + first) * size;
        if (size == 4) settle_rows_float(job, rows, tops, sums, to, totals);
        else settle_rows_double(job, rows, tops, sums, to, totals);
    }
    free(scores);
}

/* Gradients for elements [begin, end) of the batch. */
static void attend_back(int64_t begin, int64_t end, void *context)
{
    attention *job = context;
    npy_intp size = job->size, nd = job->ndim, keys = job->keys, width = job->width, out = job->out, high = job->high;
#define STRIDES(X, NAME) npy_intp NAME##r = PyArray_STRIDE(job->X, (int)nd) / size, NAME##c = PyArray_STRIDE(job->X, (int)nd + 1) / size
    STRIDES(q, q);
    STRIDES(k, k);
    STRIDES(v, v);
    STRIDES(grad, g);
#undef STRIDES
    char *weights = NULL;
    if (posix_memalign((void **)&weights, 64, (size_t)(high * (2 * TT_KEYS + 1) * size))) {
        job->failed = 1;
        return;
    }
    char *slopes = weights + high * TT_KEYS * size, *means = slopes + high * TT_KEYS * size;
    for (int64_t number = begin; number < end; number++) {
        attention_part part = part_of(job, number);
        char *all_k = job->to_k + number * keys * width * size, *all_v = job->to_v + number * keys * out * size;
        memset(all_k, 0, (size_t)(keys * width * size));
        memset(all_v, 0, (size_t)(keys * out * size));
        for (npy_intp first = 0; first < job->queries; first += high) {
            npy_intp rows = least(job->queries - first, high), most = seen_before(job, first + rows);
            const char *g = part.grad + first * gr * size, *q = part.q + first * qr * size;
            char *to_q = job->to_q + (number * job->queries + first) * width * size;
            if (size == 4) mean_rows_float(job, &part, first, rows, means);
            else mean_rows_double(job, &part, first, rows, means);
            if (most == 0) memset(to_q, 0, (size_t)(rows * width * size));
            for (npy_intp key = 0; key < most; key += TT_KEYS) {
                attention_tile tile = {first, rows, key, least(most - key, TT_KEYS)};
                npy_intp count = tile.count;
                const char *k = part.k + key * kr * size, *v = part.v + key * vr * size;
                score(job, &part, &tile, weights);
                if (size == 4) weigh_rows_float(job, &part, &tile, weights);
                else weigh_rows_double(job, &part, &tile, weights);
                multiply_tile(job, count, out, rows, weights, 1, TT_KEYS, g, gr, gc, all_v + key * out * size, out, 1);
                multiply_tile(job, rows, count, out, g, gr, gc, v, vc, vr, slopes, TT_KEYS, 0);
                if (size == 4) harden_rows_float(job, &tile, weights, slopes, means);
                else harden_rows_double(job, &tile, weights, slopes, means);
                multiply_tile(job, rows, width, count, slopes, TT_KEYS, 1, k, kr, kc, to_q, width, key > 0);
                multiply_tile(job, count, width, rows, slopes, 1, TT_KEYS, q, qr, qc, all_k + key * width * size, width, 1);
            }
        }
    }
    free(weights);
}

/* Queries of a block, for as many parts at least: by sizes alone, so that threads change no bits. */
static npy_intp block_of(const attention *job, npy_intp parts)
{
    npy_intp high = job->causal ? TT_FEW_QUERIES : TT_QUERIES;
    while (high > TT_FEW_QUERIES && (high / 2 >= job->queries || job->number * ((job->queries + high - 1) / high) < parts)) high /= 2;
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
            job.high = block_of(&job, 8);
            npy_intp blocks = (job.queries + job.high - 1) / job.high, cost = job.high * job.keys * (job.width + job.out + 16);
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
        job.high = block_of(&job, 1);
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
