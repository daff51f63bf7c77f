/* Sums of lines of at most some hundred numbers, in registers.

   The lanes of lanes.inc pass through memory between the steps of halving them, which takes longer than short lines themselves.
   Vectors have 8 elements whatever the instruction set is, so that the order of the additions is the same.
*/
#ifndef TT_SHORT_SUMS_H
#define TT_SHORT_SUMS_H

#include "halves.h"

enum { SHORT_SUM = 512 }; /* elements, of which a lane adds a 32nd: more would be less exact than sums in pairs */

typedef float short_eight __attribute__((vector_size(32), aligned(4), may_alias));
typedef float short_four __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t short_eight_bits __attribute__((vector_size(32)));
typedef uint32_t short_four_bits __attribute__((vector_size(16)));
typedef uint16_t short_eight_bfloats __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint16_t short_four_bfloats __attribute__((vector_size(8), aligned(2), may_alias));

TT_INLINE short_eight short_eight_of_bfloats(const tt_bfloat *x)
{
#if defined(__AVX2__) /* compilers convert in two halves */
    return (short_eight)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)x)), 16);
#else
    return (short_eight)(__builtin_convertvector(*(const short_eight_bfloats *)x, short_eight_bits) << 16);
#endif
}

TT_INLINE short_four short_four_of_bfloats(const tt_bfloat *x)
{
    return (short_four)(__builtin_convertvector(*(const short_four_bfloats *)x, short_four_bits) << 16);
}

TT_INLINE short_eight short_eight_of_halves(const tt_half *x)
{
#if defined(__F16C__)
    return (short_eight)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)x));
#else
    short_eight found;
    for (int i = 0; i < 8; i++) found[i] = tt_float_of_half(x[i]);
    return found;
#endif
}

TT_INLINE short_four short_four_of_halves(const tt_half *x)
{
    return (short_four){tt_float_of_half(x[0]), tt_float_of_half(x[1]), tt_float_of_half(x[2]), tt_float_of_half(x[3])};
}

#define NAME short_sum_float
#define T float
#define EIGHT(x) (*(const short_eight *)(x))
#define FOUR(x) (*(const short_four *)(x))
#define ONE(x) (*(x))
#include "short_sums.inc"

#define NAME short_sum_bfloat
#define T tt_bfloat
#define EIGHT short_eight_of_bfloats
#define FOUR short_four_of_bfloats
#define ONE(x) tt_float_of_bfloat(*(x))
#include "short_sums.inc"

#define NAME short_sum_half
#define T tt_half
#define EIGHT short_eight_of_halves
#define FOUR short_four_of_halves
#define ONE(x) tt_float_of_half(*(x))
#include "short_sums.inc"

#endif
