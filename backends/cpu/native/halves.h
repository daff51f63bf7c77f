/* Runs of half precision as floats and back, by the processor's own conversions where it has them. */
#ifndef TT_HALVES_H
#define TT_HALVES_H

#include "common.h"
#include "isa.h"
#if TT_X86
#include <immintrin.h>
#endif

#if TT_X86
#define TT_HALVES_TARGET __attribute__((target("avx512f")))

/* Sixteen at a time by the processor's own conversions; returns how many are done. */
TT_HALVES_TARGET static npy_intp tt_floats_of_halves_v4(float *to, const tt_half *from, npy_intp count)
{
    npy_intp i = 0;
    for (; i + 16 <= count; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(from + i))));
    return i;
}

TT_HALVES_TARGET static npy_intp tt_halves_of_floats_v4(tt_half *to, const float *from, npy_intp count)
{
    npy_intp i = 0;
    for (; i + 16 <= count; i += 16)
        _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

#define TT_HALVES_DONE(FUNCTION) \
    npy_intp done = __builtin_cpu_supports("avx512f") ? FUNCTION##_v4(to, from, count) : 0; \
    to += done, from += done, count -= done;
#else
#define TT_HALVES_DONE(FUNCTION)
#endif

TT_CLONES static void tt_floats_of_halves(float *to, const tt_half *from, npy_intp count)
{
    TT_HALVES_DONE(tt_floats_of_halves)
    TT_IVDEP for (npy_intp i = 0; i < count; i++) to[i] = tt_float_of_half(from[i]);
}

TT_CLONES static void tt_floats_of_bfloats(float *to, const tt_bfloat *from, npy_intp count)
{
    TT_IVDEP for (npy_intp i = 0; i < count; i++) to[i] = tt_float_of_bfloat(from[i]);
}

TT_CLONES static void tt_halves_of_floats(tt_half *to, const float *from, npy_intp count)
{
    TT_HALVES_DONE(tt_halves_of_floats)
    TT_IVDEP for (npy_intp i = 0; i < count; i++) to[i] = tt_half_of_float(from[i]);
}

TT_CLONES static void tt_bfloats_of_floats(tt_bfloat *to, const float *from, npy_intp count)
{
    TT_IVDEP for (npy_intp i = 0; i < count; i++) to[i] = tt_bfloat_of_float(from[i]);
}

#endif
