/* What the kernels that work along dimensions share: arguments, dtypes, and lines of elements in one compute type.

   Note [Lines]
   A line is the elements along one dimension (or what else is reduced together).  Kernels are written for contiguous
   lines of float, double or int64_t.  Lines of other dtypes, or that do not lie one after the other, are read into a
   buffer first, in pieces that stay in the cache, so every kernel serves any strides and every dtype with little code.
*/
#ifndef TT_ROWS_H
#define TT_ROWS_H

#include "common.h"
#include "halves.h"

enum { ROWS_PARALLEL = 1 << 15 }; /* elements from which on threads share the work and the GIL is released */

/* --- dtypes ------------------------------------------------------------------------------------------------------ */

typedef enum { C_F32, C_F64, C_I64, C_U64 } rows_compute;

TT_INLINE rows_compute rows_compute_of(tt_dtype type)
{
    switch (type) {
    case TT_F64: return C_F64;
    case TT_F32: case TT_F16: case TT_BF16: return C_F32;
    case TT_U64: return C_U64;
    default: return C_I64;
    }
}

TT_INLINE int rows_is_floating(tt_dtype type) { return type >= TT_F16 && type <= TT_F64; }

TT_INLINE int tt_is_half(tt_dtype type) { return type == TT_F16 || type == TT_BF16; }

/* Whether elements of the dtype are the numbers of its compute type, so that lines need no buffer. */
TT_INLINE int rows_is_native(tt_dtype type)
{
    return type == TT_F32 || type == TT_F64 || type == TT_I64 || type == TT_U64;
}

/* --- lines ------------------------------------------------------------------------------------------------------- */

#define NAME half
#define TYPE tt_half
#define LINE float
#define FROM tt_float_of_half
#define TO tt_half_of_float
#include "rows_lines.inc"

#define NAME bfloat
#define TYPE tt_bfloat
#define LINE float
#define FROM tt_float_of_bfloat
#define TO tt_bfloat_of_float
#include "rows_lines.inc"

#define NAME float
#define TYPE float
#define LINE float
#include "rows_lines.inc"

static void rows_read_f32(tt_dtype type, const char *source, npy_intp stride, int64_t n, float *restrict to)
{
    switch (type) {
    case TT_F16:
        if (stride == (npy_intp)sizeof(tt_half)) {
            tt_floats_of_halves(to, (const tt_half *)source, (npy_intp)n);
            break;
        }
        rows_read_half(source, stride, n, to);
        break;
    case TT_BF16: rows_read_bfloat(source, stride, n, to); break;
    default: rows_read_float(source, stride, n, to);
    }
}

static void rows_write_f32(tt_dtype type, char *target, npy_intp stride, int64_t n, const float *restrict from)
{
    switch (type) {
    case TT_F16:
        if (stride == (npy_intp)sizeof(tt_half)) {
            tt_halves_of_floats((tt_half *)target, from, (npy_intp)n);
            break;
        }
        rows_write_half(target, stride, n, from);
        break;
    case TT_BF16:
        if (stride == (npy_intp)sizeof(tt_bfloat)) {
            tt_bfloats_of_floats((tt_bfloat *)target, from, (npy_intp)n);
            break;
        }
        rows_write_bfloat(target, stride, n, from);
        break;
    default: rows_write_float(target, stride, n, from);
    }
}

#ifndef ROWS_FLOATING /* a family whose kernels take no integers needs none of this */
#define ROWS_TRUTH(x) ((x) != 0)
#define NAME truth
#define TYPE uint8_t
#define LINE int64_t
#define FROM ROWS_TRUTH
#define TO ROWS_TRUTH
#include "rows_lines.inc"

#define NAME u8
#define TYPE uint8_t
#define LINE int64_t
#include "rows_lines.inc"

#define NAME i8
#define TYPE int8_t
#define LINE int64_t
#include "rows_lines.inc"

#define NAME u16
#define TYPE uint16_t
#define LINE int64_t
#include "rows_lines.inc"

#define NAME i16
#define TYPE int16_t
#define LINE int64_t
#include "rows_lines.inc"

#define NAME u32
#define TYPE uint32_t
#define LINE int64_t
#include "rows_lines.inc"

#define NAME i32
#define TYPE int32_t
#define LINE int64_t
#include "rows_lines.inc"

#define NAME i64_line
#define TYPE int64_t
#define LINE int64_t
#include "rows_lines.inc"

static void rows_read_i64(tt_dtype type, const char *source, npy_intp stride, int64_t n, int64_t *restrict to)
{
    switch (type) {
    case TT_BOOL: rows_read_truth(source, stride, n, to); break;
    case TT_U8: rows_read_u8(source, stride, n, to); break;
    case TT_I8: rows_read_i8(source, stride, n, to); break;
    case TT_U16: rows_read_u16(source, stride, n, to); break;
    case TT_I16: rows_read_i16(source, stride, n, to); break;
    case TT_U32: rows_read_u32(source, stride, n, to); break;
    case TT_I32: rows_read_i32(source, stride, n, to); break;
    default: rows_read_i64_line(source, stride, n, to);
    }
}

static void rows_write_i64(tt_dtype type, char *target, npy_intp stride, int64_t n, const int64_t *restrict from)
{
    switch (type) {
    case TT_BOOL: rows_write_truth(target, stride, n, from); break;
    case TT_U8: case TT_I8: rows_write_u8(target, stride, n, from); break;
    case TT_U16: case TT_I16: rows_write_u16(target, stride, n, from); break;
    case TT_U32: case TT_I32: rows_write_u32(target, stride, n, from); break;
    default: rows_write_i64_line(target, stride, n, from);
    }
}
#else
#define rows_read_i64(type, source, stride, n, to) ((void)0)
#define rows_write_i64(type, target, stride, n, from) ((void)0)
#endif

/* Reads a line of any dtype in its compute type.  Not inlined: callers reach it at several places. */
static __attribute__((noinline)) void rows_read(tt_dtype type, const char *source, npy_intp stride, int64_t n, void *to)
{
    switch (rows_compute_of(type)) {
    case C_F32: rows_read_f32(type, source, stride, n, to); break;
    case C_F64: {
        double *out = to;
        for (int64_t i = 0; i < n; i++) out[i] = *(const double *)(source + i * stride);
        break;
    }
    default: rows_read_i64(type, source, stride, n, to);
    }
}

static __attribute__((noinline)) void rows_write(tt_dtype type, char *target, npy_intp stride, int64_t n, const void *from)
{
    switch (rows_compute_of(type)) {
    case C_F32: rows_write_f32(type, target, stride, n, from); break;
    case C_F64: {
        const double *in = from;
        for (int64_t i = 0; i < n; i++) *(double *)(target + i * stride) = in[i];
        break;
    }
    default: rows_write_i64(type, target, stride, n, from);
    }
}

TT_INLINE size_t rows_compute_size(rows_compute compute) { return compute == C_F32 ? 4 : 8; }

/* --- arguments --------------------------------------------------------------------------------------------------- */

/* Returns a new reference to an array in native byte order with aligned elements; a copy where it has not. */
TT_INLINE PyArrayObject *rows_array(PyObject *value)
{
    if (!PyArray_Check(value)) {
        PyErr_Format(PyExc_TypeError, "expected an array, got %s", Py_TYPE(value)->tp_name);
        return NULL;
    }
    if (PyArray_ISBEHAVED_RO((PyArrayObject *)value)) {
        Py_INCREF(value);
        return (PyArrayObject *)value;
    }
    return (PyArrayObject *)PyArray_CheckFromAny(value, NULL, 0, 0, NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED, NULL);
}

/* Returns a contiguous new reference in the dtype of number `type`; TypeError for complex numbers as real ones. */
TT_INLINE PyArrayObject *rows_contiguous(PyObject *value, int type)
{
    if (PyArray_Check(value) && PyArray_TYPE((PyArrayObject *)value) == type && PyArray_ISCARRAY_RO((PyArrayObject *)value)) {
        Py_INCREF(value);
        return (PyArrayObject *)value;
    }
    if (PyArray_Check(value) && PyArray_ISCOMPLEX((PyArrayObject *)value) && !PyTypeNum_ISCOMPLEX(type)) {
        PyErr_SetString(PyExc_TypeError, "complex numbers where real ones are needed");
        return NULL;
    }
    return (PyArrayObject *)PyArray_FROMANY(value, type, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST);
}

TT_INLINE PyArrayObject *rows_new(int ndim, const npy_intp *shape, int type)
{
    return tt_new(PyArray_DescrFromType(type), ndim, shape, NULL);
}

/* Reads a dimension and counts it from the front; -1 with an error set where it is not there. */
TT_INLINE int rows_dim(PyObject *value, int ndim)
{
    Py_ssize_t dim = PyNumber_AsSsize_t(value, PyExc_IndexError);
    int limit = ndim ? ndim : 1;
    if (dim == -1 && PyErr_Occurred()) return -1;
    if (dim < -limit || dim >= limit) {
        PyErr_SetString(PyExc_IndexError, "a dimension that is not there");
        return -1;
    }
    return (int)(dim < 0 ? dim + limit : dim);
}

/* Marks the dimensions to reduce: all for None and for an empty list.  Returns -1 with an error set. */
static int rows_axes(PyObject *value, int ndim, unsigned char *marked)
{
    memset(marked, 0, (size_t)(ndim ? ndim : 1));
    if (!value || value == Py_None) {
        memset(marked, 1, (size_t)(ndim ? ndim : 1));
        return 0;
    }
    if (PyLong_Check(value)) {
        int dim = rows_dim(value, ndim);
        if (dim < 0) return -1;
        marked[dim] = 1;
        return 0;
    }
    PyObject *sequence = PySequence_Fast(value, "dim is a number or a list of them");
    if (!sequence) return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    if (!count) memset(marked, 1, (size_t)(ndim ? ndim : 1));
    for (Py_ssize_t i = 0; i < count; i++) {
        int dim = rows_dim(PySequence_Fast_GET_ITEM(sequence, i), ndim);
        if (dim < 0 || marked[dim]) {
            if (dim >= 0) PyErr_SetString(PyExc_ValueError, "a dimension appears twice");
            Py_DECREF(sequence);
            return -1;
        }
        marked[dim] = 1;
    }
    Py_DECREF(sequence);
    return 0;
}

#define ROWS_EXPECT(name, least, most) if (!tt_expect_count(name, nargs, least, most)) return NULL

/* A function of a module that is one call. */
#define ROWS_ENTRY(NAME, CALL) static PyObject *NAME(PyObject *module, PyObject *const *args, Py_ssize_t nargs) { return CALL; }

/* Runs a statement without the GIL where it works on many elements. */
#define ROWS_RELEASED(elements, statement) do { TT_BEGIN_LONG_WORK((elements) >= ROWS_PARALLEL) statement; TT_END_WORK } while (0)

#endif
