/* Batches of small matrices: their factors, inverses, determinants, and triangular equations; vectors' cross products.
 *
 * LAPACK's functions take longer to be called than to decompose a matrix of 8x8.  Matrices above LARGEST, and those that
 * turn out to be singular, are left to the NumPy kernels, which call LAPACK and raise.
 */
#include "fallback.h"

#define LARGEST 48

enum { LU, INVERSE, SOLUTION, DETERMINANT, TRIANGULAR };

typedef struct {
    int what, ndim;                                   /* of the batch */
    npy_intp shape[NPY_MAXDIMS], a_strides[NPY_MAXDIMS];
    const char *a;
    npy_intp rows, columns, rs, cs;                   /* of a matrix; strides in bytes */
    npy_intp right;                                   /* columns, or rows, of what a triangular equation equals */
    const void *b;
    void *result;
    npy_intp result_size;
    int32_t *pivots, *info;
    int upper, left, unit;
    _Atomic int failed;
} batch;

static npy_intp offset_of(const batch *job, int64_t at, const npy_intp *strides)
{
    npy_intp offset = 0, rest = at;
    for (int d = job->ndim - 1; d >= 0; d--) {
        offset += rest % job->shape[d] * strides[d];
        rest /= job->shape[d];
    }
    return offset;
}

#define T float
#define FABS fabsf
#define NAME(x) x##_float
#include "decomposition.inc"
#undef T
#undef FABS
#undef NAME
#define T double
#define FABS fabs
#define NAME(x) x##_double
#include "decomposition.inc"
#undef T
#undef FABS
#undef NAME

/* Describes a batch of matrices; NULL where it is left to NumPy. */
static PyArrayObject *matrices(PyObject *object, batch *job, bool square)
{
    PyArrayObject *a = tt_plain(object);
    if (a == NULL || PyArray_NDIM(a) < 2 || (tt_dtype_of(a) != TT_F32 && tt_dtype_of(a) != TT_F64)) return NULL;
    job->ndim = PyArray_NDIM(a) - 2;
    job->rows = PyArray_DIM(a, job->ndim);
    job->columns = PyArray_DIM(a, job->ndim + 1);
    if (job->rows > LARGEST || job->columns > LARGEST || (square && job->rows != job->columns) || PyArray_SIZE(a) == 0) return NULL;
    for (int d = 0; d < job->ndim; d++) {
        job->shape[d] = PyArray_DIM(a, d);
        job->a_strides[d] = PyArray_STRIDE(a, d);
    }
    job->rs = PyArray_STRIDE(a, job->ndim);
    job->cs = PyArray_STRIDE(a, job->ndim + 1);
    job->a = PyArray_DATA(a);
    return a;
}

static bool run(batch *job, tt_dtype dtype)
{
    npy_intp number = 1, cost = job->rows * job->columns * (job->columns + job->right);
    for (int d = 0; d < job->ndim; d++) number *= job->shape[d];
    TT_BEGIN_WORK(number * cost / 4)
    tt_parallel_for(0, number, 1 + 60000 / cost, dtype == TT_F32 ? work_float : work_double, job);
    TT_END_WORK
    return !job->failed;
}

TT_PYTHON(numpy_inv, "tt.backends.cpu.equations", "inv");
TT_PYTHON(numpy_det, "tt.backends.cpu.equations", "det");
TT_PYTHON(numpy_solve, "tt.backends.cpu.equations", "solve");
TT_PYTHON(numpy_lu, "tt.backends.cpu.factors", "lu_factor_ex");
TT_PYTHON(numpy_triangular, "tt.backends.cpu.equations", "solve_triangular");

static PyObject *linalg_inv(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    batch job = {.what = INVERSE};
    PyArrayObject *a = count == 1 ? matrices(args[0], &job, true) : NULL;
    if (a == NULL) return tt_leave(&numpy_inv, args, count);
    PyArrayObject *result = tt_empty_of(PyArray_NDIM(a), PyArray_DIMS(a), a);
    if (result == NULL) return NULL;
    job.result = PyArray_DATA(result);
    job.result_size = job.rows * job.rows;
    if (run(&job, tt_dtype_of(a))) return (PyObject *)result;
    Py_DECREF(result);
    return tt_leave(&numpy_inv, args, count);
}

/* linalg_solve(A, B, left): here for batches of the same shape, and matrices or single vectors on the left side */
static PyObject *linalg_solve(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    batch job = {.what = SOLUTION};
    PyArrayObject *a = count == 3 && args[2] == Py_True ? matrices(args[0], &job, true) : NULL, *b = count == 3 ? tt_plain(args[1]) : NULL;
    if (a == NULL || b == NULL || tt_dtype_of(b) != tt_dtype_of(a)) return tt_leave(&numpy_solve, args, count);
    int ndim = PyArray_NDIM(b);
    bool vector = ndim == job.ndim + 1;
    if ((ndim != job.ndim + 2 && !vector) || PyArray_SIZE(b) == 0) return tt_leave(&numpy_solve, args, count);
    for (int d = 0; d <= job.ndim; d++) {
        if (PyArray_DIM(b, d) != PyArray_DIM(a, d)) return tt_leave(&numpy_solve, args, count);
    }
    PyArrayObject *right = tt_contiguous(b);
    PyArrayObject *result = right == NULL ? NULL : tt_empty_of(ndim, PyArray_DIMS(b), b);
    bool done = false;
    if (result != NULL) {
        job.b = PyArray_DATA(right);
        job.result = PyArray_DATA(result);
        job.right = vector ? 1 : PyArray_DIM(b, ndim - 1);
        job.result_size = job.rows * job.right;
        done = run(&job, tt_dtype_of(a));
    }
    Py_XDECREF(right);
    if (done || PyErr_Occurred()) return (PyObject *)result;
    Py_XDECREF(result);
    return tt_leave(&numpy_solve, args, count);
}

static PyObject *linalg_det(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    batch job = {.what = DETERMINANT};
    PyArrayObject *a = count == 1 ? matrices(args[0], &job, true) : NULL;
    if (a == NULL) return tt_leave(&numpy_det, args, count);
    PyArrayObject *result = tt_empty_of(job.ndim, job.shape, a);
    if (result == NULL) return NULL;
    job.result = PyArray_DATA(result);
    job.result_size = 1;
    run(&job, tt_dtype_of(a));
    return (PyObject *)result;
}

/* linalg_lu_factor_ex(A, check_errors) */
static PyObject *linalg_lu_factor_ex(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    batch job = {.what = LU};
    PyArrayObject *a = count == 2 ? matrices(args[0], &job, false) : NULL;
    if (a == NULL) return tt_leave(&numpy_lu, args, count);
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, job.shape, sizeof(shape));
    shape[job.ndim] = job.rows < job.columns ? job.rows : job.columns;
    PyArrayObject *factors = tt_empty_of(PyArray_NDIM(a), PyArray_DIMS(a), a);
    PyArrayObject *pivots = tt_empty(job.ndim + 1, shape, TT_I32), *info = tt_empty(job.ndim, shape, TT_I32);
    PyObject *result = NULL;
    if (factors != NULL && pivots != NULL && info != NULL) {
        job.result = PyArray_DATA(factors), job.pivots = PyArray_DATA(pivots), job.info = PyArray_DATA(info);
        job.result_size = job.rows * job.columns;
        bool regular = run(&job, tt_dtype_of(a));
        if (!regular && PyObject_IsTrue(args[1])) result = tt_leave(&numpy_lu, args, count); /* which raises */
        else result = PyTuple_Pack(3, factors, pivots, info);
    }
    Py_XDECREF(factors);
    Py_XDECREF(pivots);
    Py_XDECREF(info);
    return result;
}

/* linalg_solve_triangular(A, B, upper, left, unitriangular) */
static PyObject *linalg_solve_triangular(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    batch job = {.what = TRIANGULAR};
    if (!tt_expect_count("linalg_solve_triangular", count, 5, 5)) return NULL;
    PyArrayObject *a = matrices(args[0], &job, true), *b = tt_plain(args[1]);
    int upper = PyObject_IsTrue(args[2]), left = PyObject_IsTrue(args[3]), unit = PyObject_IsTrue(args[4]);
    PyArrayObject *given = tt_plain(args[0]);
    if (b != NULL && given != NULL) { /* NumPy's kernel relies on these */
        int adim = PyArray_NDIM(given), bdim = PyArray_NDIM(b);
        if (adim < 2 || bdim < 2 || PyArray_DIM(given, adim - 1) != PyArray_DIM(given, adim - 2) ||
            PyArray_DIM(b, left ? bdim - 2 : bdim - 1) != PyArray_DIM(given, adim - 1)) {
            PyErr_SetString(PyExc_ValueError, "the matrices do not fit");
            return NULL;
        }
    }
    if (a == NULL || b == NULL || tt_dtype_of(b) != tt_dtype_of(a)) return tt_leave(&numpy_triangular, args, count);
    int ndim = PyArray_NDIM(b), abatch = job.ndim, bbatch = ndim - 2, whole = abatch > bbatch ? abatch : bbatch;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    for (int d = 0; d < whole; d++) {
        int i = d - (whole - abatch), j = d - (whole - bbatch);
        npy_intp one = i < 0 ? 1 : job.shape[i], other = j < 0 ? 1 : PyArray_DIM(b, j);
        if (one != other && one != 1 && other != 1) return tt_leave(&numpy_triangular, args, count);
        shape[d] = one == 1 ? other : one;
        strides[d] = one == 1 ? 0 : job.a_strides[i];
    }
    shape[whole] = PyArray_DIM(b, ndim - 2);
    shape[whole + 1] = PyArray_DIM(b, ndim - 1);
    PyArrayObject *result = tt_empty_of(whole + 2, shape, b);
    if (result == NULL) return NULL;
    if (PyArray_CopyInto(result, b)) {
        Py_DECREF(result);
        return NULL;
    }
    job.ndim = whole;
    memcpy(job.shape, shape, sizeof(shape));
    memcpy(job.a_strides, strides, sizeof(strides));
    job.right = shape[left ? whole + 1 : whole];
    job.upper = upper, job.left = left, job.unit = unit;
    job.result = PyArray_DATA(result);
    job.result_size = shape[whole] * shape[whole + 1];
    if (PyArray_SIZE(result) > 0) run(&job, tt_dtype_of(a));
    return (PyObject *)result;
}

/* --- vectors --- */

TT_PYTHON(numpy_cross, "tt.backends.cpu.linalg", "cross");

#define T float
#include "decomposition_cross.inc"

#define T double
#include "decomposition_cross.inc"

/* linalg_cross(self, other, dim): vectors along the last dimension of one or two. */
static PyObject *linalg_cross(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *a = NULL, *b = NULL;
    int64_t dim = 0;
    if (count != 3 || (a = tt_plain(args[0])) == NULL || (b = tt_plain(args[1])) == NULL || !tt_int(args[2], &dim)) goto leave;
    int ndim = PyArray_NDIM(a);
    tt_dtype dtype = tt_dtype_of(a);
    if (ndim < 1 || ndim > 2 || !tt_same_shape(a, b) || tt_dtype_of(b) != dtype || (dtype != TT_F32 && dtype != TT_F64) ||
        tt_axis(dim, ndim) != ndim - 1 || PyArray_DIM(a, ndim - 1) != 3) goto leave;
    PyArrayObject *result = tt_empty(ndim, PyArray_DIMS(a), dtype);
    if (result == NULL) return NULL;
    npy_intp rows = ndim == 2 ? PyArray_DIM(a, 0) : 1, as = PyArray_STRIDE(a, 0), bs = PyArray_STRIDE(b, 0);
    npy_intp ai = PyArray_STRIDE(a, ndim - 1), bi = PyArray_STRIDE(b, ndim - 1);
    if (dtype == TT_F32) cross_float(PyArray_DATA(a), PyArray_DATA(b), PyArray_DATA(result), rows, as, bs, ai, bi);
    else cross_double(PyArray_DATA(a), PyArray_DATA(b), PyArray_DATA(result), rows, as, bs, ai, bi);
    return (PyObject *)result;
leave:
    if (a == NULL || b == NULL || PyArray_NDIM(a) != PyArray_NDIM(b)) {
        PyErr_SetString(PyExc_ValueError, "the vectors do not fit");
        return NULL;
    }
    int axis = tt_axis(dim, PyArray_NDIM(a));
    if (axis < 0 || PyArray_NDIM(a) == 0 || PyArray_DIM(a, axis) != 3 || PyArray_DIM(b, axis) != 3) {
        PyErr_SetString(PyExc_ValueError, "the vectors have no three elements");
        return NULL;
    }
    return tt_leave(&numpy_cross, args, count);
}

static PyMethodDef methods[] = {
    TT_METHOD(linalg_inv, "linalg_inv(A)"),
    TT_METHOD(linalg_solve, "linalg_solve(A, B, left)"),
    TT_METHOD(linalg_det, "linalg_det(A)"),
    TT_METHOD(linalg_lu_factor_ex, "linalg_lu_factor_ex(A, check_errors)"),
    TT_METHOD(linalg_solve_triangular, "linalg_solve_triangular(A, B, upper, left, unitriangular)"),
    TT_METHOD(linalg_cross, "linalg_cross(self, other, dim)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _decomposition
#define DOC "Batches of small matrices: factors, inverses, determinants, triangular equations."
#include "module.inc"
