/* Includes TT_SOURCE for float32 and float64; afterwards TT_CODE_OF(dtype) is `code` of one of them. */
#include "isa.h"

#define NV 3
#define T float
#define S(name) TT_CAT(name, _f32)
#include TT_SOURCE
#undef S
#undef T
#define T double
#define S(name) TT_CAT(name, _f64)
#include TT_SOURCE
#undef S
#undef T
#undef NV

#define TT_CODE_OF(DTYPE) ((DTYPE) == TT_F32 ? &code_f32 : &code_f64)
