/* Rows of a walk that move elements, whatever they mean: one function for each size. */
#ifndef TT_MOVING_H
#define TT_MOVING_H

#include "walk.h"

typedef struct { uint64_t low, high; } tt_wide; /* complex128 */

#define MOVING_BLOCK 64 /* places that are read one by one, with negative ones among them, before four at a time are tried */

#define NAME 1
#define TYPE uint8_t
#include "moving_fill.inc"

#define NAME 2
#define TYPE uint16_t
#include "moving_fill.inc"

#define NAME 4
#define TYPE uint32_t
#include "moving_fill.inc"

#define NAME 8
#define TYPE tt_moved8
#include "moving_fill.inc"

static void fill_run_16(const tt_wide *in, const uint8_t *mask, tt_wide *out, npy_intp n, tt_wide value)
{
    for (npy_intp i = 0; i < n; i++) out[i] = mask[i] ? value : in[i];
}

#define NAME 1
#define TYPE uint8_t
#include "moving_rows.inc"

#define NAME 2
#define TYPE uint16_t
#include "moving_rows.inc"

#define NAME 4
#define TYPE uint32_t
#include "moving_rows.inc"

#define NAME 8
#define TYPE tt_moved8
#include "moving_rows.inc"

#define NAME 16
#define TYPE tt_wide
#include "moving_rows.inc"

#define BY_SIZE(FUNCTION, BYTES) \
    ((BYTES) == 4 ? FUNCTION##_4 : (BYTES) == 8 ? FUNCTION##_8 : (BYTES) == 1 ? FUNCTION##_1 \
     : (BYTES) == 2 ? FUNCTION##_2 : (BYTES) == 16 ? FUNCTION##_16 : NULL)

/* One element of the dtype of self with a value; false with or without an error: leave the call to NumPy. */
static bool tt_element(PyArrayObject *self, PyObject *value, tt_wide *element)
{
    tt_dtype dtype = tt_dtype_of(self);
    if (PyArray_Check(value)) {
        PyArrayObject *array = (PyArrayObject *)value;
        if (PyArray_NDIM(array) != 0 || PyArray_TYPE(array) != PyArray_TYPE(self)) return false;
        memcpy(element, PyArray_BYTES(array), (size_t)PyArray_ITEMSIZE(array));
        return true;
    }
    double number;
    int64_t whole;
    if (dtype == TT_F32 && !PyBool_Check(value) && tt_double(value, &number)) {
        float single = (float)number;
        if (isinf(single) && !isinf(number)) return false;
        memcpy(element, &single, sizeof single);
        return true;
    }
    if (dtype == TT_F64 && !PyBool_Check(value) && tt_double(value, &number)) {
        memcpy(element, &number, sizeof number);
        return true;
    }
    if (dtype == TT_I64 && !PyBool_Check(value) && tt_int(value, &whole)) {
        memcpy(element, &whole, sizeof whole);
        return true;
    }
    if (dtype == TT_BOOL && PyBool_Check(value)) {
        *(uint8_t *)element = value == Py_True;
        return true;
    }
    return false;
}

#endif
