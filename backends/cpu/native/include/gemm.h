/* Products of matrices, in row-major results; code for each dtype and instruction set. */
#ifndef TT_GEMM_H
#define TT_GEMM_H

#include <unistd.h>

#include "common.h"
#include "isa.h"
#include "scratch.h"

/* C (+)= A B.  Strides are in elements and may be anything; the rows of C are contiguous, `ldc` apart. */
typedef struct {
    npy_intp m, n, k;
    const void *a, *b;
    npy_intp ars, acs, brs, bcs; /* strides of the rows and columns of A and B */
    void *c;
    npy_intp ldc;
    int add;                     /* to what C holds */
    const void *bias;            /* contiguous, added to each row of C; NULL without; not with `add` */
    enum { TT_ANY_WAY, TT_ALONG, TT_BLOCKS } way; /* a part takes the way of the whole, so that threads change no bits */
} tt_gemm;

typedef struct {
    int rows, width;                     /* of a block of C */
    int plain;                           /* columns up to which rows of A are read in place */
    int (*serial)(const tt_gemm *job);   /* in this thread; nonzero without memory */
    int (*along)(const tt_gemm *job);    /* whether operands are best read along what is summed */
    /* y[m] = A x, and the sum of products of two vectors */
    void (*vector)(const tt_gemm *job);
    void (*dot)(npy_intp count, const void *x, npy_intp xs, const void *y, npy_intp ys, void *sum);
} tt_gemm_code;

static const tt_gemm_code *tt_gemm_code_of(tt_dtype dtype);

/* --- caches --- */

typedef struct { npy_intp second, third; } tt_gemm_caches; /* bytes, of the second and third level */

TT_INLINE npy_intp tt_gemm_within(npy_intp least, npy_intp found, npy_intp most)
{
    return found < least ? least : found < most ? found : most;
}

/* The caches of this processor, within what is plausible; virtual machines may report none. */
static const tt_gemm_caches *tt_gemm_caches_of(void)
{
    static tt_gemm_caches caches;
    static _Atomic int known = 0;
    if (atomic_load_explicit(&known, memory_order_acquire) == 0) { /* threads that are here at once find the same */
        npy_intp second = 0, third = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
        second = sysconf(_SC_LEVEL2_CACHE_SIZE);
        third = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
        caches.second = tt_gemm_within(256 << 10, second, 2 << 20);
        caches.third = tt_gemm_within(8 << 20, third, 16 << 20);
        atomic_store_explicit(&known, 1, memory_order_release);
    }
    return &caches;
}

/* --- in several threads --- */

typedef struct {
    const tt_gemm_code *code;
    const tt_gemm *job;
    npy_intp size;           /* of an element */
    npy_intp row_parts, column_parts;
    _Atomic int failed;
} tt_gemm_parts;

static void tt_gemm_part(int64_t begin, int64_t end, void *context)
{
    tt_gemm_parts *parts = context;
    const tt_gemm *job = parts->job;
    npy_intp rows = parts->code->rows, width = parts->code->width;
    npy_intp panels = (job->m + rows - 1) / rows, tiles = (job->n + width - 1) / width;
    for (int64_t at = begin; at < end; at++) {
        npy_intp i = at % parts->row_parts, j = at / parts->row_parts;
        npy_intp top = panels * i / parts->row_parts * rows, left = tiles * j / parts->column_parts * width;
        npy_intp bottom = panels * (i + 1) / parts->row_parts * rows, right = tiles * (j + 1) / parts->column_parts * width;
        tt_gemm part = *job;
        part.m = (bottom < job->m ? bottom : job->m) - top;
        part.n = (right < job->n ? right : job->n) - left;
        part.a = (const char *)job->a + top * job->ars * parts->size;
        part.b = (const char *)job->b + left * job->bcs * parts->size;
        part.c = (char *)job->c + (top * job->ldc + left) * parts->size;
        if (job->bias != NULL) part.bias = (const char *)job->bias + left * parts->size;
        if (part.m > 0 && part.n > 0 && parts->code->serial(&part)) parts->failed = 1;
    }
}

#define TT_GEMM_SHARED 400000 /* products; below, one thread is as fast */

/* Computes a product with the pool, by code for elements of a size; nonzero without memory. */
static int tt_gemm_run_by(const tt_gemm_code *code, npy_intp size, const tt_gemm *job)
{
    npy_intp threads = tt_threads->thread_count();
    if (threads == 1 || job->m * job->n * job->k < TT_GEMM_SHARED) return code->serial(job);
    tt_gemm whole = *job;
    whole.way = code->along(job) ? TT_ALONG : TT_BLOCKS;
    tt_gemm_parts parts = {code, &whole, size, 1, 1, 0};
    npy_intp panels = (job->m + code->rows - 1) / code->rows, tiles = (job->n + code->width - 1) / code->width;
    /* Parts are as square as they can be, so that little is packed twice. */
    for (npy_intp left = threads; left > 1; left = (left + 1) / 2) {
        npy_intp high = job->m / parts.row_parts, wide = job->n / parts.column_parts;
        bool in_place = job->acs == 1 && wide > code->plain && wide / 2 <= code->plain; /* then nothing is packed twice */
        if (high >= wide && !in_place && panels >= 2 * parts.row_parts) parts.row_parts *= 2;
        else if (tiles >= 2 * parts.column_parts) parts.column_parts *= 2;
        else if (panels >= 2 * parts.row_parts) parts.row_parts *= 2;
    }
    tt_parallel_for(0, parts.row_parts * parts.column_parts, 1, tt_gemm_part, &parts);
    return parts.failed;
}

static int tt_gemm_run(tt_dtype dtype, const tt_gemm *job)
{
    return tt_gemm_run_by(tt_gemm_code_of(dtype), tt_sizes[dtype], job);
}

#endif
