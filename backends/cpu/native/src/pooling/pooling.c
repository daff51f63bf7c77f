/* Pooling: the largest element or the mean of windows over the last one, two or three dimensions, and what takes the
 * gradients of these back.
 *
 * A row of results is computed at once: tap by tap over all its windows for the largest element, so that compilers
 * vectorise along the row; for the mean first the sum of all rows that the windows share, then along it.
 */
#include "fallback.h"
#include "arguments.h"
#include "sizes.h"
#include "pooling.h"

/* --- geometry --- */

static bool refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return false;
}

/* Sizes of fewer than three dimensions come last; those in front are `missing`. */
static bool spread(PyObject *value, int count, npy_intp least, npy_intp missing, npy_intp *sizes)
{
    for (int i = 0; i < 3 - count; i++) sizes[i] = missing;
    return tt_sizes_of(value, count, least, sizes + 3 - count);
}

static void release(pool *job) { free(job->start[0]); }

static bool reserve(pool *job)
{
    npy_intp total = 0, bytes;
    bool fits = true;
    for (int d = 0; d < 3; d++) {
        npy_intp most; /* of what place_adaptive computes */
        fits = fits && !__builtin_add_overflow(total, job->out[d], &total) && tt_multiply_add(job->out[d], job->in[d], job->out[d], &most);
    }
    fits = fits && tt_multiply_add(total, 3 * sizeof(npy_intp), sizeof(npy_intp), &bytes);
    npy_intp *at = fits ? malloc((size_t)bytes) : NULL;
    if (at == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (int d = 0; d < 3; d++) {
        job->start[d] = at;
        job->stop[d] = at + job->out[d];
        job->count[d] = at + 2 * job->out[d];
        at += 3 * job->out[d];
    }
    return true;
}

/* The last dimensions of an array, and how many channels there are before them: none only where the windows adapt. */
static bool split(PyArrayObject *x, int dims, bool adaptive, pool *job)
{
    int ndim = PyArray_NDIM(x);
    if (ndim != dims + 1 && ndim != dims + 2) return refuse("the input has the wrong number of dimensions");
    job->channels = 1;
    for (int d = 0; d < ndim - dims; d++) job->channels *= PyArray_DIM(x, d);
    for (int d = 0; d < 3; d++) job->in[d] = d < 3 - dims ? 1 : PyArray_DIM(x, ndim - 3 + d);
    for (int d = ndim - dims; d < ndim; d++) {
        if (PyArray_DIM(x, d) == 0) return refuse("the input is empty");
    }
    return ndim == dims + 1 ? adaptive || PyArray_DIM(x, 0) > 0 || refuse("no channels") : PyArray_DIM(x, 1) > 0 || refuse("no channels");
}

static bool parse_windows(pool *job, int dims, PyObject *kernel, PyObject *stride, PyObject *padding, PyObject *dilation)
{
    if (!spread(kernel, dims, 1, 1, job->kernel)) return false;
    bool own = stride == Py_None || (PySequence_Check(stride) && PySequence_Size(stride) == 0);
    if (own) memcpy(job->hop, job->kernel, sizeof(job->hop));
    else if (!spread(stride, dims, 1, 1, job->hop)) return false;
    if (!spread(padding, dims, 0, 0, job->pad)) return false;
    for (int d = 0; d < 3; d++) job->gap[d] = 1;
    if (dilation != NULL && !spread(dilation, dims, 1, 1, job->gap)) return false;
    for (int d = 0; d < 3; d++) {
        npy_intp span, padded;
        if (job->kernel[d] == 1) job->gap[d] = 1; /* no second element */
        if (!tt_window_sizes(job->in[d], job->pad[d], job->kernel[d], job->gap[d], &span, &padded) ||
            span > NPY_MAX_INTP / 4 || padded > NPY_MAX_INTP / 4)
            return refuse("the windows are too large");
        if (job->pad[d] > (span + 1) / 2) return refuse("the padding is too large");
        job->apart |= job->kernel[d] / 4 > job->in[d];
    }
    return true;
}

static bool count_windows(pool *job, bool ceil_mode)
{
    for (int d = 0; d < 3; d++) {
        if (job->hop[d] > job->in[d] + 2 * job->pad[d]) job->hop[d] = job->in[d] + 2 * job->pad[d] + 1; /* one window */
        npy_intp hop = job->hop[d], span = job->in[d] + 2 * job->pad[d] - job->gap[d] * (job->kernel[d] - 1) - 1;
        npy_intp more = ceil_mode ? hop - 1 : 0;
        if (span + more < 0) return refuse("no window fits");
        npy_intp out = (span + more) / hop + 1;
        if (ceil_mode && (out - 1) * hop >= job->in[d] + job->pad[d]) out--;
        if (out < 1) return refuse("no window fits");
        job->out[d] = out;
    }
    return true;
}

/* The part of each window inside of the input, and how many elements count. */
static void place_windows(pool *job, bool padded)
{
    for (int d = 0; d < 3; d++) {
        for (npy_intp i = 0; i < job->out[d]; i++) {
            npy_intp first = i * job->hop[d] - job->pad[d], gap = job->gap[d], start = first, size = job->in[d];
            npy_intp stop = first + (job->kernel[d] - 1) * gap + 1;
            if (start < 0) start += (-start + gap - 1) / gap * gap;
            npy_intp end = stop < size + job->pad[d] ? stop : size + job->pad[d];
            stop = stop < size ? stop : size;
            job->start[d][i] = start < size ? start : size;
            job->stop[d][i] = stop;
            job->count[d][i] = padded ? end - first : stop - start;
        }
    }
}

static void place_adaptive(pool *job)
{
    job->apart = true;
    for (int d = 0; d < 3; d++) {
        job->gap[d] = 1;
        for (npy_intp i = 0; i < job->out[d]; i++) {
            job->start[d][i] = i * job->in[d] / job->out[d];
            job->stop[d][i] = ((i + 1) * job->in[d] + job->out[d] - 1) / job->out[d];
            job->count[d][i] = job->stop[d][i] - job->start[d][i];
        }
    }
}

/* --- operators --- */

/* `dims` is 0 where the result of channels that lie last has them first: ops.yaml says for which operators. */
static PyArrayObject *take(PyObject *object, int dims, pool *job, tt_dtype *dtype)
{
    PyArrayObject *x = PyArray_Check(object) && tt_lies_last((PyArrayObject *)object, dims) ? (PyArrayObject *)Py_NewRef(object)
                                                                                        : tt_row_major(object, "input");
    if (x == NULL) return NULL;
    job->across = tt_lies_last(x, dims) ? PyArray_DIM(x, 1) : 0;
    *dtype = tt_dtype_of(x);
    if (*dtype == TT_F32 || *dtype == TT_F64) return x;
    tt_refuse_dtype("pooling", x);
    Py_DECREF(x);
    return NULL;
}

static PyArrayObject *result_of(PyArrayObject *x, int dims, const npy_intp *sizes, bool last, tt_dtype dtype)
{
    npy_intp shape[5], strides[5];
    int ndim = PyArray_NDIM(x);
    for (int d = 0; d < ndim; d++) shape[d] = d < ndim - dims ? PyArray_DIM(x, d) : sizes[3 - ndim + d];
    if (!last) return tt_empty(ndim, shape, dtype);
    tt_last_strides(ndim, shape, tt_sizes[dtype], strides);
    return tt_new(PyArray_DescrFromType(tt_number_of(dtype)), ndim, shape, strides);
}

/* With the channels last, rows of results are shared among threads, not channels; returns what a row costs. */
static npy_intp share_rows(pool *job)
{
    npy_intp rows = job->out[0] * job->out[1];
    double taps = (double)volume(job->in) / (double)volume(job->out);
    if (!job->apart) taps = (double)job->kernel[0] * (double)job->kernel[1] * (double)job->kernel[2];
    job->channels = job->channels / job->across * rows;
    double cost = (double)job->out[2] * (double)job->across * taps;
    return cost < 1e15 ? (npy_intp)cost : (npy_intp)1e15;
}

/* What a channel costs, which decides how channels are shared. */
static npy_intp cost_of(const pool *job)
{
    double cost = (double)volume(job->in);
    if (!job->apart) {
        cost = (double)volume(job->out);
        for (int d = 0; d < 3; d++) cost *= (double)job->kernel[d];
    }
    return cost < 1e15 ? (npy_intp)cost : (npy_intp)1e15;
}

static bool run(pool *job, tt_body body, npy_intp cost)
{
    TT_BEGIN_WORK(cost >= TT_GIL_LIMIT ? cost : job->channels * cost)
    tt_parallel_for(0, job->channels, 1 + 16384 / (cost + 1), body, job);
    TT_END_WORK
    if (job->failed == 1) PyErr_NoMemory();
    return !job->failed;
}

enum { LARGEST, ADAPTIVE, VALUES };

static PyObject *max_pool(PyObject *const *args, Py_ssize_t count, int dims, int what)
{
    pool job = {0};
    tt_dtype dtype;
    PyArrayObject *x = NULL, *y = NULL, *index = NULL;
    PyObject *result = NULL;
    if (what == ADAPTIVE ? !tt_expect_count("adaptive_max_pool", count, 3, 3)
        : what == LARGEST ? !tt_expect_count("max_pool", count, 7, 7) : !tt_expect_count("_max_pool", count, 6, 6)) return NULL;
    if ((x = take(args[0], dims == 2 || what != ADAPTIVE ? dims : 0, &job, &dtype)) == NULL || !split(x, dims, what == ADAPTIVE, &job)) goto end;
    if (what == ADAPTIVE) {
        if (!tt_sizes_or_none(args[1], dims, job.in, job.out)) goto end;
    } else if (!parse_windows(&job, dims, args[1], args[2], args[3], args[4]) || !count_windows(&job, PyObject_IsTrue(args[5]))) goto end;
    if (volume(job.in) > INT32_MAX && dtype == TT_F32 && what == LARGEST) {
        refuse("the channels are too large");
        goto end;
    }
    bool last = job.across != 0;
    if (last && dtype == TT_F32 && volume(job.in) > INT32_MAX) { /* places have 32 bits */
        Py_SETREF(x, tt_copied(x, NPY_CORDER));
        if (x == NULL) goto end;
        last = false;
    }
    if ((y = result_of(x, dims, job.out, last, dtype)) == NULL) goto end;
    if (what != VALUES && (index = result_of(x, dims, job.out, last, TT_I64)) == NULL) goto end;
    bool done = PyArray_SIZE(y) == 0;
    if (!done) {
        if (!reserve(&job)) goto end;
        if (what == ADAPTIVE) place_adaptive(&job);
        else place_windows(&job, true);
        job.x = PyArray_DATA(x), job.y = PyArray_DATA(y), job.index = index == NULL ? NULL : PyArray_DATA(index);
        tt_body body = job.apart ? (dtype == TT_F32 ? adaptive_largest_float : adaptive_largest_double)
            : what == VALUES ? (dtype == TT_F32 ? largest_values_float : largest_values_double)
                             : (dtype == TT_F32 ? largest_float : largest_double);
        if (last) body = what == VALUES ? (dtype == TT_F32 ? largest_values_last_float : largest_values_last_double)
                                        : (dtype == TT_F32 ? largest_last_float : largest_last_double);
        npy_intp cost = last ? share_rows(&job) : cost_of(&job);
        done = run(&job, body, cost);
    }
    if (done && index != NULL) {
        result = PyTuple_Pack(2, y, index);
    } else if (done) {
        result = (PyObject *)y;
        Py_INCREF(result);
    }
end:
    release(&job);
    Py_XDECREF(x);
    Py_XDECREF(y);
    Py_XDECREF(index);
    return result;
}

/* `size` is that of an input whose mean's gradient is x; NULL for the mean itself. */
static PyObject *mean_pool(PyObject *input, int dims, PyObject *size, PyObject *const *windows, PyObject *ceil_mode,
                           PyObject *padded, PyObject *divisor)
{
    pool job = {0};
    tt_dtype dtype;
    PyArrayObject *x = NULL, *y = NULL;
    npy_intp found[3];
    bool done = false, adaptive = ceil_mode == NULL;
    if ((x = take(input, dims == 2 && size == NULL ? 2 : 0, &job, &dtype)) == NULL || !split(x, dims, adaptive, &job)) goto end;
    if (size != NULL) {
        memcpy(found, job.in, sizeof(found));
        for (int i = 0; i < 3; i++) job.in[i] = 1;
        if (!tt_sizes_of(size, dims, 1, job.in + 3 - dims)) goto end;
    }
    if (adaptive && size == NULL && !tt_sizes_or_none(windows[0], dims, job.in, job.out)) goto end;
    if (!adaptive && (!parse_windows(&job, dims, windows[0], windows[1], windows[2], NULL) || !count_windows(&job, PyObject_IsTrue(ceil_mode)))) goto end;
    if (size != NULL && adaptive) memcpy(job.out, found, sizeof(found));
    if (size != NULL && memcmp(job.out, found, sizeof(found)) != 0) {
        refuse("the gradient does not fit");
        goto end;
    }
    bool last = job.across != 0;
    if ((y = result_of(x, dims, size != NULL ? job.in : job.out, last, dtype)) == NULL) goto end;
    if (PyArray_SIZE(y) == 0) {
        done = true;
        goto end;
    }
    if (!reserve(&job)) goto end;
    if (adaptive) place_adaptive(&job);
    else place_windows(&job, PyObject_IsTrue(padded));
    if (divisor != NULL && divisor != Py_None) {
        if (!tt_double(divisor, &job.divisor) || job.divisor == 0) {
            refuse("the divisor is zero");
            goto end;
        }
    }
    job.x = PyArray_DATA(x), job.y = PyArray_DATA(y);
    tt_body body = size != NULL ? (dtype == TT_F32 ? share_float : share_double) : (dtype == TT_F32 ? mean_float : mean_double);
    if (last) body = dtype == TT_F32 ? mean_last_float : mean_last_double;
    npy_intp cost = last ? share_rows(&job) : cost_of(&job);
    done = run(&job, body, cost);
end:
    release(&job);
    Py_XDECREF(x);
    if (!done) Py_CLEAR(y);
    return (PyObject *)y;
}

TT_PYTHON(numpy_unpool, "tt.backends.cpu.pooling", "unpool");

/* _unpool(values, indices, size, dims) */
static PyObject *_unpool(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("_unpool", count, 4, 4)) return NULL;
    PyArrayObject *values = tt_plain(args[0]), *indices = tt_plain(args[1]), *result = NULL;
    npy_intp shape[NPY_MAXDIMS];
    int64_t dims;
    int ndim = tt_shape(args[2], shape);
    if (values == NULL || indices == NULL || ndim < 0 || !tt_int(args[3], &dims) || dims < 1 || dims > ndim ||
        (tt_dtype_of(values) != TT_F32 && tt_dtype_of(values) != TT_F64) || tt_dtype_of(indices) != TT_I64 ||
        !tt_same_shape(values, indices) || PyArray_NDIM(values) != ndim || !PyArray_IS_C_CONTIGUOUS(values) ||
        !PyArray_IS_C_CONTIGUOUS(indices)) {
        return tt_leave(&numpy_unpool, args, count);
    }
    pool job = {0};
    job.channels = 1;
    for (int d = 0; d < 3; d++) job.in[d] = job.out[d] = 1;
    for (int d = 0; d < ndim; d++) {
        if (d < ndim - dims) {
            if (shape[d] != PyArray_DIM(values, d)) return refuse("the values do not fit"), NULL;
            job.channels *= shape[d];
        } else {
            job.in[2] *= shape[d];
            job.out[2] *= PyArray_DIM(values, d);
        }
    }
    if ((result = tt_empty_of(ndim, shape, values)) == NULL) return NULL;
    job.x = PyArray_DATA(values), job.y = PyArray_DATA(result), job.index = PyArray_DATA(indices);
    if (PyArray_SIZE(result) == 0 && PyArray_SIZE(values) == 0) return (PyObject *)result;
    if (run(&job, tt_dtype_of(values) == TT_F32 ? unpool_float : unpool_double, job.in[2] + job.out[2])) return (PyObject *)result;
    Py_DECREF(result);
    return tt_leave(&numpy_unpool, args, count); /* which says what is wrong */
}

/* _avg_unpool(grad, size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) */
static PyObject *_avg_unpool(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("_avg_unpool", count, 8, 8)) return NULL;
    Py_ssize_t dims = PySequence_Size(args[1]);
    if (dims < 1 || dims > 3) return dims == -1 ? NULL : (refuse("the size has one to three dimensions"), NULL);
    return mean_pool(args[0], (int)dims, args[1], args + 2, args[5], args[6], args[7]);
}

/* _adaptive_avg_unpool(grad, size) */
static PyObject *_adaptive_avg_unpool(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("_adaptive_avg_unpool", count, 2, 2)) return NULL;
    Py_ssize_t dims = PySequence_Size(args[1]);
    if (dims < 1 || dims > 3) return dims == -1 ? NULL : (refuse("the size has one to three dimensions"), NULL);
    return mean_pool(args[0], (int)dims, args[1], NULL, NULL, NULL, NULL);
}

#define N 1
#include "pooling_dims.inc"

#define N 2
#include "pooling_dims.inc"

#define N 3
#include "pooling_dims.inc"

#define METHODS(N) \
    TT_METHOD_AS("max_pool" #N "d_with_indices", max_pool##N##d, \
                 "max_pool" #N "d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)"), \
    TT_METHOD(_max_pool##N##d, "_max_pool" #N "d(input, kernel_size, stride, padding, dilation, ceil_mode)"), \
    TT_METHOD_AS("adaptive_max_pool" #N "d_with_indices", adaptive_max_pool##N##d, \
                 "adaptive_max_pool" #N "d_with_indices(input, output_size, return_indices)"), \
    TT_METHOD(adaptive_avg_pool##N##d, "adaptive_avg_pool" #N "d(input, output_size)"), \
    TT_METHOD(avg_pool##N##d, "avg_pool" #N "d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)")

static PyMethodDef methods[] = {
    METHODS(1),
    METHODS(2),
    METHODS(3),
    TT_METHOD(_unpool, "_unpool(values, indices, size, dims)"),
    TT_METHOD(_avg_unpool, "_avg_unpool(grad, size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)"),
    TT_METHOD(_adaptive_avg_unpool, "_adaptive_avg_unpool(grad, size)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _pooling
#define DOC "Pooling and its gradients."
#include "module.inc"
