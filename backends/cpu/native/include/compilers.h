/* What compilers are told, and names in templates; free of Python and NumPy, as is every header of scalar functions. */
#ifndef TT_COMPILERS_H
#define TT_COMPILERS_H

#define TT_INLINE static inline __attribute__((always_inline))
#define TT_LIKELY(x) __builtin_expect(!!(x), 1)
#define TT_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* An error that ends a loop: what is only unlikely lets compilers believe that the loop is short. */
#if defined(__clang__) || __GNUC__ >= 9
#define TT_NEVER(x) __builtin_expect_with_probability(!!(x), 0, 1.0)
#define TT_SELDOM(x) __builtin_expect_with_probability(!!(x), 0, 0.999)
#else
#define TT_NEVER(x) TT_UNLIKELY(x)
#define TT_SELDOM(x) TT_UNLIKELY(x)
#endif

#if defined(__clang__)
#define TT_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TT_IVDEP _Pragma("GCC ivdep")
#endif

/* Names in templates: FN(name) there is usually TT_CAT(name, SUFFIX). */
#define TT_CAT(a, b) TT_CAT_OF(a, b)
#define TT_CAT_OF(a, b) a##b
#define TT_TEXT(name) TT_TEXT_OF(name)
#define TT_TEXT_OF(name) #name

/* Keeps a vector in a register: gcc would read it again for each row, and the loads would take longer than the products; of a
 * loop that copies by vectors it would make a string instruction, which takes longer to begin than a short row. */
#if defined(__x86_64__) && defined(__GNUC__)
#define TT_KEEP(X) __asm__("" : "+v"(X))
#else
#define TT_KEEP(X) ((void)0)
#endif

#endif
