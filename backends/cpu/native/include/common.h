/* What every extension of native kernels includes: arrays, dtypes, results, threads.  See docs/design/native.md. */
#ifndef TT_COMMON_H
#define TT_COMMON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compilers.h"
#include "memory.h"
#include "threads.h"

/* A number that is read from memory once.  Another thread may write to it meanwhile, and compilers may read it again for each
 * use; `volatile` would forbid that, too, but keeps loads out of addresses and of sign extensions. */
TT_INLINE int64_t tt_once(int64_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* --- dtypes ------------------------------------------------------------------------------------------------- */

typedef struct { uint16_t bits; } tt_half;
typedef struct { uint16_t bits; } tt_bfloat;
/* Eight bytes that are moved, whatever they mean: complex64 has an alignment of four bytes, uint64_t one of eight. */
typedef uint64_t tt_moved8 __attribute__((aligned(4), may_alias));
typedef struct { float re, im; } tt_c64;
typedef struct { double re, im; } tt_c128;

typedef enum {
    TT_BOOL, TT_U8, TT_I8, TT_I16, TT_I32, TT_I64, TT_U16, TT_U32, TT_U64,
    TT_F16, TT_BF16, TT_F32, TT_F64, TT_C64, TT_C128, TT_DTYPES, TT_NONE = -1
} tt_dtype;

static int tt_bfloat16_number = -1; /* set by TT_INIT from ml_dtypes */

TT_INLINE tt_dtype tt_dtype_of_number(int number)
{
    switch (number) {
    case NPY_FLOAT: return TT_F32;
    case NPY_DOUBLE: return TT_F64;
    case NPY_BOOL: return TT_BOOL;
    case NPY_UBYTE: return TT_U8;
    case NPY_BYTE: return TT_I8;
    case NPY_SHORT: return TT_I16;
    case NPY_INT: return TT_I32;
    case NPY_LONG: return sizeof(long) == 8 ? TT_I64 : TT_I32;
    case NPY_LONGLONG: return TT_I64;
    case NPY_USHORT: return TT_U16;
    case NPY_UINT: return TT_U32;
    case NPY_ULONG: return sizeof(long) == 8 ? TT_U64 : TT_U32;
    case NPY_ULONGLONG: return TT_U64;
    case NPY_HALF: return TT_F16;
    case NPY_CFLOAT: return TT_C64;
    case NPY_CDOUBLE: return TT_C128;
    default: return number == tt_bfloat16_number ? TT_BF16 : TT_NONE;
    }
}

TT_INLINE tt_dtype tt_dtype_of(PyArrayObject *array) { return tt_dtype_of_number(PyArray_TYPE(array)); }

static const int tt_numbers[TT_DTYPES] = {
    NPY_BOOL, NPY_UINT8, NPY_INT8, NPY_INT16, NPY_INT32, NPY_INT64, NPY_UINT16, NPY_UINT32, NPY_UINT64,
    NPY_HALF, -1, NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE,
};

static const npy_intp tt_sizes[TT_DTYPES] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 8, 16};

TT_INLINE int tt_number_of(tt_dtype dtype) { return dtype == TT_BF16 ? tt_bfloat16_number : tt_numbers[dtype]; }

/* Half precision is computed in float. */
TT_INLINE float tt_float_of_bfloat(tt_bfloat x)
{
    union { uint32_t bits; float value; } u = {(uint32_t)x.bits << 16};
    return u.value;
}

TT_INLINE tt_bfloat tt_bfloat_of_float(float value)
{
    union { float value; uint32_t bits; } u = {value};
    uint32_t rounded = (u.bits + 0x7fffu + ((u.bits >> 16) & 1)) >> 16;
    uint32_t nan = (u.bits >> 16) | 0x40; /* stays a NaN where the payload was in the lower bits only */
    return (tt_bfloat){(uint16_t)((u.bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

TT_INLINE float tt_float_of_half(tt_half x)
{
    /* Exact for denormal numbers, too: the exponent is moved by a multiplication. */
    union { uint32_t bits; float value; } u, magic = {0x77800000u}; /* 2^112 */
    uint32_t magnitude = (uint32_t)(x.bits & 0x7fff) << 13, sign = (uint32_t)(x.bits & 0x8000) << 16;
    u.bits = magnitude;
    u.value *= magic.value;
    u.bits |= magnitude >= 0x0f800000u ? 0x7f800000u : 0; /* infinity, NaN */
    u.bits |= sign;
    return u.value;
}

TT_INLINE tt_half tt_half_of_float(float value)
{
    /* To nearest even without branches: adding a number of the right size rounds at the right place. */
    union { float value; uint32_t bits; } u = {value}, small, base;
    uint32_t sign = u.bits & 0x80000000u, magnitude = u.bits & 0x7fffffffu, result;
    uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1)) >> 13;
    base.bits = 0x3f000000u; /* 0.5 */
    small.bits = magnitude;
    small.value += base.value;
    uint32_t denormal = small.bits - base.bits;
    result = magnitude < 0x38800000u ? denormal : normal;
    result = magnitude >= 0x47800000u ? 0x7c00u : result;
    result = magnitude > 0x7f800000u ? (0x7e00u | ((magnitude >> 13) & 0x1ff)) : result;
    return (tt_half){(uint16_t)(result | (sign >> 16))};
}

/* --- arguments ---------------------------------------------------------------------------------------------- */

/* The array, or NULL with an error. */
TT_INLINE PyArrayObject *tt_array(PyObject *object, const char *name)
{
    if (TT_LIKELY(PyArray_Check(object))) return (PyArrayObject *)object;
    PyErr_Format(PyExc_TypeError, "%s must be an array, not %s", name, Py_TYPE(object)->tp_name);
    return NULL;
}

TT_INLINE bool tt_expect_count(const char *name, Py_ssize_t found, Py_ssize_t least, Py_ssize_t most)
{
    if (TT_LIKELY(found >= least && found <= most)) return true;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd arguments, not %zd", name, least, most, found);
    return false;
}

static void *tt_refuse_dtype(const char *name, PyArrayObject *array)
{
    PyErr_Format(PyExc_TypeError, "%s() has no kernel for %S", name, (PyObject *)PyArray_DESCR(array));
    return NULL;
}

/* Whether sizes are equal; without dimensions there are none, and the pointers may be NULL. */
TT_INLINE bool tt_same_sizes(const npy_intp *a, const npy_intp *b, int ndim)
{
    return ndim == 0 || memcmp(a, b, (size_t)ndim * sizeof(npy_intp)) == 0;
}

TT_INLINE void tt_copy_sizes(npy_intp *to, const npy_intp *from, int ndim)
{
    if (ndim > 0) memcpy(to, from, (size_t)ndim * sizeof(npy_intp));
}

TT_INLINE bool tt_same_shape(PyArrayObject *a, PyArrayObject *b)
{
    int ndim = PyArray_NDIM(a);
    return ndim == PyArray_NDIM(b) && tt_same_sizes(PyArray_DIMS(a), PyArray_DIMS(b), ndim);
}

/* What a function of Python returns, without NumPy's warnings: for calls too rare to be written in C. */
static PyObject *tt_call_python(const char *module, const char *name, PyObject *const *args, Py_ssize_t count)
{
    PyObject *found = PyImport_ImportModule(module);
    if (found == NULL) return NULL;
    PyObject *function = PyObject_GetAttrString(found, name);
    Py_DECREF(found);
    if (function == NULL) return NULL;
    PyObject *fallback = PyImport_ImportModule("tt.backends.cpu.native.numpy_fallback"), *silenced = NULL, *result = NULL;
    if (fallback != NULL) silenced = PyObject_CallMethod(fallback, "quietly", "O", function);
    if (silenced != NULL) result = PyObject_Vectorcall(silenced, args, (size_t)count, NULL);
    Py_XDECREF(fallback);
    Py_XDECREF(silenced);
    Py_DECREF(function);
    return result;
}

/* The same for a kernel of `takes` arguments that may be followed by the array to write into. */
TT_INLINE PyObject *tt_call_python_into(const char *module, const char *name, PyObject *const *args, Py_ssize_t takes,
                                        Py_ssize_t count)
{
    PyObject *made = tt_call_python(module, name, args, takes);
    if (made == NULL || count == takes) return made;
    PyObject *array = PyArray_FROM_O(made);
    int failed = array == NULL ? -1 : PyArray_CopyInto((PyArrayObject *)args[takes], (PyArrayObject *)array);
    Py_DECREF(made);
    Py_XDECREF(array);
    return failed < 0 ? NULL : Py_NewRef(args[takes]);
}

/* --- results ------------------------------------------------------------------------------------------------ */

static PyObject *tt_memory_handler = NULL; /* set by TT_INIT */

/* A new array of a dtype, in row-major order unless strides are given, or NULL with an error.  Takes the dtype's reference.
 * Large ones lie in memory of the extension `_memory`, which keeps what is freed. */
static PyArrayObject *tt_new(PyArray_Descr *descr, int ndim, const npy_intp *shape, const npy_intp *strides)
{
    if (descr == NULL) return NULL;
    npy_intp bytes = PyDataType_ELSIZE(descr);
    bool fits = true; /* where it does not, NumPy says so */
    for (int d = 0; d < ndim; d++) fits &= !__builtin_mul_overflow(bytes, shape[d], &bytes);
    if (TT_LIKELY((size_t)bytes < TT_LARGE_BYTES || !fits))
        return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, NULL, 0, NULL);
    PyObject *before = PyDataMem_SetHandler(tt_memory_handler);
    if (before == NULL) {
        Py_DECREF(descr);
        return NULL;
    }
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, NULL, 0, NULL);
    PyObject *ours = PyDataMem_SetHandler(before);
    Py_DECREF(before);
    if (ours == NULL) Py_CLEAR(array);
    Py_XDECREF(ours);
    return (PyArrayObject *)array;
}

/* A new array of the shape and the order of another one, as `PyArray_NewLikeArray`; in the same memory as those of tt_new. */
static PyArrayObject *tt_new_like(PyArrayObject *like, NPY_ORDER order, PyArray_Descr *descr)
{
    npy_intp bytes = descr == NULL ? PyArray_ITEMSIZE(like) : PyDataType_ELSIZE(descr);
    bool fits = !__builtin_mul_overflow(bytes, PyArray_SIZE(like), &bytes);
    if (TT_LIKELY((size_t)bytes < TT_LARGE_BYTES || !fits)) return (PyArrayObject *)PyArray_NewLikeArray(like, order, descr, 0);
    PyObject *before = PyDataMem_SetHandler(tt_memory_handler);
    if (before == NULL) {
        Py_XDECREF(descr);
        return NULL;
    }
    PyObject *array = PyArray_NewLikeArray(like, order, descr, 0);
    PyObject *ours = PyDataMem_SetHandler(before);
    Py_DECREF(before);
    if (ours == NULL) Py_CLEAR(array);
    Py_XDECREF(ours);
    return (PyArrayObject *)array;
}

/* The order of a copy: that of memory, unless elements are repeated, whose places there say nothing. */
TT_INLINE NPY_ORDER tt_copy_order(PyArrayObject *array)
{
    for (int d = 0; d < PyArray_NDIM(array); d++)
        if (PyArray_STRIDE(array, d) == 0) return NPY_CORDER;
    return NPY_KEEPORDER;
}

/* A new array with the elements of another one, in some order. */
TT_INLINE PyArrayObject *tt_copied(PyArrayObject *array, NPY_ORDER order)
{
    PyArrayObject *copy = tt_new_like(array, order, NULL);
    if (copy != NULL && PyArray_CopyInto(copy, array) < 0) Py_CLEAR(copy);
    return copy;
}

/* A new array in row-major order, or NULL with an error. */
TT_INLINE PyArrayObject *tt_empty(int ndim, const npy_intp *shape, tt_dtype dtype)
{
    return tt_new(PyArray_DescrFromType(tt_number_of(dtype)), ndim, shape, NULL);
}

/* A new array of the dtype of another one, in row-major order. */
TT_INLINE PyArrayObject *tt_empty_of(int ndim, const npy_intp *shape, PyArrayObject *like)
{
    PyArray_Descr *descr = PyArray_DESCR(like);
    Py_INCREF(descr);
    return tt_new(descr, ndim, shape, NULL);
}

/* --- threads and the GIL ------------------------------------------------------------------------------------ */

#define TT_GIL_LIMIT 16384 /* elements; giving the GIL up and asking for it again costs as much as adding 1000 */

#define TT_BEGIN_WORK(count) TT_BEGIN_LONG_WORK((count) >= TT_GIL_LIMIT)
#define TT_BEGIN_LONG_WORK(is_long) { PyThreadState *tt_saved = (is_long) ? PyEval_SaveThread() : NULL;
#define TT_END_WORK if (tt_saved != NULL) PyEval_RestoreThread(tt_saved); }

static const tt_threads_api *tt_threads = NULL; /* set by TT_INIT */

/* Runs body(b, e, context) for parts of [begin, end) of at least `grain`, in several threads where that pays. */
TT_INLINE void tt_parallel_for(int64_t begin, int64_t end, int64_t grain, tt_body body, void *context)
{
    if (end - begin <= grain) {
        if (end > begin) body(begin, end, context);
        return;
    }
    tt_threads->parallel_for(begin, end, grain, body, context);
}

/* --- modules ------------------------------------------------------------------------------------------------ */

static int tt_init_common(void)
{
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    PyObject *threads = PyImport_ImportModule("tt.backends.cpu.native._threads");
    if (threads == NULL) return -1;
    PyObject *capsule = PyObject_GetAttrString(threads, "api");
    Py_DECREF(threads); /* stays in sys.modules, and its code in the process */
    if (capsule == NULL) return -1;
    tt_threads = (const tt_threads_api *)PyCapsule_GetPointer(capsule, TT_THREADS_CAPSULE);
    Py_DECREF(capsule);
    if (tt_threads == NULL) return -1;
    if (tt_threads->version != TT_THREADS_VERSION) {
        PyErr_SetString(PyExc_ImportError, "tt.backends.cpu.native._threads is of another build");
        return -1;
    }
    PyObject *memory = PyImport_ImportModule("tt.backends.cpu.native._memory");
    if (memory == NULL) return -1;
    Py_XSETREF(tt_memory_handler, PyObject_GetAttrString(memory, "handler"));
    Py_DECREF(memory);
    if (tt_memory_handler == NULL) return -1;
    PyObject *module = PyImport_ImportModule("ml_dtypes");
    if (module == NULL) return -1;
    PyObject *type = PyObject_GetAttrString(module, "bfloat16");
    Py_DECREF(module);
    if (type == NULL) return -1;
    PyArray_Descr *descr = NULL;
    int found = PyArray_DescrConverter(type, &descr);
    Py_DECREF(type);
    if (found != NPY_SUCCEED) return -1;
    tt_bfloat16_number = descr->type_num;
    Py_DECREF(descr);
    return 0;
}

/* One line of a method table: TT_METHOD(exp, "exp(self, out=None)"). */
#define TT_METHOD(NAME, DOC) {#NAME, (PyCFunction)(void (*)(void))NAME, METH_FASTCALL, DOC}
/* The same where the C function cannot have the operator's name. */
#define TT_METHOD_AS(NAME, FUNCTION, DOC) {NAME, (PyCFunction)(void (*)(void))FUNCTION, METH_FASTCALL, DOC}

#endif
