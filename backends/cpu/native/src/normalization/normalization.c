/* Layer, group, batch and RMS normalisation with their gradients.

   A line is what is normalised together.  Gradients compute mean and deviation again, while the line is in the cache: that
   is as fast as keeping them, and the graph holds nothing but the input.  Sums over lines are made in a number of parts that
   depends on sizes alone, so results do not depend on the number of threads. */
#define ROWS_FLOATING
#include "isa.h"
#include "moments.h"
#include "lanes.h"
#include "rows.h"

enum { NORM_PIECE = 1024, NORM_PARTS = 16, NORM_LINES = 32 };

typedef struct {
    int64_t n, count;           /* elements of a line, lines */
    int64_t rows;               /* lines of one sample */
    int64_t channels, inner;    /* weights of a line (0: all lines share them), neighbours that share a weight */
    int centred;
    double eps;
    const void *weight, *bias;  /* in the compute type, or NULL */
    tt_dtype type;
    const char *input, *grad;
    char *out;
    int64_t parts, sums;        /* weights in all */
    double *total;              /* for each part the sums of weights and of biases */
    int failed;
} norm_plan;

#define C float
#define S f32
#include "normalization.inc"

#define C double
#define S f64
#include "normalization.inc"

#include "normalization_few.inc"

/* --- lines ------------------------------------------------------------------------------------------------------- */

static void norm_some(int64_t begin, int64_t end, void *context)
{
    norm_plan *p = context;
    npy_intp line = p->n * tt_sizes[p->type];
    if (few_serves(p)) {
        for (int64_t i = begin; i < end; i += FEW)
            few_lines(p, (const float *)(p->input + i * line), (float *)(p->out + i * line), (int)(end - i < FEW ? end - i : FEW));
        return;
    }
    if (p->type == TT_F64) {
        for (int64_t i = begin; i < end; i++) norm_line_f64(p, i, p->input + i * line, p->out + i * line);
        return;
    }
    if (p->type == TT_F32) {
        for (int64_t i = begin; i < end; i++) norm_line_f32(p, i, p->input + i * line, p->out + i * line);
        return;
    }
    float *x = malloc((size_t)p->n * 2 * sizeof(float)), *y = x + p->n;
    if (!x) {
        p->failed = 1;
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        rows_read_f32(p->type, p->input + i * line, tt_sizes[p->type], p->n, x);
        norm_line_f32(p, i, x, y);
        rows_write_f32(p->type, p->out + i * line, tt_sizes[p->type], p->n, y);
    }
    free(x);
}

static void norm_backward_part(norm_plan *p, int64_t part)
{
    int64_t begin = p->count * part / p->parts, end = p->count * (part + 1) / p->parts, n = p->n;
    npy_intp size = tt_sizes[p->type], line = n * size;
    double *weights = p->total + part * 2 * p->sums, *biases = weights + p->sums;
    int shared = p->inner == 1;
    size_t width = p->type == TT_F64 ? 8 : 4;
    char *some = calloc((size_t)(2 * p->sums + 3 * n) + 1, width);
    char *x = some + 2 * p->sums * width, *g = x + n * width, *r = g + n * width;
    if (!some) {
        p->failed = 1;
        return;
    }
    memset(weights, 0, (size_t)p->sums * 2 * sizeof(double));
    char *sum_weight = shared ? some : (char *)weights, *sum_bias = shared ? some + p->sums * width : (char *)biases;
    bool few = few_serves(p);
    for (int64_t i = begin; few && i < end; i += FEW) {
        few_backward(p, (const float *)(p->grad + i * line), (const float *)(p->input + i * line), (float *)(p->out + i * line),
                     (float *)sum_weight, (float *)sum_bias, (int)(end - i < FEW ? end - i : FEW));
        if ((i - begin) % NORM_LINES != NORM_LINES - FEW && i + FEW < end) continue;
        norm_flush_f32(sum_weight, weights, p->sums);
        norm_flush_f32(sum_bias, biases, p->sums);
    }
    for (int64_t i = begin; !few && i < end; i++) {
        const char *from = p->input + i * line, *from_g = p->grad + i * line;
        char *to = p->out + i * line;
        if (p->type == TT_F64)
            norm_backward_line_f64(p, i, from_g, from, to, sum_weight, sum_bias);
        else if (p->type == TT_F32)
            norm_backward_line_f32(p, i, from_g, from, to, sum_weight, sum_bias);
        else {
            rows_read_f32(p->type, from, size, n, (float *)x);
            rows_read_f32(p->type, from_g, size, n, (float *)g);
            norm_backward_line_f32(p, i, g, x, r, sum_weight, sum_bias);
            rows_write_f32(p->type, to, size, n, (float *)r);
        }
        if (shared && ((i - begin) % NORM_LINES == NORM_LINES - 1 || i + 1 == end)) {
            (width == 8 ? norm_flush_f64 : norm_flush_f32)(sum_weight, weights, p->sums);
            (width == 8 ? norm_flush_f64 : norm_flush_f32)(sum_bias, biases, p->sums);
        }
    }
    free(some);
}

static void norm_backward_some(int64_t begin, int64_t end, void *context)
{
    for (int64_t part = begin; part < end; part++) norm_backward_part(context, part);
}

/* A parameter in the compute type, NULL for None; of the dtype of the input, float32 beside halves, or any. */
static int norm_parameter(PyObject *value, PyArrayObject *x, int any, int ndim, const npy_intp *shape, PyArrayObject **held)
{
    *held = NULL;
    if (value == Py_None) return 0;
    PyArrayObject *array = tt_array(value, "a parameter");
    if (!array) return -1;
    tt_dtype type = tt_dtype_of(x), found = tt_dtype_of(array);
    int fits = found == type || (any && rows_is_floating(found)) || (found == TT_F32 && (type == TT_F16 || type == TT_BF16));
    if (!fits || PyArray_NDIM(array) != ndim || !tt_same_sizes(PyArray_DIMS(array), shape, ndim)) {
        PyErr_SetString(PyExc_ValueError, "a parameter that does not fit, which the shape rule refuses");
        return -1;
    }
    *held = rows_contiguous(value, type == TT_F64 ? NPY_DOUBLE : NPY_FLOAT);
    return *held ? 0 : -1;
}

static int norm_eps(PyObject *value, tt_dtype type, double *eps)
{
    *eps = value == Py_None ? (type == TT_F64 ? DBL_EPSILON : FLT_EPSILON) : PyFloat_AsDouble(value);
    return *eps == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Reads normalized_shape (layer_norm, rms_norm) or the number of groups; -1 with an error set. */
static int norm_lines(norm_plan *p, PyArrayObject *x, PyObject *how, int *ndim, npy_intp *shape)
{
    int dims = PyArray_NDIM(x);
    int64_t size = PyArray_SIZE(x);
    p->n = p->inner = 1;
    if (PyLong_Check(how)) {
        int64_t groups = PyLong_AsLongLong(how), channels = dims > 1 ? PyArray_DIM(x, 1) : 0;
        if (groups <= 0 || dims < 2 || channels % groups || size == groups) goto refuse; /* one number has no variance */
        for (int d = 2; d < dims; d++) p->inner *= PyArray_DIM(x, d);
        *ndim = 1;
        shape[0] = p->sums = channels;
        p->rows = groups;
        p->channels = channels / groups;
        p->n = p->channels * p->inner;
        p->count = p->n ? size / p->n : 0;
        return 0;
    }
    PyObject *sequence = PySequence_Fast(how, "normalized_shape is a list of sizes");
    if (!sequence) return -1;
    *ndim = (int)PySequence_Fast_GET_SIZE(sequence);
    int fits = *ndim > 0 && *ndim <= dims;
    for (int d = 0; fits && d < *ndim; d++) {
        shape[d] = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(sequence, d), NULL);
        if (shape[d] == -1 && PyErr_Occurred()) PyErr_Clear();
        fits = shape[d] == PyArray_DIM(x, dims - *ndim + d);
        if (fits) p->n *= shape[d]; /* other sizes may be any numbers */
    }
    Py_DECREF(sequence);
    if (!fits) goto refuse;
    p->rows = 1;
    p->channels = 0;
    p->sums = p->n;
    p->count = p->n ? size / p->n : 0;
    return 0;
refuse:
    PyErr_SetString(PyExc_ValueError, "sizes that do not fit, which the shape rule refuses");
    return -1;
}

/* op(input, shape or groups, weight, [bias,] eps) */
static PyObject *call_norm(const char *name, int centred, PyObject *const *args, Py_ssize_t nargs)
{
    norm_plan p = {.centred = centred};
    PyArrayObject *x = NULL, *weight = NULL, *bias = NULL, *out = NULL;
    npy_intp shape[NPY_MAXDIMS];
    int ndim;
    ROWS_EXPECT(name, 4 + centred, 4 + centred);
    if (!tt_array(args[0], "input")) return NULL;
    p.type = tt_dtype_of((PyArrayObject *)args[0]);
    if (!rows_is_floating(p.type)) return tt_refuse_dtype(name, (PyArrayObject *)args[0]);
    if (norm_eps(args[nargs - 1], p.type, &p.eps) < 0) return NULL;
    x = PyArray_GETCONTIGUOUS((PyArrayObject *)args[0]);
    if (!x || norm_lines(&p, x, args[1], &ndim, shape) < 0) goto done;
    if (norm_parameter(args[2], x, !centred, ndim, shape, &weight) < 0) goto done;
    if (centred && norm_parameter(args[3], x, 0, ndim, shape, &bias) < 0) goto done;
    out = tt_empty_of(PyArray_NDIM(x), PyArray_DIMS(x), x);
    if (!out) goto done;
    p.weight = weight ? PyArray_DATA(weight) : NULL;
    p.bias = bias ? PyArray_DATA(bias) : NULL;
    p.input = PyArray_BYTES(x);
    p.out = PyArray_BYTES(out);
    if (p.n) ROWS_RELEASED(p.n * p.count, tt_parallel_for(0, p.count, ROWS_PARALLEL / (2 * p.n) + 1, norm_some, &p));
    if (p.failed) {
        PyErr_NoMemory();
        Py_CLEAR(out);
    }
done:
    Py_XDECREF(x);
    Py_XDECREF(weight);
    Py_XDECREF(bias);
    return (PyObject *)out;
}

/* Adds up the sums of all parts and returns those of weights or of biases in the dtype of the input. */
static PyArrayObject *norm_sums(const norm_plan *p, int biases, int ndim, const npy_intp *shape, PyArrayObject *x)
{
    PyArrayObject *sums = tt_empty_of(ndim, shape, x);
    double *first = p->total + biases * p->sums;
    if (!sums) return NULL;
    for (int64_t part = 1; part < p->parts; part++)
        for (int64_t i = 0; i < p->sums; i++) first[i] += first[part * 2 * p->sums + i];
    char *out = PyArray_BYTES(sums);
    for (int64_t i = 0; i < p->sums; i++) switch (p->type) {
        case TT_F64: ((double *)out)[i] = first[i]; break;
        case TT_F32: ((float *)out)[i] = (float)first[i]; break;
        case TT_F16: ((tt_half *)out)[i] = tt_half_of_float((float)first[i]); break;
        default: ((tt_bfloat *)out)[i] = tt_bfloat_of_float((float)first[i]);
        }
    return sums;
}

/* op(grad, input, shape or groups, weight, eps) -> gradients of input, weight and, if centred, bias */
static PyObject *call_norm_backward(const char *name, int centred, PyObject *const *args, Py_ssize_t nargs)
{
    norm_plan p = {.centred = centred};
    PyArrayObject *g = NULL, *x = NULL, *weight = NULL, *out = NULL, *weights = NULL, *biases = NULL;
    PyObject *result = NULL;
    npy_intp shape[NPY_MAXDIMS];
    int ndim;
    ROWS_EXPECT(name, 5, 5);
    if (!tt_array(args[0], "grad") || !tt_array(args[1], "input")) return NULL;
    p.type = tt_dtype_of((PyArrayObject *)args[1]);
    if (!rows_is_floating(p.type)) return tt_refuse_dtype(name, (PyArrayObject *)args[1]);
    if (norm_eps(args[4], p.type, &p.eps) < 0) return NULL;
    g = PyArray_GETCONTIGUOUS((PyArrayObject *)args[0]);
    x = PyArray_GETCONTIGUOUS((PyArrayObject *)args[1]);
    if (!g || !x) goto done;
    if (tt_dtype_of(g) != p.type || !tt_same_shape(g, x)) {
        PyErr_SetString(PyExc_ValueError, "a gradient that does not fit the input");
        goto done;
    }
    if (norm_lines(&p, x, args[2], &ndim, shape) < 0 || norm_parameter(args[3], x, !centred, ndim, shape, &weight) < 0) goto done;
    out = tt_empty_of(PyArray_NDIM(x), PyArray_DIMS(x), x);
    if (!out) goto done;
    p.weight = weight ? PyArray_DATA(weight) : NULL;
    p.input = PyArray_BYTES(x);
    p.grad = PyArray_BYTES(g);
    p.out = PyArray_BYTES(out);
    p.parts = p.n * p.count < ROWS_PARALLEL ? 1 : p.count / 16;
    p.parts = p.parts < 1 ? 1 : p.parts > NORM_PARTS ? NORM_PARTS : p.parts;
    p.total = malloc((size_t)(p.parts * 2 * p.sums + 1) * sizeof(double));
    if (!p.total) {
        PyErr_NoMemory();
        goto done;
    }
    ROWS_RELEASED(p.n * p.count, tt_parallel_for(0, p.parts, 1, norm_backward_some, &p));
    if (p.failed) {
        PyErr_NoMemory();
        goto done;
    }
    weights = norm_sums(&p, 0, ndim, shape, x);
    if (weights && centred) biases = norm_sums(&p, 1, ndim, shape, x);
    if (weights && (biases || !centred))
        result = centred ? PyTuple_Pack(3, out, weights, biases) : PyTuple_Pack(2, out, weights);
done:
    free(p.total);
    Py_XDECREF(g);
    Py_XDECREF(x);
    Py_XDECREF(weight);
    Py_XDECREF(out);
    Py_XDECREF(weights);
    Py_XDECREF(biases);
    return result;
}

static PyObject *layer_norm(PyObject *module, PyObject *const *args, Py_ssize_t nargs) { return call_norm("layer_norm", 1, args, nargs); }
static PyObject *group_norm(PyObject *module, PyObject *const *args, Py_ssize_t nargs) { return call_norm("group_norm", 1, args, nargs); }
static PyObject *rms_norm(PyObject *module, PyObject *const *args, Py_ssize_t nargs) { return call_norm("rms_norm", 0, args, nargs); }
static PyObject *layer_norm_backward(PyObject *module, PyObject *const *args, Py_ssize_t nargs) { return call_norm_backward("layer_norm_backward", 1, args, nargs); }
static PyObject *group_norm_backward(PyObject *module, PyObject *const *args, Py_ssize_t nargs) { return call_norm_backward("group_norm_backward", 1, args, nargs); }
static PyObject *rms_norm_backward(PyObject *module, PyObject *const *args, Py_ssize_t nargs) { return call_norm_backward("rms_norm_backward", 0, args, nargs); }

#include "channels.h"

static PyMethodDef methods[] = {
    TT_METHOD(layer_norm, "layer_norm(input, normalized_shape, weight, bias, eps)"),
    TT_METHOD(group_norm, "group_norm(input, num_groups, weight, bias, eps)"),
    TT_METHOD(rms_norm, "rms_norm(input, normalized_shape, weight, eps)"),
    TT_METHOD(layer_norm_backward, "layer_norm_backward(grad, input, normalized_shape, weight, eps)"),
    TT_METHOD(group_norm_backward, "group_norm_backward(grad, input, num_groups, weight, eps)"),
    TT_METHOD(rms_norm_backward, "rms_norm_backward(grad, input, normalized_shape, weight, eps)"),
    TT_METHOD(batch_norm, "batch_norm(input, weight, bias, running_mean, running_var, training, eps)"),
    TT_METHOD(batch_norm_backward, "batch_norm_backward(grad, input, weight, mean, var, training, eps)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _normalization
#define DOC "Layer, group, batch and RMS normalisation with their gradients."
#include "module.inc"
