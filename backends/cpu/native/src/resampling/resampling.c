/* Sums of weighted elements along a dimension, and their transpose: what interpolation consists of. */
#include "fallback.h"

typedef struct {
    npy_intp outer, inner, size, count, taps; /* elements before, behind; of the dimension; new ones; of a sum */
    const void *x;
    void *y;
    const int32_t *place;
    const void *weight;
    int back;
    npy_intp runs;            /* copies of neighbours, where each new element is an old one; else 0 */
    const int32_t *run;       /* of each: the first place, the first new element, how many */
} resampling;

/* Copies short runs without a call: whole vectors, the last of which may overlap the one before. */
TT_INLINE void copy_run(char *to, const char *from, size_t bytes)
{
    if (bytes < 16 || bytes > 512) {
        memcpy(to, from, bytes);
        return;
    }
    size_t wide = bytes < 32 ? 16 : 32;
    for (size_t at = 0; at < bytes; at += wide) {
        size_t begin = at + wide <= bytes ? at : bytes - wide;
        if (wide == 32) memcpy(to + begin, from + begin, 32);
        else memcpy(to + begin, from + begin, 16);
    }
}

#define T float
#include "resampling.inc"

#define T double
#include "resampling.inc"

/* (self, places, weights, dim), and with the size of the dimension before it for the transpose */
static PyObject *resample(PyObject *const *args, int back)
{
    PyArrayObject *x = tt_plain(args[0]), *places = tt_plain(args[1]), *weights = tt_plain(args[2]);
    int64_t dim, size;
    const char *wrong = "the arguments are of the wrong kinds";
    if (x == NULL || places == NULL || weights == NULL || !tt_int(args[3], &dim)) goto refused;
    int ndim = PyArray_NDIM(x), axis = tt_axis(dim, ndim);
    tt_dtype dtype = tt_dtype_of(x);
    if ((dtype != TT_F32 && dtype != TT_F64) || tt_dtype_of(places) != TT_I64 || tt_dtype_of(weights) != TT_F64) goto refused;
    wrong = "the shapes do not fit";
    if (axis < 0 || ndim == 0 || PyArray_NDIM(places) != 2 || !tt_same_shape(places, weights)) goto refused;
    npy_intp taps = PyArray_DIM(places, 0), count = PyArray_DIM(places, 1), shape[NPY_MAXDIMS];
    size = PyArray_DIM(x, axis);
    if (back && ((npy_intp)size != count || !tt_int(args[4], &size) || size < 0)) goto refused;
    resampling job = {.outer = 1, .inner = 1, .size = size, .count = count, .taps = taps, .back = back};
    for (int d = 0; d < ndim; d++) {
        shape[d] = d == axis ? (back ? size : count) : PyArray_DIM(x, d);
        if (d < axis) job.outer *= shape[d];
        if (d > axis) job.inner *= shape[d];
    }
    int32_t *place = malloc((size_t)(taps * count + 1) * (sizeof(int32_t) + sizeof(double)));
    if (place == NULL) return PyErr_NoMemory();
    double *weight = (double *)(place + (taps * count + 1) / 2 * 2);
    float *narrow = (float *)weight;
    bool inside = size <= INT32_MAX;
    for (npy_intp k = 0; k < taps; k++) {
        for (npy_intp i = 0; i < count; i++) {
            int64_t at = *(const int64_t *)PyArray_GETPTR2(places, k, i);
            inside &= at >= 0 && at < size;
            place[k * count + i] = (int32_t)at;
            double w = *(const double *)PyArray_GETPTR2(weights, k, i);
            if (dtype == TT_F32) narrow[k * count + i] = (float)w;
            else weight[k * count + i] = w;
        }
    }
    int32_t *run = NULL;
    if (taps == 1 && inside) {
        run = malloc((size_t)(count + 1) * 3 * sizeof(int32_t));
        for (npy_intp i = 0; i < count && run != NULL; i++) {
            if (*(const double *)PyArray_GETPTR2(weights, 0, i) != 1) {
                job.runs = 0;
                break;
            }
            int32_t *last = run + 3 * (job.runs - 1);
            if (job.runs > 0 && place[i] == last[0] + last[2]) last[2]++;
            else memcpy(run + 3 * job.runs++, (int32_t[3]){place[i], (int32_t)i, 1}, 3 * sizeof(int32_t));
        }
        if (job.inner == 1 && job.runs > count / 4) job.runs = 0; /* single elements are faster by their places */
        job.run = run;
    }
    PyArrayObject *source = inside ? tt_contiguous(x) : NULL, *result = NULL;
    if (!inside) PyErr_SetString(PyExc_IndexError, "a place is outside of the dimension");
    if (source != NULL && (result = tt_empty(ndim, shape, dtype)) != NULL && PyArray_SIZE(result) > 0) {
        job.x = PyArray_DATA(source), job.y = PyArray_DATA(result);
        job.place = place, job.weight = weight;
        npy_intp cost = (job.size + job.count * (job.taps + 1)) * job.inner;
        tt_body body = dtype == TT_F32 ? (back ? back_float : forth_float) : (back ? back_double : forth_double);
        TT_BEGIN_WORK(job.outer * cost)
        if (taps == 0) memset(PyArray_DATA(result), 0, (size_t)PyArray_NBYTES(result));
        else tt_parallel_for(0, job.outer, 1 + 16384 / (cost + 1), body, &job);
        TT_END_WORK
    }
    free(place);
    free(run);
    Py_XDECREF(source);
    return (PyObject *)result;
refused:
    PyErr_SetString(PyExc_ValueError, wrong);
    return NULL;
}

static PyObject *_weighted_taps(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return tt_expect_count("_weighted_taps", count, 4, 4) ? resample(args, 0) : NULL;
}

static PyObject *_spread_taps(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return tt_expect_count("_spread_taps", count, 5, 5) ? resample(args, 1) : NULL;
}

static PyMethodDef methods[] = {
    TT_METHOD(_weighted_taps, "_weighted_taps(self, places, weights, dim)"),
    TT_METHOD(_spread_taps, "_spread_taps(self, places, weights, dim, size)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _resampling
#define DOC "Sums of weighted elements along a dimension."
#include "module.inc"
