/* Reductions: sums, products, extremes and their places, moments, norms, logarithms of sums of exponentials. */
#include "moments.h"
#include "reduce.h"
#include "sums.h"
#include "vector_math.h"

/* --- places of extremes ------------------------------------------------------------------------------------------ */

#define OVER_MAX(x, a) ((x) > (a))
#define OVER_MIN(x, a) ((x) < (a))

#define NAME max_place_f32
#define C float
#define PLACE int32_t
#define OVER OVER_MAX
#define STEP STEP_MAX
#define BEGIN LOWEST
#include "places.inc"

#define NAME min_place_f32
#define C float
#define PLACE int32_t
#define OVER OVER_MIN
#define STEP STEP_MIN
#define BEGIN HIGHEST
#include "places.inc"

#define NAME max_place_f64
#define C double
#define PLACE int64_t
#define OVER OVER_MAX
#define STEP STEP_MAX
#define BEGIN LOWEST
#include "places.inc"

#define NAME min_place_f64
#define C double
#define PLACE int64_t
#define OVER OVER_MIN
#define STEP STEP_MIN
#define BEGIN HIGHEST
#include "places.inc"

#define NAME max_place_i64
#define C int64_t
#define PLACE int64_t
#define OVER OVER_MAX
#define STEP STEP_MAX
#define BEGIN INT64_MIN
#include "places.inc"

#define NAME min_place_i64
#define C int64_t
#define PLACE int64_t
#define OVER OVER_MIN
#define STEP STEP_MIN
#define BEGIN INT64_MAX
#include "places.inc"

/* --- logarithms of sums of exponentials -------------------------------------------------------------------------- */

typedef struct { double top, sum; } lse;

static void lse_start(char *acc, int64_t count)
{
    lse *a = (lse *)acc;
    for (int64_t j = 0; j < count; j++) a[j] = (lse){-INFINITY, 0};
}

static void lse_merge(char *acc, const char *other, int64_t count)
{
    lse *a = (lse *)acc;
    const lse *b = (const lse *)other;
    for (int64_t j = 0; j < count; j++) {
        double top = a[j].top > b[j].top ? a[j].top : b[j].top, base = top - top == 0 ? top : 0;
        double mine = a[j].sum > 0 ? a[j].sum * exp(a[j].top - base) : a[j].sum;
        double others = b[j].sum > 0 ? b[j].sum * exp(b[j].top - base) : b[j].sum;
        a[j] = (lse){top, mine + others};
    }
}

#define C float
#define S f32
#define EXP tt_exp_f
#include "lse.inc"

#define C double
#define S f64
#define EXP tt_exp
#include "lse.inc"

/* --- calls ------------------------------------------------------------------------------------------------------- */

typedef enum { NONEMPTY = 1, FACT_COUNT = 2, OUT_I64 = 4, FACT_ZERO = 8 } reduction_flags;

typedef struct {
    const char *name;
    const reducer *f32, *f64, *i64;
    int flags;
} reduction;

static const reducer *reduction_for(const reduction *op, PyArrayObject *x)
{
    const reducer *how = NULL;
    tt_dtype type = tt_dtype_of(x);
    if (type >= TT_BOOL && type <= TT_F64)
        switch (rows_compute_of(type)) {
        case C_F32: how = op->f32; break;
        case C_F64: how = op->f64; break;
        case C_I64: how = op->i64; break;
        default: break;
        }
    if (!how) tt_refuse_dtype(op->name, x);
    return how;
}

static int64_t reduction_size(PyArrayObject *x, const unsigned char *marked)
{
    int64_t count = 1;
    for (int d = 0; d < PyArray_NDIM(x); d++)
        if (marked[d]) count *= PyArray_DIM(x, d);
    return count;
}

static int reduction_refuse_empty(PyArrayObject *x, const unsigned char *marked, int all)
{
    if (all ? PyArray_SIZE(x) == 0 : reduction_size(x, marked) == 0) {
        PyErr_SetString(PyExc_ValueError, "a reduction of no elements, which the shape rule refuses");
        return 1;
    }
    return 0;
}

/* op(self), op(self, dim, keepdim) */
static PyObject *call_reduction(const reduction *op, PyObject *const *args, Py_ssize_t nargs)
{
    unsigned char marked[NPY_MAXDIMS];
    ROWS_EXPECT(op->name, 1, 3);
    PyArrayObject *x = rows_array(args[0]), *out = NULL;
    if (!x) return NULL;
    PyObject *dim = nargs > 1 ? args[1] : Py_None;
    int keepdim = nargs > 2 && PyObject_IsTrue(args[2]);
    const reducer *how = reduction_for(op, x);
    if (!how || rows_axes(dim, PyArray_NDIM(x), marked) < 0) goto done;
    if (op->flags & NONEMPTY && reduction_refuse_empty(x, marked, dim == Py_None)) goto done;
    double fact = op->flags & FACT_COUNT ? (double)reduction_size(x, marked) : op->flags & FACT_ZERO ? 0 : 1;
    out = reduce_result(x, marked, keepdim, op->flags & OUT_I64 ? NPY_INT64 : PyArray_TYPE(x));
    if (out && reduce_into(how, x, marked, fact, out, NULL) < 0) Py_CLEAR(out);
done:
    Py_DECREF(x);
    return (PyObject *)out;
}

#define REDUCTION(NAME, ...) REDUCTION_OF(NAME, __VA_ARGS__) ROWS_ENTRY(call_##NAME, call_reduction(&NAME##_op, args, nargs))
#define REDUCTION_OF(NAME, ...) static const reduction NAME##_op = {#NAME, __VA_ARGS__};

REDUCTION(sum, &sum_f32, &sum_f64, &sum_i64, 0)
REDUCTION(mean, &sum_f32, &sum_f64, NULL, FACT_COUNT)
REDUCTION(nansum, &nansum_f32, &nansum_f64, NULL, 0)
REDUCTION(prod, &prod_f32, &prod_f64, &prod_i64, 0)
REDUCTION(amax, &max_f32, &max_f64, NULL, NONEMPTY)
REDUCTION(amin, &min_f32, &min_f64, NULL, NONEMPTY)
REDUCTION(count_nonzero, &count_f32, &count_f64, &count_i64, OUT_I64)
REDUCTION(logsumexp, &lse_f32, &lse_f64, NULL, 0)
REDUCTION(norm1, &norm1_f32, &norm1_f64, NULL, 0)
REDUCTION(norm2, &norm2_f32, &norm2_f64, NULL, 0)
REDUCTION(squares, &norm2_f32, &norm2_f64, NULL, FACT_ZERO)
REDUCTION(norm_largest, &max_size_f32, &max_size_f64, NULL, NONEMPTY)
REDUCTION(norm_smallest, &min_size_f32, &min_size_f64, NULL, NONEMPTY)

/* aminmax(self, dim, keepdim) -> (smallest, largest) */
static PyObject *call_aminmax(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    ROWS_EXPECT("aminmax", 3, 3);
    PyObject *smallest = call_amin(module, args, nargs);
    PyObject *largest = smallest ? call_amax(module, args, nargs) : NULL;
    PyObject *result = largest ? PyTuple_Pack(2, smallest, largest) : NULL;
    Py_XDECREF(smallest);
    Py_XDECREF(largest);
    return result;
}

/* Warn as the other kernels do, at the line of the program. */
static int warn_of_freedom(const char *name, int64_t count, PyObject *correction)
{
    PyObject *library = PyImport_ImportModule("tt.core.library");
    PyObject *found = library ? PyObject_CallMethod(library, "degrees_of_freedom", "sLO", name, (long long)count, correction) : NULL;
    Py_XDECREF(library);
    Py_XDECREF(found);
    return found ? 0 : -1;
}

/* op(self, dim, correction, keepdim) -> variance, or (variance, mean) */
static PyObject *call_moments(const char *name, int root, int both, PyObject *const *args, Py_ssize_t nargs)
{
    unsigned char marked[NPY_MAXDIMS];
    PyArrayObject *out = NULL, *mean = NULL;
    PyObject *result = NULL;
    double correction = 1;
    ROWS_EXPECT(name, 4, 4);
    if (args[2] != Py_None) {
        correction = PyFloat_AsDouble(args[2]);
        if (correction == -1 && PyErr_Occurred()) return NULL;
    }
    int keepdim = PyObject_IsTrue(args[3]);
    PyArrayObject *x = rows_array(args[0]);
    if (!x) return NULL;
    const reduction op = {name, root ? &deviation_f32 : &variance_f32, root ? &deviation_f64 : &variance_f64, NULL, 0};
    const reducer *how = reduction_for(&op, x);
    if (!how || rows_axes(args[1], PyArray_NDIM(x), marked) < 0) goto done;
    double freedom = (double)reduction_size(x, marked) - correction;
    if (!(freedom > 0) && warn_of_freedom(name, reduction_size(x, marked), args[2]) < 0) goto done;
    out = reduce_result(x, marked, keepdim, PyArray_TYPE(x));
    if (out && both) mean = reduce_result(x, marked, keepdim, PyArray_TYPE(x));
    if (!out || (both && !mean)) goto done;
    if (reduce_into(how, x, marked, freedom > 0 ? freedom : 0, out, mean) < 0) goto done;
    result = both ? PyTuple_Pack(2, out, mean) : Py_NewRef(out);
done:
    Py_XDECREF(out);
    Py_XDECREF(mean);
    Py_DECREF(x);
    return result;
}

#define MOMENTS(NAME, ROOT, BOTH) ROWS_ENTRY(call_##NAME, call_moments(#NAME, ROOT, BOTH, args, nargs))

MOMENTS(var, 0, 0)
MOMENTS(var_mean, 0, 1)
MOMENTS(std, 1, 0)
MOMENTS(std_mean, 1, 1)

/* op(self, dim, keepdim) -> places, or (values, places).  Without dim, the place in the flattened array. */
static PyObject *call_place(const reduction *op, int values, PyObject *const *args, Py_ssize_t nargs)
{
    unsigned char marked[NPY_MAXDIMS];
    PyArrayObject *out = NULL, *places = NULL, *flat = NULL;
    PyObject *result = NULL;
    ROWS_EXPECT(op->name, 3, 3);
    int keepdim = PyObject_IsTrue(args[2]);
    PyArrayObject *x = rows_array(args[0]);
    if (!x) return NULL;
    const reducer *how = reduction_for(op, x);
    if (!how || rows_axes(args[1], PyArray_NDIM(x), marked) < 0) goto done;
    if (reduction_refuse_empty(x, marked, args[1] == Py_None)) goto done;
    /* Places are those in row-major order. */
    flat = args[1] == Py_None ? PyArray_GETCONTIGUOUS(x) : (PyArrayObject *)Py_NewRef(x);
    places = reduce_result(x, marked, keepdim, NPY_INT64);
    if (values) out = reduce_result(x, marked, keepdim, PyArray_TYPE(x));
    if (!flat || !places || (values && !out)) goto done;
    if (reduce_into(how, flat, marked, 1, values ? out : places, values ? places : NULL) < 0) goto done;
    result = values ? PyTuple_Pack(2, out, places) : Py_NewRef(places);
done:
    Py_XDECREF(out);
    Py_XDECREF(places);
    Py_XDECREF(flat);
    Py_DECREF(x);
    return result;
}

#define PLACE_OF(NAME, VALUES, ...) REDUCTION_OF(NAME, __VA_ARGS__, 0) ROWS_ENTRY(call_##NAME, call_place(&NAME##_op, VALUES, args, nargs))

PLACE_OF(max_dim, 1, &max_place_f32, &max_place_f64, &max_place_i64)
PLACE_OF(min_dim, 1, &min_place_f32, &min_place_f64, &min_place_i64)
PLACE_OF(argmax, 0, &argmax_place_f32, &argmax_place_f64, &argmax_place_i64)
PLACE_OF(argmin, 0, &argmin_place_f32, &argmin_place_f64, &argmin_place_i64)

/* each(function, arrays): the result of each array; or False where one has no elements or another dtype, and nothing is done. */
static PyObject *call_each(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    static const reduction *const listed[] = {&norm1_op, &norm2_op, &squares_op, &norm_largest_op, &norm_smallest_op, &amax_op};
    ROWS_EXPECT("each", 2, 2);
    (void)module;
    const reduction *op = NULL;
    for (size_t i = 0; i < sizeof listed / sizeof *listed && op == NULL; i++)
        if (PyUnicode_CompareWithASCIIString(args[0], listed[i]->name) == 0) op = listed[i];
    if (op == NULL || !PyList_Check(args[1])) {
        PyErr_Format(PyExc_ValueError, "each() has no function %R of a list", args[0]);
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(args[1]);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GET_ITEM(args[1], i);
        if (!PyArray_Check(item)) return Py_NewRef(Py_False);
        tt_dtype type = tt_dtype_of((PyArrayObject *)item);
        if (type != TT_F16 && type != TT_BF16 && type != TT_F32 && type != TT_F64) return Py_NewRef(Py_False);
        if (op->flags & NONEMPTY && PyArray_SIZE((PyArrayObject *)item) == 0) return Py_NewRef(Py_False);
    }
    PyObject *results = PyList_New(count);
    for (Py_ssize_t i = 0; results != NULL && i < count; i++) {
        PyObject *item = PyList_GET_ITEM(args[1], i), *result = call_reduction(op, &item, 1);
        if (result == NULL) Py_CLEAR(results);
        else PyList_SET_ITEM(results, i, result);
    }
    return results;
}

#define LISTED(NAME, ARGUMENTS) TT_METHOD_AS(#NAME, call_##NAME, #NAME "(" ARGUMENTS ")")
static PyMethodDef methods[] = {
    LISTED(sum, "self, dim=None, keepdim=False"),
    LISTED(mean, "self, dim=None, keepdim=False"),
    LISTED(nansum, "self, dim=None, keepdim=False"),
    LISTED(prod, "self, dim=None, keepdim=False"),
    LISTED(amax, "self, dim=None, keepdim=False"),
    LISTED(amin, "self, dim=None, keepdim=False"),
    LISTED(aminmax, "self, dim, keepdim"),
    LISTED(count_nonzero, "self, dim=None, keepdim=False"),
    LISTED(logsumexp, "self, dim=None, keepdim=False"),
    LISTED(norm1, "self, dim=None, keepdim=False"),
    LISTED(norm2, "self, dim=None, keepdim=False"),
    LISTED(squares, "self, dim=None, keepdim=False"),
    LISTED(each, "function, arrays"),
    LISTED(norm_largest, "self, dim=None, keepdim=False"),
    LISTED(norm_smallest, "self, dim=None, keepdim=False"),
    LISTED(var, "self, dim, correction, keepdim"),
    LISTED(var_mean, "self, dim, correction, keepdim"),
    LISTED(std, "self, dim, correction, keepdim"),
    LISTED(std_mean, "self, dim, correction, keepdim"),
    LISTED(max_dim, "self, dim, keepdim"),
    LISTED(min_dim, "self, dim, keepdim"),
    LISTED(argmax, "self, dim, keepdim"),
    LISTED(argmin, "self, dim, keepdim"),
    {NULL, NULL, 0, NULL},
};

#define NAME _reduction
#define DOC "Reductions along any dimensions."
#include "module.inc"
