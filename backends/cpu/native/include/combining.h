/* Rows of a walk that combine elements with what is at their places: sums, products, extremes. */
#ifndef TT_COMBINING_H
#define TT_COMBINING_H

#include "moving.h"

typedef enum { COMBINE_SUM, COMBINE_PRODUCT, COMBINE_LARGEST, COMBINE_SMALLEST, COMBINE_COUNT } tt_combination;

/* NaN wins over every number, as in NumPy. */
#define LARGER(a, b) ((b) != (b) ? (b) : (b) > (a) ? (b) : (a))
#define SMALLER(a, b) ((b) != (b) ? (b) : (b) < (a) ? (b) : (a))

#define COMBINE_ROW(NAME, TYPE, EXPRESSION) \
    static void NAME##_run(TYPE *restrict to, const TYPE *restrict from, npy_intp n) \
    { \
        for (npy_intp i = 0; i < n; i++) { \
            TYPE a = to[i], b = from[i]; \
            to[i] = (TYPE)(EXPRESSION); \
        } \
    } \
    static void NAME(Walk *w, char *data, const char *index, char *other, npy_intp n, npy_intp step, npy_intp index_step, \
                     npy_intp other_step) \
    { \
        const npy_intp stride = w->axis_stride; \
        if (index_step == 0) { \
            int64_t place = tt_place(w, tt_read_place(index)); \
            if (TT_NEVER(place < 0)) { w->wrong = 1; return; } \
            data += place * stride; \
            if (step == sizeof(TYPE) && other_step == sizeof(TYPE)) { \
                NAME##_run((TYPE *)data, (const TYPE *)other, n); \
                return; \
            } \
            for (npy_intp i = 0; i < n; i++) { \
                TYPE a = *(TYPE *)(data + i * step), b = *(const TYPE *)(other + i * other_step); \
                *(TYPE *)(data + i * step) = (TYPE)(EXPRESSION); \
            } \
            return; \
        } \
        if (index_step == 8 && other_step == sizeof(TYPE) && step == 0 && stride == sizeof(TYPE) && w->wrap == 0) { \
            const int64_t *places = (const int64_t *)index; \
            const uint64_t size = (uint64_t)w->axis_size; \
            for (npy_intp i = 0; i < n; i++) { \
                const uint64_t place = (uint64_t)tt_once(places[i]); \
                if (TT_NEVER(place >= size)) { w->wrong = 1; return; } \
                TYPE *to = (TYPE *)data + place; \
                TYPE a = *to, b = ((const TYPE *)other)[i]; \
                *to = (TYPE)(EXPRESSION); \
            } \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++) { \
            int64_t place = tt_place(w, tt_read_place(index + i * index_step)); \
            if (TT_NEVER(place < 0)) { w->wrong = 1; return; } \
            TYPE *to = (TYPE *)(data + i * step + place * stride); \
            TYPE a = *to, b = *(const TYPE *)(other + i * other_step); \
            *to = (TYPE)(EXPRESSION); \
        } \
    }

/* Whole numbers wrap around, so signed sums and products are those of unsigned numbers. */
COMBINE_ROW(sum_u8, uint8_t, (uint32_t)a + b)
COMBINE_ROW(sum_u16, uint16_t, (uint32_t)a + b)
COMBINE_ROW(sum_u32, uint32_t, a + b)
COMBINE_ROW(sum_u64, uint64_t, a + b)
COMBINE_ROW(sum_f32, float, a + b)
COMBINE_ROW(sum_f64, double, a + b)
COMBINE_ROW(product_u8, uint8_t, (uint32_t)a * b)
COMBINE_ROW(product_u16, uint16_t, (uint32_t)a * b)
COMBINE_ROW(product_u32, uint32_t, a * b)
COMBINE_ROW(product_u64, uint64_t, a * b)
COMBINE_ROW(product_f32, float, a * b)
COMBINE_ROW(product_f64, double, a * b)
COMBINE_ROW(largest_i8, int8_t, b > a ? b : a)
COMBINE_ROW(largest_u8, uint8_t, b > a ? b : a)
COMBINE_ROW(largest_i16, int16_t, b > a ? b : a)
COMBINE_ROW(largest_i32, int32_t, b > a ? b : a)
COMBINE_ROW(largest_i64, int64_t, b > a ? b : a)
COMBINE_ROW(largest_f32, float, LARGER(a, b))
COMBINE_ROW(largest_f64, double, LARGER(a, b))
COMBINE_ROW(smallest_i8, int8_t, b < a ? b : a)
COMBINE_ROW(smallest_u8, uint8_t, b < a ? b : a)
COMBINE_ROW(smallest_i16, int16_t, b < a ? b : a)
COMBINE_ROW(smallest_i32, int32_t, b < a ? b : a)
COMBINE_ROW(smallest_i64, int64_t, b < a ? b : a)
COMBINE_ROW(smallest_f32, float, SMALLER(a, b))
COMBINE_ROW(smallest_f64, double, SMALLER(a, b))

#define COMBINE_PAIR(NAME, TYPE) \
    static void NAME(Walk *w, char *data, const char *index, char *other, npy_intp n, npy_intp step, npy_intp index_step, \
                     npy_intp other_step) \
    { \
        for (npy_intp i = 0; i < n; i++) { \
            int64_t place = tt_place(w, tt_read_place(index + i * index_step)); \
            if (TT_NEVER(place < 0)) { w->wrong = 1; return; } \
            TYPE *to = (TYPE *)(data + i * step + place * w->axis_stride); \
            const TYPE *from = (const TYPE *)(other + i * other_step); \
            to->re += from->re; \
            to->im += from->im; \
        } \
    }

COMBINE_PAIR(sum_c64, tt_c64)
COMBINE_PAIR(sum_c128, tt_c128)

/* The row for a dtype, or NULL where there is none. */
static tt_row combining_row(tt_combination how, tt_dtype dtype)
{
    static const tt_row rows[TT_DTYPES][4] = {
        [TT_BOOL] = {largest_u8, smallest_u8, largest_u8, smallest_u8}, /* or, and */
        [TT_U8] = {sum_u8, product_u8, largest_u8, smallest_u8},
        [TT_I8] = {sum_u8, product_u8, largest_i8, smallest_i8},
        [TT_I16] = {sum_u16, product_u16, largest_i16, smallest_i16},
        [TT_I32] = {sum_u32, product_u32, largest_i32, smallest_i32},
        [TT_I64] = {sum_u64, product_u64, largest_i64, smallest_i64},
        [TT_F32] = {sum_f32, product_f32, largest_f32, smallest_f32},
        [TT_F64] = {sum_f64, product_f64, largest_f64, smallest_f64},
        [TT_C64] = {sum_c64, NULL, NULL, NULL},
        [TT_C128] = {sum_c128, NULL, NULL, NULL},
    };
    return dtype == TT_NONE || how >= COMBINE_COUNT ? NULL : rows[dtype][how];
}

#endif
