/* Activation functions and their gradients. */
#include "elementwise.h"
#include "vector_math.h"

/* One expression for both precisions, in which F(x) is the function for the precision and K(x) a number of it. */
#define LOOPS(NAME, ARRAYS, NUMBERS, GRAIN, BODY) \
    TT_LOOP##ARRAYS(NAME##_float, float, float, BODY(float, FLOAT_OF)) \
    TT_LOOP##ARRAYS(NAME##_double, double, double, BODY(double, DOUBLE_OF)) \
    TT_CALL(NAME, ARRAYS, NUMBERS, false, GRAIN)
#define FLOAT_OF(name) tt_##name##_f
#define DOUBLE_OF(name) tt_##name
#define N(T, k) ((T)number[k])

#define SELU_ALPHA 1.6732632423543772848170429916717
#define SELU_SCALE 1.0507009873554804934193349852946
#define SQRT_2_OVER_PI 0x1.9884533d43651p-1

/* --- limits: a is x, or a is the gradient and b is x -------------------------------------------------------- */

#define RELU(T, F) (a < 0 ? (T)0 : a)
#define LEAKY_RELU(T, F) (a > 0 ? a : a * N(T, 0))
#define HARDTANH(T, F) (a < N(T, 0) ? N(T, 0) : a > N(T, 1) ? N(T, 1) : a)
#define THRESHOLD(T, F) (a <= N(T, 0) ? N(T, 1) : a)
#define HARDSHRINK(T, F) (a >= -N(T, 0) && a <= N(T, 0) ? (T)0 : a)
#define SOFTSHRINK(T, F) (a > N(T, 0) ? a - N(T, 0) : a < -N(T, 0) ? a + N(T, 0) : a != a ? a : (T)0)
LOOPS(relu, 1, 0, TT_GRAIN_CHEAP, RELU)
LOOPS(leaky_relu, 1, 1, TT_GRAIN_CHEAP, LEAKY_RELU)
LOOPS(hardtanh, 1, 2, TT_GRAIN_CHEAP, HARDTANH)
LOOPS(threshold, 1, 2, TT_GRAIN_CHEAP, THRESHOLD)
LOOPS(hardshrink, 1, 1, TT_GRAIN_CHEAP, HARDSHRINK)
LOOPS(softshrink, 1, 1, TT_GRAIN_CHEAP, SOFTSHRINK)

#define THRESHOLD_BACKWARD(T, F) (b <= N(T, 0) ? (T)0 : a)
#define LEAKY_RELU_BACKWARD(T, F) (b > 0 ? a : a * N(T, 0))
#define PRELU(T, F) (a > 0 ? a : a * b)
#define HARDTANH_BACKWARD(T, F) (b <= N(T, 0) || b >= N(T, 1) ? (T)0 : a)
#define SHRINK_BACKWARD(T, F) (b >= -N(T, 0) && b <= N(T, 0) ? (T)0 : a)
LOOPS(threshold_backward, 2, 1, TT_GRAIN_CHEAP, THRESHOLD_BACKWARD)
LOOPS(prelu, 2, 0, TT_GRAIN_CHEAP, PRELU)
LOOPS(leaky_relu_backward, 2, 1, TT_GRAIN_CHEAP, LEAKY_RELU_BACKWARD)
LOOPS(hardtanh_backward, 2, 2, TT_GRAIN_CHEAP, HARDTANH_BACKWARD)
LOOPS(shrink_backward, 2, 1, TT_GRAIN_CHEAP, SHRINK_BACKWARD)

/* --- exponential -------------------------------------------------------------------------------------------- */

/* Numbers: the slope, the scale and the stretch; scale max(x, 0) + slope expm1(stretch min(x, 0)). */
#define BENT(T, F) (a > 0 ? a * N(T, 1) : N(T, 0) * F(expm1)(a * N(T, 2)))
#define BENT_BACKWARD(T, F) (b > 0 ? a * N(T, 1) : a * (N(T, 0) * N(T, 2)) * F(exp)(b * N(T, 2)))
LOOPS(bent, 1, 3, TT_GRAIN_DEAR, BENT)
LOOPS(bent_backward, 2, 3, TT_GRAIN_DEAR, BENT_BACKWARD)

/* --- sigmoids ----------------------------------------------------------------------------------------------- */

#define SILU(T, F) (a * F(sigmoid)(a))
#define LOGSIGMOID(T, F) (-F(softplus)(-a))
#define MISH(T, F) F(mish)(a)
#define HARDSIGMOID(T, F) (F(hard)(a))
#define HARDSWISH(T, F) (a * F(hard)(a))
/* Numbers: beta, threshold */
#define SOFTPLUS(T, F) (a * N(T, 0) > N(T, 1) ? a : F(softplus)(a * N(T, 0)) / N(T, 0))

TT_INLINE float tt_hard_f(float x)
{
    float y = (x + 3.0f) * (1.0f / 6.0f);
    y = y < 0.0f ? 0.0f : y;
    return y > 1.0f ? 1.0f : y;
}

TT_INLINE double tt_hard(double x)
{
    double y = (x + 3.0) / 6.0;
    y = y < 0.0 ? 0.0 : y;
    return y > 1.0 ? 1.0 : y;
}

/* tanh(log(1 + exp(x))) = n / (n + 2) with n = e (e + 2), e = exp(x): no logarithm, no cancellation */
TT_INLINE float tt_mish_tanh_f(float x, float e)
{
    float n = e * (e + 2.0f), t = n / (n + 2.0f);
    return x > 20.0f ? 1.0f : t;
}

TT_INLINE double tt_mish_tanh(double x, double e)
{
    double n = e * (e + 2.0), t = n / (n + 2.0);
    return x > 40.0 ? 1.0 : t;
}

TT_INLINE float tt_mish_f(float x) { return x * tt_mish_tanh_f(x, tt_exp_f(x)); }
TT_INLINE double tt_mish(double x) { return x * tt_mish_tanh(x, tt_exp(x)); }

LOOPS(silu, 1, 0, TT_GRAIN_DEAR, SILU)
LOOPS(logsigmoid, 1, 0, TT_GRAIN_DEAR, LOGSIGMOID)
LOOPS(mish, 1, 0, TT_GRAIN_DEAR, MISH)
LOOPS(hardsigmoid, 1, 0, TT_GRAIN_CHEAP, HARDSIGMOID)
LOOPS(hardswish, 1, 0, TT_GRAIN_CHEAP, HARDSWISH)
LOOPS(softplus, 1, 2, TT_GRAIN_DEAR, SOFTPLUS)

TT_INLINE float silu_slope_f(float x)
{
    float s = tt_sigmoid_f(x);
    return s * (1.0f + x * (1.0f - s));
}

TT_INLINE double silu_slope(double x)
{
    double s = tt_sigmoid(x);
    return s * (1.0 + x * (1.0 - s));
}

TT_INLINE float mish_slope_f(float x)
{
    float e = tt_exp_f(x), t = tt_mish_tanh_f(x, e), s = tt_sigmoid_f(x);
    return t + x * s * (1.0f - t * t);
}

TT_INLINE double mish_slope(double x)
{
    double e = tt_exp(x), t = tt_mish_tanh(x, e), s = tt_sigmoid(x);
    return t + x * s * (1.0 - t * t);
}

TT_OP(silu_backward, 2, 0, TT_GRAIN_DEAR, a * silu_slope_f(b), a * silu_slope(b))
TT_OP(mish_backward, 2, 0, TT_GRAIN_DEAR, a * mish_slope_f(b), a * mish_slope(b))

/* Below, b is the result of the sigmoid or of tanh. */
#define SIGMOID_BACKWARD(T, F) (a * (1 - b) * b)
#define TANH_BACKWARD(T, F) (a * (1 - b * b))
LOOPS(sigmoid_backward, 2, 0, TT_GRAIN_CHEAP, SIGMOID_BACKWARD)
LOOPS(tanh_backward, 2, 0, TT_GRAIN_CHEAP, TANH_BACKWARD)

#define LOG_SIGMOID_BACKWARD(T, F) (a * F(sigmoid)(-b))
#define HARDSIGMOID_BACKWARD(T, F) (b > -3 && b < 3 ? a * (T)(1.0 / 6.0) : (T)0)
/* Not b / 3 + 1/2: fused or not, that has another sign at -3/2. */
#define HARDSWISH_BACKWARD(T, F) (b <= -3 ? (T)0 : b < 3 ? a * ((b + (T)1.5) * (T)(1.0 / 3.0)) : a)
#define SOFTPLUS_BACKWARD(T, F) (b * N(T, 0) > N(T, 1) ? a : a * F(sigmoid)(b * N(T, 0)))
LOOPS(log_sigmoid_backward, 2, 0, TT_GRAIN_DEAR, LOG_SIGMOID_BACKWARD)
LOOPS(hardsigmoid_backward, 2, 0, TT_GRAIN_CHEAP, HARDSIGMOID_BACKWARD)
LOOPS(hardswish_backward, 2, 0, TT_GRAIN_CHEAP, HARDSWISH_BACKWARD)
LOOPS(softplus_backward, 2, 2, TT_GRAIN_DEAR, SOFTPLUS_BACKWARD)

/* --- gelu --------------------------------------------------------------------------------------------------- */

/* The distribution function of normal numbers and sqrt(2 pi) times its density, as tt_normal_f: but the square in the
 * exponent is rounded, so that the far tail is exact to some units in the sixth digit; and a quotient takes the place of a
 * longer polynomial. */
TT_INLINE float gelu_normal_f(float x, float *density)
{
    float size = fabsf(x), at = size > 14.5f ? 14.5f : size, gauss = tt_exp_within_f(-0.5f * (at * at), 0.0f, 0);
    float p = 0x1.0d4502p-8f, q = 0x1.5179b2p-7f;
    p = p * at + 0x1.4c7312p-5f;
    q = q * at + 0x1.a0b0bap-4f;
    p = p * at + 0x1.76f4b2p-3f;
    q = q * at + 0x1.e0543ep-2f;
    p = p * at + 0x1.c09aeap-2f;
    q = q * at + 0x1.33ae18p0f;
    p = p * at + 0.5f;
    q = q * at + 0x1.ac8fa6p0f;
    q = q * at + 1.0f;
    float tail = gauss * p / q;
    *density = gauss;
    return x > 0.0f ? 1.0f - tail : tail;
}

TT_INLINE float gelu_f(float x) { float density; return x * gelu_normal_f(x, &density); }

TT_OP(gelu_exact, 1, 0, TT_GRAIN_DEAR, gelu_f(a), a * tt_ndtr(a))

/* (1 + tanh(u)) / 2 is the sigmoid of 2 u. */
TT_INLINE float gelu_bend_f(float x) { return (float)(2 * SQRT_2_OVER_PI) * (x + 0.044715f * x * x * x); }
TT_INLINE double gelu_bend(double x) { return 2 * SQRT_2_OVER_PI * (x + 0.044715 * x * x * x); }

TT_OP(gelu_tanh, 1, 0, TT_GRAIN_DEAR, a * tt_sigmoid_f(gelu_bend_f(a)), a * tt_sigmoid(gelu_bend(a)))

TT_INLINE float gelu_slope_f(float x)
{
    float density, below = gelu_normal_f(x, &density);
    return below + x * density * 0x1.988454p-2f;
}

TT_INLINE double gelu_slope(double x)
{
    double density, below = tt_normal(x, &density);
    return below + x * density * 0x1.9884533d43651p-2;
}

TT_INLINE float gelu_tanh_slope_f(float x)
{
    float s = tt_sigmoid_f(gelu_bend_f(x)), rise = (float)(2 * SQRT_2_OVER_PI) * (1.0f + 3 * 0.044715f * x * x);
    float more = x * s * (1.0f - s) * rise;
    return s + (fabsf(x) > 15.0f && fabsf(x) < INFINITY ? 0.0f : more); /* x^2 may overflow */
}

TT_INLINE double gelu_tanh_slope(double x)
{
    double s = tt_sigmoid(gelu_bend(x)), rise = 2 * SQRT_2_OVER_PI * (1.0 + 3 * 0.044715 * x * x);
    double more = x * s * (1.0 - s) * rise;
    return s + (fabs(x) > 40.0 && fabs(x) < (double)INFINITY ? 0.0 : more);
}

TT_OP(gelu_exact_backward, 2, 0, TT_GRAIN_DEAR, a * gelu_slope_f(b), a * gelu_slope(b))
TT_OP(gelu_tanh_backward, 2, 0, TT_GRAIN_DEAR, a * gelu_tanh_slope_f(b), a * gelu_tanh_slope(b))

/* The form that `approximate` names: 1 for tanh, 0 for none, -1 for anything else. */
static int form_of(PyObject *approximate)
{
    if (!PyUnicode_Check(approximate)) return -1;
    if (PyUnicode_CompareWithASCIIString(approximate, "none") == 0) return 0;
    return PyUnicode_CompareWithASCIIString(approximate, "tanh") == 0 ? 1 : -1;
}

static PyObject *call_gelu(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("gelu", count, 2, 3)) return NULL;
    PyObject *rest[2] = {args[0], count > 2 ? args[2] : NULL};
    int form = form_of(args[1]);
    if (form < 0) return tt_call_python("tt.backends.cpu.activation", "gelu", args, 2); /* which refuses it */
    return form ? call_gelu_tanh(module, rest, count - 1) : call_gelu_exact(module, rest, count - 1);
}

static PyObject *call_gelu_backward(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("gelu_backward", count, 3, 4)) return NULL;
    PyObject *rest[3] = {args[0], args[1], count > 3 ? args[3] : NULL};
    int form = form_of(args[2]);
    if (form < 0) return tt_call_python("tt.backends.cpu.activation", "gelu", args + 1, 2);
    return form ? call_gelu_tanh_backward(module, rest, count - 1) : call_gelu_exact_backward(module, rest, count - 1);
}

/* --- what refuses some numbers ------------------------------------------------------------------------------ */

/* Calls the NumPy kernel, which says what is wrong, where `wrong` holds for the numbers behind the array. */
#define REFUSING(NAME, CALLED, TAKES, WRONG) \
    static PyObject *call_##NAME(PyObject *module, PyObject *const *args, Py_ssize_t count) \
    { \
        double number[TT_NUMBERS] = {0}; \
        if (!tt_expect_count(#NAME, count, TAKES, TAKES + 1)) return NULL; \
        for (int k = 1; k < TAKES; k++) { \
            number[k - 1] = PyFloat_AsDouble(args[k]); \
            if (number[k - 1] == -1.0 && PyErr_Occurred()) return NULL; \
        } \
        if (WRONG) return tt_call_python("tt.backends.cpu.activation", #NAME, args, TAKES); \
        return CALLED; \
    }

static PyObject *call_bent_with(PyObject *module, PyObject *const *args, Py_ssize_t arrays, PyObject *out, double slope,
                                double scale, double stretch)
{
    PyObject *all[6] = {args[0], arrays == 2 ? args[1] : NULL};
    const double numbers[3] = {slope, scale, stretch};
    Py_ssize_t at = arrays;
    PyObject *result = NULL;
    for (int k = 0; k < 3; k++)
        if ((all[at++] = PyFloat_FromDouble(numbers[k])) == NULL) goto done;
    all[at] = out;
    result = arrays == 2 ? call_bent_backward(module, all, at + (out != NULL)) : call_bent(module, all, at + (out != NULL));
done:
    for (Py_ssize_t k = arrays; k < at; k++) Py_XDECREF(all[k]);
    return result;
}

#define OUT(TAKES) (count > TAKES ? args[TAKES] : NULL)
REFUSING(elu, call_bent_with(module, args, 1, OUT(2), number[0], 1.0, 1.0), 2, false)
REFUSING(celu, call_bent_with(module, args, 1, OUT(2), number[0], 1.0, 1.0 / number[0]), 2, number[0] == 0.0)
REFUSING(selu, call_bent_with(module, args, 1, OUT(1), SELU_ALPHA * SELU_SCALE, SELU_SCALE, 1.0), 1, false)

static PyObject *call_checked_hardtanh(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("hardtanh", count, 3, 4)) return NULL;
    double least = PyFloat_AsDouble(args[1]), most = PyFloat_AsDouble(args[2]);
    if (PyErr_Occurred()) return NULL;
    if (least > most) return tt_call_python("tt.backends.cpu.activation", "hardtanh", args, 3);
    return call_hardtanh(module, args, count);
}

static PyObject *call_checked_softshrink(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("softshrink", count, 2, 3)) return NULL;
    double limit = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred()) return NULL;
    if (!(limit >= 0.0)) return tt_call_python("tt.backends.cpu.activation", "softshrink", args, 2);
    return call_softshrink(module, args, count);
}

/* elu_backward(grad_output, self, alpha, scale, input_scale) */
static PyObject *call_elu_backward(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("elu_backward", count, 5, 6)) return NULL;
    double alpha = PyFloat_AsDouble(args[2]), scale = PyFloat_AsDouble(args[3]), stretch = PyFloat_AsDouble(args[4]);
    if (PyErr_Occurred()) return NULL;
    return call_bent_with(module, args, 2, OUT(5), alpha * scale, scale, stretch);
}

/* --- the module --------------------------------------------------------------------------------------------- */

#define ONE(NAME, ARGUMENTS) TT_OP_METHOD(NAME, "self" ARGUMENTS)
#define GRADIENT(NAME, ARGUMENTS) TT_OP_METHOD(NAME, "grad_output, " ARGUMENTS)

static PyMethodDef methods[] = {
    ONE(relu, ""), ONE(leaky_relu, ", negative_slope"), ONE(threshold, ", threshold, value"),
    TT_METHOD_AS("hardtanh", call_checked_hardtanh, "hardtanh(self, min_val, max_val, out=None)"),
    TT_METHOD_AS("softshrink", call_checked_softshrink, "softshrink(self, lambd, out=None)"),
    ONE(hardshrink, ", lambd"), ONE(elu, ", alpha"), ONE(celu, ", alpha"), ONE(selu, ""), ONE(silu, ""),
    ONE(logsigmoid, ""), ONE(mish, ""), ONE(hardsigmoid, ""), ONE(hardswish, ""), ONE(softplus, ", beta, threshold"),
    ONE(gelu, ", approximate"), ONE(prelu, ", weight"), GRADIENT(threshold_backward, "self, threshold"),
    GRADIENT(leaky_relu_backward, "self, negative_slope"), GRADIENT(hardtanh_backward, "self, min_val, max_val"),
    GRADIENT(shrink_backward, "self, lambd"), GRADIENT(silu_backward, "self"), GRADIENT(mish_backward, "self"),
    GRADIENT(elu_backward, "self, alpha, scale, input_scale"), GRADIENT(sigmoid_backward, "output"),
    GRADIENT(tanh_backward, "output"), GRADIENT(log_sigmoid_backward, "self"), GRADIENT(hardsigmoid_backward, "self"),
    GRADIENT(hardswish_backward, "self"), GRADIENT(softplus_backward, "self, beta, threshold"),
    GRADIENT(gelu_backward, "self, approximate"),
    {NULL, NULL, 0, NULL},
};

#define NAME _activation
#define DOC "Activation functions and their gradients."
#include "module.inc"
