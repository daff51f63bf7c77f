/* The reductions that add terms or multiply, and the largest and the smallest.

   Partial sums of a few thousand elements are added up in double precision, those of doubles with what each addition
   loses kept aside: more exact than sums in pairs, and no slower.  This file is a list of instances of fold.inc.
*/
#ifndef TT_SUMS_H
#define TT_SUMS_H

#include "lanes.h"
#include "reduce.h"

typedef struct { double sum, lost; } sums_exact;

TT_INLINE void sums_add(sums_exact *a, double x)
{
    double s = a->sum + x, big = fabs(a->sum) >= fabs(x) ? a->sum : x, small = fabs(a->sum) >= fabs(x) ? x : a->sum;
    double lost = (big - s) + small;
    a->sum = s;
    a->lost += fabs(s) <= DBL_MAX ? lost : 0;
}

TT_INLINE void sums_join(sums_exact *a, const sums_exact *b)
{
    sums_add(a, b->sum);
    a->lost += b->lost;
}

#define ADD_PLAIN(a, x) *(a) += (x)
#define JOIN_PLAIN(a, b) *(a) += *(b)
#define TIMES_PLAIN(a, x) *(a) *= (x)
#define JOIN_TIMES(a, b) *(a) *= *(b)
#define SAME(a, fact) (a)
#define DIVIDED(a, fact) ((a) / (fact))
#define DIVIDED_EXACT(a, fact) (((a).sum + (a).lost) / (fact))
/* The norm, or with the factor 0 what it is the root of. */
#define ROOT(a, fact) ((fact) != 0 ? sqrt(a) : (a))
#define ROOT_EXACT(a, fact) ((fact) != 0 ? sqrt((a).sum + (a).lost) : (a).sum + (a).lost)
#define STEP_SUM(a, x) (a) += (x)
#define STEP_KNOWN(a, x) (a) += (x) == (x) ? (x) : 0
#define STEP_SIZE(a, x) (a) += (x) < 0 ? -(x) : (x)
#define STEP_SQUARE(a, x) (a) += (double)(x) * (double)(x)
#define STEP_COUNT(a, x) (a) += (x) != 0
#define STEP_TIMES(a, x) (a) *= (x)
/* NaN is larger and smaller than every number, and stays. */
#define STEP_MAX(a, x) (a) = (((x) > (a)) | ((x) != (x))) ? (x) : (a)
#define STEP_MIN(a, x) (a) = (((x) < (a)) | ((x) != (x))) ? (x) : (a)

/* Numbers as integers in the same order, NaN above all or below all: their extremes take one instruction. */
TT_INLINE int32_t sums_key_f32(float x, int32_t nan)
{
    union { float x; int32_t i; } u = {x};
    return x != x ? nan : u.i ^ ((u.i >> 31) & INT32_MAX);
}

TT_INLINE int64_t sums_key_f64(double x, int64_t nan)
{
    union { double x; int64_t i; } u = {x};
    return x != x ? nan : u.i ^ ((u.i >> 63) & INT64_MAX);
}

TT_INLINE float sums_unkey_f32(int32_t key)
{
    union { int32_t i; float x; } u = {key ^ ((key >> 31) & INT32_MAX)};
    return u.x;
}

TT_INLINE double sums_unkey_f64(int64_t key)
{
    union { int64_t i; double x; } u = {key ^ ((key >> 63) & INT64_MAX)};
    return u.x;
}

#define LARGER(a, k) (a) = (k) > (a) ? (k) : (a)
#define SMALLER(a, k) (a) = (k) < (a) ? (k) : (a)
#define FLUSH_LARGER(a, k) LARGER(*(a), k)
#define FLUSH_SMALLER(a, k) SMALLER(*(a), k)
#define JOIN_LARGER(a, b) LARGER(*(a), *(b))
#define JOIN_SMALLER(a, b) SMALLER(*(a), *(b))
#define MAX_F32(a, x) LARGER(a, sums_key_f32(x, INT32_MAX))
#define MIN_F32(a, x) SMALLER(a, sums_key_f32(x, INT32_MIN))
#define MAX_SIZE_F32(a, x) LARGER(a, sums_key_f32(fabsf(x), INT32_MAX))
#define MIN_SIZE_F32(a, x) SMALLER(a, sums_key_f32(fabsf(x), INT32_MIN))
#define MAX_F64(a, x) LARGER(a, sums_key_f64(x, INT64_MAX))
#define MIN_F64(a, x) SMALLER(a, sums_key_f64(x, INT64_MIN))
#define MAX_SIZE_F64(a, x) LARGER(a, sums_key_f64(fabs(x), INT64_MAX))
#define MIN_SIZE_F64(a, x) SMALLER(a, sums_key_f64(fabs(x), INT64_MIN))
#define ABOVE(a, b) ((a) > (b))
#define BELOW(a, b) ((a) < (b))
#define UNKEY_F32(a, fact) sums_unkey_f32(a)
#define UNKEY_F64(a, fact) sums_unkey_f64(a)
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY

/* --- float ----------------------------------------------------------------------------------------------------------- */

/* Adds four rows of half precision to partial sums, in their order. */
static void sums_four_halves(float *restrict block, const tt_half *x, const tt_half *y, const tt_half *z, const tt_half *w, int64_t n)
{
    int64_t j = 0;
#if defined(__F16C__)
    for (; j + 8 <= n; j += 8) {
        __m256 sum = _mm256_loadu_ps(block + j);
        sum = _mm256_add_ps(sum, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(x + j))));
        sum = _mm256_add_ps(sum, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(y + j))));
        sum = _mm256_add_ps(sum, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(z + j))));
        sum = _mm256_add_ps(sum, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(w + j))));
        _mm256_storeu_ps(block + j, sum);
    }
#endif
    for (; j < n; j++)
        block[j] = (((block[j] + tt_float_of_half(x[j])) + tt_float_of_half(y[j])) + tt_float_of_half(z[j])) + tt_float_of_half(w[j]);
}

static void sums_four_bfloats(float *restrict block, const tt_bfloat *x, const tt_bfloat *y, const tt_bfloat *z, const tt_bfloat *w, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        block[j] = (((block[j] + tt_float_of_bfloat(x[j])) + tt_float_of_bfloat(y[j])) + tt_float_of_bfloat(z[j])) + tt_float_of_bfloat(w[j]);
}

/* The sums of columns of half precision, 16 rows at a time, as those of the numbers in a buffer. */
static void sum_half_columns(char *acc, const char *data, npy_intp stride, int64_t rows, int64_t width, tt_dtype type)
{
    double *restrict a = (double *)acc;
    float block[REDUCE_WIDTH];
    for (int64_t first = 0; first < rows; first += 16) {
        int64_t end = rows - first < 16 ? rows : first + 16, i = first;
        for (int64_t j = 0; j < width; j++) block[j] = 0;
        for (; i + 4 <= end; i += 4) {
            const char *x = data + i * stride, *y = x + stride, *z = y + stride, *w = z + stride;
            if (type == TT_F16) sums_four_halves(block, (const tt_half *)x, (const tt_half *)y, (const tt_half *)z, (const tt_half *)w, width);
            else sums_four_bfloats(block, (const tt_bfloat *)x, (const tt_bfloat *)y, (const tt_bfloat *)z, (const tt_bfloat *)w, width);
        }
        for (; i < end; i++) {
            float line[REDUCE_WIDTH];
            rows_read_f32(type, data + i * stride, 2, width, line);
            for (int64_t j = 0; j < width; j++) block[j] += line[j];
        }
        for (int64_t j = 0; j < width; j++) a[j] += block[j];
    }
}

/* The sum of a line of half precision: of short lines, which need no buffer and as many additions in each lane. */
static void sum_half_row(char *acc, const char *data, int64_t n, tt_dtype type)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i += SHORT_SUM) {
        int64_t some = n - i < SHORT_SUM ? n - i : SHORT_SUM;
        sum += type == TT_F16 ? short_sum_half((const tt_half *)data + i, some) : short_sum_bfloat((const tt_bfloat *)data + i, some);
    }
    *(double *)acc += sum;
}

#define NAME sum_f32
#define HALF_COLUMNS sum_half_columns
#define HALF_ROW sum_half_row
#define SHORT_LINE short_sum_float
#define C float
#define P float
#define A double
#define OUT float
#define BEGIN 0
#define STEP STEP_SUM
#define PAIR STEP_SUM
#define EMPTY 0
#define FLUSH ADD_PLAIN
#define JOIN JOIN_PLAIN
#define FINISH DIVIDED
#include "fold.inc"

#define NAME nansum_f32
#define C float
#define P float
#define A double
#define OUT float
#define BEGIN 0
#define STEP STEP_KNOWN
#define PAIR STEP_SUM
#define EMPTY 0
#define FLUSH ADD_PLAIN
#define JOIN JOIN_PLAIN
#define FINISH SAME
#include "fold.inc"

#define NAME norm1_f32
#define C float
#define P float
#define A double
#define OUT float
#define BEGIN 0
#define STEP STEP_SIZE
#define PAIR STEP_SUM
#define EMPTY 0
#define FLUSH ADD_PLAIN
#define JOIN JOIN_PLAIN
#define FINISH SAME
#include "fold.inc"

#define NAME norm2_f32
#define C float
#define P double
#define A double
#define OUT float
#define BEGIN 0
#define STEP STEP_SQUARE
#define PAIR STEP_SUM
#define EMPTY 0
#define FLUSH ADD_PLAIN
#define JOIN JOIN_PLAIN
#define FINISH ROOT
#include "fold.inc"

#define NAME prod_f32
#define C float
#define P double
#define A double
#define OUT float
#define BEGIN 1
#define STEP STEP_TIMES
#define PAIR STEP_TIMES
#define EMPTY 1
#define FLUSH TIMES_PLAIN
#define JOIN JOIN_TIMES
#define FINISH SAME
#include "fold.inc"

#define NAME max_f32
#define EXTREME ABOVE
#define C float
#define P int32_t
#define A int32_t
#define OUT float
#define BEGIN sums_key_f32(-(float)INFINITY, 0)
#define STEP MAX_F32
#define PAIR LARGER
#define EMPTY sums_key_f32(-(float)INFINITY, 0)
#define FLUSH FLUSH_LARGER
#define JOIN JOIN_LARGER
#define FINISH UNKEY_F32
#include "fold.inc"

#define NAME min_f32
#define EXTREME BELOW
#define C float
#define P int32_t
#define A int32_t
#define OUT float
#define BEGIN sums_key_f32((float)INFINITY, 0)
#define STEP MIN_F32
#define PAIR SMALLER
#define EMPTY sums_key_f32((float)INFINITY, 0)
#define FLUSH FLUSH_SMALLER
#define JOIN JOIN_SMALLER
#define FINISH UNKEY_F32
#include "fold.inc"

#define NAME max_size_f32
#define C float
#define P int32_t
#define A int32_t
#define OUT float
#define BEGIN 0
#define STEP MAX_SIZE_F32
#define PAIR LARGER
#define EMPTY 0
#define FLUSH FLUSH_LARGER
#define JOIN JOIN_LARGER
#define FINISH UNKEY_F32
#include "fold.inc"

#define NAME min_size_f32
#define C float
#define P int32_t
#define A int32_t
#define OUT float
#define BEGIN sums_key_f32((float)INFINITY, 0)
#define STEP MIN_SIZE_F32
#define PAIR SMALLER
#define EMPTY sums_key_f32((float)INFINITY, 0)
#define FLUSH FLUSH_SMALLER
#define JOIN JOIN_SMALLER
#define FINISH UNKEY_F32
#include "fold.inc"

/* --- double ---------------------------------------------------------------------------------------------------------- */

#define NAME sum_f64
#define C double
#define P double
#define A sums_exact
#define OUT double
#define BEGIN 0
#define STEP STEP_SUM
#define PAIR STEP_SUM
#define EMPTY {0}
#define FLUSH sums_add
#define JOIN sums_join
#define FINISH DIVIDED_EXACT
#include "fold.inc"

#define NAME nansum_f64
#define C double
#define P double
#define A sums_exact
#define OUT double
#define BEGIN 0
#define STEP STEP_KNOWN
#define PAIR STEP_SUM
#define EMPTY {0}
#define FLUSH sums_add
#define JOIN sums_join
#define FINISH DIVIDED_EXACT
#include "fold.inc"

#define NAME norm1_f64
#define C double
#define P double
#define A sums_exact
#define OUT double
#define BEGIN 0
#define STEP STEP_SIZE
#define PAIR STEP_SUM
#define EMPTY {0}
#define FLUSH sums_add
#define JOIN sums_join
#define FINISH DIVIDED_EXACT
#include "fold.inc"

#define NAME norm2_f64
#define C double
#define P double
#define A sums_exact
#define OUT double
#define BEGIN 0
#define STEP STEP_SQUARE
#define PAIR STEP_SUM
#define EMPTY {0}
#define FLUSH sums_add
#define JOIN sums_join
#define FINISH ROOT_EXACT
#include "fold.inc"

#define NAME prod_f64
#define C double
#define P double
#define A double
#define OUT double
#define BEGIN 1
#define STEP STEP_TIMES
#define PAIR STEP_TIMES
#define EMPTY 1
#define FLUSH TIMES_PLAIN
#define JOIN JOIN_TIMES
#define FINISH SAME
#include "fold.inc"

#define NAME max_f64
#define EXTREME ABOVE
#define C double
#define P int64_t
#define A int64_t
#define OUT double
#define BEGIN sums_key_f64(-(double)INFINITY, 0)
#define STEP MAX_F64
#define PAIR LARGER
#define EMPTY sums_key_f64(-(double)INFINITY, 0)
#define FLUSH FLUSH_LARGER
#define JOIN JOIN_LARGER
#define FINISH UNKEY_F64
#include "fold.inc"

#define NAME min_f64
#define EXTREME BELOW
#define C double
#define P int64_t
#define A int64_t
#define OUT double
#define BEGIN sums_key_f64((double)INFINITY, 0)
#define STEP MIN_F64
#define PAIR SMALLER
#define EMPTY sums_key_f64((double)INFINITY, 0)
#define FLUSH FLUSH_SMALLER
#define JOIN JOIN_SMALLER
#define FINISH UNKEY_F64
#include "fold.inc"

#define NAME max_size_f64
#define C double
#define P int64_t
#define A int64_t
#define OUT double
#define BEGIN 0
#define STEP MAX_SIZE_F64
#define PAIR LARGER
#define EMPTY 0
#define FLUSH FLUSH_LARGER
#define JOIN JOIN_LARGER
#define FINISH UNKEY_F64
#include "fold.inc"

#define NAME min_size_f64
#define C double
#define P int64_t
#define A int64_t
#define OUT double
#define BEGIN sums_key_f64((double)INFINITY, 0)
#define STEP MIN_SIZE_F64
#define PAIR SMALLER
#define EMPTY sums_key_f64((double)INFINITY, 0)
#define FLUSH FLUSH_SMALLER
#define JOIN JOIN_SMALLER
#define FINISH UNKEY_F64
#include "fold.inc"

/* --- whole numbers: unsigned ones wrap around ------------------------------------------------------------------------ */

#define NAME sum_i64
#define C uint64_t
#define P uint64_t
#define A uint64_t
#define OUT uint64_t
#define BEGIN 0
#define STEP STEP_SUM
#define PAIR STEP_SUM
#define EMPTY 0
#define FLUSH ADD_PLAIN
#define JOIN JOIN_PLAIN
#define FINISH SAME
#include "fold.inc"

#define NAME prod_i64
#define C uint64_t
#define P uint64_t
#define A uint64_t
#define OUT uint64_t
#define BEGIN 1
#define STEP STEP_TIMES
#define PAIR STEP_TIMES
#define EMPTY 1
#define FLUSH TIMES_PLAIN
#define JOIN JOIN_TIMES
#define FINISH SAME
#include "fold.inc"

/* --- counts ---------------------------------------------------------------------------------------------------------- */

#define NAME count_f32
#define C float
#define P int32_t
#define A int64_t
#define OUT int64_t
#define BEGIN 0
#define STEP STEP_COUNT
#define PAIR STEP_SUM
#define EMPTY 0
#define FLUSH ADD_PLAIN
#define JOIN JOIN_PLAIN
#define FINISH SAME
#include "fold.inc"

#define NAME count_f64
#define C double
#define P int64_t
#define A int64_t
#define OUT int64_t
#define BEGIN 0
#define STEP STEP_COUNT
#define PAIR STEP_SUM
#define EMPTY 0
#define FLUSH ADD_PLAIN
#define JOIN JOIN_PLAIN
#define FINISH SAME
#include "fold.inc"

#define NAME count_i64
#define C int64_t
#define P int64_t
#define A int64_t
#define OUT int64_t
#define BEGIN 0
#define STEP STEP_COUNT
#define PAIR STEP_SUM
#define EMPTY 0
#define FLUSH ADD_PLAIN
#define JOIN JOIN_PLAIN
#define FINISH SAME
#include "fold.inc"


#endif
