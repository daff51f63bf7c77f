/* Numbers as unsigned keys of the same order, with their places: what sorting, selecting and counting share.
 *
 * NaN come last and are all equal, as are the two zeros.  A key of 32 bits and a place lie in one word, so that comparing
 * words compares keys first and, of equal ones, places: every order is stable.  Keys of 64 bits are pairs; int64 whose
 * numbers span less than 2**32 have keys of 32 bits.
 */
#ifndef TT_KEYS_H
#define TT_KEYS_H

#include "fallback.h"
#include "scratch.h"

typedef struct { uint64_t key, place; } tt_pair;

TT_INLINE uint32_t key_f32(float x)
{
    union { float value; uint32_t bits; } u = {x + 0.0f}; /* of the two zeros one */
    uint32_t key = u.bits & 0x80000000u ? ~u.bits : u.bits | 0x80000000u;
    return x != x ? 0xffffffffu : key;
}

TT_INLINE uint64_t key_f64(double x)
{
    union { double value; uint64_t bits; } u = {x + 0.0};
    uint64_t key = u.bits >> 63 ? ~u.bits : u.bits | 0x8000000000000000u;
    return x != x ? UINT64_MAX : key;
}

#define NAME f32
#define TYPE float
#define EXPRESSION key_f32(x)
#include "keys_loading.inc"

#define NAME i32
#define TYPE int32_t
#define EXPRESSION (uint32_t)x ^ 0x80000000u
#include "keys_loading.inc"

#define NAME i16
#define TYPE int16_t
#define EXPRESSION (uint32_t)((int32_t)x + 32768)
#include "keys_loading.inc"

#define NAME i8
#define TYPE int8_t
#define EXPRESSION (uint32_t)((int32_t)x + 128)
#include "keys_loading.inc"

#define NAME u8
#define TYPE uint8_t
#define EXPRESSION x
#include "keys_loading.inc"

#define NAME truth /* bytes of bools that came from elsewhere may be others than 0 and 1 */
#define TYPE uint8_t
#define EXPRESSION x != 0
#include "keys_loading.inc"

static void load_narrow_i64(const char *from, npy_intp step, int64_t n, uint64_t *items, uint32_t flip, int64_t smallest)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = (uint64_t)*(const int64_t *)(from + i * step) - (uint64_t)smallest;
        items[i] = (uint64_t)((uint32_t)x ^ flip) << 32 | (uint64_t)i;
    }
}

static void load_pairs(tt_dtype dtype, const char *from, npy_intp step, int64_t n, tt_pair *items, uint64_t flip)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = dtype == TT_F64 ? key_f64(*(const double *)(from + i * step))
                                       : (uint64_t)*(const int64_t *)(from + i * step) ^ 0x8000000000000000u;
        items[i] = (tt_pair){key ^ flip, (uint64_t)i};
    }
}

static bool narrow_range(const char *from, npy_intp step, int64_t n, int64_t *smallest)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = *(const int64_t *)(from + i * step);
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    *smallest = low;
    return n > 0 && (uint64_t)high - (uint64_t)low <= 0xffffffffu;
}

/* One row of keys: words or pairs. */
typedef struct {
    int64_t n;
    bool wide; /* pairs */
    void *items, *spare; /* memory for n of them, twice */
} Row;

TT_INLINE bool has_keys(tt_dtype dtype)
{
    switch (dtype) {
    case TT_BOOL: case TT_U8: case TT_I8: case TT_I16: case TT_I32: case TT_I64: case TT_F32: case TT_F64:
        return true;
    default: return false;
    }
}

/* Bytes of memory for a row, twice. */
TT_INLINE size_t row_bytes(tt_dtype dtype, int64_t n)
{
    return (size_t)(n + 8) * 2 * (dtype == TT_F64 || dtype == TT_I64 ? sizeof(tt_pair) : sizeof(uint64_t));
}

static void row_load(Row *row, void *memory, tt_dtype dtype, const char *from, npy_intp step, int64_t n, bool descending)
{
    int64_t smallest = 0;
    uint32_t flip = descending ? 0xffffffffu : 0;
    row->n = n;
    row->wide = dtype == TT_F64 || (dtype == TT_I64 && !narrow_range(from, step, n, &smallest));
    row->items = memory;
    row->spare = (char *)memory + (size_t)(n + 8) * (row->wide ? sizeof(tt_pair) : sizeof(uint64_t));
    switch (dtype) {
    case TT_F32: load_f32(from, step, n, memory, flip); break;
    case TT_I32: load_i32(from, step, n, memory, flip); break;
    case TT_I16: load_i16(from, step, n, memory, flip); break;
    case TT_I8: load_i8(from, step, n, memory, flip); break;
    case TT_BOOL: load_truth(from, step, n, memory, flip); break;
    case TT_U8: load_u8(from, step, n, memory, flip); break;
    default:
        if (row->wide) load_pairs(dtype, from, step, n, memory, descending ? UINT64_MAX : 0);
        else load_narrow_i64(from, step, n, memory, flip, smallest);
    }
}

TT_INLINE int64_t row_place(const Row *row, int64_t i)
{
    return row->wide ? (int64_t)((const tt_pair *)row->items)[i].place
                     : (int64_t)(((const uint64_t *)row->items)[i] & 0xffffffffu);
}

TT_INLINE uint64_t row_key(const Row *row, int64_t i)
{
    return row->wide ? ((const tt_pair *)row->items)[i].key : ((const uint64_t *)row->items)[i] >> 32;
}

/* --- sorting and selecting ----------------------------------------------------------------------------------- */

#define FEW 40 /* up to here insertion is fastest */

#define WORD_LESS(a, b) ((a) < (b))
#define WORD_DIGIT(item, b) ((uint8_t)((item) >> (32 + 8 * (b))))
#define PAIR_LESS(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).place < (b).place))
#define PAIR_DIGIT(item, b) ((uint8_t)((item).key >> (8 * (b))))

#define WHOLE_WORD_DIGIT(item, b) ((uint8_t)((item) >> (8 * (b))))
#define WHOLE_PAIR_DIGIT(item, b) ((uint8_t)(((b) < 8 ? (item).place : (item).key) >> (8 * ((b) & 7))))

#define NAME words
#define ITEM uint64_t
#define LESS WORD_LESS
#define DIGITS 4
#define DIGIT WORD_DIGIT
#include "keys_sorting.inc"

#define NAME pairs
#define ITEM tt_pair
#define LESS PAIR_LESS
#define DIGITS 8
#define DIGIT PAIR_DIGIT
#include "keys_sorting.inc"

/* By the places as well, of items that are no longer in their order. */
#define NAME whole_words
#define ITEM uint64_t
#define LESS WORD_LESS
#define DIGITS 8
#define DIGIT WHOLE_WORD_DIGIT
#include "keys_sorting.inc"

#define NAME whole_pairs
#define ITEM tt_pair
#define LESS PAIR_LESS
#define DIGITS 16
#define DIGIT WHOLE_PAIR_DIGIT
#include "keys_sorting.inc"

/* `ordered`: the items are in the order of their places. */
static void row_sort(Row *row, bool ordered)
{
    if (row->n <= FEW) {
        if (row->wide) insert_pairs(row->items, row->n);
        else insert_words(row->items, row->n);
        return;
    }
    void *sorted;
    if (row->wide) sorted = (ordered ? radix_pairs : radix_whole_pairs)(row->items, row->spare, row->n);
    else sorted = (ordered ? radix_words : radix_whole_words)(row->items, row->spare, row->n);
    if (sorted != row->items) row->spare = row->items;
    row->items = sorted;
}

/* Moves the k smallest to the front. */
static void row_select(Row *row, int64_t k)
{
    if (row->wide) select_pairs(row->items, row->n, k);
    else select_words(row->items, row->n, k);
}

#endif
