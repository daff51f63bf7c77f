/* Activation functions and their gradients. */
#include "elementwise.h"
#include "activations.h"

/* An operator from the functions of activations.h, with the arguments for them. */
#define ACTIVATION(NAME, ARRAYS, NUMBERS, GRAIN, ...) TT_OP(NAME, ARRAYS, NUMBERS, GRAIN, tt_##NAME##_f(__VA_ARGS__), tt_##NAME(__VA_ARGS__))
#define N(k) number[k]

ACTIVATION(relu, 1, 0, TT_GRAIN_CHEAP, a)
ACTIVATION(leaky_relu, 1, 1, TT_GRAIN_CHEAP, a, N(0))
ACTIVATION(hardtanh, 1, 2, TT_GRAIN_CHEAP, a, N(0), N(1))
ACTIVATION(threshold, 1, 2, TT_GRAIN_CHEAP, a, N(0), N(1))
ACTIVATION(hardshrink, 1, 1, TT_GRAIN_CHEAP, a, N(0))
ACTIVATION(softshrink, 1, 1, TT_GRAIN_CHEAP, a, N(0))
ACTIVATION(threshold_backward, 2, 1, TT_GRAIN_CHEAP, a, b, N(0))
ACTIVATION(prelu, 2, 0, TT_GRAIN_CHEAP, a, b)
ACTIVATION(prelu_backward, 3, 0, TT_GRAIN_CHEAP, a, b, c)
TT_OP(glu, 2, 0, TT_GRAIN_DEAR, a * tt_sigmoid_f(b), a * tt_sigmoid(b))
ACTIVATION(leaky_relu_backward, 2, 1, TT_GRAIN_CHEAP, a, b, N(0))
ACTIVATION(hardtanh_backward, 2, 2, TT_GRAIN_CHEAP, a, b, N(0), N(1))
ACTIVATION(shrink_backward, 2, 1, TT_GRAIN_CHEAP, a, b, N(0))
ACTIVATION(bent, 1, 3, TT_GRAIN_DEAR, a, N(0), N(1), N(2))
ACTIVATION(bent_backward, 2, 3, TT_GRAIN_DEAR, a, b, N(0), N(1), N(2))
ACTIVATION(silu, 1, 0, TT_GRAIN_DEAR, a)
ACTIVATION(logsigmoid, 1, 0, TT_GRAIN_DEAR, a)
ACTIVATION(mish, 1, 0, TT_GRAIN_DEAR, a)
ACTIVATION(hardsigmoid, 1, 0, TT_GRAIN_CHEAP, a)
ACTIVATION(hardswish, 1, 0, TT_GRAIN_CHEAP, a)
TT_OP(softplus, 1, 2, TT_GRAIN_DEAR, tt_softplus_of_f(a, N(0), N(1)), tt_softplus_of(a, N(0), N(1)))
ACTIVATION(silu_backward, 2, 0, TT_GRAIN_DEAR, a, b)
ACTIVATION(mish_backward, 2, 0, TT_GRAIN_DEAR, a, b)
ACTIVATION(sigmoid_backward, 2, 0, TT_GRAIN_CHEAP, a, b)
ACTIVATION(tanh_backward, 2, 0, TT_GRAIN_CHEAP, a, b)
ACTIVATION(log_sigmoid_backward, 2, 0, TT_GRAIN_DEAR, a, b)
ACTIVATION(hardsigmoid_backward, 2, 0, TT_GRAIN_CHEAP, a, b)
ACTIVATION(hardswish_backward, 2, 0, TT_GRAIN_CHEAP, a, b)
ACTIVATION(softplus_backward, 2, 2, TT_GRAIN_DEAR, a, b, N(0), N(1))
TT_OP(gelu_exact, 1, 0, TT_GRAIN_DEAR, tt_gelu_f(a), tt_gelu(a))
ACTIVATION(gelu_tanh, 1, 0, TT_GRAIN_DEAR, a)
TT_OP(gelu_exact_backward, 2, 0, TT_GRAIN_DEAR, tt_gelu_backward_f(a, b), tt_gelu_backward(a, b))
ACTIVATION(gelu_tanh_backward, 2, 0, TT_GRAIN_DEAR, a, b)

/* --- gelu --------------------------------------------------------------------------------------------------- */

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

/* --- the gradient of glu ------------------------------------------------------------------------------------ */

#define T float
#define EXP tt_exp_f
#define ABS fabsf
#include "activation_glu.inc"

#define T double
#define EXP tt_exp
#define ABS fabs
#include "activation_glu.inc"

enum { GLU_INPUTS = 3, GLU_OPERANDS = 5 }; /* grad_output, a, b; the gradients of a and b */

/* Where rows are not one after the other in the dtype of the loop: through blocks, as tt_run_part, with two outputs. */
static void glu_backward_part(int64_t begin, int64_t end, void *context)
{
    const tt_job *job = context;
    char blocks[GLU_OPERANDS][TT_BLOCK_BYTES] __attribute__((aligned(64))), *data[GLU_OPERANDS];
    for (int64_t at = begin; at < end; at += job->block) {
        npy_intp part = job->block < end - at ? job->block : (npy_intp)(end - at);
        for (int k = 0; k < GLU_OPERANDS; k++) {
            const tt_view *view = &job->views[k];
            bool direct = view->linear && view->dtype == view->compute;
            data[k] = direct ? view->data + at * view->size : blocks[k];
            if (!direct && k < GLU_INPUTS) tt_load(view, (npy_intp)at, part, blocks[k]);
        }
        job->loop(data, part, job->params);
        for (int k = GLU_INPUTS; k < GLU_OPERANDS; k++)
            if (data[k] == blocks[k]) tt_store(&job->views[k], (npy_intp)at, part, blocks[k]);
    }
}

static PyObject *refuse_glu_backward(const char *what)
{
    PyErr_Format(PyExc_ValueError, "glu_backward(): %s that the shape rule refuses", what);
    return NULL;
}

/* glu_backward(grad_output, self, dim) */
static PyObject *call_glu_backward(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    PyArrayObject *grad, *self;
    if (!tt_expect_count("glu_backward", count, 3, 3) || (grad = tt_array(args[0], "grad_output")) == NULL ||
        (self = tt_array(args[1], "self")) == NULL)
        return NULL;
    Py_ssize_t dim = PyNumber_AsSsize_t(args[2], PyExc_IndexError);
    if (dim == -1 && PyErr_Occurred()) return NULL;
    tt_dtype dtype = tt_dtype_of(self), compute = dtype == TT_F16 || dtype == TT_BF16 ? TT_F32 : dtype;
    if (compute != TT_F32 && compute != TT_F64) return tt_refuse_dtype("glu_backward", self);
    if (tt_dtype_of(grad) != dtype) return tt_refuse_dtype("glu_backward", grad);

    int ndim = PyArray_NDIM(self), lacks = ndim - PyArray_NDIM(grad);
    if (dim < 0) dim += ndim;
    if (dim < 0 || dim >= ndim || PyArray_DIM(self, (int)dim) % 2) return refuse_glu_backward("a dimension");
    if (lacks < 0) return refuse_glu_backward("a gradient");
    npy_intp shape[NPY_MAXDIMS], steps[GLU_OPERANDS][NPY_MAXDIMS], total = 1;
    for (int d = 0; d < ndim; d++) {
        shape[d] = PyArray_DIM(self, d) / (d == dim ? 2 : 1);
        total *= shape[d];
        npy_intp size = d < lacks ? 1 : PyArray_DIM(grad, d - lacks);
        if (size != 1 && size != shape[d]) return refuse_glu_backward("a gradient");
        steps[0][d] = size == 1 ? 0 : PyArray_STRIDE(grad, d - lacks);
    }
    PyArrayObject *out = tt_empty(ndim, PyArray_DIMS(self), dtype);
    if (out == NULL || total == 0) return (PyObject *)out;

    tt_job job = {.count = GLU_OPERANDS, .loop = compute == TT_F32 ? glu_backward_float : glu_backward_double};
    PyArrayObject *const arrays[GLU_OPERANDS] = {grad, self, self, out, out};
    for (int k = 1; k < GLU_OPERANDS; k++)
        for (int d = 0; d < ndim; d++) steps[k][d] = shape[d] == 1 ? 0 : PyArray_STRIDE(arrays[k], d);
    int order[NPY_MAXDIMS];
    tt_order(ndim, GLU_OPERANDS, shape, steps, order);
    for (int k = 0; k < GLU_OPERANDS; k++) {
        bool second = k == 2 || k == 4;
        tt_view *view = &job.views[k];
        view->data = PyArray_BYTES(arrays[k]) + (second ? shape[dim] * PyArray_STRIDE(arrays[k], (int)dim) : 0);
        view->dtype = dtype;
        view->compute = compute;
        view->size = PyArray_ITEMSIZE(arrays[k]);
        tt_set_view(view, ndim, shape, steps[k], order);
    }
    job.block = TT_BLOCK_BYTES / tt_sizes[compute];
    bool by_rows = tt_find_rows(&job, ndim, shape, steps, order);
    TT_BEGIN_WORK(total)
    tt_parallel_for(0, total, TT_GRAIN_DEAR, by_rows ? tt_run_rows : glu_backward_part, &job);
    TT_END_WORK
    return (PyObject *)out;
}

/* --- what refuses some numbers ------------------------------------------------------------------------------ */

/* The number behind the array, where one is taken; false with an error. */
static bool read_number(const char *name, PyObject *const *args, Py_ssize_t count, Py_ssize_t takes, double *number)
{
    if (!tt_expect_count(name, count, takes, takes + 1)) return false;
    if (takes < 2) return true;
    *number = PyFloat_AsDouble(args[1]);
    return *number != -1.0 || !PyErr_Occurred();
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

static PyObject *call_elu(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    double alpha;
    if (!read_number("elu", args, count, 2, &alpha)) return NULL;
    return call_bent_with(module, args, 1, OUT(2), alpha, 1.0, 1.0);
}

/* The check of the composite says what is wrong with a division by zero. */
static PyObject *call_celu(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    double alpha;
    if (!read_number("celu", args, count, 2, &alpha)) return NULL;
    if (alpha == 0.0) return tt_call_python("tt.operators.activation.composites", "check_alpha", args + 1, 1);
    return call_bent_with(module, args, 1, OUT(2), alpha, 1.0, 1.0 / alpha);
}

static PyObject *call_selu(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!read_number("selu", args, count, 1, NULL)) return NULL;
    return call_bent_with(module, args, 1, OUT(1), TT_SELU_ALPHA * TT_SELU_SCALE, TT_SELU_SCALE, 1.0);
}

static PyObject *call_checked_hardtanh(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("hardtanh", count, 3, 4)) return NULL;
    double least = PyFloat_AsDouble(args[1]), most = PyFloat_AsDouble(args[2]);
    if (PyErr_Occurred()) return NULL;
    if (least > most) return tt_call_python_into("tt.backends.cpu.activation", "hardtanh", args, 3, count);
    return call_hardtanh(module, args, count);
}

static PyObject *call_checked_softshrink(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("softshrink", count, 2, 3)) return NULL;
    double limit = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred()) return NULL;
    if (!(limit >= 0.0)) return tt_call_python_into("tt.backends.cpu.activation", "softshrink", args, 2, count);
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
    ONE(gelu, ", approximate"), ONE(prelu, ", weight"), ONE(glu, ", gate"), GRADIENT(threshold_backward, "self, threshold"),
    GRADIENT(prelu_backward, "self, weight"), GRADIENT(leaky_relu_backward, "self, negative_slope"), GRADIENT(hardtanh_backward, "self, min_val, max_val"),
    GRADIENT(shrink_backward, "self, lambd"), GRADIENT(silu_backward, "self"), GRADIENT(mish_backward, "self"),
    GRADIENT(elu_backward, "self, alpha, scale, input_scale"), GRADIENT(sigmoid_backward, "output"),
    GRADIENT(tanh_backward, "output"), GRADIENT(log_sigmoid_backward, "self"), GRADIENT(hardsigmoid_backward, "self"),
    GRADIENT(hardswish_backward, "self"), GRADIENT(softplus_backward, "self, beta, threshold"),
    GRADIENT(gelu_backward, "self, approximate"),
    TT_METHOD_AS("glu_backward", call_glu_backward, "glu_backward(grad_output, self, dim)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _activation
#define DOC "Activation functions and their gradients."
#include "module.inc"
