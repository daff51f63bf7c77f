/* Leaves calls to the NumPy kernels.
 *
 * A kernel here serves the common inputs.  For the others (rare dtypes, arguments that are wrong) it calls the NumPy
 * kernel of the same name with the same arguments, so that results and errors are the same in both forms by
 * construction.  It does so before it has changed or reserved anything.
 */
#ifndef TT_FALLBACK_H
#define TT_FALLBACK_H

#include "common.h"

typedef struct {
    const char *module, *name;
    PyObject *function; /* imported when first needed */
} tt_python;

#define TT_PYTHON(VARIABLE, MODULE, NAME) static tt_python VARIABLE = {MODULE, NAME, NULL}

static PyObject *tt_imported(tt_python *target)
{
    if (target->function == NULL) {
        PyObject *module = PyImport_ImportModule(target->module);
        if (module == NULL) return NULL;
        PyObject *found = PyObject_GetAttrString(module, target->name);
        Py_DECREF(module);
        if (found == NULL) return NULL;
        if (target->function == NULL) target->function = found; /* kept for the life of the process */
        else Py_DECREF(found);
    }
    return target->function;
}

static tt_python tt_quietly = {"tt.backends.cpu.native.numpy_fallback", "quietly", NULL};

static PyObject *tt_leave(tt_python *target, PyObject *const *args, Py_ssize_t count)
{
    if (target->function == NULL) {
        PyObject *wrapper = tt_imported(&tt_quietly), *found = wrapper == NULL ? NULL : tt_imported(target);
        if (found == NULL) return NULL;
        target->function = PyObject_CallOneArg(wrapper, found);
        Py_DECREF(found);
    }
    PyObject *function = target->function;
    return function == NULL ? NULL : PyObject_Vectorcall(function, args, (size_t)count, NULL);
}

/* --- what the kernels here serve ----------------------------------------------------------------------------- */

/* The array if compiled code can read it as it lies in memory, else NULL without an error. */
TT_INLINE PyArrayObject *tt_plain(PyObject *object)
{
    if (TT_UNLIKELY(!PyArray_Check(object))) return NULL;
    PyArrayObject *array = (PyArrayObject *)object;
    return TT_LIKELY(PyArray_ISBEHAVED_RO(array)) ? array : NULL;
}

/* The array if it can be written to as well. */
TT_INLINE PyArrayObject *tt_plain_target(PyObject *object)
{
    PyArrayObject *array = tt_plain(object);
    return array != NULL && PyArray_ISWRITEABLE(array) ? array : NULL;
}

TT_INLINE bool tt_int(PyObject *object, int64_t *value)
{
    if (!PyLong_Check(object)) return false;
    int overflow = 0;
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

TT_INLINE bool tt_double(PyObject *object, double *value)
{
    if (PyFloat_Check(object)) *value = PyFloat_AS_DOUBLE(object);
    else if (PyLong_Check(object)) {
        *value = PyLong_AsDouble(object);
        if (*value == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
    } else return false;
    return true;
}

/* The dimension counted from the front, or -1 where it is not there. */
TT_INLINE int tt_axis(int64_t dim, int ndim)
{
    int64_t limit = ndim > 0 ? ndim : 1;
    if (dim < -limit || dim >= limit) return -1;
    return (int)(dim < 0 ? dim + limit : dim);
}

/* Sizes of a tuple or list; the number of dimensions, or -1 where it holds anything else. */
static int tt_shape(PyObject *object, npy_intp *shape)
{
    if (!PyTuple_Check(object) && !PyList_Check(object)) return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    if (count > NPY_MAXDIMS) return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t size;
        if (!tt_int(PySequence_Fast_GET_ITEM(object, i), &size) || size < 0) return -1;
        shape[i] = (npy_intp)size;
    }
    return (int)count;
}

/* The dtype of an argument `dtype`, or TT_NONE. */
TT_INLINE tt_dtype tt_dtype_argument(PyObject *object)
{
    return PyArray_DescrCheck(object) ? tt_dtype_of_number(((PyArray_Descr *)object)->type_num) : TT_NONE;
}

static void tt_extent(PyArrayObject *array, const char **low, const char **high)
{
    *low = *high = PyArray_BYTES(array);
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp length = (PyArray_DIM(array, d) - 1) * PyArray_STRIDE(array, d);
        if (PyArray_DIM(array, d) == 0) return;
        if (length < 0) *low += length;
        else *high += length;
    }
    *high += PyArray_ITEMSIZE(array);
}

/* Whether two arrays lie between the same addresses. */
static bool tt_may_overlap(PyArrayObject *one, PyArrayObject *other)
{
    const char *low, *high, *start, *stop;
    tt_extent(one, &low, &high);
    tt_extent(other, &start, &stop);
    return low < stop && start < high;
}

/* Says that what was checked is no longer so: false with an error. */
static bool tt_refuse_changed(void)
{
    static tt_python error = {"tt.core.errors", "IndexValueError", NULL};
    PyObject *type = tt_imported(&error);
    if (type != NULL) PyErr_SetString(type, "an index is out of range: it was changed after it had been checked");
    return false;
}

/* The same array in row-major order: itself or a copy; a new reference. */
TT_INLINE PyArrayObject *tt_contiguous(PyArrayObject *array)
{
    if (PyArray_IS_C_CONTIGUOUS(array)) {
        Py_INCREF(array);
        return array;
    }
    return tt_copied(array, NPY_CORDER);
}

#endif
