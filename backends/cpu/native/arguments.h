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

/* A new reference to the array itself, or to a copy in row-major order. */
static PyArrayObject *tt_contiguous(PyObject *object, const char *name)
{
    PyArrayObject *array = tt_array(object, name);
    if (array == NULL) return NULL;
    if (PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array)) {
        Py_INCREF(array);
        return array;
    }
    return (PyArrayObject *)PyArray_FROM_OF(object, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
}

#endif
