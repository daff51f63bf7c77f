/* Distances between all rows of two matrices, by any finite norm with p > 0.
 *
 * Powers of differences are added; Euclidean distances are not taken from a product of the matrices: that would lose all digits of
 * rows that are close to each other.  Powers up to the fourth are products, others take a logarithm and an exponential.  What overflows in single precision, or nearly vanishes, is left to SciPy, which computes in double precision.
 */
#include "fallback.h"
#include "isa.h"
#include "scratch.h"
#include "vector_math.h"

TT_PYTHON(numpy_cdist, "tt.backends.cpu.linalg", "cdist");

enum {
    ROWS = VB == 64 ? 4 : 2,  /* rows of the first matrix at once: with VECTORS, what fits into registers */
    VECTORS = VB == 16 ? 2 : 4,
    BLOCK = 64, /* powers that are added before their sums are: more exact than one sum after the other */
    ANY_POWER = 0
};

typedef struct {
    const char *x1;
    const void *packed; /* the second matrix: panels of columns, each row of a panel side by side */
    char *out;
    int64_t rows, columns, size, panels;
    double power, least; /* below `least`, a sum that is not 0 has lost digits */
    int kind;            /* the power, where it is a product, or ANY_POWER */
    _Atomic int inexact;
} distances;

#define T float
#define NAME float
#define EXP tt_exp_f
#define LOG tt_log_f
#define ABS fabsf
#define UNSIGNED INT32_MAX
#include "distances.inc"

#define T double
#define NAME double
#define EXP tt_exp
#define LOG tt_log
#define ABS fabs
#define UNSIGNED INT64_MAX
#include "distances.inc"

/* Whether the kernel serves: contiguous batches of one shape, in one dtype. */
static bool fits(PyArrayObject *a, PyArrayObject *b, PyObject *p)
{
    int ndim = a == NULL || b == NULL ? 0 : PyArray_NDIM(a);
    if (ndim < 2 || PyArray_NDIM(b) != ndim || !PyFloat_Check(p)) return false;
    if (!(PyFloat_AS_DOUBLE(p) > 0.0) || PyFloat_AS_DOUBLE(p) > DBL_MAX) return false;
    if (PyArray_TYPE(a) != PyArray_TYPE(b) || (tt_dtype_of(a) != TT_F32 && tt_dtype_of(a) != TT_F64)) return false;
    if (!tt_same_sizes(PyArray_DIMS(a), PyArray_DIMS(b), ndim - 2)) return false;
    return PyArray_DIM(a, ndim - 1) == PyArray_DIM(b, ndim - 1) && PyArray_SIZE(a) > 0 && PyArray_SIZE(b) > 0;
}

/* cdist(x1, x2, p, compute_mode) */
static PyObject *cdist(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    PyArrayObject *a = count == 4 ? tt_plain(args[0]) : NULL, *b = count == 4 ? tt_plain(args[1]) : NULL, *out = NULL;
    if (!fits(a, b, count == 4 ? args[2] : Py_None)) return tt_leave(&numpy_cdist, args, count);
    PyArrayObject *first = tt_contiguous(a), *second = first == NULL ? NULL : tt_contiguous(b);
    if (second == NULL) {
        Py_XDECREF(first);
        return NULL;
    }
    int ndim = PyArray_NDIM(a);
    npy_intp shape[NPY_MAXDIMS], item = PyArray_ITEMSIZE(a);
    tt_copy_sizes(shape, PyArray_DIMS(a), ndim);
    shape[ndim - 1] = PyArray_DIM(b, ndim - 2);
    bool single = tt_dtype_of(a) == TT_F32;
    distances job = {.rows = shape[ndim - 2], .columns = shape[ndim - 1], .size = PyArray_DIM(a, ndim - 1),
                     .least = single ? 0x1p-100 : 0x1p-1000};
    job.power = PyFloat_AS_DOUBLE(args[2]);
    job.kind = job.power == 1.0 || job.power == 2.0 || job.power == 3.0 || job.power == 4.0 ? (int)job.power : ANY_POWER;
    int64_t width = VECTORS * VB / item, batch = 1, grain = 32768 / (job.columns * job.size + 1) + 1;
    for (int d = 0; d < ndim - 2; d++) batch *= shape[d];
    job.panels = (job.columns + width - 1) / width;
    void *packed = scratch_take((size_t)(job.panels * width * job.size * item));
    out = packed == NULL ? NULL : tt_empty_of(ndim, shape, a);
    if (out != NULL) {
        job.packed = packed;
        TT_BEGIN_LONG_WORK(PyArray_SIZE(out) * job.size >= TT_GIL_LIMIT)
        for (int64_t k = 0; k < batch; k++) {
            job.x1 = PyArray_BYTES(first) + k * job.rows * job.size * item;
            job.out = PyArray_BYTES(out) + k * job.rows * job.columns * item;
            const char *x2 = PyArray_BYTES(second) + k * job.columns * job.size * item;
            if (single) pack_float(&job, (const float *)x2, packed);
            else pack_double(&job, (const double *)x2, packed);
            grain = (grain + ROWS - 1) / ROWS * ROWS;
            tt_parallel_for(0, job.rows, grain, (single ? measures_float : measures_double)[job.kind], &job);
        }
        TT_END_WORK
    }
    if (packed == NULL) PyErr_NoMemory();
    scratch_give(packed);
    Py_DECREF(first);
    Py_DECREF(second);
    if (out == NULL || !job.inexact) return (PyObject *)out;
    Py_DECREF(out);
    return tt_leave(&numpy_cdist, args, count);
}

static PyMethodDef methods[] = {
    TT_METHOD(cdist, "cdist(x1, x2, p, compute_mode)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _distances
#define DOC "Distances between rows."
#include "module.inc"
