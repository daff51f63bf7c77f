/* Sums of weighted elements along a dimension, and their transpose: what interpolation consists of. */
#include "fallback.h"

typedef struct {
    npy_intp outer, inner, size, count, taps; /* elements before, behind; of the dimension; new ones; of a sum */
    const void *x;
    void *y;
    const int32_t *place;
    const void *weight;
    int back;
    npy_intp runs;            /* copies of neighbours, where each new element is an old one; else 0 */
    const int32_t *run;       /* of each: the first place, the first new element, how many */
} resampling;

/* Copies short runs without a call: whole vectors, the last of which may overlap the one before. */
TT_INLINE void copy_run(char *to, const char *from, size_t bytes)
{
    if (bytes < 16 || bytes > 512) {
        memcpy(to, from, bytes);
        return;
    }
    size_t wide = bytes < 32 ? 16 : 32;
    for (size_t at = 0; at < bytes; at += wide) {
        size_t begin = at + wide <= bytes ? at : bytes - wide;
        if (wide == 32) memcpy(to + begin, from + begin, 32);
        else memcpy(to + begin, from + begin, 16);
    }
}

#define TT_RESAMPLE(T) \
    /* Neighbours in memory belong to the same new element: sums of whole rows. */ \
    static void add_row_##T(T *to, const T *row, T weight, npy_intp count, int first) \
    { \
        if (first) for (npy_intp i = 0; i < count; i++) to[i] = row[i] * weight; \
        else for (npy_intp i = 0; i < count; i++) to[i] += row[i] * weight; \
    } \
    static void two_rows_##T(T *to, const T *one, const T *other, T a, T b, npy_intp count) \
    { \
        for (npy_intp i = 0; i < count; i++) to[i] = one[i] * a + other[i] * b; \
    } \
    static void four_rows_##T(T *to, const T *r0, const T *r1, const T *r2, const T *r3, T a, T b, T c, T d, npy_intp count) \
    { \
        for (npy_intp i = 0; i < count; i++) to[i] = (r0[i] * a + r1[i] * b) + (r2[i] * c + r3[i] * d); \
    } \
    static void along_##T(T *to, const T *row, const int32_t *place, const T *weight, npy_intp count, npy_intp taps) \
    { \
        if (taps == 1) { for (npy_intp i = 0; i < count; i++) to[i] = row[place[i]] * weight[i]; return; } \
        if (taps == 2) { \
            for (npy_intp i = 0; i < count; i++) to[i] = row[place[i]] * weight[i] + row[place[count + i]] * weight[count + i]; \
            return; \
        } \
        memset(to, 0, (size_t)count * sizeof(T)); \
        for (npy_intp k = 0; k < taps; k++, place += count, weight += count) { \
            for (npy_intp i = 0; i < count; i++) to[i] += row[place[i]] * weight[i]; \
        } \
    } \
    static void forth_##T(int64_t begin, int64_t end, void *context) \
    { \
        const resampling *job = context; \
        npy_intp inner = job->inner, count = job->count, taps = job->taps; \
        const T *weight = job->weight; \
        for (int64_t at = begin; at < end; at++) { \
            const T *x = (const T *)job->x + at * job->size * inner; \
            T *y = (T *)job->y + at * count * inner; \
            if (job->runs > 0) { \
                for (npy_intp r = 0; r < job->runs; r++) { \
                    const int32_t *run = job->run + 3 * r; \
                    if (run[2] * inner == 1) y[run[1]] = x[run[0]]; \
                    else copy_run((char *)(y + run[1] * inner), (const char *)(x + run[0] * inner), (size_t)(run[2] * inner) * sizeof(T)); \
                } \
                continue; \
            } \
            if (inner == 1) { \
                along_##T(y, x, job->place, weight, count, taps); \
                continue; \
            } \
            for (npy_intp i = 0; i < count; i++, y += inner) { \
                const int32_t *p = job->place + i; \
                const T *w = weight + i; \
                if (taps == 2) { \
                    two_rows_##T(y, x + p[0] * inner, x + p[count] * inner, w[0], w[count], inner); \
                } else if (taps == 4) { \
                    four_rows_##T(y, x + p[0] * inner, x + p[count] * inner, x + p[2 * count] * inner, x + p[3 * count] * inner, \
                                  w[0], w[count], w[2 * count], w[3 * count], inner); \
                } else { \
                    for (npy_intp k = 0; k < taps; k++) add_row_##T(y, x + p[k * count] * inner, w[k * count], inner, k == 0); \
                } \
            } \
        } \
    } \
    static void back_##T(int64_t begin, int64_t end, void *context) \
    { \
        const resampling *job = context; \
        npy_intp inner = job->inner, count = job->count; \
        for (int64_t at = begin; at < end; at++) { \
            const T *g = (const T *)job->x + at * count * inner; \
            T *to = (T *)job->y + at * job->size * inner; \
            memset(to, 0, (size_t)(job->size * inner) * sizeof(T)); \
            for (npy_intp r = 0; r < job->runs; r++) { \
                const int32_t *run = job->run + 3 * r; \
                if (run[2] * inner == 1) to[run[0]] += g[run[1]]; \
                else add_row_##T(to + run[0] * inner, g + run[1] * inner, 1, run[2] * inner, 0); \
            } \
            for (npy_intp k = 0; k < job->taps && job->runs == 0; k++) { \
                const int32_t *p = job->place + k * count; \
                const T *w = (const T *)job->weight + k * count; \
                for (npy_intp i = 0; i < count; i++) { \
                    if (inner == 1) to[p[i]] += g[i] * w[i]; \
                    else add_row_##T(to + p[i] * inner, g + i * inner, w[i], inner, 0); \
                } \
            } \
        } \
    }
TT_RESAMPLE(float)
TT_RESAMPLE(double)

/* (self, places, weights, dim), and with the size of the dimension before it for the transpose */
static PyObject *resample(PyObject *const *args, int back)
{
    PyArrayObject *x = tt_plain(args[0]), *places = tt_plain(args[1]), *weights = tt_plain(args[2]);
    int64_t dim, size;
    const char *wrong = "the arguments are of the wrong kinds";
    if (x == NULL || places == NULL || weights == NULL || !tt_int(args[3], &dim)) goto refused;
    int ndim = PyArray_NDIM(x), axis = tt_axis(dim, ndim);
    tt_dtype dtype = tt_dtype_of(x);
    if ((dtype != TT_F32 && dtype != TT_F64) || tt_dtype_of(places) != TT_I64 || tt_dtype_of(weights) != TT_F64) goto refused;
    wrong = "the shapes do not fit";
    if (axis < 0 || ndim == 0 || PyArray_NDIM(places) != 2 || !tt_same_shape(places, weights)) goto refused;
    npy_intp taps = PyArray_DIM(places, 0), count = PyArray_DIM(places, 1), shape[NPY_MAXDIMS];
    size = PyArray_DIM(x, axis);
    if (back && ((npy_intp)size != count || !tt_int(args[4], &size) || size < 0)) goto refused;
    resampling job = {.outer = 1, .inner = 1, .size = size, .count = count, .taps = taps, .back = back};
    for (int d = 0; d < ndim; d++) {
        shape[d] = d == axis ? (back ? size : count) : PyArray_DIM(x, d);
        if (d < axis) job.outer *= shape[d];
        if (d > axis) job.inner *= shape[d];
    }
    int32_t *place = malloc((size_t)(taps * count + 1) * (sizeof(int32_t) + sizeof(double)));
    if (place == NULL) return PyErr_NoMemory();
    double *weight = (double *)(place + (taps * count + 1) / 2 * 2);
    float *narrow = (float *)weight;
    bool inside = size <= INT32_MAX;
    for (npy_intp k = 0; k < taps; k++) {
        for (npy_intp i = 0; i < count; i++) {
            int64_t at = *(const int64_t *)PyArray_GETPTR2(places, k, i);
            inside &= at >= 0 && at < size;
            place[k * count + i] = (int32_t)at;
            double w = *(const double *)PyArray_GETPTR2(weights, k, i);
            if (dtype == TT_F32) narrow[k * count + i] = (float)w;
            else weight[k * count + i] = w;
        }
    }
    int32_t *run = NULL;
    if (taps == 1 && inside) {
        run = malloc((size_t)(count + 1) * 3 * sizeof(int32_t));
        for (npy_intp i = 0; i < count && run != NULL; i++) {
            if (*(const double *)PyArray_GETPTR2(weights, 0, i) != 1) {
                job.runs = 0;
                break;
            }
            int32_t *last = run + 3 * (job.runs - 1);
            if (job.runs > 0 && place[i] == last[0] + last[2]) last[2]++;
            else memcpy(run + 3 * job.runs++, (int32_t[3]){place[i], (int32_t)i, 1}, 3 * sizeof(int32_t));
        }
        if (job.inner == 1 && job.runs > count / 4) job.runs = 0; /* single elements are faster by their places */
        job.run = run;
    }
    PyArrayObject *source = inside ? tt_contiguous(x) : NULL, *result = NULL;
    if (!inside) PyErr_SetString(PyExc_IndexError, "a place is outside of the dimension");
    if (source != NULL && (result = tt_empty(ndim, shape, dtype)) != NULL && PyArray_SIZE(result) > 0) {
        job.x = PyArray_DATA(source), job.y = PyArray_DATA(result);
        job.place = place, job.weight = weight;
        npy_intp cost = (job.size + job.count * (job.taps + 1)) * job.inner;
        tt_body body = dtype == TT_F32 ? (back ? back_float : forth_float) : (back ? back_double : forth_double);
        TT_BEGIN_WORK(job.outer * cost)
        if (taps == 0) memset(PyArray_DATA(result), 0, (size_t)PyArray_NBYTES(result));
        else tt_parallel_for(0, job.outer, 1 + 16384 / (cost + 1), body, &job);
        TT_END_WORK
    }
    free(place);
    free(run);
    Py_XDECREF(source);
    return (PyObject *)result;
refused:
    PyErr_SetString(PyExc_ValueError, wrong);
    return NULL;
}

static PyObject *_weighted_taps(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return tt_expect_count("_weighted_taps", count, 4, 4) ? resample(args, 0) : NULL;
}

static PyObject *_spread_taps(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return tt_expect_count("_spread_taps", count, 5, 5) ? resample(args, 1) : NULL;
}

static PyMethodDef methods[] = {
    TT_METHOD(_weighted_taps, "_weighted_taps(self, places, weights, dim)"),
    TT_METHOD(_spread_taps, "_spread_taps(self, places, weights, dim, size)"),
    {NULL, NULL, 0, NULL},
};

TT_MODULE(_resampling, methods, "Sums of weighted elements along a dimension.")
