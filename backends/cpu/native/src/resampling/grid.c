/* Samples at the points of a grid, and their gradients: the elements around some points, then one channel after the other. */
#include "fallback.h"

enum { POINTS = 64 }; /* whose elements are looked up together */
enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct {
    int dims;
    npy_intp batch, channels, sizes[3], size, points, blocks; /* size: elements of a channel; blocks: of points, in an item */
    int64_t mode, padding;
    bool align;
    const void *x, *grid, *grad;
    void *y, *to_x, *to_grid;
} samples;

#define T float
#define FLOOR floorf
#define ROUND rintf
#define FABS fabsf
#define NEXT nextafterf
#include "grid.inc"

#define T double
#define FLOOR floor
#define ROUND rint
#define FABS fabs
#define NEXT nextafter
#include "grid.inc"

/* (input, grid, interpolation_mode, padding_mode, align_corners), with `grad` before for the gradients */
static PyObject *run(PyObject *const *args, bool back)
{
    PyArrayObject *grad = back ? tt_plain(args[0]) : NULL, *x = tt_plain(args[back]), *grid = tt_plain(args[back + 1]);
    PyObject *const *how = args + back + 2;
    samples job = {.size = 1, .points = 1};
    const char *wrong = "the arguments are of the wrong kinds";
    if (x == NULL || grid == NULL || (back && grad == NULL)) goto refused;
    tt_dtype dtype = tt_dtype_of(x);
    int ndim = PyArray_NDIM(x);
    if ((dtype != TT_F32 && dtype != TT_F64) || tt_dtype_of(grid) != dtype || (back && tt_dtype_of(grad) != dtype)) goto refused;
    if (!tt_int(how[0], &job.mode) || !tt_int(how[1], &job.padding)) goto refused;
    wrong = "the shapes do not fit";
    if ((ndim != 4 && ndim != 5) || PyArray_NDIM(grid) != ndim || PyArray_DIM(grid, ndim - 1) != ndim - 2) goto refused;
    job.dims = ndim - 2, job.align = PyObject_IsTrue(how[2]);
    job.batch = PyArray_DIM(x, 0), job.channels = PyArray_DIM(x, 1);
    npy_intp shape[NPY_MAXDIMS] = {job.batch, job.channels};
    for (int d = 0; d < job.dims; d++) {
        job.size *= job.sizes[d] = PyArray_DIM(x, 2 + d);
        job.points *= shape[2 + d] = PyArray_DIM(grid, 1 + d);
    }
    if (job.size == 0 || job.size > INT32_MAX || PyArray_DIM(grid, 0) != job.batch || job.mode < 0 || job.mode > (job.dims == 2 ? 2 : 1) ||
        job.padding < 0 || job.padding > 2)
        goto refused;
    if (back && (PyArray_NDIM(grad) != ndim || !tt_same_sizes(PyArray_DIMS(grad), shape, ndim))) goto refused;
    job.blocks = (job.points + POINTS - 1) / POINTS;

    PyArrayObject *to_x = NULL, *to_grid = NULL, *y = NULL;
    PyObject *result = NULL;
    x = tt_contiguous(x), grid = tt_contiguous(grid), grad = back ? tt_contiguous(grad) : NULL;
    if (x == NULL || grid == NULL || (back && grad == NULL)) goto done;
    if (back) to_x = tt_empty(ndim, PyArray_DIMS(x), dtype), to_grid = tt_empty(ndim, PyArray_DIMS(grid), dtype);
    else y = tt_empty(ndim, shape, dtype);
    if (back ? to_x == NULL || to_grid == NULL : y == NULL) goto done;
    job.x = PyArray_DATA(x), job.grid = PyArray_DATA(grid);
    npy_intp around = job.mode == BICUBIC ? 16 : 4, cost = POINTS * around * (8 + job.channels * (back ? 4 : 1));
    if (back) {
        job.grad = PyArray_DATA(grad), job.to_x = PyArray_DATA(to_x), job.to_grid = PyArray_DATA(to_grid);
        cost = cost * job.blocks + job.size * job.channels;
    } else job.y = PyArray_DATA(y);
    npy_intp parts = back ? job.batch : job.batch * job.blocks;
    tt_body body = dtype == TT_F32 ? (back ? back_float : forth_float) : (back ? back_double : forth_double);
    TT_BEGIN_WORK(parts * cost)
    tt_parallel_for(0, parts, 1 + 16384 / (cost + 1), body, &job);
    TT_END_WORK
    result = back ? Py_BuildValue("(OO)", (PyObject *)to_x, (PyObject *)to_grid) : Py_NewRef((PyObject *)y);
done:
    Py_XDECREF(x);
    Py_XDECREF(grid);
    Py_XDECREF(grad);
    Py_XDECREF(to_x);
    Py_XDECREF(to_grid);
    Py_XDECREF(y);
    return result;
refused:
    PyErr_SetString(PyExc_ValueError, wrong);
    return NULL;
}

static PyObject *grid_sampler(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return tt_expect_count("grid_sampler", count, 5, 5) ? run(args, false) : NULL;
}

static PyObject *_grid_sampler_backward(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return tt_expect_count("_grid_sampler_backward", count, 6, 6) ? run(args, true) : NULL;
}

static PyMethodDef methods[] = {
    TT_METHOD(grid_sampler, "grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)"),
    TT_METHOD(_grid_sampler_backward, "_grid_sampler_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _grid
#define DOC "Samples at the points of a grid."
#include "module.inc"
