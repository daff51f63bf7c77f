/* Functions of one to three arguments, element by element. */
#include "arithmetic.h"
#include "elementwise.h"
#include "fallback.h"
#include "vector_math.h"
#include "vector_inverse.h"

#define T float
#include "pointwise_loops.inc"

#define T double
#include "pointwise_loops.inc"

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

/* sin, cos, tan */
#define WAVE(NAME) WAVE_FLOAT(NAME) WAVE_DOUBLE(NAME) TT_CALL(NAME, 1, 0, false, TT_GRAIN_DEAR)
#define WAVE_FLOAT(NAME) WAVE_LOOP(NAME##_float, wave_loop_float(data, count, TT_TURNS_F, tt_##NAME##_f, NAME##f))
#define WAVE_DOUBLE(NAME) WAVE_LOOP(NAME##_double, wave_loop_double(data, count, TT_TURNS, tt_##NAME, NAME))
#define WAVE_LOOP(NAME, LOOP) static void NAME(char *const *data, npy_intp count, const void *params) { LOOP; }
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
BINARY(fmax, a < b || a != a ? (b != b ? a : b) : a)
BINARY(fmin, a > b || a != a ? (b != b ? a : b) : a)
TT_OP(add_scaled, 2, 1, TT_GRAIN_CHEAP, a + (float)number[0] * b, a + number[0] * b)
TT_OP(sub_scaled, 2, 1, TT_GRAIN_CHEAP, a - (float)number[0] * b, a - number[0] * b)
TT_OP(rsub_scaled, 2, 1, TT_GRAIN_CHEAP, b - (float)number[0] * a, b - number[0] * a)
TT_OP(copysign, 2, 0, TT_GRAIN_CHEAP, copysignf(a, b), copysign(a, b))
TT_OP(atan2, 2, 0, TT_GRAIN_DEAR, tt_atan2_f(a, b), tt_atan2(a, b))

TT_OP(hypot, 2, 0, TT_GRAIN_CHEAP, tt_hypot_f(a, b), tt_hypot(a, b))

TT_OP(logaddexp, 2, 0, TT_GRAIN_DEAR, tt_logaddexp_f(a, b), tt_logaddexp(a, b))
TT_OP(xlogy, 2, 0, TT_GRAIN_DEAR, tt_xlogy_f(a, b), tt_xlogy(a, b))
TT_OP(xlog1py, 2, 0, TT_GRAIN_DEAR, tt_xlog1py_f(a, b), tt_xlog1py(a, b))

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

TT_OP(plain_addcdiv, 3, 1, TT_GRAIN_CHEAP, a + (float)number[0] * (b / c), a + number[0] * (b / c))

TT_OP(plain_lerp, 3, 0, TT_GRAIN_CHEAP, tt_lerp_f(a, b, c), tt_lerp(a, b, c))

/* --- what refuses some numbers ------------------------------------------------------------------------------ */

/* The NumPy kernel of another module says what is wrong with a number that is complex or a bool. */
static bool is_real(PyObject *number)
{
    return TT_LIKELY(PyFloat_Check(number) || (PyLong_Check(number) && !PyBool_Check(number)));
}

static PyObject *call_add_alpha(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("add_alpha", count, 3, 4)) return NULL;
    return is_real(args[2]) ? call_add_scaled(module, args, count) : tt_call_python_into("tt.backends.cpu.pointwise", "add", args, 3, count);
}

static PyObject *call_sub_alpha(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("sub_alpha", count, 3, 4)) return NULL;
    return is_real(args[2]) ? call_sub_scaled(module, args, count) : tt_call_python_into("tt.backends.cpu.pointwise", "sub", args, 3, count);
}

static PyObject *call_rsub_alpha(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("rsub_alpha", count, 3, 4)) return NULL;
    return is_real(args[2]) ? call_rsub_scaled(module, args, count) : tt_call_python_into("tt.backends.cpu.pointwise", "rsub", args, 3, count);
}

static PyObject *call_addcmul(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("addcmul", count, 4, 5)) return NULL;
    return is_real(args[3]) ? call_plain_addcmul(module, args, count) : tt_call_python_into("tt.backends.cpu.pointwise", "addcmul", args, 4, count);
}

static PyObject *call_addcdiv(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("addcdiv", count, 4, 5)) return NULL;
    return is_real(args[3]) ? call_plain_addcdiv(module, args, count) : tt_call_python_into("tt.backends.cpu.pointwise", "addcdiv", args, 4, count);
}

/* lerp(self, end, weight): a weight without dimensions may have another dtype. */
static PyObject *call_lerp(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("lerp", count, 3, 4)) return NULL;
    PyObject *weight = args[2], *number = NULL, *all[4] = {args[0], args[1], weight, count > 3 ? args[3] : NULL};
    if (PyComplex_Check(weight)) return tt_call_python_into("tt.backends.cpu.pointwise", "lerp", args, 3, count);
    if (PyArray_Check(weight) && PyArray_Check(args[0]) &&
        PyArray_TYPE((PyArrayObject *)weight) != PyArray_TYPE((PyArrayObject *)args[0])) {
        if (PyArray_NDIM((PyArrayObject *)weight)) return tt_call_python_into("tt.backends.cpu.pointwise", "lerp", args, 3, count);
        number = all[2] = PyNumber_Float(weight);
        if (number == NULL) return NULL;
    }
    PyObject *result = call_plain_lerp(module, all, count);
    Py_XDECREF(number);
    return result;
}

#include "pointwise_lists.inc"

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
    TT_OP_METHOD(addcdiv, "self, tensor1, tensor2, value"), TT_OP_METHOD(lerp, "self, end, weight"),
    TT_METHOD_AS("each", call_each, "each(function, inputs, number, outputs): over lists of arrays"),
    {NULL, NULL, 0, NULL},
};

#define NAME _pointwise
#define DOC "Functions of one to three arguments, element by element."
#include "module.inc"
