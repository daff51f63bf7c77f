/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011): words of blocks, as docs/design/random.md numbers them.
 *
 * Each lane of 64 bits holds one word of the counter in its low half; what is in the high half does not matter, since
 * the multiplication reads the low halves only.
 */
#ifndef TT_PHILOX_H
#define TT_PHILOX_H

#include "common.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_K0 0x9E3779B9u
#define PHILOX_K1 0xBB67AE85u
#define PHILOX_ROUNDS 10

static void philox_plain(uint64_t seed, uint64_t first, int64_t blocks, uint32_t *restrict words)
{
    for (int64_t b = 0; b < blocks; b++) {
        uint64_t counter = first + (uint64_t)b;
        uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = 0, c3 = 0;
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            uint64_t p0 = (uint64_t)c0 * PHILOX_M0, p1 = (uint64_t)c2 * PHILOX_M1;
            c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
            c1 = (uint32_t)p1;
            c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
            c3 = (uint32_t)p0;
            k0 += PHILOX_K0;
            k1 += PHILOX_K1;
        }
        words[4 * b] = c0;
        words[4 * b + 1] = c1;
        words[4 * b + 2] = c2;
        words[4 * b + 3] = c3;
    }
}

#if defined(__AVX2__)

static void philox_avx2(uint64_t seed, uint64_t first, int64_t blocks, uint32_t *restrict words)
{
    const __m256i m0 = _mm256_set1_epi64x(PHILOX_M0), m1 = _mm256_set1_epi64x(PHILOX_M1);
    const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF);
    int64_t b = 0;
    for (; b + 8 <= blocks; b += 8) {
        __m256i c0[2], c1[2], c2[2], c3[2];
        for (int j = 0; j < 2; j++) {
            __m256i steps = _mm256_add_epi64(_mm256_set_epi64x(3, 2, 1, 0), _mm256_set1_epi64x(b + 4 * j));
            __m256i counter = _mm256_add_epi64(_mm256_set1_epi64x((long long)first), steps);
            c0[j] = counter;
            c1[j] = _mm256_srli_epi64(counter, 32);
            c2[j] = c3[j] = _mm256_setzero_si256();
        }
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
#pragma GCC unroll 10
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            __m256i v0 = _mm256_set1_epi64x(k0), v1 = _mm256_set1_epi64x(k1);
            for (int j = 0; j < 2; j++) {
                __m256i p0 = _mm256_mul_epu32(c0[j], m0), p1 = _mm256_mul_epu32(c2[j], m1);
                c0[j] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[j]), v0);
                c1[j] = p1;
                c2[j] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[j]), v1);
                c3[j] = p0;
            }
            k0 += PHILOX_K0;
            k1 += PHILOX_K1;
        }
        for (int j = 0; j < 2; j++) {
            __m256i first2 = _mm256_or_si256(_mm256_and_si256(c0[j], low), _mm256_slli_epi64(c1[j], 32));
            __m256i last2 = _mm256_or_si256(_mm256_and_si256(c2[j], low), _mm256_slli_epi64(c3[j], 32));
            __m256i even = _mm256_unpacklo_epi64(first2, last2), odd = _mm256_unpackhi_epi64(first2, last2);
            __m256i *out = (__m256i *)(words + 4 * (b + 4 * j));
            _mm256_storeu_si256(out, _mm256_permute2x128_si256(even, odd, 0x20));
            _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(even, odd, 0x31));
        }
    }
    philox_plain(seed, first + (uint64_t)b, blocks - b, words + 4 * b);
}

#endif

#if defined(__AVX512F__)

static void philox_avx512(uint64_t seed, uint64_t first, int64_t blocks, uint32_t *restrict words)
{
    const __m512i m0 = _mm512_set1_epi64(PHILOX_M0), m1 = _mm512_set1_epi64(PHILOX_M1);
    const __m512i low = _mm512_set1_epi64(0xFFFFFFFF);
    const __m512i front = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    const __m512i back = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    int64_t b = 0;
    for (; b + 16 <= blocks; b += 16) {
        __m512i c0[2], c1[2], c2[2], c3[2];
        for (int j = 0; j < 2; j++) {
            __m512i steps = _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(b + 8 * j));
            __m512i counter = _mm512_add_epi64(_mm512_set1_epi64((long long)first), steps);
            c0[j] = counter;
            c1[j] = _mm512_srli_epi64(counter, 32);
            c2[j] = c3[j] = _mm512_setzero_si512();
        }
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
#pragma GCC unroll 10
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            __m512i v0 = _mm512_set1_epi64(k0), v1 = _mm512_set1_epi64(k1);
            for (int j = 0; j < 2; j++) {
                __m512i p0 = _mm512_mul_epu32(c0[j], m0), p1 = _mm512_mul_epu32(c2[j], m1);
                c0[j] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1[j], v0, 0x96); /* xor of three */
                c1[j] = p1;
                c2[j] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3[j], v1, 0x96);
                c3[j] = p0;
            }
            k0 += PHILOX_K0;
            k1 += PHILOX_K1;
        }
        for (int j = 0; j < 2; j++) {
            __m512i first2 = _mm512_or_si512(_mm512_and_si512(c0[j], low), _mm512_slli_epi64(c1[j], 32));
            __m512i last2 = _mm512_or_si512(_mm512_and_si512(c2[j], low), _mm512_slli_epi64(c3[j], 32));
            /* Blocks 0 2 4 6 and 1 3 5 7, two lanes each. */
            __m512i even = _mm512_unpacklo_epi64(first2, last2), odd = _mm512_unpackhi_epi64(first2, last2);
            uint32_t *out = words + 4 * (b + 8 * j);
            _mm512_storeu_si512(out, _mm512_permutex2var_epi64(even, front, odd));
            _mm512_storeu_si512(out + 16, _mm512_permutex2var_epi64(even, back, odd));
        }
    }
    philox_avx2(seed, first + (uint64_t)b, blocks - b, words + 4 * b);
}

#endif

/* Writes the words of the blocks from `first` on, four for each; counters wrap around at 2**64. */
static void philox(uint64_t seed, uint64_t first, int64_t blocks, uint32_t *words)
{
#if defined(__AVX512F__)
    philox_avx512(seed, first, blocks, words);
#elif defined(__AVX2__)
    philox_avx2(seed, first, blocks, words);
#else
    philox_plain(seed, first, blocks, words);
#endif
}

#endif
