/* Rows of a walk that combine elements with what is at their places: sums, products, extremes. */
#ifndef TT_COMBINING_H
#define TT_COMBINING_H

#include "moving.h"

typedef enum { COMBINE_SUM, COMBINE_PRODUCT, COMBINE_LARGEST, COMBINE_SMALLEST, COMBINE_COUNT } tt_combination;

/* Whole numbers wrap around, so signed sums and products are those of unsigned numbers. */
#define SUFFIX u8
#define TYPE uint8_t
#define WIDE uint32_t
#include "combining_sums.inc"

#define SUFFIX u16
#define TYPE uint16_t
#define WIDE uint32_t
#include "combining_sums.inc"

#define SUFFIX u32
#define TYPE uint32_t
#define WIDE uint32_t
#include "combining_sums.inc"

#define SUFFIX u64
#define TYPE uint64_t
#define WIDE uint64_t
#include "combining_sums.inc"

#define SUFFIX f32
#define TYPE float
#define WIDE float
#include "combining_sums.inc"

#define SUFFIX f64
#define TYPE double
#define WIDE double
#include "combining_sums.inc"

#define SUFFIX i8
#define TYPE int8_t
#include "combining_extremes.inc"

#define SUFFIX u8
#define TYPE uint8_t
#include "combining_extremes.inc"

#define SUFFIX i16
#define TYPE int16_t
#include "combining_extremes.inc"

#define SUFFIX i32
#define TYPE int32_t
#include "combining_extremes.inc"

#define SUFFIX i64
#define TYPE int64_t
#include "combining_extremes.inc"

#define SUFFIX f32
#define TYPE float
#include "combining_extremes.inc"

#define SUFFIX f64
#define TYPE double
#include "combining_extremes.inc"

#define NAME sum_c64
#define TYPE tt_c64
#include "combining_pairs.inc"

#define NAME sum_c128
#define TYPE tt_c128
#include "combining_pairs.inc"

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
