/* The negative log-likelihood: one log-probability of each line.  Included by loss.c alone. */

TT_PYTHON(numpy_nll_loss, "tt.backends.cpu.loss", "nll_loss");

enum { PICKING_GRAIN = 4096 }; /* targets; sums of so many are added to those of others */

typedef struct {
    const char *x, *weight; /* weight: contiguous, in the dtype of the input, or NULL */
    const int64_t *target;
    char *each;             /* the loss of each target, or NULL */
    double *sums, *kept;    /* of losses and of weights, for each piece */
    int64_t count, classes, ignored;
    npy_intp row, column;   /* strides */
    int wide;
    _Atomic int wrong;
} picking;

#define NAME float
#define T float
#include "picking.inc"

#define NAME double
#define T double
#include "picking.inc"

/* nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"): of lines of classes, or of one line */
static PyObject *nll_loss(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    PyArrayObject *x = nargs == 2 || nargs == 5 ? tt_plain(args[0]) : NULL, *t = x != NULL ? tt_plain(args[1]) : NULL, *out = NULL;
    PyArrayObject *weight = NULL;
    loss_reduction how = MEAN;
    double few[64];
    picking p = {.ignored = -100, .classes = 0};
    int ndim = x == NULL ? 0 : PyArray_NDIM(x);
    tt_dtype type = x == NULL ? TT_NONE : tt_dtype_of(x);
    bool fits = t != NULL && (type == TT_F32 || type == TT_F64) && tt_dtype_of(t) == TT_I64 && (ndim == 1 || ndim == 2) &&
                PyArray_NDIM(t) == ndim - 1 && (ndim == 1 || PyArray_DIM(t, 0) == PyArray_DIM(x, 0)) && PyArray_IS_C_CONTIGUOUS(t);
    if (fits && nargs == 5) {
        fits = tt_int(args[3], &p.ignored) && loss_reduction_of(args[4], &how) == 0;
        if (fits && args[2] != Py_None) {
            weight = tt_plain(args[2]);
            fits = weight != NULL && tt_dtype_of(weight) == type && PyArray_NDIM(weight) == 1 &&
                   PyArray_DIM(weight, 0) == PyArray_DIM(x, ndim - 1) && PyArray_IS_C_CONTIGUOUS(weight);
        }
        if (!fits) PyErr_Clear();
    }
    if (fits) {
        p.x = PyArray_BYTES(x);
        p.weight = weight == NULL ? NULL : PyArray_BYTES(weight);
        p.target = (const int64_t *)PyArray_DATA(t);
        p.count = PyArray_SIZE(t);
        p.classes = PyArray_DIM(x, ndim - 1);
        p.row = ndim == 2 ? PyArray_STRIDE(x, 0) : 0;
        p.column = PyArray_STRIDE(x, ndim - 1);
        p.wide = type == TT_F64;
        int64_t pieces = (p.count + PICKING_GRAIN - 1) / PICKING_GRAIN;
        double sum = 0, kept = 0;
        p.sums = pieces <= 32 ? few : malloc((size_t)(2 * pieces) * sizeof(double));
        out = how == NONE ? tt_empty_of(PyArray_NDIM(t), PyArray_DIMS(t), x) : tt_empty_of(0, NULL, x);
        if (p.sums == NULL || out == NULL) {
            Py_XDECREF(out);
            return p.sums == NULL ? PyErr_NoMemory() : NULL;
        }
        p.kept = p.sums + pieces;
        p.each = how == NONE ? PyArray_BYTES(out) : NULL;
        ROWS_RELEASED(p.count, tt_parallel_for(0, pieces, 2, p.wide ? pick_double : pick_float, &p));
        for (int64_t i = 0; i < pieces && !p.wrong; i++) sum += p.sums[i], kept += p.kept[i];
        if (how != NONE) loss_set(out, how == MEAN ? sum / kept : sum);
        if (p.sums != few) free(p.sums);
        if (!p.wrong) return (PyObject *)out;
        Py_DECREF(out);
    }
    if (nargs == 5) return tt_leave(&numpy_nll_loss, args, 5);
    if (!tt_expect_count("nll_loss", nargs, 2, 5)) return NULL;
    PyObject *ignored = PyLong_FromLong(-100), *mean = PyUnicode_FromString("mean"), *result = NULL;
    if (ignored != NULL && mean != NULL) {
        PyObject *all[5] = {args[0], args[1], Py_None, ignored, mean};
        result = tt_leave(&numpy_nll_loss, all, 5);
    }
    Py_XDECREF(ignored);
    Py_XDECREF(mean);
    return result;
}
