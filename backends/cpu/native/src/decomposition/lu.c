/* Factors L U with exchanges of rows of matrices of float32 and float64, and what follows from them: inverses, solutions, determinants;
 * equations whose factors L U, or L L^T, are given; triangular equations.
 *
 * Note [Exchanges by rows]
 * P A = L U.  The matrix lies by rows, which are exchanged as they are.  A panel of columns is copied, by columns: pivots are looked for
 * along vectors, while the column before is eliminated.  The panel halves itself down to four columns, so that most of its work is
 * products of matrices; what it leaves is packed for the products that the columns behind it take, strip by strip.  Equations are solved
 * strip by strip, too, by factors that are packed once.  A small matrix is factored by rows.
 *
 * The largest element is the pivot, and the first of equal ones, as in LAPACK.  Threads share the matrices of a batch, or the strips of a
 * single matrix, whose bits do not depend on them.  Equations of a singular matrix are left to LAPACK, with the whole batch.
 */
#include "gemm.h"

#include "fallback.h"
#include "matrices.h"

#define TINY 16  /* rows of a matrix whose equations are solved by rows as they are */
#define SMALL 64 /* rows and columns of a matrix that is factored by rows, and stays in the first-level cache */
#define PANEL 64 /* columns of one, at most: whole vectors and panels of products */
#define DEEP 192 /* rows of a strip that are used at once */
#define GROUP 4  /* strips */

enum { FACTORS, INVERSE, SOLUTION, GIVEN, CHOLESKY, CHOLESKY_INVERSE, TRIANGLE, DETERMINANT, LOGARITHM };

typedef struct {
    tt_matrices in, right, given;          /* `right`: what an equation equals, of the same batch; `given`: pivots */
    int what, left, upper, unit;           /* X A = B has both sides transposed, and its result */
    int turned;                            /* `in` is (L U)^T of given factors: its triangles change places, the rows of X are exchanged */
    char *result, *logarithms;
    npy_intp result_size;                  /* elements of a matrix */
    int32_t *pivots, *info;
    _Atomic int refused, singular, failed; /* left to LAPACK; a matrix has no factors; memory is missing */
} solving;

#if 0 /* what follows is made of this, too: the build looks for such lines */
#include "lu.inc"
#endif
#define TT_SOURCE "lu.inc"
#include "instances.h"

static const tt_gemm_code *tt_gemm_code_of(tt_dtype dtype) { return TT_CODE_OF(dtype); }

TT_PYTHON(numpy_inv, "tt.backends.cpu.decomposition.equations", "inv");
TT_PYTHON(numpy_det, "tt.backends.cpu.decomposition.equations", "det");
TT_PYTHON(numpy_slogdet, "tt.backends.cpu.decomposition.equations", "slogdet");
TT_PYTHON(numpy_solve, "tt.backends.cpu.decomposition.equations", "solve");
TT_PYTHON(numpy_lu_solve, "tt.backends.cpu.decomposition.equations", "lu_solve");
TT_PYTHON(numpy_cholesky_solve, "tt.backends.cpu.decomposition.equations", "cholesky_solve");
TT_PYTHON(numpy_cholesky_inverse, "tt.backends.cpu.decomposition.equations", "cholesky_inverse");
TT_PYTHON(numpy_triangular, "tt.backends.cpu.decomposition.equations", "solve_triangular");
TT_PYTHON(numpy_lu, "tt.backends.cpu.decomposition.factors", "lu_factor_ex");
TT_PYTHON(numpy_unpack, "tt.backends.cpu.decomposition.factors", "lu_unpack");

/* Does what a call asks for; false where it is left to NumPy, or with an error. */
static bool run(solving *job)
{
    npy_intp rows = job->in.rows, columns = job->in.columns, number = tt_matrices_count(&job->in);
    bool small = rows <= SMALL && columns <= SMALL;
    tt_body body = job->in.dtype == TT_F32 ? (small ? few_f32 : large_f32) : small ? few_f64 : large_f64;
    npy_intp cost = rows * columns * ((rows < columns ? rows : columns) / 2 + job->right.columns) + 1;
    TT_BEGIN_WORK(number * cost / 4)
    tt_parallel_for(0, number, small ? 1 + 60000 / cost : 1, body, job);
    TT_END_WORK
    if (job->failed) PyErr_NoMemory();
    return !job->failed && !job->refused;
}

/* Describes a batch of square matrices; NULL where it is left to NumPy. */
static PyArrayObject *square(PyObject *object, solving *job)
{
    PyArrayObject *a = tt_plain(object);
    return tt_matrices_of(a, &job->in) && job->in.rows == job->in.columns ? a : NULL;
}

/* The inverses of matrices, or of those that have the given factors. */
static PyObject *inverses(solving *job, PyObject *const *args, Py_ssize_t count, tt_python *numpy)
{
    PyArrayObject *a = square(args[0], job);
    if (a == NULL) return tt_leave(numpy, args, count);
    PyArrayObject *result = tt_empty_of(PyArray_NDIM(a), PyArray_DIMS(a), a);
    if (result == NULL) return NULL;
    job->result = PyArray_BYTES(result);
    job->result_size = job->in.rows * job->in.rows;
    job->right.columns = job->in.rows;
    if (run(job)) return (PyObject *)result;
    Py_DECREF(result);
    return PyErr_Occurred() ? NULL : tt_leave(numpy, args, count);
}

/* linalg_inv(A) */
static PyObject *linalg_inv(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("linalg_inv", count, 1, 1)) return NULL;
    solving job = {.what = INVERSE, .left = 1};
    return inverses(&job, args, count, &numpy_inv);
}

/* cholesky_inverse(self, upper) */
static PyObject *cholesky_inverse(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("cholesky_inverse", count, 2, 2)) return NULL;
    solving job = {.what = CHOLESKY_INVERSE, .left = 1, .upper = PyObject_IsTrue(args[1])};
    return inverses(&job, args, count, &numpy_cholesky_inverse);
}

/* linalg_det(A) */
static PyObject *linalg_det(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    solving job = {.what = DETERMINANT};
    PyArrayObject *a = count == 1 ? square(args[0], &job) : NULL;
    if (a == NULL) return tt_leave(&numpy_det, args, count);
    PyArrayObject *result = tt_empty_of(job.in.ndim, job.in.shape, a);
    if (result == NULL) return NULL;
    job.result = PyArray_BYTES(result);
    job.result_size = 1;
    if (run(&job)) return (PyObject *)result;
    Py_DECREF(result);
    return PyErr_Occurred() ? NULL : tt_leave(&numpy_det, args, count);
}

/* linalg_slogdet(A) */
static PyObject *linalg_slogdet(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    solving job = {.what = LOGARITHM};
    PyArrayObject *a = count == 1 ? square(args[0], &job) : NULL;
    if (a == NULL) return tt_leave(&numpy_slogdet, args, count);
    PyArrayObject *sign = tt_empty_of(job.in.ndim, job.in.shape, a), *logarithm = tt_empty_of(job.in.ndim, job.in.shape, a);
    PyObject *result = NULL;
    if (sign != NULL && logarithm != NULL) {
        job.result = PyArray_BYTES(sign), job.logarithms = PyArray_BYTES(logarithm);
        job.result_size = 1;
        if (run(&job)) result = PyTuple_Pack(2, sign, logarithm);
        else if (!PyErr_Occurred()) result = tt_leave(&numpy_slogdet, args, count);
    }
    Py_XDECREF(sign);
    Py_XDECREF(logarithm);
    return result;
}

/* linalg_lu_factor_ex(A, check_errors) */
static PyObject *linalg_lu_factor_ex(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    solving job = {.what = FACTORS};
    PyArrayObject *a = count == 2 ? tt_plain(args[0]) : NULL;
    if (!tt_matrices_of(a, &job.in)) return tt_leave(&numpy_lu, args, count);
    int ndim = job.in.ndim;
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, job.in.shape, sizeof(shape));
    shape[ndim] = job.in.rows < job.in.columns ? job.in.rows : job.in.columns;
    PyArrayObject *factors = tt_empty_of(ndim + 2, PyArray_DIMS(a), a);
    PyArrayObject *pivots = tt_empty(ndim + 1, shape, TT_I32), *info = tt_empty(ndim, shape, TT_I32);
    PyObject *result = NULL;
    if (factors != NULL && pivots != NULL && info != NULL) {
        job.result = PyArray_BYTES(factors), job.pivots = PyArray_DATA(pivots), job.info = PyArray_DATA(info);
        job.result_size = job.in.rows * job.in.columns;
        bool done = run(&job);
        if (done && !(job.singular && PyObject_IsTrue(args[1]))) result = PyTuple_Pack(3, factors, pivots, info);
        else if (!PyErr_Occurred()) result = tt_leave(&numpy_lu, args, count); /* which raises for singular ones */
    }
    Py_XDECREF(factors);
    Py_XDECREF(pivots);
    Py_XDECREF(info);
    return result;
}

static PyArrayObject *no_elements(PyArrayObject *like)
{
    npy_intp none = 0;
    return tt_empty_of(1, &none, like);
}

/* lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots) */
static PyObject *lu_unpack(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    tt_matrices in;
    PyArrayObject *a = count == 4 ? tt_plain(args[0]) : NULL, *pivots = count == 4 ? tt_plain(args[1]) : NULL;
    if (pivots == NULL || !tt_matrices_of(a, &in)) return tt_leave(&numpy_unpack, args, count);
    int data = PyObject_IsTrue(args[2]), exchanges = PyObject_IsTrue(args[3]), ndim = in.ndim;
    tt_matrices from = {.dtype = TT_I32, .ndim = ndim, .data = PyArray_BYTES(pivots)};
    bool valid = !exchanges || (tt_dtype_of(pivots) == TT_I32 && PyArray_NDIM(pivots) == ndim + 1 && PyArray_DIM(pivots, ndim) <= in.rows);
    for (int d = 0; d < ndim && exchanges && valid; d++) {
        valid = PyArray_DIM(pivots, d) == in.shape[d];
        from.shape[d] = in.shape[d], from.strides[d] = PyArray_STRIDE(pivots, d);
    }
    if (!valid) { /* NumPy's kernel relies on it */
        PyErr_SetString(PyExc_ValueError, "the pivots do not fit");
        return NULL;
    }
    npy_intp m = in.rows, n = in.columns, k = m < n ? m : n, number = tt_matrices_count(&in), shape[NPY_MAXDIMS];
    memcpy(shape, in.shape, sizeof(shape));
    shape[ndim] = shape[ndim + 1] = m;
    PyArrayObject *P = exchanges ? tt_empty_of(ndim + 2, shape, a) : no_elements(a);
    shape[ndim + 1] = k;
    PyArrayObject *L = data ? tt_empty_of(ndim + 2, shape, a) : no_elements(a);
    shape[ndim] = k, shape[ndim + 1] = n;
    PyArrayObject *U = data ? tt_empty_of(ndim + 2, shape, a) : no_elements(a);
    npy_intp *order = PyMem_Malloc((size_t)m * sizeof(npy_intp)), size = (npy_intp)tt_sizes[in.dtype];
    PyObject *result = NULL;
    bool single = in.dtype == TT_F32;
    if (P == NULL || L == NULL || U == NULL || order == NULL) {
        if (order == NULL) PyErr_NoMemory();
        goto end;
    }
    for (npy_intp at = 0; at < number && data; at++) {
        void *lower = PyArray_BYTES(L) + at * m * k * size, *upper = PyArray_BYTES(U) + at * k * n * size;
        if (single) unpack_factors_f32(tt_matrix_at(&in, at), m, n, in.rs, in.cs, lower, upper);
        else unpack_factors_f64(tt_matrix_at(&in, at), m, n, in.rs, in.cs, lower, upper);
    }
    for (npy_intp at = 0; at < number && exchanges && valid; at++) {
        npy_intp each = PyArray_DIM(pivots, ndim), stride = PyArray_STRIDE(pivots, ndim);
        void *to = PyArray_BYTES(P) + at * m * m * size;
        if (single) valid = unpack_pivots_f32(tt_matrix_at(&from, at), stride, each, m, order, to);
        else valid = unpack_pivots_f64(tt_matrix_at(&from, at), stride, each, m, order, to);
    }
    result = valid ? PyTuple_Pack(3, P, L, U) : tt_leave(&numpy_unpack, args, count); /* which raises */
end:
    PyMem_Free(order);
    Py_XDECREF(P);
    Py_XDECREF(L);
    Py_XDECREF(U);
    return result;
}

/* --- equations --- */

static void transpose(tt_matrices *batch)
{
    npy_intp rows = batch->rows, rs = batch->rs;
    batch->rows = batch->columns, batch->rs = batch->cs;
    batch->columns = rows, batch->cs = rs;
}

/* Gives both sides of an equation the batch that their own ones broadcast to; false if they do not. */
static bool broadcast(tt_matrices *one, tt_matrices *other)
{
    tt_matrices *sides[] = {one, other};
    int ndim = one->ndim > other->ndim ? one->ndim : other->ndim;
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; d++) shape[d] = 1;
    for (int s = 0; s < 2; s++) {
        for (int d = 0, skipped = ndim - sides[s]->ndim; d < sides[s]->ndim; d++) {
            npy_intp size = sides[s]->shape[d], *whole = shape + skipped + d;
            if (size != 1 && *whole != 1 && size != *whole) return false;
            if (size != 1) *whole = size;
        }
    }
    for (int s = 0; s < 2; s++) {
        int own = sides[s]->ndim;
        for (int d = ndim - 1; d >= 0; d--) {
            int at = d - (ndim - own);
            sides[s]->strides[d] = at >= 0 && sides[s]->shape[at] != 1 ? sides[s]->strides[at] : 0;
        }
        sides[s]->ndim = ndim;
        memcpy(sides[s]->shape, shape, (size_t)ndim * sizeof(npy_intp));
    }
    return true;
}

/* The solutions of A X = B, or of X A = B, for a job that tells which; NULL without an error where they are left to NumPy. */
static PyArrayObject *solved(PyObject *matrices, PyObject *equal, bool vector, solving *job)
{
    PyArrayObject *a = square(matrices, job), *b = tt_plain(equal);
    if (a == NULL || b == NULL || PyArray_SIZE(b) == 0 || tt_dtype_of(b) != job->in.dtype) return NULL;
    tt_matrices *right = &job->right;
    if (vector) {
        int ndim = PyArray_NDIM(b) - 1;
        right->dtype = job->in.dtype, right->ndim = ndim, right->data = PyArray_BYTES(b);
        for (int d = 0; d < ndim; d++) right->shape[d] = PyArray_DIM(b, d), right->strides[d] = PyArray_STRIDE(b, d);
        right->rows = PyArray_DIM(b, ndim), right->rs = PyArray_STRIDE(b, ndim);
        right->columns = 1, right->cs = (npy_intp)tt_sizes[job->in.dtype];
    } else if (!tt_matrices_of(b, right)) return NULL;
    if (!broadcast(&job->in, right) || (job->what == GIVEN && !broadcast(&job->given, right))) return NULL;
    int ndim = right->ndim;
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, right->shape, sizeof(shape));
    shape[ndim] = right->rows, shape[ndim + 1] = right->columns;
    if (!job->left) transpose(right);
    if (job->turned || (job->what != GIVEN && !job->left)) {
        transpose(&job->in);
        job->upper = !job->upper;
    }
    if (right->rows != job->in.rows) return NULL;
    PyArrayObject *result = tt_empty_of(ndim + (vector ? 1 : 2), shape, b);
    if (result == NULL) return NULL;
    job->result = PyArray_BYTES(result);
    job->result_size = right->rows * right->columns;
    if (!run(job)) Py_CLEAR(result);
    return result;
}

/* linalg_solve(A, B, left) */
static PyObject *linalg_solve(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *a = count == 3 ? tt_plain(args[0]) : NULL, *b = count == 3 ? tt_plain(args[1]) : NULL, *result = NULL;
    if (a != NULL && b != NULL && PyArray_NDIM(b) > 0) {
        int ndim = PyArray_NDIM(b), left = PyObject_IsTrue(args[2]);
        bool vector = ndim == 1 || (PyArray_NDIM(a) == ndim + 1 && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), ndim));
        solving job = {.what = SOLUTION, .left = left};
        if (left || !vector) result = solved(args[0], args[1], vector, &job);
    }
    return result != NULL || PyErr_Occurred() ? (PyObject *)result : tt_leave(&numpy_solve, args, count);
}

/* linalg_lu_solve(LU, pivots, B, left, adjoint) */
static PyObject *linalg_lu_solve(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("linalg_lu_solve", count, 5, 5)) return NULL;
    PyArrayObject *factors = tt_plain(args[0]), *pivots = tt_plain(args[1]), *b = tt_plain(args[2]), *result = NULL;
    int left = PyObject_IsTrue(args[3]), adjoint = PyObject_IsTrue(args[4]);
    int ndim = factors == NULL ? 0 : PyArray_NDIM(factors) - 2, bdim = b == NULL ? 0 : PyArray_NDIM(b);
    if (ndim >= 0 && bdim >= 2 && pivots != NULL && tt_dtype_of(pivots) == TT_I32 && PyArray_NDIM(pivots) == ndim + 1) {
        solving job = {.what = GIVEN, .left = left, .turned = left == adjoint};
        tt_matrices *given = &job.given;
        given->dtype = TT_I32, given->ndim = ndim, given->data = PyArray_BYTES(pivots);
        for (int d = 0; d < ndim; d++) given->shape[d] = PyArray_DIM(pivots, d), given->strides[d] = PyArray_STRIDE(pivots, d);
        given->rows = PyArray_DIM(pivots, ndim), given->rs = PyArray_STRIDE(pivots, ndim);
        bool fits = PyArray_CompareLists(PyArray_DIMS(pivots), PyArray_DIMS(factors), ndim + 1);
        fits = fits && PyArray_DIM(factors, ndim) == PyArray_DIM(factors, ndim + 1);
        fits = fits && PyArray_DIM(b, left ? bdim - 2 : bdim - 1) == PyArray_DIM(factors, ndim);
        if (!fits) { /* NumPy's kernel relies on it */
            PyErr_SetString(PyExc_ValueError, "the factors do not fit");
            return NULL;
        }
        result = solved(args[0], args[2], false, &job);
    }
    return result != NULL || PyErr_Occurred() ? (PyObject *)result : tt_leave(&numpy_lu_solve, args, count);
}

/* cholesky_solve(self, input2, upper) */
static PyObject *cholesky_solve(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("cholesky_solve", count, 3, 3)) return NULL;
    solving job = {.what = CHOLESKY, .left = 1, .upper = PyObject_IsTrue(args[2])};
    PyArrayObject *b = tt_plain(args[0]), *result = b == NULL || PyArray_NDIM(b) < 2 ? NULL : solved(args[1], args[0], false, &job);
    return result != NULL || PyErr_Occurred() ? (PyObject *)result : tt_leave(&numpy_cholesky_solve, args, count);
}

/* linalg_solve_triangular(A, B, upper, left, unitriangular) */
static PyObject *linalg_solve_triangular(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("linalg_solve_triangular", count, 5, 5)) return NULL;
    PyArrayObject *a = tt_plain(args[0]), *b = tt_plain(args[1]);
    int upper = PyObject_IsTrue(args[2]), left = PyObject_IsTrue(args[3]), unit = PyObject_IsTrue(args[4]);
    if (a != NULL && b != NULL) { /* NumPy's kernel relies on these */
        int adim = PyArray_NDIM(a), bdim = PyArray_NDIM(b);
        if (adim < 2 || bdim < 2 || PyArray_DIM(a, adim - 1) != PyArray_DIM(a, adim - 2) ||
            PyArray_DIM(b, left ? bdim - 2 : bdim - 1) != PyArray_DIM(a, adim - 1)) {
            PyErr_SetString(PyExc_ValueError, "the matrices do not fit");
            return NULL;
        }
    }
    solving job = {.what = TRIANGLE, .left = left, .upper = upper, .unit = unit};
    PyArrayObject *result = solved(args[0], args[1], false, &job);
    return result != NULL || PyErr_Occurred() ? (PyObject *)result : tt_leave(&numpy_triangular, args, count);
}

static PyMethodDef methods[] = {
    TT_METHOD(linalg_inv, "linalg_inv(A)"),
    TT_METHOD(linalg_det, "linalg_det(A)"),
    TT_METHOD(linalg_slogdet, "linalg_slogdet(A)"),
    TT_METHOD(linalg_lu_factor_ex, "linalg_lu_factor_ex(A, check_errors)"),
    TT_METHOD(lu_unpack, "lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)"),
    TT_METHOD(linalg_solve, "linalg_solve(A, B, left)"),
    TT_METHOD(linalg_lu_solve, "linalg_lu_solve(LU, pivots, B, left, adjoint)"),
    TT_METHOD(cholesky_solve, "cholesky_solve(self, input2, upper)"),
    TT_METHOD(cholesky_inverse, "cholesky_inverse(self, upper)"),
    TT_METHOD(linalg_solve_triangular, "linalg_solve_triangular(A, B, upper, left, unitriangular)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _lu
#define DOC "Factors L U of matrices and batches of matrices, inverses, solutions and determinants by them, and triangular equations."
#include "module.inc"
