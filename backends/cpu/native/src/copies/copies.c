/* Copies: between dtypes and memory orders, fills, choices by a mask, joining. */
#include "elementwise.h"

#include "copies_casts.inc"
#include "copies_layout.inc"

/* --- numbers ------------------------------------------------------------------------------------------------ */

typedef union { uint8_t bytes[16]; double alignment[2]; } tt_element;

/* The largest number of a floating point dtype, or what is near it: what is larger is left to NumPy's kernel. */
TT_INLINE double largest_of(tt_dtype dtype)
{
    return dtype == TT_F16 ? 65504.0 : dtype == TT_BF16 || dtype == TT_F32 || dtype == TT_C64 ? 3.38e38 : HUGE_VAL;
}

/* Writes a Python number or an array without dimensions as an element of a dtype.  Returns 1, or 0 where the NumPy kernel
 * has to say what becomes of it (integers that do not fit, complex numbers, ...), or -1 with an error. */
static int element_of(PyObject *value, tt_dtype dtype, tt_element *to)
{
    tt_element from;
    tt_dtype given;
    if (PyArray_Check(value)) {
        PyArrayObject *array = (PyArrayObject *)value;
        given = tt_dtype_of(array);
        if (PyArray_NDIM(array) != 0 || given == TT_NONE || (given >= TT_C64 && dtype < TT_C64)) return 0;
        memcpy(&from, PyArray_BYTES(array), (size_t)PyArray_ITEMSIZE(array));
    } else if (PyBool_Check(value)) {
        given = TT_BOOL;
        from.bytes[0] = value == Py_True;
    } else if (PyFloat_CheckExact(value)) {
        given = TT_F64;
        from.alignment[0] = PyFloat_AS_DOUBLE(value);
        if (dtype < TT_F16 && dtype != TT_BOOL && !(fabs(from.alignment[0]) <= 127.0)) return 0;
        if (dtype >= TT_F16 && isfinite(from.alignment[0]) && fabs(from.alignment[0]) > largest_of(dtype)) return 0;
        if (dtype < TT_F16 && dtype != TT_BOOL && dtype != TT_I8 && dtype != TT_I16 && dtype != TT_I32 && dtype != TT_I64 &&
            from.alignment[0] < 0.0)
            return 0;
    } else if (PyLong_CheckExact(value)) {
        static const int64_t least[] = {0, 0, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, 0, 0, 0};
        static const int64_t most[] = {1, UINT8_MAX, INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX, UINT16_MAX, UINT32_MAX, INT64_MAX};
        int overflow;
        int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow || (dtype < TT_F16 && dtype != TT_BOOL && (number < least[dtype] || number > most[dtype]))) return 0;
        if (dtype == TT_F16 && (number > 65504 || number < -65504)) return 0;
        given = TT_I64;
        memcpy(&from, &number, sizeof(number));
    } else {
        return 0;
    }
    convert_one(dtype, to, given, &from);
    return 1;
}

/* --- copies ------------------------------------------------------------------------------------------------- */

/* A new array for a copy: dimensions in the same order in memory; those that repeat elements have none.  Dimensions of one
 * element keep their strides, which say which memory format an image of one channel has. */
static PyArrayObject *new_like(PyArrayObject *self, tt_dtype dtype)
{
    int ndim = PyArray_NDIM(self);
    PyArray_Descr *descr;
    if (PyArray_IS_C_CONTIGUOUS(self)) {
        npy_intp step = PyArray_ITEMSIZE(self), strides[NPY_MAXDIMS];
        bool usual = PyArray_SIZE(self) == 0;
        int d = ndim - 1;
        for (; d >= 0 && !usual && PyArray_STRIDE(self, d) == step; d--) step *= PyArray_DIM(self, d);
        if (usual || d < 0) return tt_empty(ndim, PyArray_DIMS(self), dtype);
        for (d = 0; d < ndim; d++) /* those of a flip are negative */
            strides[d] = llabs(PyArray_STRIDE(self, d)) / PyArray_ITEMSIZE(self) * tt_sizes[dtype];
        descr = PyArray_DescrFromType(tt_number_of(dtype));
        return tt_new(descr, ndim, PyArray_DIMS(self), strides);
    }
    descr = PyArray_DescrFromType(tt_number_of(dtype));
    return tt_new_like(self, tt_copy_order(self), descr);
}

static PyObject *call_clone(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *self = count == 1 ? tt_array(args[0], "self") : NULL;
    if (self == NULL) return tt_expect_count("clone", count, 1, 1) ? NULL : NULL;
    tt_dtype dtype = tt_dtype_of(self);
    if (dtype == TT_NONE) return tt_call_python("tt.backends.cpu.copies", "clone", args, 1);
    PyArrayObject *out = new_like(self, dtype);
    if (out != NULL && copy_arrays(out, self) < 0) Py_CLEAR(out);
    return (PyObject *)out;
}

/* to_copy(self, dtype) */
static PyObject *call_to_copy(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("to_copy", count, 2, 2)) return NULL;
    PyArrayObject *self = tt_array(args[0], "self");
    if (self == NULL) return NULL;
    PyArray_Descr *descr = NULL;
    if (PyArray_DescrConverter(args[1], &descr) != NPY_SUCCEED) return NULL;
    tt_dtype to = tt_dtype_of_number(descr->type_num), from = tt_dtype_of(self);
    Py_DECREF(descr);
    /* Complex numbers that lose their imaginary part: with a warning. */
    if (to == TT_NONE || from == TT_NONE || (from >= TT_C64 && to < TT_C64 && to != TT_BOOL))
        return tt_call_python("tt.backends.cpu.copies", "to_copy", args, 2);
    PyArrayObject *out = new_like(self, to);
    if (out != NULL && copy_arrays(out, self) < 0) Py_CLEAR(out);
    return (PyObject *)out;
}

/* copy(self, src): writes into self. */
static PyObject *call_copy(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("copy", count, 2, 2)) return NULL;
    PyArrayObject *self = tt_array(args[0], "self"), *src = tt_array(args[1], "src");
    if (self == NULL || src == NULL) return NULL;
    tt_dtype to = tt_dtype_of(self), from = tt_dtype_of(src);
    if (to == TT_NONE || from == TT_NONE || (from >= TT_C64 && to < TT_C64 && to != TT_BOOL) || overlap(self, src) ||
        !PyArray_ISWRITEABLE(self))
        return tt_call_python("tt.backends.cpu.copies", "copy", args, 2);
    if (copy_arrays(self, src) < 0) return NULL;
    Py_RETURN_NONE;
}

/* fill(self, value): writes into self. */
static PyObject *call_fill(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("fill", count, 2, 2)) return NULL;
    PyArrayObject *self = tt_array(args[0], "self");
    if (self == NULL) return NULL;
    tt_dtype dtype = tt_dtype_of(self);
    tt_element value;
    int known = dtype == TT_NONE || !PyArray_ISWRITEABLE(self) ? 0 : element_of(args[1], dtype, &value);
    if (known < 0) return NULL;
    if (known == 0) return tt_call_python("tt.backends.cpu.copies", "fill", args, 2);
    fill_array(self, dtype, &value);
    Py_RETURN_NONE;
}

/* --- choices ------------------------------------------------------------------------------------------------ */

#define NAME choose_1
#define T uint8_t
#include "copies_choice.inc"

#define NAME choose_2
#define T uint16_t
#include "copies_choice.inc"

#define NAME choose_4
#define T uint32_t
#include "copies_choice.inc"

/* complex64 has eight bytes, and arrays of it lie at multiples of four. */
typedef uint64_t tt_eight_bytes __attribute__((aligned(4)));
#define NAME choose_8
#define T tt_eight_bytes
#include "copies_choice.inc"

static void choose_16(char *const *data, npy_intp count, const void *params)
{
    const uint8_t *mask = (const uint8_t *)data[0];
    const tt_c128 *a = (const tt_c128 *)data[1], *b = (const tt_c128 *)data[2];
    for (npy_intp i = 0; i < count; i++) ((tt_c128 *)data[3])[i] = mask[i] ? a[i] : b[i];
}

/* Chooses between two arrays or numbers; not `served` is what the NumPy kernel has to do. */
static PyObject *choose(PyObject *mask, PyObject *one, PyObject *other, PyArrayObject *out, bool *served)
{
    *served = false;
    PyArrayObject *condition = PyArray_Check(mask) ? (PyArrayObject *)mask : NULL;
    PyArrayObject *like = PyArray_Check(other) ? (PyArrayObject *)other : PyArray_Check(one) ? (PyArrayObject *)one : NULL;
    if (condition == NULL || like == NULL || tt_dtype_of(condition) != TT_BOOL) return NULL;
    tt_dtype dtype = tt_dtype_of(like);
    if (dtype == TT_NONE || (out != NULL && (tt_dtype_of(out) != dtype || !PyArray_ISWRITEABLE(out)))) return NULL;
    tt_element values[2];
    tt_input in[3] = {{condition, NULL, TT_BOOL}};
    PyObject *const both[2] = {one, other};
    for (int k = 0; k < 2; k++) {
        in[k + 1] = (tt_input){NULL, &values[k], dtype};
        if (PyArray_Check(both[k]) && tt_dtype_of((PyArrayObject *)both[k]) == dtype) {
            in[k + 1].array = (PyArrayObject *)both[k];
        } else {
            if (PyArray_Check(both[k])) return NULL;
            int known = element_of(both[k], dtype, &values[k]);
            if (known <= 0) return NULL;
        }
    }
    static const tt_loop loops[17] = {[1] = choose_1, [2] = choose_2, [4] = choose_4, [8] = choose_8, [16] = choose_16};
    *served = true;
    return tt_elementwise("where", 3, in, out, dtype, dtype, loops[tt_sizes[dtype]], NULL, TT_GRAIN_CHEAP);
}

/* where(condition, self, other) */
static PyObject *call_where(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("where", count, 3, 4)) return NULL;
    bool served;
    PyObject *result = choose(args[0], args[1], args[2], count > 3 ? (PyArrayObject *)args[3] : NULL, &served);
    if (served || PyErr_Occurred()) return result;
    return tt_call_python_into("tt.backends.cpu.pointwise", "where", args, 3, count);
}

/* --- complex numbers ---------------------------------------------------------------------------------------- */

#define NAME pairs_float
#define T float
#include "copies_pairs.inc"

#define NAME pairs_double
#define T double
#include "copies_pairs.inc"

/* complex(real, imag) */
static PyObject *call_complex(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("complex", count, 2, 3)) return NULL;
    PyArrayObject *re = tt_array(args[0], "real"), *im = tt_array(args[1], "imag"), *out = NULL;
    if (re == NULL || im == NULL || (count > 2 && (out = tt_array(args[2], "out")) == NULL)) return NULL;
    tt_dtype dtype = tt_dtype_of(re);
    if (dtype != tt_dtype_of(im) || (dtype != TT_F32 && dtype != TT_F64)) return tt_refuse_dtype("complex", im);
    tt_dtype result = dtype == TT_F32 ? TT_C64 : TT_C128;
    if (out != NULL && tt_dtype_of(out) != result) return tt_refuse_dtype("complex", out);
    tt_input in[2] = {{re, NULL, dtype}, {im, NULL, dtype}};
    return tt_elementwise("complex", 2, in, out, result, result, dtype == TT_F32 ? pairs_float : pairs_double, NULL,
                          TT_GRAIN_CHEAP);
}

/* --- joining ------------------------------------------------------------------------------------------------ */

#define JOINED_MOST 16 /* arrays that are joined row by row */

typedef struct {
    char *to;
    npy_intp row; /* bytes of all parts */
    int parts;
    const char *from[JOINED_MOST];
    size_t bytes[JOINED_MOST];
} join_job;

/* Writes the result from its beginning to its end, in one stream. */
static void join_rows(int64_t begin, int64_t end, void *context)
{
    const join_job *job = context;
    for (int64_t i = begin; i < end; i++) {
        char *to = job->to + i * job->row;
        for (int k = 0; k < job->parts; k++) {
            memcpy(to, job->from[k] + i * (npy_intp)job->bytes[k], job->bytes[k]);
            to += job->bytes[k];
        }
    }
}

/* Joins contiguous arrays whose rows are long; false: they are others. */
static bool joined(PyArrayObject *out, int dim, PyObject *const *items, Py_ssize_t number)
{
    join_job job = {.to = PyArray_BYTES(out)};
    int64_t outer = 1;
    for (int d = 0; d < dim; d++) outer *= PyArray_DIM(out, d);
    if (outer < 2 || number > JOINED_MOST || PyArray_SIZE(out) == 0) return false;
    for (Py_ssize_t k = 0; k < number; k++) {
        PyArrayObject *part = (PyArrayObject *)items[k];
        if (PyArray_SIZE(part) == 0) continue;
        size_t bytes = (size_t)(PyArray_NBYTES(part) / outer);
        if (!PyArray_IS_C_CONTIGUOUS(part) || bytes < 256) return false;
        job.from[job.parts] = PyArray_BYTES(part);
        job.bytes[job.parts++] = bytes;
        job.row += (npy_intp)bytes;
    }
    TT_BEGIN_WORK(PyArray_SIZE(out))
    tt_parallel_for(0, outer, 65536 / job.row + 1, join_rows, &job);
    TT_END_WORK
    return true;
}

/* cat(tensors, dim): of arrays of one dtype. */
static PyObject *call_cat(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("cat", count, 2, 2)) return NULL;
    PyObject *parts = PySequence_Fast(args[0], "cat() takes a list of arrays");
    if (parts == NULL) return NULL;
    PyObject **items = PySequence_Fast_ITEMS(parts), *result = NULL;
    Py_ssize_t number = PySequence_Fast_GET_SIZE(parts);
    PyArrayObject *like = NULL, *out = NULL;
    npy_intp shape[NPY_MAXDIMS], total = 0, at = 0;
    long dim = PyLong_AsLong(args[1]);
    if (dim == -1 && PyErr_Occurred()) goto done;
    bool serves = true;
    for (Py_ssize_t k = 0; k < number && serves; k++) {
        serves = PyArray_Check(items[k]);
        if (!serves) break;
        PyArrayObject *part = (PyArrayObject *)items[k];
        int ndim = PyArray_NDIM(part);
        if (ndim == 1 && PyArray_DIM(part, 0) == 0) continue; /* joins anything, for compatibility */
        if (like == NULL) {
            like = part;
            if (dim < 0) dim += ndim;
            serves = ndim > 0 && dim >= 0 && dim < ndim && tt_dtype_of(part) != TT_NONE;
            if (serves) tt_copy_sizes(shape, PyArray_DIMS(part), ndim);
        }
        serves = serves && ndim == PyArray_NDIM(like) && PyArray_TYPE(part) == PyArray_TYPE(like);
        for (int d = 0; d < ndim && serves; d++) serves = d == dim || PyArray_DIM(part, d) == shape[d];
        if (serves) total += PyArray_DIM(part, dim);
    }
    if (!serves || like == NULL) {
        result = tt_call_python("tt.backends.cpu.shaping", "cat", args, 2);
        goto done;
    }
    shape[dim] = total;
    out = tt_empty_of(PyArray_NDIM(like), shape, like);
    if (out == NULL) goto done;
    bool whole = joined(out, (int)dim, items, number);
    for (Py_ssize_t k = 0; k < number && !whole; k++) {
        PyArrayObject *part = (PyArrayObject *)items[k];
        if (PyArray_NDIM(part) == 1 && PyArray_DIM(part, 0) == 0) continue;
        if (copy_into_part(out, (int)dim, at, part) < 0) goto done;
        at += PyArray_DIM(part, dim);
    }
    result = Py_NewRef((PyObject *)out);
done:
    Py_XDECREF(out);
    Py_DECREF(parts);
    return result;
}

/* --- the module --------------------------------------------------------------------------------------------- */

/* The address of the first element, which __array_interface__ gives only together with all that it describes. */
static PyObject *address(PyObject *module, PyObject *array)
{
    (void)module;
    if (!PyArray_Check(array)) return PyErr_Format(PyExc_TypeError, "an array is wanted, not %R", Py_TYPE(array));
    return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)array));
}

/* The name of the memory format with the channels last that the strides of an array have, or None; as the function
 * order_of_strides of core, which says what dimensions of size 1 mean. */
static PyObject *memory_format(PyObject *module, PyObject *given)
{
    static PyObject *names[2];
    (void)module;
    if (!PyArray_Check(given)) return PyErr_Format(PyExc_TypeError, "an array is wanted, not %R", Py_TYPE(given));
    PyArrayObject *array = (PyArrayObject *)given;
    int ndim = PyArray_NDIM(array);
    const npy_intp *shape = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
    if ((ndim != 4 && ndim != 5) || strides[1] == 0 || strides[1] > strides[ndim - 1]) Py_RETURN_NONE;
    npy_intp least = 0;
    for (int k = 0; k < ndim; k++) {
        int dim = k == 0 ? 1 : k == ndim - 1 ? 0 : ndim - k;
        if (shape[dim] == 0 || strides[dim] < least || (dim == 0 && least == strides[1])) Py_RETURN_NONE;
        least = strides[dim] * shape[dim];
    }
    PyObject **name = &names[ndim - 4];
    if (*name == NULL) *name = PyUnicode_InternFromString(ndim == 4 ? "channels_last" : "channels_last_3d");
    Py_XINCREF(*name);
    return *name;
}

static PyMethodDef methods[] = {
    {"memory_format", memory_format, METH_O, "memory_format(self): channels_last, channels_last_3d or None"},
    {"address", address, METH_O, "address(self): that of the first element"},
    TT_METHOD_AS("clone", call_clone, "clone(self)"),
    TT_METHOD_AS("to_copy", call_to_copy, "to_copy(self, dtype)"),
    TT_METHOD_AS("copy", call_copy, "copy(self, src): writes into self"),
    TT_METHOD_AS("fill", call_fill, "fill(self, value): writes into self"),
    TT_METHOD_AS("where", call_where, "where(condition, self, other, out=None)"),
    TT_METHOD_AS("complex", call_complex, "complex(real, imag, out=None)"),
    TT_METHOD_AS("cat", call_cat, "cat(tensors, dim)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _copies
#define DOC "Copies between dtypes and memory orders, fills, choices by a mask, joining."
#include "module.inc"
