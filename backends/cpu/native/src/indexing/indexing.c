/* Reading at places: gather, index_select, take, embedding, advanced indexing, masks, nonzero. */
#include "moving.h"

#define NUMPY(NAME, FUNCTION) TT_PYTHON(numpy_##NAME, "tt.backends.cpu.indexing", FUNCTION)
NUMPY(gather, "gather");
NUMPY(index_select, "index_select");
NUMPY(take, "take");
TT_PYTHON(numpy_embedding, "tt.backends.cpu.scattering", "embedding");
NUMPY(index, "index");
NUMPY(index_put, "index_put");
NUMPY(repeat_interleave, "repeat_interleave");
NUMPY(masked_fill, "masked_fill");
NUMPY(masked_fill_inplace, "masked_fill_inplace");
NUMPY(masked_select, "masked_select");
NUMPY(nonzero, "nonzero");

/* --- along one dimension ------------------------------------------------------------------------------------- */

#define ROWS_AHEAD 8     /* rows that are fetched before they are copied: their places are known, processors do not follow them */
#define FETCHED_MOST 512 /* bytes of a row: of longer ones the processor itself fetches the rest */

/* Copies whole rows; another thread may change a place between its fetching and its use, so fetching looks at its own. */
static void copy_rows(int64_t begin, int64_t end, void *context)
{
    Walk *w = context;
    const npy_intp stride = w->axis_stride, index_step = w->index_step[0], other_step = w->other_step[0];
    const size_t bytes = (size_t)(w->size[1] * w->step[1]), fetched = bytes < FETCHED_MOST ? bytes : FETCHED_MOST;
    const char *index = w->index + begin * index_step;
    char *other = w->other + begin * other_step;
    for (int64_t i = begin; i < end; i++, index += index_step, other += other_step) {
        if (i + ROWS_AHEAD < end) {
            const int64_t next = tt_place(w, tt_read_place(index + ROWS_AHEAD * index_step));
            for (size_t b = 0; next >= 0 && b < fetched; b += 64) __builtin_prefetch(w->data + next * stride + b);
        }
        const int64_t place = tt_place(w, tt_read_place(index));
        if (TT_NEVER(place < 0)) { w->wrong = 1; return; }
        const char *from = w->data + place * stride;
        if (bytes % 64 == 0 && bytes <= FETCHED_MOST)
            for (size_t b = 0; b < bytes; b += 64) memcpy(other + b, from + b, 64);
        else
            memcpy(other, from, bytes);
    }
}

/* Runs a walk over places in a matrix whose rows are contiguous; false: it is another one. */
static bool copied_rows(Walk *w, npy_intp size)
{
    walk_simplify(w);
    if (w->ndim != 2 || w->step[0] != 0 || w->index_step[1] != 0 || w->step[1] != size || w->other_step[1] != size) return false;
    TT_BEGIN_WORK(w->total)
    tt_parallel_for(0, w->size[0], 16384 / w->size[1] + 1, copy_rows, w);
    TT_END_WORK
    return true;
}

/* Runs a walk that reads into `out`; where a place is outside, the NumPy kernel says so. */
static PyObject *read_into(Walk *w, PyArrayObject *out, tt_python *numpy, PyObject *const *args, Py_ssize_t count)
{
    w->row = BY_SIZE(gather, PyArray_ITEMSIZE(out));
    /* a walk over no elements looks at no place */
    if (w->row != NULL && PyArray_SIZE(out) > 0 && w->axis_size > 0) {
        if (copied_rows(w, PyArray_ITEMSIZE(out)) ? !w->wrong : walk_run(w, false)) return (PyObject *)out;
    }
    Py_DECREF(out);
    return tt_leave(numpy, args, count);
}

static PyObject *native_gather(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim;
    PyArrayObject *self = count == 3 || count == 4 ? tt_plain(args[0]) : NULL;
    if (self == NULL || !tt_int(args[1], &dim)) return tt_leave(&numpy_gather, args, count);
    PyArrayObject *index = tt_index(args[2]);
    int axis = tt_axis(dim, PyArray_NDIM(self));
    bool fine = index != NULL && axis >= 0 && PyArray_NDIM(index) == PyArray_NDIM(self);
    for (int d = 0; fine && d < PyArray_NDIM(self); d++)
        fine = d == axis || PyArray_DIM(index, d) <= PyArray_DIM(self, d);
    if (!fine) {
        Py_XDECREF(index);
        return tt_leave(&numpy_gather, args, count);
    }
    PyArrayObject *out = tt_empty_of(PyArray_NDIM(index), PyArray_DIMS(index), self);
    PyObject *result = NULL;
    if (out != NULL) {
        Walk w;
        walk_along(&w, self, axis, index, out);
        result = read_into(&w, out, &numpy_gather, args, count);
    }
    Py_DECREF(index);
    return result;
}

static PyObject *index_select(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim;
    PyArrayObject *self = count == 3 ? tt_plain(args[0]) : NULL;
    if (self == NULL || !tt_int(args[1], &dim) || PyArray_NDIM(self) == 0)
        return tt_leave(&numpy_index_select, args, count);
    PyArrayObject *index = tt_index(args[2]);
    int axis = tt_axis(dim, PyArray_NDIM(self));
    if (index == NULL || axis < 0 || PyArray_NDIM(index) > 1) {
        Py_XDECREF(index);
        return tt_leave(&numpy_index_select, args, count);
    }
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(self), (size_t)PyArray_NDIM(self) * sizeof *shape);
    shape[axis] = PyArray_SIZE(index);
    PyArrayObject *out = tt_empty_of(PyArray_NDIM(self), shape, self);
    PyObject *result = NULL;
    if (out != NULL) {
        Walk w;
        walk_slices(&w, self, axis, index, out);
        result = read_into(&w, out, &numpy_index_select, args, count);
    }
    Py_DECREF(index);
    return result;
}

/* embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse): rows of a matrix. */
static PyObject *embedding(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    PyArrayObject *weight = count == 5 ? tt_plain(args[0]) : NULL;
    PyArrayObject *given = weight != NULL && PyArray_NDIM(weight) == 2 ? tt_index(args[1]) : NULL;
    PyArrayObject *index = given == NULL ? NULL : tt_contiguous(given);
    Py_XDECREF(given);
    if (index == NULL || PyArray_NDIM(index) >= NPY_MAXDIMS) {
        Py_XDECREF(index);
        return PyErr_Occurred() ? NULL : tt_leave(&numpy_embedding, args, count);
    }
    npy_intp shape[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(index);
    tt_copy_sizes(shape, PyArray_DIMS(index), ndim);
    shape[ndim] = PyArray_DIM(weight, 1);
    PyArrayObject *out = tt_empty_of(ndim + 1, shape, weight);
    PyObject *result = NULL;
    if (out != NULL) {
        npy_intp row = shape[ndim] * PyArray_ITEMSIZE(weight);
        Walk w = {.ndim = 2, .data = PyArray_BYTES(weight), .index = PyArray_BYTES(index), .other = PyArray_BYTES(out)};
        w.size[0] = PyArray_SIZE(index);
        w.size[1] = shape[ndim];
        w.index_step[0] = sizeof(int64_t);
        w.other_step[0] = row;
        w.step[1] = PyArray_STRIDE(weight, 1);
        w.other_step[1] = PyArray_ITEMSIZE(weight);
        w.axis_stride = PyArray_STRIDE(weight, 0);
        w.axis_size = PyArray_DIM(weight, 0);
        result = read_into(&w, out, &numpy_embedding, args, count);
    }
    Py_DECREF(index);
    return result;
}

/* take(self, index): of the elements in row-major order; negative places count from the end. */
static PyObject *take(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    PyArrayObject *self = count == 2 ? tt_plain(args[0]) : NULL, *index = count == 2 ? tt_plain(args[1]) : NULL;
    if (self == NULL || index == NULL || tt_dtype_of(index) != TT_I64) return tt_leave(&numpy_take, args, count);
    PyArrayObject *flat = tt_contiguous(self);
    if (flat == NULL) return NULL;
    PyArrayObject *out = tt_empty_of(PyArray_NDIM(index), PyArray_DIMS(index), self);
    PyObject *result = NULL;
    if (out != NULL) {
        int ndim = PyArray_NDIM(index);
        Walk w = {.ndim = ndim > 0 ? ndim : 1, .size = {1}, .data = PyArray_BYTES(flat), .index = PyArray_BYTES(index),
                  .other = PyArray_BYTES(out), .axis_stride = PyArray_ITEMSIZE(flat)};
        for (int d = 0; d < ndim; d++) {
            w.size[d] = PyArray_DIM(index, d);
            w.index_step[d] = PyArray_STRIDE(index, d);
            w.other_step[d] = PyArray_STRIDE(out, d);
        }
        w.wrap = w.axis_size = PyArray_SIZE(flat);
        result = read_into(&w, out, &numpy_take, args, count);
    }
    Py_DECREF(flat);
    return result;
}

#define NAME i32
#define TYPE int32_t
#include "indexing_repeat.inc"

#define NAME i64
#define TYPE int64_t
#include "indexing_repeat.inc"

/* repeat_interleave(repeats, output_size): each place as often as its number says. */
static PyObject *repeat_interleave(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    PyArrayObject *repeats = count == 2 ? tt_plain(args[0]) : NULL;
    tt_dtype dtype = repeats == NULL ? TT_NONE : tt_dtype_of(repeats);
    if ((dtype != TT_I64 && dtype != TT_I32) || PyArray_NDIM(repeats) != 1)
        return tt_leave(&numpy_repeat_interleave, args, count);
    npy_intp n = PyArray_DIM(repeats, 0), step = PyArray_STRIDE(repeats, 0);
    const char *counts = PyArray_BYTES(repeats);
    int64_t total = 0, wanted;
    for (npy_intp i = 0; i < n; i++) {
        int64_t times = dtype == TT_I64 ? *(const int64_t *)(counts + i * step) : *(const int32_t *)(counts + i * step);
        if (times < 0 || times > INT64_MAX / 16 || (total += times) > INT64_MAX / 16) /* NumPy's kernel says it */
            return tt_leave(&numpy_repeat_interleave, args, count);
    }
    if (args[1] != Py_None && (!tt_int(args[1], &wanted) || wanted != total))
        return tt_leave(&numpy_repeat_interleave, args, count);
    npy_intp shape[1] = {(npy_intp)total};
    PyArrayObject *out = tt_empty(1, shape, dtype);
    if (out == NULL) return NULL;
    bool same = dtype == TT_I64 ? repeat_i64(counts, step, n, (int64_t *)PyArray_DATA(out), total)
                                : repeat_i32(counts, step, n, (int32_t *)PyArray_DATA(out), total);
    if (!same && !tt_refuse_changed()) Py_CLEAR(out);
    return (PyObject *)out;
}

#include "indexing_advanced.inc"
#include "indexing_masks.inc"

static PyMethodDef methods[] = {
    TT_METHOD_AS("gather", native_gather, "gather(self, dim, index, sparse_grad=False): sparse_grad is the gradient's"),
    TT_METHOD(index_select, "index_select(self, dim, index)"),
    TT_METHOD(take, "take(self, index)"),
    TT_METHOD(embedding, "embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)"),
    TT_METHOD(repeat_interleave, "repeat_interleave(repeats, output_size)"),
    TT_METHOD_AS("index", native_index, "index(self, indices)"),
    TT_METHOD(index_put, "index_put(self, indices, values, accumulate): in place"),
    TT_METHOD(masked_fill, "masked_fill(self, mask, value)"),
    TT_METHOD(masked_fill_inplace, "masked_fill_inplace(self, mask, value)"),
    TT_METHOD(masked_select, "masked_select(self, mask)"),
    TT_METHOD(nonzero, "nonzero(self)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _indexing
#define DOC "Reading at places, and masks."
#include "module.inc"
