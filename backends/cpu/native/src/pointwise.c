/* Functions of one to three arguments, element by element. */
#include "elementwise.h"
#include "fallback.h"
#include "vector_math.h"
#include "vector_inverse.h"

/* --- functions of one argument ------------------------------------------------------------------------------ */

#define DEAR(NAME) TT_OP(NAME, 1, 0, TT_GRAIN_DEAR, tt_##NAME##_f(a), tt_##NAME(a))
#define CHEAP(NAME, OF_FLOAT, OF_DOUBLE) TT_OP(NAME, 1, 0, TT_GRAIN_CHEAP, OF_FLOAT, OF_DOUBLE)

DEAR(exp)
DEAR(exp2)
DEAR(expm1)
DEAR(log)
DEAR(log2)
DEAR(log10)
DEAR(log1p)
DEAR(asin)
DEAR(acos)
DEAR(atan)
DEAR(sinh)
DEAR(cosh)
DEAR(tanh)
DEAR(asinh)
DEAR(acosh)
DEAR(atanh)
DEAR(sigmoid)
DEAR(erf)
DEAR(erfc)
DEAR(ndtr)
DEAR(erfinv)

CHEAP(sqrt, sqrtf(a), sqrt(a))
CHEAP(rsqrt, 1.0f / sqrtf(a), 1.0 / sqrt(a))
CHEAP(reciprocal, 1.0f / a, 1.0 / a)
CHEAP(neg, -a, -a)
CHEAP(abs, fabsf(a), fabs(a))
CHEAP(square, a * a, a * a)
CHEAP(floor, floorf(a), floor(a))
CHEAP(ceil, ceilf(a), ceil(a))
CHEAP(trunc, truncf(a), trunc(a))
CHEAP(frac, a - truncf(a), a - trunc(a))
CHEAP(sign, (float)((a > 0.0f) - (a < 0.0f)), (double)((a > 0.0) - (a < 0.0)))

/* lgamma(self, out=None): not in double precision, for which NumPy's kernel is registered. */
static void lgamma_float(char *const *data, npy_intp count, const void *params)
{
    const float *x = (const float *)data[0];
    float *y = (float *)data[1];
    double wide[TT_LGAMMA_BLOCK];
    (void)params;
    for (npy_intp begin = 0; begin < count; begin += TT_LGAMMA_BLOCK) {
        npy_intp n = count - begin < TT_LGAMMA_BLOCK ? count - begin : TT_LGAMMA_BLOCK;
        for (npy_intp i = 0; i < n; i++) wide[i] = (double)x[begin + i];
        tt_lgamma_block(wide, n);
        for (npy_intp i = 0; i < n; i++) y[begin + i] = (float)wide[i];
    }
}

static PyObject *call_lgamma(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const tt_op op = {"lgamma", 1, 0, false, TT_GRAIN_DEAR, lgamma_float, NULL};
    if (count > 0 && PyArray_Check(args[0]) && tt_dtype_of((PyArrayObject *)args[0]) == TT_F64)
        return tt_refuse_dtype("lgamma", (PyArrayObject *)args[0]);
    return tt_call(&op, args, count);
}

/* Beyond the reach of the reduction, C's function; such arguments are rare and come in blocks. */
#define WAVE_LOOP(NAME, T, FUNCTION, LIMIT, LARGEST, LIBRARY) \
    static void NAME(char *const *data, npy_intp count, const void *params) \
    { \
        const T *x = (const T *)data[0]; \
        T *y = (T *)data[1]; \
        for (npy_intp begin = 0; begin < count; begin += 512) { \
            npy_intp end = begin + 512 < count ? begin + 512 : count; \
            int far = 0; \
            for (npy_intp i = begin; i < end; i++) far |= (x[i] > LIMIT) | (x[i] < -LIMIT); \
            if (TT_UNLIKELY(far)) { \
                for (npy_intp i = begin; i < end; i++) y[i] = LIBRARY(x[i]); \
            } else { \
                TT_IVDEP for (npy_intp i = begin; i < end; i++) y[i] = FUNCTION(x[i]); \
            } \
        } \
    }
#define WAVE(NAME) \
    WAVE_LOOP(NAME##_float, float, tt_##NAME##_f, TT_TURNS_F, FLT_MAX, NAME##f) \
    WAVE_LOOP(NAME##_double, double, tt_##NAME, TT_TURNS, DBL_MAX, NAME) \
    TT_CALL(NAME, 1, 0, false, TT_GRAIN_DEAR)

WAVE(sin)
WAVE(cos)
WAVE(tan)

/* --- arithmetic --------------------------------------------------------------------------------------------- */

#define BINARY(NAME, BODY) TT_OP(NAME, 2, 0, TT_GRAIN_CHEAP, BODY, BODY)

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(rsub, b - a)
BINARY(mul, a * b)
BINARY(div, a / b)
BINARY(maximum, a > b || a != a ? a : b)
BINARY(minimum, a < b || a != a ? a : b)
BINARY(fmax, a >= b || b != b ? a : b)
BINARY(fmin, a <= b || b != b ? a : b)
TT_OP(add_scaled, 2, 1, TT_GRAIN_CHEAP, a + (float)number[0] * b, a + number[0] * b)
TT_OP(sub_scaled, 2, 1, TT_GRAIN_CHEAP, a - (float)number[0] * b, a - number[0] * b)
TT_OP(rsub_scaled, 2, 1, TT_GRAIN_CHEAP, b - (float)number[0] * a, b - number[0] * a)
TT_OP(copysign, 2, 0, TT_GRAIN_CHEAP, copysignf(a, b), copysign(a, b))
TT_OP(atan2, 2, 0, TT_GRAIN_DEAR, tt_atan2_f(a, b), tt_atan2(a, b))

TT_INLINE float hypot_of_floats(float a, float b)
{
    float y = (float)sqrt((double)a * a + (double)b * b);
    return fabsf(a) == INFINITY || fabsf(b) == INFINITY ? INFINITY : y;
}

TT_INLINE double hypot_of_doubles(double a, double b)
{
    double x = fabs(a), y = fabs(b), large = x > y ? x : y, small = x > y ? y : x, r = small / large;
    double z = large * sqrt(1.0 + r * r);
    z = large == 0.0 ? large : z;
    z = x != x || y != y ? (double)NAN : z;
    return x == (double)INFINITY || y == (double)INFINITY ? (double)INFINITY : z;
}

TT_OP(hypot, 2, 0, TT_GRAIN_CHEAP, hypot_of_floats(a, b), hypot_of_doubles(a, b))

/* Equal ones, which may be infinite, are no distance apart. */
TT_INLINE float logaddexp_f(float a, float b)
{
    float large = a > b ? a : b, apart = fabsf(a - b), size = a == b ? 0.0f : apart;
    return large + tt_log1p_unit_f(tt_exp_f(-size));
}

TT_INLINE double logaddexp_d(double a, double b)
{
    double large = a > b ? a : b, apart = fabs(a - b), size = a == b ? 0.0 : apart;
    return large + tt_log1p_unit(tt_exp(-size));
}

TT_OP(logaddexp, 2, 0, TT_GRAIN_DEAR, logaddexp_f(a, b), logaddexp_d(a, b))
TT_OP(xlogy, 2, 0, TT_GRAIN_DEAR, a == 0.0f && b == b ? 0.0f : a * tt_log_f(b), a == 0.0 && b == b ? 0.0 : a * tt_log(b))
TT_OP(xlog1py, 2, 0, TT_GRAIN_DEAR, a == 0.0f && b == b ? 0.0f : a * tt_log1p_f(b),
      a == 0.0 && b == b ? 0.0 : a * tt_log1p(b))

#include "pointwise_division.inc"
#include "pointwise_power.inc"

/* --- comparison --------------------------------------------------------------------------------------------- */

TT_TEST(eq, 2, a == b)
TT_TEST(ne, 2, a != b)
TT_TEST(lt, 2, a < b)
TT_TEST(le, 2, a <= b)
TT_TEST(gt, 2, a > b)
TT_TEST(ge, 2, a >= b)
TT_TEST(isnan, 1, a != a)
TT_TEST(isinf, 1, a - a != a - a && a == a)
TT_TEST(isfinite, 1, a - a == a - a)
TT_TEST(logical_not, 1, a == 0)

#include "pointwise_integers.inc"

/* --- three arguments ---------------------------------------------------------------------------------------- */

#include "pointwise_bounds.inc"

TT_OP(plain_addcmul, 3, 1, TT_GRAIN_CHEAP, a + (float)number[0] * (b * c), a + number[0] * (b * c))

/* Counted from the nearer of the two, so that both are met exactly. */
TT_OP(plain_lerp, 3, 0, TT_GRAIN_CHEAP, fabsf(c) < 0.5f ? a + c * (b - a) : b - (b - a) * (1.0f - c),
      fabs(c) < 0.5 ? a + c * (b - a) : b - (b - a) * (1.0 - c))

/* --- what refuses some numbers ------------------------------------------------------------------------------ */

/* The NumPy kernel of another module says what is wrong with a number that is complex or a bool. */
#define REAL_NUMBER(NAME, CALLED, TAKES, AT, MODULE, FUNCTION) \
    static PyObject *call_##NAME(PyObject *module, PyObject *const *args, Py_ssize_t count) \
    { \
        if (!tt_expect_count(#NAME, count, TAKES, TAKES + 1)) return NULL; \
        if (TT_LIKELY(PyFloat_Check(args[AT]) || (PyLong_Check(args[AT]) && !PyBool_Check(args[AT])))) \
            return CALLED(module, args, count); \
        return tt_call_python("tt.backends.cpu." MODULE, FUNCTION, args, TAKES); \
    }
REAL_NUMBER(add_alpha, call_add_scaled, 3, 2, "pointwise", "add")
REAL_NUMBER(sub_alpha, call_sub_scaled, 3, 2, "pointwise", "sub")
REAL_NUMBER(rsub_alpha, call_rsub_scaled, 3, 2, "pointwise", "rsub")
REAL_NUMBER(addcmul, call_plain_addcmul, 4, 3, "binary", "addcmul")

/* lerp(self, end, weight): a weight without dimensions may have another dtype. */
static PyObject *call_lerp(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("lerp", count, 3, 4)) return NULL;
    PyObject *weight = args[2], *number = NULL, *all[4] = {args[0], args[1], weight, count > 3 ? args[3] : NULL};
    if (PyComplex_Check(weight)) return tt_call_python("tt.backends.cpu.binary", "lerp", args, 3);
    if (PyArray_Check(weight) && PyArray_Check(args[0]) &&
        PyArray_TYPE((PyArrayObject *)weight) != PyArray_TYPE((PyArrayObject *)args[0])) {
        if (PyArray_NDIM((PyArrayObject *)weight)) return tt_call_python("tt.backends.cpu.binary", "lerp", args, 3);
        number = all[2] = PyNumber_Float(weight);
        if (number == NULL) return NULL;
    }
    PyObject *result = call_plain_lerp(module, all, count);
    Py_XDECREF(number);
    return result;
}

/* --- the module --------------------------------------------------------------------------------------------- */

#define ONE(NAME) TT_OP_METHOD(NAME, "self")
#define TWO(NAME) TT_OP_METHOD(NAME, "self, other")

static PyMethodDef methods[] = {
    ONE(exp), ONE(exp2), ONE(expm1), ONE(log), ONE(log2), ONE(log10), ONE(log1p), ONE(asin), ONE(acos), ONE(atan),
    ONE(sinh), ONE(cosh), ONE(tanh), ONE(asinh), ONE(acosh), ONE(atanh), ONE(sigmoid), ONE(erf), ONE(erfc), ONE(ndtr), ONE(erfinv),
    ONE(lgamma),
    ONE(sqrt), ONE(rsqrt), ONE(reciprocal), ONE(neg), ONE(abs), ONE(square), ONE(floor), ONE(ceil), ONE(trunc),
    ONE(frac), ONE(sign), ONE(sin), ONE(cos), ONE(tan), ONE(isnan), ONE(isinf), ONE(isfinite), ONE(logical_not),
    TWO(add), TWO(sub), TWO(rsub), TWO(mul), TWO(div), TWO(maximum), TWO(minimum), TWO(fmax), TWO(fmin),
    TT_OP_METHOD(add_alpha, "self, other, alpha"), TT_OP_METHOD(sub_alpha, "self, other, alpha"),
    TT_OP_METHOD(rsub_alpha, "self, other, alpha"), TWO(copysign), TWO(atan2), TWO(hypot), TWO(logaddexp), TWO(xlogy),
    TWO(xlog1py), TWO(fmod), TWO(remainder), TWO(floor_divide), TT_OP_METHOD(div_mode, "self, other, rounding_mode"),
    TT_OP_METHOD(pow, "self, exponent"), TWO(eq), TWO(ne), TWO(lt), TWO(le), TWO(gt), TWO(ge),
#define INTEGERS(NAME) TT_METHOD_AS(#NAME "_integers", call_##NAME##_integers, #NAME "_integers(self, other, out=None)")
    INTEGERS(add), INTEGERS(sub), INTEGERS(rsub), INTEGERS(mul), INTEGERS(maximum), INTEGERS(minimum), INTEGERS(eq),
    INTEGERS(ne), INTEGERS(lt), INTEGERS(le), INTEGERS(gt), INTEGERS(ge), INTEGERS(remainder), INTEGERS(floor_divide),
    TT_OP_METHOD(clamp, "self, min, max"), TT_OP_METHOD(clamp_integers, "self, min, max"),
    TT_OP_METHOD(nan_to_num, "self, nan, posinf, neginf"), TT_OP_METHOD(logit, "self, eps"), TT_OP_METHOD(addcmul, "self, tensor1, tensor2, value"),
    TT_OP_METHOD(lerp, "self, end, weight"),
    {NULL, NULL, 0, NULL},
};

#define NAME _pointwise
#define DOC "Functions of one to three arguments, element by element."
#include "module.inc"
