/* Arguments of windows: one number for each spatial dimension. */
#ifndef TT_ARGUMENTS_H
#define TT_ARGUMENTS_H

#include "common.h"

/* Reads an int, or a sequence with one or `count` of them, none below `least`; false with an error. */
static bool tt_sizes_of(PyObject *value, int count, npy_intp least, npy_intp *sizes)
{
    if (PyLong_Check(value)) {
        Py_ssize_t one = PyLong_AsSsize_t(value);
        if (one == -1 && PyErr_Occurred()) return false;
        for (int i = 0; i < count; i++) sizes[i] = one;
    } else {
        PyObject *list = PySequence_Fast(value, "a size must be an int or a sequence of ints");
        if (list == NULL) return false;
        Py_ssize_t length = PySequence_Fast_GET_SIZE(list);
        bool fits = length == 1 || length == count;
        for (int i = 0; fits && i < count; i++) {
            sizes[i] = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(list, length == 1 ? 0 : i), PyExc_OverflowError);
            fits = sizes[i] != -1 || !PyErr_Occurred();
        }
        Py_DECREF(list);
        if (!fits) {
            if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "expected %d sizes, got %zd", count, length);
            return false;
        }
    }
    for (int i = 0; i < count; i++) {
        if (sizes[i] < least) {
            PyErr_SetString(PyExc_ValueError, "a size is too small");
            return false;
        }
    }
    return true;
}

/* The same with None, or None among them, for the sizes of the input; `in` and `sizes` have three dimensions. */
static bool tt_sizes_or_none(PyObject *value, int count, const npy_intp *in, npy_intp *sizes)
{
    for (int i = 0; i < 3; i++) sizes[i] = i < 3 - count ? 1 : in[i];
    if (PyLong_Check(value)) return tt_sizes_of(value, count, 0, sizes + 3 - count);
    PyObject *list = value == Py_None ? PyTuple_New(0) : PySequence_Fast(value, "a size must be an int or a sequence of ints");
    if (list == NULL) return false;
    Py_ssize_t length = PySequence_Fast_GET_SIZE(list);
    bool fits = length == 1 || length == count || value == Py_None;
    for (int i = 0; fits && value != Py_None && i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, length == 1 ? 0 : i);
        if (item == Py_None) continue;
        sizes[3 - count + i] = PyNumber_AsSsize_t(item, PyExc_OverflowError);
        fits = sizes[3 - count + i] >= 0;
    }
    Py_DECREF(list);
    if (!fits && !PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "expected %d sizes that are not negative", count);
    return fits;
}

/* A new reference to the array itself, or to a copy in row-major order. */
static PyArrayObject *tt_row_major(PyObject *object, const char *name)
{
    PyArrayObject *array = tt_array(object, name);
    if (array == NULL) return NULL;
    if (PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array)) {
        Py_INCREF(array);
        return array;
    }
    return (PyArrayObject *)PyArray_FROM_OF(object, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
}

/* Whether the channels of an array lie last, as order_of_strides of core sees them, and nothing lies between its elements. */
static bool tt_lies_last(PyArrayObject *x, int dims)
{
    int ndim = PyArray_NDIM(x);
    if (dims < 2 || ndim != dims + 2 || PyArray_IS_C_CONTIGUOUS(x) || !PyArray_ISALIGNED(x) || !PyArray_ISNOTSWAPPED(x)) return false;
    npy_intp step = PyArray_ITEMSIZE(x);
    for (int k = 0; k < ndim; k++) {
        int d = k == 0 ? 1 : k == ndim - 1 ? 0 : ndim - k;
        if (PyArray_STRIDE(x, d) != step) return false;
        step *= PyArray_DIM(x, d);
    }
    return true;
}

/* The strides of an array whose channels lie last. */
static void tt_last_strides(int ndim, const npy_intp *shape, npy_intp step, npy_intp *strides)
{
    for (int k = 0; k < ndim; k++) {
        int d = k == 0 ? 1 : k == ndim - 1 ? 0 : ndim - k;
        strides[d] = step;
        step *= shape[d] != 0 ? shape[d] : 1;
    }
}

#endif
