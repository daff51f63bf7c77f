/* Products of matrices of bfloat16, by the processor's instruction for pairs of them: C += a0 * b0 + a1 * b1 in float32.
 *
 * Two neighbours along the sum are a pair, which is packed and moved as a float.  So operands are packed like those of
 * float32, with half as many steps, and a block of sums has the same size (gemm.inc).  Sums stay in float32 until a block
 * of rows is complete.  The instruction takes denormal numbers for zeros.
 */
#include "gemm.h"
#include "fallback.h"

#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 10)
#define TT_PAIRS
#include <immintrin.h>
#endif

#define NV 3
#define T float
#define S(name) TT_CAT(name, _f32)
#include "gemm.inc"

#define ROWS MRX
#define LANES (VB / 4)
#define COLUMNS (NV * LANES)
#define DEPTH 256 /* pairs of a block */

static bool supported_here(void)
{
#if defined(TT_PAIRS)
    __builtin_cpu_init();
    return VB == 64 && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

#if defined(TT_PAIRS) && VB == 64

#define TT_PAIRWISE __attribute__((target("avx512bf16")))

/* sums[ROWS x nv vectors] (+)= the products of `depth` pairs of packed operands; rows of sums are `pitch` apart. */
TT_PAIRWISE TT_INLINE void block_of_pairs(const int nv, npy_intp depth, const float *a, const float *b, float *sums,
                                          npy_intp pitch, int add)
{
    __m512 sum[ROWS][NV];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < nv; v++) sum[i][v] = add ? _mm512_loadu_ps(sums + i * pitch + v * LANES) : _mm512_setzero_ps();
    }
#pragma GCC unroll 4
    for (npy_intp j = 0; j < depth; j++, a += ROWS, b += COLUMNS) {
        __m512 right[NV];
#pragma GCC unroll 4
        for (int v = 0; v < nv; v++) {
            right[v] = _mm512_loadu_ps(b + v * LANES);
            TT_KEEP(right[v]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++) {
            __m512 left = _mm512_set1_ps(a[i]);
#pragma GCC unroll 4
            for (int v = 0; v < nv; v++) sum[i][v] = _mm512_dpbf16_ps(sum[i][v], (__m512bh)left, (__m512bh)right[v]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < nv; v++) _mm512_storeu_ps(sums + i * pitch + v * LANES, sum[i][v]);
    }
}

TT_PAIRWISE static void multiply_pairs(int nv, npy_intp depth, const float *a, const float *b, float *sums, npy_intp pitch, int add)
{
    if (nv == 1) block_of_pairs(1, depth, a, b, sums, pitch, add);
    else if (nv == 2) block_of_pairs(2, depth, a, b, sums, pitch, add);
    else block_of_pairs(NV, depth, a, b, sums, pitch, add);
}

/* sums[count] = x B for `count` columns of B, at most ROWS, which are contiguous as x is: read where they lie. */
TT_PAIRWISE static void row_along(npy_intp count, npy_intp k, const uint16_t *x, const uint16_t *b, npy_intp bcs, float *sums)
{
    __m512 sum[ROWS];
    const uint16_t *column[ROWS];
    for (int i = 0; i < ROWS; i++) sum[i] = _mm512_setzero_ps(), column[i] = b + (i < count ? i : 0) * bcs;
    npy_intp j = 0;
    for (; j + 2 * LANES <= k; j += 2 * LANES) {
        __m512bh left = (__m512bh)_mm512_loadu_si512(x + j);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) sum[i] = _mm512_dpbf16_ps(sum[i], left, (__m512bh)_mm512_loadu_si512(column[i] + j));
    }
    __mmask32 rest = ((__mmask32)1 << (k - j)) - 1;
    __m512bh left = (__m512bh)_mm512_maskz_loadu_epi16(rest, x + j);
    for (int i = 0; i < count; i++) {
        sums[i] = _mm512_reduce_add_ps(_mm512_dpbf16_ps(sum[i], left, (__m512bh)_mm512_maskz_loadu_epi16(rest, column[i] + j)));
    }
}

/* Rounds whole vectors of a row of sums, with the bias, to C; returns how many numbers are done. */
TT_PAIRWISE static npy_intp round_most(uint16_t *to, const float *sums, const uint16_t *bias, npy_intp count)
{
    npy_intp i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m512 sum = _mm512_loadu_ps(sums + i);
        if (bias != NULL) {
            __m512i added = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(bias + i)));
            sum = _mm512_add_ps(sum, _mm512_castsi512_ps(_mm512_slli_epi32(added, 16)));
        }
        _mm256_storeu_si256((__m256i *)(void *)(to + i), (__m256i)_mm512_cvtneps_pbh(sum));
    }
    return i;
}

#else

/* Never called: see supported_here(). */
static void multiply_pairs(int nv, npy_intp depth, const float *a, const float *b, float *sums, npy_intp pitch, int add)
{
    (void)nv, (void)depth, (void)a, (void)b, (void)sums, (void)pitch, (void)add;
}

static void row_along(npy_intp count, npy_intp k, const uint16_t *x, const uint16_t *b, npy_intp bcs, float *sums)
{
    (void)count, (void)k, (void)x, (void)b, (void)bcs, (void)sums;
}

static npy_intp round_most(uint16_t *to, const float *sums, const uint16_t *bias, npy_intp count)
{
    (void)to, (void)sums, (void)bias, (void)count;
    return 0;
}

#endif

/* --- packing --- */

/* Two bfloat16 as one float; the second is 0 beyond the end of an odd sum. */
TT_INLINE void pair_of(float *to, const uint16_t *first, npy_intp step, bool both)
{
    uint32_t bits = first[0] | (both ? (uint32_t)first[step] << 16 : 0);
    memcpy(to, &bits, sizeof(bits));
}

/* Pairs of the numbers of two rows, `step` apart. */
TT_INLINE void braid_pairs(float *to, const uint16_t *first, npy_intp step, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        uint32_t bits = first[i] | (uint32_t)first[step + i] << 16;
        memcpy(to + i, &bits, sizeof(bits));
    }
}

/* Whether pairs along a contiguous sum lie where floats could: `stride` leads from one sum to the next. */
TT_INLINE bool pairs_lie(const uint16_t *data, npy_intp along, npy_intp stride)
{
    return along == 1 && stride % 2 == 0 && (uintptr_t)data % sizeof(float) == 0;
}

/* Packs at most ROWS rows of A with `k` columns. */
static void pack_rows(float *to, const uint16_t *a, npy_intp rs, npy_intp cs, npy_intp rows, npy_intp k)
{
    npy_intp whole = 0;
    if (pairs_lie(a, cs, rs)) {
        whole = k / 2;
        pack_left_f32(to, (const float *)(const void *)a, rs / 2, 1, rows, whole);
    } else if (rs == 1 && rows == ROWS) {
        for (; 2 * whole + 1 < k; whole++) braid_pairs(to + whole * ROWS, a + 2 * whole * cs, cs, ROWS);
    }
    for (npy_intp j = whole; 2 * j < k; j++) {
        for (npy_intp i = 0; i < rows; i++) pair_of(to + j * ROWS + i, a + i * rs + 2 * j * cs, cs, 2 * j + 1 < k);
    }
}

/* Packs at most COLUMNS columns of B with `k` rows. */
static void pack_columns(float *to, const uint16_t *b, npy_intp rs, npy_intp cs, npy_intp columns, npy_intp k)
{
    npy_intp whole = 0;
    if (pairs_lie(b, rs, cs)) {
        whole = k / 2;
        pack_right_f32(to, (const float *)(const void *)b, 1, cs / 2, columns, whole);
    } else if (cs == 1) {
        for (; 2 * whole + 1 < k; whole++) braid_pairs(to + whole * COLUMNS, b + 2 * whole * rs, rs, columns);
    }
    for (npy_intp j = whole; 2 * j < k; j++) {
        for (npy_intp i = 0; i < columns; i++) pair_of(to + j * COLUMNS + i, b + 2 * j * rs + i * cs, rs, 2 * j + 1 < k);
    }
}

/* --- the whole --- */

/* Rounds sums, with the bias, to a row of C. */
static void finish_row(uint16_t *to, const float *sums, const uint16_t *bias, npy_intp count)
{
    for (npy_intp i = round_most(to, sums, bias, count); i < count; i++) {
        to[i] = tt_bfloat_of_float(sums[i] + (bias == NULL ? 0 : tt_float_of_bfloat((tt_bfloat){bias[i]}))).bits;
    }
}

static int is_along(const tt_gemm *job) { return job->m == 1 && job->acs == 1 && job->brs == 1; }

static int multiply(const tt_gemm *job)
{
    npy_intp m = job->m, n = job->n, k = job->k, pairs = (k + 1) / 2;
    if (job->way == TT_ALONG || (job->way == TT_ANY_WAY && is_along(job))) {
        for (npy_intp j = 0; j < n; j += ROWS) {
            npy_intp count = n - j < ROWS ? n - j : ROWS;
            const uint16_t *bias = job->bias;
            float sums[ROWS];
            row_along(count, k, job->a, (const uint16_t *)job->b + j * job->bcs, job->bcs, sums);
            finish_row((uint16_t *)job->c + j, sums, bias == NULL ? NULL : bias + j, count);
        }
        return 0;
    }
    const tt_gemm_caches *caches = tt_gemm_caches_of();
    npy_intp depth = pairs < DEPTH ? pairs : DEPTH;
    npy_intp high = share_f32(m, 128, ROWS), wide = share_f32(n, pairs ? caches->third / 4 / (pairs * 4) : n, COLUMNS);
    float *right = scratch_take((size_t)((pairs + high) * wide + high * depth) * sizeof(float)); /* aligned for vectors */
    if (right == NULL) return 1;
    float *sums = right + pairs * wide, *left = sums + high * wide;
    for (npy_intp jc = 0; jc < n; jc += wide) {
        npy_intp width = n - jc < wide ? n - jc : wide;
        const uint16_t *b = (const uint16_t *)job->b + jc * job->bcs, *bias = job->bias;
        for (npy_intp t = 0; t * COLUMNS < width; t++) {
            npy_intp j = column_f32(width, t), columns = column_f32(width, t + 1) - j;
            pack_columns(right + t * COLUMNS * pairs, b + j * job->bcs, job->brs, job->bcs, columns, k);
        }
        for (npy_intp ic = 0; ic < m; ic += high) {
            npy_intp height = m - ic < high ? m - ic : high;
            if (k == 0) memset(sums, 0, (size_t)(high * wide) * sizeof(float));
            for (npy_intp kc = 0; kc < pairs; kc += DEPTH) {
                npy_intp deep = pairs - kc < DEPTH ? pairs - kc : DEPTH, terms = k - 2 * kc < 2 * deep ? k - 2 * kc : 2 * deep;
                const uint16_t *a = (const uint16_t *)job->a + ic * job->ars + 2 * kc * job->acs;
                for (npy_intp i = 0; i < height; i += ROWS) {
                    npy_intp rows = height - i < ROWS ? height - i : ROWS;
                    pack_rows(left + i * deep, a + i * job->ars, job->ars, job->acs, rows, terms);
                }
                for (npy_intp t = 0; t * COLUMNS < width; t++) {
                    npy_intp j = column_f32(width, t), columns = column_f32(width, t + 1) - j;
                    const float *tile = right + (t * pairs + kc) * COLUMNS;
                    int nv = (int)((columns + LANES - 1) / LANES);
                    for (npy_intp i = 0; i < height; i += ROWS) {
                        multiply_pairs(nv, deep, left + i * deep, tile, sums + i * wide + j, wide, kc > 0);
                    }
                }
            }
            for (npy_intp i = 0; i < height; i++) {
                finish_row((uint16_t *)job->c + (ic + i) * job->ldc + jc, sums + i * wide, bias == NULL ? NULL : bias + jc, width);
            }
        }
    }
    scratch_give(right);
    return 0;
}

static const tt_gemm_code code = {ROWS, COLUMNS, 0, multiply, is_along, NULL, NULL};

static const tt_gemm_code *tt_gemm_code_of(tt_dtype dtype)
{
    (void)dtype;
    return &code;
}

/* --- for Python --- */

typedef struct {
    tt_gemm job;         /* of the first matrices */
    npy_intp a, b, c;    /* bytes from matrix to matrix */
    bool alone;          /* each by its own thread */
    _Atomic int failed;
} batch;

static void products_of(int64_t begin, int64_t end, void *context)
{
    batch *all = context;
    for (int64_t at = begin; at < end; at++) {
        tt_gemm job = all->job;
        job.a = (const char *)job.a + at * all->a;
        job.b = (const char *)job.b + at * all->b;
        job.c = (char *)job.c + at * all->c;
        if (all->alone ? multiply(&job) : tt_gemm_run(TT_BF16, &job)) all->failed = 1;
    }
}

static PyObject *refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

static PyObject *product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x, *y, *bias = NULL;
    if (!tt_expect_count("product", count, 3, 3)) return NULL;
    if (!supported_here()) return refuse("product() needs a processor that multiplies bfloat16");
    x = tt_plain(args[0]), y = tt_plain(args[1]);
    if (x == NULL || y == NULL || tt_dtype_of(x) != TT_BF16 || tt_dtype_of(y) != TT_BF16) return refuse("product() takes bfloat16");
    int ndim = PyArray_NDIM(x);
    if (ndim < 2 || ndim > 3 || PyArray_NDIM(y) != ndim) return refuse("product() takes two matrices, or two batches");
    const npy_intp *xdims = PyArray_DIMS(x), *ydims = PyArray_DIMS(y), *xs = PyArray_STRIDES(x), *ys = PyArray_STRIDES(y);
    npy_intp m = xdims[ndim - 2], k = xdims[ndim - 1], n = ydims[ndim - 1], number = ndim == 3 ? xdims[0] : 1;
    if (ydims[ndim - 2] != k || (ndim == 3 && ydims[0] != number)) return refuse("product() takes matrices that fit");
    if (args[2] != Py_None) {
        bias = tt_plain(args[2]);
        if (bias == NULL || tt_dtype_of(bias) != TT_BF16 || PyArray_NDIM(bias) != 1 || PyArray_DIM(bias, 0) != n ||
            (n > 1 && PyArray_STRIDE(bias, 0) != 2)) {
            return refuse("product() takes a contiguous bias, a number for each column");
        }
    }
    npy_intp shape[3] = {number, m, n};
    PyArrayObject *result = tt_empty(ndim, shape + 3 - ndim, TT_BF16);
    if (result == NULL || number * m * n == 0) return (PyObject *)result;
    batch all = {.job = {m, n, k, PyArray_DATA(x), PyArray_DATA(y), xs[ndim - 2] / 2, xs[ndim - 1] / 2, ys[ndim - 2] / 2,
                         ys[ndim - 1] / 2, PyArray_DATA(result), n, 0, bias == NULL ? NULL : PyArray_DATA(bias), TT_ANY_WAY},
                 .a = ndim == 3 ? xs[0] : 0, .b = ndim == 3 ? ys[0] : 0, .c = m * n * 2};
    if (n == 1 && bias == NULL) { /* a row times the transposed matrix: no room for other columns is packed */
        tt_gemm job = all.job;
        all.job = (tt_gemm){1, m, k, job.b, job.a, job.bcs, job.brs, job.acs, job.ars, job.c, m, 0, NULL, TT_ANY_WAY};
        npy_intp step = all.a;
        all.a = all.b, all.b = step;
    }
    npy_intp cost = m * n * (k + 1);
    all.alone = number >= tt_threads->thread_count() || cost < TT_GEMM_SHARED;
    TT_BEGIN_WORK(number * cost / 16)
    if (all.alone) tt_parallel_for(0, number, 1 + TT_GEMM_SHARED / 4 / cost, products_of, &all);
    else products_of(0, number, &all);
    TT_END_WORK
    if (!all.failed) return (PyObject *)result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

static PyObject *supported(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    return tt_expect_count("supported", count, 0, 0) ? PyBool_FromLong(supported_here()) : NULL;
}

static PyMethodDef methods[] = {
    TT_METHOD(product, "product(a, b, bias): of matrices, or of batches of them"),
    TT_METHOD(supported, "supported(): whether this processor has the instruction"),
    {NULL, NULL, 0, NULL},
};

#define NAME _bfloat_products
#define DOC "Products of matrices of bfloat16."
#include "module.inc"
