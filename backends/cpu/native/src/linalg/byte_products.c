/* Products of matrices of bytes with sums of 32 bits, by the processor's instructions for neighbours along the sum.
 *
 * Neighbours are packed into a word of 32 bits, which is moved and repeated as one: four bytes, where the processor adds the
 * products of four (AVX512_VNNI), or else two numbers of 16 bits (pmaddwd, which every x86-64 has).  The former multiplies unsigned
 * by signed bytes: signed rows are packed with 128 added, and 128 times the sum of each column is subtracted in the end.  All is exact
 * modulo 2^32.
 */
#include "fallback.h"
#include "isa.h"
#include "scratch.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if VB == 64 && (defined(__clang__) || __GNUC__ >= 9)
#define TT_QUADS __attribute__((target("avx512vnni")))
#endif

#define NV 3
#define ROWS MRX
#define LANES (VB / 4)
#define COLUMNS (NV * LANES)
#define DEPTH 256 /* words of a block of a sum */

typedef int32_t words __attribute__((vector_size(VB), may_alias));

/* `sums` and the products of the numbers of 16 bits in each word. */
TT_INLINE words add_pairs(words sums, words a, words b)
{
#if VB == 64
    return sums + (words)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif VB == 32
    return sums + (words)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return sums + (words)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    typedef int16_t halves __attribute__((vector_size(VB)));
    halves x = (halves)a, y = (halves)b;
    for (int i = 0; i < LANES; i++) sums[i] += (int32_t)x[2 * i] * y[2 * i] + (int32_t)x[2 * i + 1] * y[2 * i + 1];
    return sums;
#endif
}

#ifdef TT_QUADS
TT_QUADS TT_INLINE words add_quads(words sums, words a, words b)
{
    return (words)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)a, (__m512i)b);
}
#endif

#define NAME block_of_pairs
#define TARGET
#define ADD add_pairs
#include "byte_products_block.inc"
#ifdef TT_QUADS
#define NAME block_of_quads
#define TARGET TT_QUADS
#define ADD add_quads
#include "byte_products_block.inc"
#endif

static bool has_quads(void)
{
#ifdef TT_QUADS
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

/* --- packing --- */

typedef struct {
    npy_intp m, n, k, words;     /* words along the sum */
    const uint8_t *a, *b;
    npy_intp ars, acs, brs, bcs; /* strides in bytes */
    int32_t *c;                  /* m x n, contiguous */
    bool is_signed, quads;       /* the rows; how words are packed */
    npy_intp first, width;       /* the columns that are packed */
    int32_t *right, *offsets;    /* tiles of COLUMNS, one behind the other; what C begins with in each column */
} product;

/* Neighbours along the sum as one word; beyond its end they are 0. */
TT_INLINE int32_t word_of(const uint8_t *first, npy_intp step, npy_intp count, bool quads, bool is_signed, uint8_t offset)
{
    uint32_t word = 0;
    if (quads) {
        for (int i = 0; i < 4 && i < count; i++) word |= (uint32_t)(uint8_t)(first[i * step] + offset) << 8 * i;
    } else {
        for (int i = 0; i < 2 && i < count; i++) {
            uint32_t number = is_signed ? (uint32_t)(int32_t)(int8_t)first[i * step] : first[i * step];
            word |= (number & 0xffff) << 16 * i;
        }
    }
    return (int32_t)word;
}

static void pack_rows(int32_t *to, const product *job, const uint8_t *a, npy_intp rows, npy_intp begin, npy_intp depth)
{
    npy_intp each = job->quads ? 4 : 2;
    uint8_t offset = job->quads && job->is_signed ? 128 : 0;
    if (rows < ROWS) memset(to, 0, (size_t)(depth * ROWS) * sizeof(int32_t));
    for (npy_intp i = 0; i < rows; i++) {
        const uint8_t *row = a + i * job->ars;
        npy_intp j = 0;
        if (job->quads && job->acs == 1) { /* whole words; 128 more is another highest bit */
            uint32_t flipped = job->is_signed ? 0x80808080 : 0;
            for (npy_intp whole = job->k / 4 - begin; j < depth && j < whole; j++) {
                uint32_t word;
                memcpy(&word, row + (begin + j) * 4, sizeof(word));
                to[j * ROWS + i] = (int32_t)(word ^ flipped);
            }
        }
        for (; j < depth; j++) {
            npy_intp at = (begin + j) * each;
            to[j * ROWS + i] = word_of(row + at * job->acs, job->acs, job->k - at, job->quads, job->is_signed, offset);
        }
    }
}

static void pack_tiles(int64_t begin, int64_t end, void *context)
{
    const product *job = context;
    npy_intp each = job->quads ? 4 : 2;
    for (int64_t t = begin; t < end; t++) {
        npy_intp left = t * COLUMNS, columns = job->width - left < COLUMNS ? job->width - left : COLUMNS;
        const uint8_t *b = job->b + (job->first + left) * job->bcs;
        int32_t *to = job->right + left * job->words, *offsets = job->offsets + left;
        memset(offsets, 0, COLUMNS * sizeof(int32_t));
        for (npy_intp j = 0; j < job->words; j++, to += COLUMNS) {
            const uint8_t *row = b + j * each * job->brs;
            npy_intp count = job->k - j * each;
            if (columns < COLUMNS) memset(to, 0, COLUMNS * sizeof(int32_t));
            if (job->quads && count >= 4 && job->bcs == 1) { /* whole words of contiguous rows, a vector at a time */
                npy_intp rs = job->brs;
                for (npy_intp i = 0; i < columns; i++) {
                    to[i] = (int32_t)(row[i] | (uint32_t)row[i + rs] << 8 | (uint32_t)row[i + 2 * rs] << 16 | (uint32_t)row[i + 3 * rs] << 24);
                }
            } else {
                for (npy_intp i = 0; i < columns; i++) to[i] = word_of(row + i * job->bcs, job->brs, count, job->quads, true, 0);
            }
            if (!job->quads || !job->is_signed) continue;
            for (npy_intp i = 0; i < columns; i++) {
                uint32_t word = (uint32_t)to[i];
                offsets[i] -= 128 * ((int8_t)word + (int8_t)(word >> 8) + (int8_t)(word >> 16) + (int8_t)(word >> 24));
            }
        }
    }
}

/* Multiplies panels of ROWS rows by the tiles that are packed. */
static void panels_of(int64_t begin, int64_t end, void *context)
{
    const product *job = context;
    int32_t left[DEPTH * ROWS] __attribute__((aligned(64))), block[ROWS * COLUMNS] __attribute__((aligned(64)));
    for (int64_t p = begin; p < end; p++) {
        npy_intp top = p * ROWS, rows = job->m - top < ROWS ? job->m - top : ROWS;
        int32_t *c = job->c + top * job->n + job->first;
        for (npy_intp i = 0; i < rows; i++) memcpy(c + i * job->n, job->offsets, (size_t)job->width * sizeof(int32_t));
        for (npy_intp j = 0; j < job->words; j += DEPTH) {
            npy_intp depth = job->words - j < DEPTH ? job->words - j : DEPTH;
            pack_rows(left, job, job->a + top * job->ars, rows, j, depth);
            for (npy_intp t = 0; t < job->width; t += COLUMNS) {
                npy_intp columns = job->width - t < COLUMNS ? job->width - t : COLUMNS;
                int nv = (int)((columns + LANES - 1) / LANES);
                const int32_t *right = job->right + t * job->words + j * COLUMNS;
#ifdef TT_QUADS
                if (job->quads) block_of_quads(nv, depth, left, right, block);
                else block_of_pairs(nv, depth, left, right, block);
#else
                block_of_pairs(nv, depth, left, right, block);
#endif
                for (npy_intp i = 0; i < rows; i++) {
                    uint32_t *to = (uint32_t *)c + i * job->n + t; /* sums wrap around */
                    for (npy_intp v = 0; v < columns; v++) to[v] += (uint32_t)block[i * COLUMNS + v];
                }
            }
        }
    }
}

#define PACKED ((npy_intp)1 << 22) /* bytes of columns that are packed at once */

static int multiply(product *job)
{
    npy_intp each = job->quads ? 4 : 2;
    job->words = (job->k + each - 1) / each;
    npy_intp wide = PACKED / (job->words * 4 + 1) / COLUMNS * COLUMNS, whole = (job->n + COLUMNS - 1) / COLUMNS * COLUMNS;
    wide = wide < COLUMNS ? COLUMNS : wide > whole ? whole : wide;
    job->right = scratch_take((size_t)(wide * (job->words + 1)) * sizeof(int32_t));
    if (job->right == NULL) return 1;
    job->offsets = job->right + wide * job->words;
    for (job->first = 0; job->first < job->n; job->first += wide) {
        job->width = job->n - job->first < wide ? job->n - job->first : wide;
        npy_intp cost = job->words * COLUMNS + 1;
        tt_parallel_for(0, (job->width + COLUMNS - 1) / COLUMNS, 1 + 8192 / cost, pack_tiles, job);
        cost = job->words * job->width + 1;
        tt_parallel_for(0, (job->m + ROWS - 1) / ROWS, 1 + 32768 / cost, panels_of, job);
    }
    scratch_give(job->right);
    return 0;
}

/* --- for Python --- */

static PyObject *refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

/* _int_mm(self, mat2): of int8 or uint8, and int8 */
static PyObject *_int_mm(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("_int_mm", count, 2, 2)) return NULL;
    PyArrayObject *x = tt_plain(args[0]), *y = tt_plain(args[1]);
    tt_dtype dtype = x == NULL ? TT_NONE : tt_dtype_of(x);
    if (y == NULL || (dtype != TT_I8 && dtype != TT_U8) || tt_dtype_of(y) != TT_I8) return refuse("_int_mm() takes int8 or uint8, and int8");
    if (PyArray_NDIM(x) != 2 || PyArray_NDIM(y) != 2 || PyArray_DIM(x, 1) != PyArray_DIM(y, 0)) {
        return refuse("_int_mm() takes matrices that fit");
    }
    npy_intp shape[2] = {PyArray_DIM(x, 0), PyArray_DIM(y, 1)};
    PyArrayObject *result = tt_empty(2, shape, TT_I32);
    if (result == NULL || shape[0] == 0 || shape[1] == 0) return (PyObject *)result;
    product job = {.m = shape[0], .n = shape[1], .k = PyArray_DIM(x, 1), .a = PyArray_DATA(x), .b = PyArray_DATA(y),
                   .ars = PyArray_STRIDE(x, 0), .acs = PyArray_STRIDE(x, 1), .brs = PyArray_STRIDE(y, 0), .bcs = PyArray_STRIDE(y, 1),
                   .c = PyArray_DATA(result), .is_signed = dtype == TT_I8, .quads = has_quads()};
    int failed;
    TT_BEGIN_WORK(job.m * job.n * job.k / 64)
    failed = multiply(&job);
    TT_END_WORK
    if (!failed) return (PyObject *)result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

static PyMethodDef methods[] = {
    TT_METHOD(_int_mm, "_int_mm(self, mat2): of int8 or uint8, and int8; sums in int32"),
    {NULL, NULL, 0, NULL},
};

#define NAME _byte_products
#define DOC "Products of matrices of bytes."
#include "module.inc"
