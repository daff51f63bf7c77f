/* Writing at places: scatter, index_add, put, masks, and the gradient of embedding. */
#include "combining.h"

#define NUMPY(NAME, FUNCTION) TT_PYTHON(numpy_##NAME, "tt.backends.cpu.scattering", FUNCTION)
NUMPY(scatter, "scatter");
NUMPY(scatter_value, "scatter_value");
NUMPY(scatter_reduce, "scatter_reduce");
NUMPY(scatter_add, "scatter_add");
NUMPY(scatter_added, "scatter_added");
NUMPY(index_add, "index_add");
NUMPY(index_copy, "index_copy");
NUMPY(index_fill, "index_fill");
NUMPY(put, "put");
NUMPY(masked_scatter, "masked_scatter_inplace");
NUMPY(scaled, "scaled");
NUMPY(embedding_dense_backward, "embedding_dense_backward");
NUMPY(embedding_bag, "embedding_bag");

static PyObject *done(void) { return Py_NewRef(Py_None); }

/* --- along one dimension ------------------------------------------------------------------------------------- */

/* Sets up the walk of an index over the target; false: left to NumPy. */
static bool walk_index(Walk *w, PyArrayObject *self, int64_t dim, PyArrayObject *index, PyArrayObject *source)
{
    int ndim = PyArray_NDIM(self), axis = tt_axis(dim, ndim);
    if (index == NULL || axis < 0 || PyArray_NDIM(index) != ndim || (source != NULL && PyArray_NDIM(source) != ndim))
        return false;
    for (int d = 0; d < ndim; d++) {
        npy_intp size = PyArray_DIM(index, d);
        if ((d != axis && size > PyArray_DIM(self, d)) || (source != NULL && size > PyArray_DIM(source, d))) return false;
    }
    walk_along(w, self, axis, index, source);
    return true;
}

/* The same, if all places are inside. */
static bool walk_scatter(Walk *w, PyArrayObject *self, int64_t dim, PyArrayObject *index, PyArrayObject *source)
{
    return walk_index(w, self, dim, index, source) && walk_inside(w);
}

static PyObject *scatter(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim;
    PyArrayObject *self = count == 4 ? tt_plain_target(args[0]) : NULL, *source = count == 4 ? tt_plain(args[3]) : NULL;
    PyArrayObject *index = self != NULL && source != NULL ? tt_index_of_target(self, args[2]) : NULL;
    Walk w;
    bool fine = index != NULL && tt_int(args[1], &dim) && PyArray_TYPE(self) == PyArray_TYPE(source) &&
                !tt_may_overlap(self, source) && walk_scatter(&w, self, dim, index, source);
    if (fine) {
        w.row = BY_SIZE(scatter, PyArray_ITEMSIZE(self));
        fine = walk_write(&w);
    }
    Py_XDECREF(index);
    return fine ? done() : PyErr_Occurred() ? NULL : tt_leave(&numpy_scatter, args, count);
}

static PyObject *scatter_value(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim;
    tt_wide value;
    PyArrayObject *self = count == 4 ? tt_plain_target(args[0]) : NULL;
    PyArrayObject *index = self != NULL && !PyArray_Check(args[3]) ? tt_index_of_target(self, args[2]) : NULL;
    Walk w;
    bool fine = index != NULL && tt_int(args[1], &dim) && tt_element(self, args[3], &value) &&
                walk_scatter(&w, self, dim, index, NULL);
    if (fine) {
        w.other = (char *)&value;
        w.row = BY_SIZE(scatter, PyArray_ITEMSIZE(self));
        fine = walk_write(&w);
    }
    Py_XDECREF(index);
    return fine ? done() : PyErr_Occurred() ? NULL : tt_leave(&numpy_scatter_value, args, count);
}

/* --- reductions ---------------------------------------------------------------------------------------------- */

/* The number that changes nothing, as an element. */
static bool identity_of(tt_combination how, tt_dtype dtype, tt_wide *element)
{
    memset(element, 0, sizeof *element);
    union { int64_t whole; float single; double twice; } u = {0};
    bool low = how == COMBINE_LARGEST;
    if (how == COMBINE_SUM) return true;
    switch (dtype) {
    case TT_F32: u.single = how == COMBINE_PRODUCT ? 1.0f : low ? -INFINITY : INFINITY; break;
    case TT_F64: u.twice = how == COMBINE_PRODUCT ? 1.0 : low ? -INFINITY : INFINITY; break;
    case TT_BOOL: u.whole = how == COMBINE_PRODUCT ? 1 : !low; break;
    case TT_U8: u.whole = how == COMBINE_PRODUCT ? 1 : low ? 0 : 255; break;
    case TT_I8: u.whole = how == COMBINE_PRODUCT ? 1 : low ? INT8_MIN : INT8_MAX; break;
    case TT_I16: u.whole = how == COMBINE_PRODUCT ? 1 : low ? INT16_MIN : INT16_MAX; break;
    case TT_I32: u.whole = how == COMBINE_PRODUCT ? 1 : low ? INT32_MIN : INT32_MAX; break;
    case TT_I64: u.whole = how == COMBINE_PRODUCT ? 1 : low ? INT64_MIN : INT64_MAX; break;
    default: return false;
    }
    memcpy(element, &u, sizeof u); /* little end first */
    return true;
}

#define NAME f32
#define TYPE float
#define EXPRESSION a / b
#include "scattering_means.inc"

#define NAME f64
#define TYPE double
#define EXPRESSION a / b
#include "scattering_means.inc"

#define NAME i64
#define TYPE int64_t
#define EXPRESSION a / b - (a % b != 0 && a < 0)
#include "scattering_means.inc"

#define NAME i32
#define TYPE int32_t
#define EXPRESSION a / b - (a % b != 0 && a < 0)
#include "scattering_means.inc"

/* Divides by the numbers of elements that came to each place. */
static bool divide_means(PyArrayObject *self, const Walk *walk, int axis, PyArrayObject *index, bool slices, bool include)
{
    PyArrayObject *counts = (PyArrayObject *)PyArray_ZEROS(PyArray_NDIM(self), PyArray_DIMS(self), NPY_INT64, 0);
    if (counts == NULL) return false;
    int64_t one = 1, n = PyArray_SIZE(self);
    Walk w;
    (void)walk;
    if (slices) walk_slices(&w, counts, axis, index, NULL);
    else walk_along(&w, counts, axis, index, NULL);
    w.other = (char *)&one;
    w.row = sum_u64;
    if (!walk_write(&w)) {
        Py_DECREF(counts);
        return false;
    }
    const int64_t *reached = (const int64_t *)PyArray_DATA(counts);
    void *values = PyArray_DATA(self);
    switch (tt_dtype_of(self)) {
    case TT_F32: divide_f32(values, reached, n, include); break;
    case TT_F64: divide_f64(values, reached, n, include); break;
    case TT_I64: divide_i64(values, reached, n, include); break;
    default: divide_i32(values, reached, n, include); break;
    }
    Py_DECREF(counts);
    return true;
}

typedef struct { tt_combination how; bool mean; } Reduction;

static bool reduction_of(PyObject *name, tt_dtype dtype, Reduction *found)
{
    if (!PyUnicode_Check(name)) return false;
    *found = (Reduction){COMBINE_SUM, false};
    if (PyUnicode_CompareWithASCIIString(name, "sum") == 0) return true;
    found->how = COMBINE_PRODUCT;
    if (PyUnicode_CompareWithASCIIString(name, "prod") == 0) return true;
    found->how = COMBINE_LARGEST;
    if (PyUnicode_CompareWithASCIIString(name, "amax") == 0) return true;
    found->how = COMBINE_SMALLEST;
    if (PyUnicode_CompareWithASCIIString(name, "amin") == 0) return true;
    *found = (Reduction){COMBINE_SUM, true};
    return PyUnicode_CompareWithASCIIString(name, "mean") == 0 &&
           (dtype == TT_F32 || dtype == TT_F64 || dtype == TT_I64 || dtype == TT_I32);
}

/* Combines a source into the target; 0: left to NumPy, -1: an error. */
static int reduce_into(PyArrayObject *self, int64_t dim, PyArrayObject *index, PyArrayObject *source, Reduction reduction,
                       bool include)
{
    tt_dtype dtype = tt_dtype_of(self);
    tt_row row = combining_row(reduction.how, dtype), overwrite = BY_SIZE(scatter, PyArray_ITEMSIZE(self));
    tt_wide element;
    Walk w;
    if (row == NULL || PyArray_TYPE(self) != PyArray_TYPE(source) || tt_may_overlap(self, source) ||
        (!include && !identity_of(reduction.how, dtype, &element)) ||
        (reduction.mean && !PyArray_IS_C_CONTIGUOUS(self)) || !walk_scatter(&w, self, dim, index, source))
        return 0;
    if (!include) {
        Walk reset;
        walk_along(&reset, self, tt_axis(dim, PyArray_NDIM(self)), index, NULL);
        reset.other = (char *)&element;
        reset.row = overwrite;
        if (!walk_write(&reset)) return -1;
    }
    w.row = row;
    if (!walk_write(&w)) return -1;
    int axis = tt_axis(dim, PyArray_NDIM(self));
    return !reduction.mean || divide_means(self, &w, axis, index, false, include) ? 1 : -1;
}

static PyObject *scatter_add(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim;
    PyArrayObject *self = count == 4 ? tt_plain_target(args[0]) : NULL, *source = count == 4 ? tt_plain(args[3]) : NULL;
    PyArrayObject *index = self != NULL && source != NULL && tt_int(args[1], &dim) ? tt_index_of_target(self, args[2]) : NULL;
    int state = index == NULL ? 0 : reduce_into(self, dim, index, source, (Reduction){COMBINE_SUM, false}, true);
    Py_XDECREF(index);
    return state > 0 ? done() : state < 0 ? NULL : tt_leave(&numpy_scatter_add, args, count);
}

static void copy_bytes(int64_t begin, int64_t end, void *context)
{
    char *const *arrays = context;
    memcpy(arrays[0] + begin, arrays[1] + begin, (size_t)(end - begin));
}

/* A new array with the elements of another one, in its order. */
static PyArrayObject *copy_of(PyArrayObject *array)
{
    if (!PyArray_IS_C_CONTIGUOUS(array)) return tt_copied(array, tt_copy_order(array));
    PyArrayObject *out = tt_empty_of(PyArray_NDIM(array), PyArray_DIMS(array), array);
    if (out == NULL) return NULL;
    char *arrays[] = {PyArray_BYTES(out), PyArray_BYTES(array)};
    TT_BEGIN_WORK(PyArray_SIZE(array))
    tt_parallel_for(0, (int64_t)PyArray_NBYTES(array), 65536, copy_bytes, arrays);
    TT_END_WORK
    return out;
}

/* scatter_add of a new array: nobody sees it where a place is outside, so nobody looks at the places before. */
static PyObject *scatter_added(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim;
    PyArrayObject *self = count == 4 ? tt_plain(args[0]) : NULL, *source = self != NULL ? tt_plain(args[3]) : NULL, *out = NULL;
    PyArrayObject *index = source != NULL && tt_int(args[1], &dim) ? tt_index(args[2]) : NULL;
    tt_row row = index == NULL ? NULL : combining_row(COMBINE_SUM, tt_dtype_of(self));
    bool fine = false;
    if (row != NULL && PyArray_TYPE(self) == PyArray_TYPE(source) && (out = copy_of(self)) != NULL) {
        Walk w;
        fine = walk_index(&w, out, dim, index, source);
        w.row = row;
        fine = fine && walk_run(&w, true);
    }
    Py_XDECREF(index);
    if (fine) return (PyObject *)out;
    Py_XDECREF(out);
    return PyErr_Occurred() ? NULL : tt_leave(&numpy_scatter_added, args, count);
}

static PyObject *scatter_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim;
    Reduction reduction;
    PyArrayObject *self = count == 6 ? tt_plain_target(args[0]) : NULL, *source = count == 6 ? tt_plain(args[3]) : NULL;
    int state = 0;
    if (self != NULL && source != NULL && tt_int(args[1], &dim) && PyBool_Check(args[5]) &&
        reduction_of(args[4], tt_dtype_of(self), &reduction)) {
        PyArrayObject *index = tt_index_of_target(self, args[2]);
        if (index != NULL) state = reduce_into(self, dim, index, source, reduction, args[5] == Py_True);
        Py_XDECREF(index);
    }
    return state > 0 ? done() : state < 0 ? NULL : tt_leave(&numpy_scatter_reduce, args, count);
}

#include "scattering_slices.inc"
#include "scattering_bags.inc"

static PyMethodDef methods[] = {
    TT_METHOD(scatter, "scatter(self, dim, index, src): in place"),
    TT_METHOD(scatter_value, "scatter_value(self, dim, index, value): in place"),
    TT_METHOD(scatter_add, "scatter_add(self, dim, index, src): in place"),
    TT_METHOD(scatter_added, "scatter_added(self, dim, index, src)"),
    TT_METHOD(scatter_reduce, "scatter_reduce(self, dim, index, src, reduce, include_self): in place"),
    TT_METHOD(index_add, "index_add(self, dim, index, source, alpha): in place"),
    TT_METHOD(index_copy, "index_copy(self, dim, index, source): in place"),
    TT_METHOD(index_fill, "index_fill(self, dim, index, value): in place"),
    TT_METHOD(put, "put(self, index, source, accumulate): in place"),
    TT_METHOD(masked_scatter, "masked_scatter(self, mask, source): in place"),
    TT_METHOD(embedding_dense_backward,
              "embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)"),
    TT_METHOD(embedding_bag, "embedding_bag(weight, indices, offsets, per_sample_weights, mode, include_last_offset, ...)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _scattering
#define DOC "Writing at places."
#include "module.inc"
