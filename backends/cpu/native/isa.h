/* One source compiled for several instruction sets.

A family that keeps accumulators in registers includes its `.inc` once for each instruction set and dtype, with

    T      the element type              S(name)  the name with a suffix of its own
    ISA    the attribute of functions    VB       the bytes of a vector register
    MRX    rows of a block               NV       vectors of a row of a block

and takes the functions of the best set that the processor has.  `target_clones` would not do here: the sizes of the
blocks depend on the number of registers.
*/
#ifndef TT_ISA_H
#define TT_ISA_H


/* The integer type of the width of a floating type. */
#define TT_INT(T) TT_INT_OF(T)
#define TT_INT_OF(T) TT_INT_##T
#define TT_INT_float int32_t
#define TT_INT_double int64_t

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define TT_X86 1
#define TT_TARGET_V4 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512cd,avx2,fma,bmi,bmi2,lzcnt")))
#define TT_TARGET_V3 __attribute__((target("avx2,fma,bmi,bmi2,lzcnt")))

/* The best instruction set of this processor: 2 is x86-64-v4, 1 is x86-64-v3, 0 the baseline. */
static inline int tt_isa_level(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
        return 2;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
}
#else
#define TT_X86 0
static inline int tt_isa_level(void) { return 0; }
#endif

#endif
