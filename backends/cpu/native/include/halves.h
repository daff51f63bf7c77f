/* Runs of half precision as floats and back, by the processor's own conversions where it has them. */
#ifndef TT_HALVES_H
#define TT_HALVES_H

#include "common.h"
#if defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

/* Whole vectors by the processor's own conversions, where the instruction set has them; return how many are done. */
static inline npy_intp tt_floats_of_most_halves(float *to, const tt_half *from, npy_intp count)
{
    npy_intp i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(from + i))));
#endif
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
#endif
    return i;
}

static inline npy_intp tt_halves_of_most_floats(tt_half *to, const float *from, npy_intp count)
{
    npy_intp i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    return i;
}

/* As tt_bfloat_of_float does it: compilers do not pack what they shift. */
static inline npy_intp tt_bfloats_of_most_floats(tt_bfloat *to, const float *from, npy_intp count)
{
    npy_intp i = 0;
#if defined(__AVX2__) && !defined(__AVX512F__)
    const __m256i half = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1), quiet = _mm256_set1_epi32(0x40),
                  size = _mm256_set1_epi32(INT32_MAX), infinite = _mm256_set1_epi32(0x7f800000);
    for (; i + 16 <= count; i += 16) {
        __m256i pair[2];
        for (int k = 0; k < 2; k++) {
            const __m256i bits = _mm256_loadu_si256((const __m256i *)(const void *)(from + i + 8 * k)), high = _mm256_srli_epi32(bits, 16);
            const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, half), _mm256_and_si256(high, one));
            const __m256i nan = _mm256_cmpgt_epi32(_mm256_and_si256(bits, size), infinite);
            pair[k] = _mm256_blendv_epi8(_mm256_srli_epi32(rounded, 16), _mm256_or_si256(high, quiet), nan);
        }
        const __m256i packed = _mm256_packus_epi32(pair[0], pair[1]);
        _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm256_permute4x64_epi64(packed, 0xd8));
    }
#endif
    return i;
}

static void tt_floats_of_halves(float *to, const tt_half *from, npy_intp count)
{
    TT_IVDEP for (npy_intp i = tt_floats_of_most_halves(to, from, count); i < count; i++) to[i] = tt_float_of_half(from[i]);
}

static void tt_floats_of_bfloats(float *to, const tt_bfloat *from, npy_intp count)
{
    TT_IVDEP for (npy_intp i = 0; i < count; i++) to[i] = tt_float_of_bfloat(from[i]);
}

static void tt_halves_of_floats(tt_half *to, const float *from, npy_intp count)
{
    TT_IVDEP for (npy_intp i = tt_halves_of_most_floats(to, from, count); i < count; i++) to[i] = tt_half_of_float(from[i]);
}

static void tt_bfloats_of_floats(tt_bfloat *to, const float *from, npy_intp count)
{
    TT_IVDEP for (npy_intp i = tt_bfloats_of_most_floats(to, from, count); i < count; i++) to[i] = tt_bfloat_of_float(from[i]);
}

#endif
