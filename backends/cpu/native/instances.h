/* Includes TT_SOURCE for float32 and float64 and each instruction set; afterwards TT_CODE_OF(dtype) is the best one. */
#define NV 3
#if TT_X86
#define ISA TT_TARGET_V4
#define VB 64
#define MRX 8
#define T float
#define S(name) name##_f32_v4
#include TT_SOURCE
#undef S
#undef T
#define T double
#define S(name) name##_f64_v4
#include TT_SOURCE
#undef S
#undef T
#undef ISA
#undef VB
#undef MRX
#define ISA TT_TARGET_V3
#define VB 32
#define MRX 4
#define T float
#define S(name) name##_f32_v3
#include TT_SOURCE
#undef S
#undef T
#define T double
#define S(name) name##_f64_v3
#include TT_SOURCE
#undef S
#undef T
#undef ISA
#undef VB
#undef MRX
#endif
#define ISA
#define VB 16
#if TT_X86
#define MRX 4
#else
#define MRX 8 /* 32 registers */
#endif
#define T float
#define S(name) name##_f32
#include TT_SOURCE
#undef S
#undef T
#define T double
#define S(name) name##_f64
#include TT_SOURCE
#undef S
#undef T
#undef ISA
#undef VB
#undef MRX
#undef NV
