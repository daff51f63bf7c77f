/* The registers of the instruction set that this is compiled for.
 *
 * A family that keeps accumulators in registers includes its `.inc` once for each dtype (instances.h), with
 *
 *     T      the element type              S(name)  the name with a suffix of its own
 *     VB     the bytes of a vector register
 *     MRX    rows of a block               NV       vectors of a row of a block
 */
#ifndef TT_ISA_H
#define TT_ISA_H

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define VB 64
#define MRX 8
#elif defined(__AVX2__) && defined(__FMA__)
#define VB 32
#define MRX 4
#else
#define VB 16
#if defined(__x86_64__)
#define MRX 4
#else
#define MRX 8 /* 32 registers */
#endif
#endif

/* The integer type of the width of a floating type. */
#define TT_INT(T) TT_INT_OF(T)
#define TT_INT_OF(T) TT_INT_##T
#define TT_INT_float int32_t
#define TT_INT_double int64_t

#endif
