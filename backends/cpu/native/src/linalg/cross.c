/* Cross products of vectors in space, of float32 and float64. */
#include "fallback.h"

TT_PYTHON(numpy_cross, "tt.backends.cpu.linalg", "cross");

#define T float
#include "cross.inc"

#define T double
#include "cross.inc"

/* linalg_cross(self, other, dim): vectors along the last dimension of one or two. */
static PyObject *linalg_cross(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *a = NULL, *b = NULL;
    int64_t dim = 0;
    if (count != 3 || (a = tt_plain(args[0])) == NULL || (b = tt_plain(args[1])) == NULL || !tt_int(args[2], &dim)) goto leave;
    int ndim = PyArray_NDIM(a);
    tt_dtype dtype = tt_dtype_of(a);
    if (ndim < 1 || ndim > 2 || !tt_same_shape(a, b) || tt_dtype_of(b) != dtype || (dtype != TT_F32 && dtype != TT_F64) ||
        tt_axis(dim, ndim) != ndim - 1 || PyArray_DIM(a, ndim - 1) != 3) goto leave;
    PyArrayObject *result = tt_empty(ndim, PyArray_DIMS(a), dtype);
    if (result == NULL) return NULL;
    npy_intp rows = ndim == 2 ? PyArray_DIM(a, 0) : 1, as = PyArray_STRIDE(a, 0), bs = PyArray_STRIDE(b, 0);
    npy_intp ai = PyArray_STRIDE(a, ndim - 1), bi = PyArray_STRIDE(b, ndim - 1);
    if (dtype == TT_F32) cross_float(PyArray_DATA(a), PyArray_DATA(b), PyArray_DATA(result), rows, as, bs, ai, bi);
    else cross_double(PyArray_DATA(a), PyArray_DATA(b), PyArray_DATA(result), rows, as, bs, ai, bi);
    return (PyObject *)result;
leave:
    if (a == NULL || b == NULL || PyArray_NDIM(a) != PyArray_NDIM(b)) {
        PyErr_SetString(PyExc_ValueError, "the vectors do not fit");
        return NULL;
    }
    int axis = tt_axis(dim, PyArray_NDIM(a));
    if (axis < 0 || PyArray_NDIM(a) == 0 || PyArray_DIM(a, axis) != 3 || PyArray_DIM(b, axis) != 3) {
        PyErr_SetString(PyExc_ValueError, "the vectors have no three elements");
        return NULL;
    }
    return tt_leave(&numpy_cross, args, count);
}

static PyMethodDef methods[] = {
    TT_METHOD(linalg_cross, "linalg_cross(self, other, dim)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _cross
#define DOC "Cross products of vectors in space."
#include "module.inc"
