/* Losses and their gradients: of classes, and element by element with their mean or sum in the same pass. */
#define ROWS_FLOATING
#include "fallback.h"
#include "lanes.h"
#include "rows.h"
#include "vector_math.h"

enum { LOSS_PIECE = 4096, LOSS_TILE = 16 };

#define C float
#define S f32
#define ABS fabsf
#define EXP tt_exp_f
#define LOG tt_log_f
#define LOG1P tt_log1p_f
#include "loss.inc"

#define C double
#define S f64
#define ABS fabs
#define EXP tt_exp
#define LOG tt_log
#define LOG1P tt_log1p
#include "loss.inc"

typedef enum { NONE, MEAN, SUM } loss_reduction;

static int loss_reduction_of(PyObject *name, loss_reduction *to)
{
    if (PyUnicode_Check(name)) {
        if (PyUnicode_CompareWithASCIIString(name, "mean") == 0) return *to = MEAN, 0;
        if (PyUnicode_CompareWithASCIIString(name, "sum") == 0) return *to = SUM, 0;
        if (PyUnicode_CompareWithASCIIString(name, "none") == 0) return *to = NONE, 0;
    }
    PyErr_SetString(PyExc_ValueError, "an unknown reduction, which the shape rule refuses");
    return -1;
}

static void *loss_refuse(void)
{
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "sizes that do not fit, which the shape rule refuses");
    return NULL;
}

/* Raises an exception of tt's own. */
static void *loss_raise(const char *kind, const char *format, long long value)
{
    PyObject *module = PyImport_ImportModule("tt.core.errors");
    PyObject *type = module ? PyObject_GetAttrString(module, kind) : NULL;
    if (type) PyErr_Format(type, format, value);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return NULL;
}

static double loss_number(PyArrayObject *array) /* of an array of one element, float or double */
{
    return tt_dtype_of(array) == TT_F64 ? *(double *)PyArray_DATA(array) : (double)*(float *)PyArray_DATA(array);
}

static void loss_set(PyArrayObject *array, double value)
{
    if (tt_dtype_of(array) == TT_F64)
        *(double *)PyArray_DATA(array) = value;
    else
        *(float *)PyArray_DATA(array) = (float)value;
}

/* --- element by element ------------------------------------------------------------------------------------------ */

typedef double (*loss_total)(const void *x, const void *t, int64_t n, double fact);
typedef void (*loss_each)(const void *x, const void *t, void *to, int64_t n, double fact);
typedef void (*loss_slope)(const void *g, const void *x, const void *t, void *to, int64_t n, double fact, double scale);

typedef struct {
    const char *name;
    loss_total total[2];
    loss_each each[2];
    loss_slope slope[2];
} loss_kind;

#define LOSS_KIND(name, KIND)                                                                                          \
    {name, {total_##KIND##f32, total_##KIND##f64}, {each_##KIND##f32, each_##KIND##f64}, {slope_##KIND##f32, slope_##KIND##f64}}

static const loss_kind loss_kinds[] = {
    LOSS_KIND("square", SQUARE), LOSS_KIND("absolute", ABSOLUTE), LOSS_KIND("smooth", SMOOTH), LOSS_KIND("huber", HUBER),
    LOSS_KIND("probability", BCE), LOSS_KIND("logit", LOGITS), LOSS_KIND("divergence", KL), LOSS_KIND("log_divergence", KL_LOG),
};

typedef struct {
    const loss_kind *kind;
    const char *x, *t, *g;
    char *to;
    int64_t n, size;
    int wide;
    double fact, scale;
    double *parts;
} loss_plan;

static void loss_totals(int64_t begin, int64_t end, void *context)
{
    const loss_plan *p = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i * LOSS_PIECE, now = p->n - at < LOSS_PIECE ? p->n - at : LOSS_PIECE;
        p->parts[i] = p->kind->total[p->wide](p->x + at * p->size, p->t + at * p->size, now, p->fact);
    }
}

static void loss_values(int64_t begin, int64_t end, void *context)
{
    const loss_plan *p = context;
    p->kind->each[p->wide](p->x + begin * p->size, p->t + begin * p->size, p->to + begin * p->size, end - begin, p->fact);
}

static void loss_slopes(int64_t begin, int64_t end, void *context)
{
    const loss_plan *p = context;
    p->kind->slope[p->wide](p->g ? p->g + begin * p->size : NULL, p->x + begin * p->size, p->t + begin * p->size, p->to + begin * p->size,
                            end - begin, p->fact, p->scale);
}

static double loss_sum(loss_plan *p, int *failed)
{
    double few[64], sum = 0, lost = 0;
    int64_t pieces = (p->n + LOSS_PIECE - 1) / LOSS_PIECE;
    p->parts = pieces <= 64 ? few : malloc((size_t)pieces * sizeof(double));
    if (!p->parts) {
        *failed = 1;
        return 0;
    }
    tt_parallel_for(0, pieces, ROWS_PARALLEL / (2 * LOSS_PIECE), loss_totals, p);
    for (int64_t i = 0; i < pieces; i++) { /* as exact as if each addition were */
        double next = sum + p->parts[i], part = next - sum;
        lost += (sum - (next - part)) + (p->parts[i] - part);
        sum = next;
    }
    if (p->parts != few) free(p->parts);
    return sum - sum == 0 && lost - lost == 0 ? sum + lost : sum;
}

/* Contiguous arrays of one shape and dtype, float or double. */
static int loss_pair(PyObject *const *args, PyArrayObject **x, PyArrayObject **t)
{
    PyArrayObject *a = tt_array(args[0], "input"), *b = tt_array(args[1], "target");
    if (!a || !b) return -1;
    tt_dtype type = tt_dtype_of(a);
    if (type != TT_F32 && type != TT_F64) return tt_refuse_dtype("a loss", a), -1;
    if (tt_dtype_of(b) != type || !tt_same_shape(a, b)) return loss_refuse(), -1;
    *x = PyArray_GETCONTIGUOUS(a);
    *t = PyArray_GETCONTIGUOUS(b);
    return *x && *t ? 0 : -1;
}

static PyObject *loss_forward(const loss_kind *kind, PyObject *const *args, PyObject *reduction, double fact)
{
    PyArrayObject *x = NULL, *t = NULL, *out = NULL;
    loss_reduction how;
    int failed = 0;
    if (loss_reduction_of(reduction, &how) < 0) return NULL;
    if (loss_pair(args, &x, &t) < 0) goto done;
    loss_plan p = {.kind = kind, .x = PyArray_BYTES(x), .t = PyArray_BYTES(t), .n = PyArray_SIZE(x), .size = PyArray_ITEMSIZE(x),
                   .wide = tt_dtype_of(x) == TT_F64, .fact = fact};
    if (strcmp(kind->name, "probability") == 0 && !(p.wide ? are_probabilities_f64 : are_probabilities_f32)(p.x, p.n)) {
        loss_raise("ValueRangeError", "binary_cross_entropy(): all elements of input should be between 0 and 1", 0);
        goto done;
    }
    out = how == NONE ? tt_empty_of(PyArray_NDIM(x), PyArray_DIMS(x), x) : tt_empty_of(0, NULL, x);
    if (!out) goto done;
    if (how == NONE) {
        p.to = PyArray_BYTES(out);
        ROWS_RELEASED(p.n, tt_parallel_for(0, p.n, ROWS_PARALLEL / 2, loss_values, &p));
    } else {
        double sum = 0;
        ROWS_RELEASED(p.n, sum = loss_sum(&p, &failed));
        loss_set(out, how == MEAN ? sum / (double)p.n : sum);
    }
    if (failed) {
        PyErr_NoMemory();
        Py_CLEAR(out);
    }
done:
    Py_XDECREF(x);
    Py_XDECREF(t);
    return (PyObject *)out;
}

static const loss_kind *loss_kind_of(PyObject *name)
{
    if (PyUnicode_Check(name))
        for (size_t i = 0; i < sizeof loss_kinds / sizeof *loss_kinds; i++)
            if (PyUnicode_CompareWithASCIIString(name, loss_kinds[i].name) == 0) return &loss_kinds[i];
    return loss_refuse();
}

/* elementwise(input, target, kind, reduction, parameter) */
static PyObject *elementwise(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    ROWS_EXPECT("elementwise", 5, 5);
    const loss_kind *kind = loss_kind_of(args[2]);
    double fact = PyFloat_AsDouble(args[4]);
    if (!kind || (fact == -1 && PyErr_Occurred())) return NULL;
    return loss_forward(kind, args, args[3], fact);
}

/* binary_cross_entropy(input, target, reduction), and with logits */
static PyObject *binary_cross_entropy(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    ROWS_EXPECT("binary_cross_entropy", 3, 3);
    return loss_forward(&loss_kinds[4], args, args[2], 0);
}

static PyObject *binary_cross_entropy_with_logits(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    ROWS_EXPECT("binary_cross_entropy_with_logits", 3, 3);
    return loss_forward(&loss_kinds[5], args, args[2], 0);
}

/* elementwise_backward(grad, input, target, kind, reduction, parameter): the gradient of input */
static PyObject *elementwise_backward(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    PyArrayObject *x = NULL, *t = NULL, *g = NULL, *out = NULL;
    loss_reduction how;
    ROWS_EXPECT("elementwise_backward", 6, 6);
    const loss_kind *kind = loss_kind_of(args[3]);
    double fact = PyFloat_AsDouble(args[5]);
    if (!kind || loss_reduction_of(args[4], &how) < 0 || (fact == -1 && PyErr_Occurred())) return NULL;
    if (!tt_array(args[0], "grad") || loss_pair(args + 1, &x, &t) < 0) goto done;
    g = PyArray_GETCONTIGUOUS((PyArrayObject *)args[0]);
    if (!g) goto done;
    if (tt_dtype_of(g) != tt_dtype_of(x) || (how == NONE ? !tt_same_shape(g, x) : PyArray_NDIM(g) != 0)) {
        loss_refuse();
        goto done;
    }
    out = tt_empty_of(PyArray_NDIM(x), PyArray_DIMS(x), x);
    if (!out) goto done;
    loss_plan p = {.kind = kind, .x = PyArray_BYTES(x), .t = PyArray_BYTES(t), .to = PyArray_BYTES(out), .n = PyArray_SIZE(x),
                   .size = PyArray_ITEMSIZE(x), .wide = tt_dtype_of(x) == TT_F64, .fact = fact};
    p.g = how == NONE ? PyArray_BYTES(g) : NULL;
    p.scale = how == NONE ? 1 : how == SUM ? loss_number(g) : loss_number(g) / (double)p.n;
    ROWS_RELEASED(p.n, tt_parallel_for(0, p.n, ROWS_PARALLEL / 2, loss_slopes, &p));
done:
    Py_XDECREF(x);
    Py_XDECREF(t);
    Py_XDECREF(g);
    return (PyObject *)out;
}

#include "classes.h"
#include "picking.h"

static PyMethodDef methods[] = {
    TT_METHOD(elementwise, "elementwise(input, target, kind, reduction, parameter)"),
    TT_METHOD(elementwise_backward, "elementwise_backward(grad, input, target, kind, reduction, parameter)"),
    TT_METHOD(binary_cross_entropy, "binary_cross_entropy(input, target, reduction)"),
    TT_METHOD(binary_cross_entropy_with_logits, "binary_cross_entropy_with_logits(input, target, reduction)"),
    TT_METHOD(cross_entropy, "cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)"),
    TT_METHOD(cross_entropy_backward,
              "cross_entropy_backward(grad, input, target, weight, logsumexp, ignore_index, reduction, label_smoothing)"),
    TT_METHOD(nll_loss, "nll_loss(input, target, weight=None, ignore_index=-100, reduction='mean')"),
    {NULL, NULL, 0, NULL},
};

#define NAME _loss
#define DOC "Losses and their gradients."
#include "module.inc"
