/* Cholesky factors of matrices of float32 and float64.
 *
 * Note [Factors by strips]
 * A = U^T U, by rows of the upper triangle: lanes of vectors are columns, which do not depend on each other.  A lower factor is that
 * of the transposed matrix.  A block of rows is solved in strips, as wide as a block of products is, which lie in the first-level
 * cache and are packed for the products that take them from the rows below.  These products leave out what is below the
 * diagonal, up to a vector.  Small matrices are a single block; many tiny
 * ones are lanes of vectors.
 *
 * Threads share the matrices of a batch, or the strips of a single matrix, whose bits do not depend on them.
 * A matrix that turns out not to be positive-definite is left to LAPACK, with the whole batch.  So is an element that is NaN, or infinite
 * beside the diagonal: it makes a pivot NaN or negative.
 */
#include "gemm.h"

#include "fallback.h"
#include "matrices.h"

#define TINY 8   /* rows of a matrix that is a lane of vectors, */
#define MANY 4   /* if there are so many */
#define SMALL 64 /* rows of a matrix that is a single block */
#define BLOCK 96 /* rows of a block of a larger one: whole strips for each instruction set and dtype */

typedef struct {
    tt_matrices in;
    int upper;
    npy_intp n, rs, cs;          /* strides of the upper triangle, in bytes */
    char *result;
    _Atomic int refused, failed; /* a matrix has no factor; memory is missing */
} factoring;

#if 0 /* what follows is made of this, too: the build looks for such lines */
#include "cholesky.inc"
#endif
#define TT_SOURCE "cholesky.inc"
#include "instances.h"

static const tt_gemm_code *tt_gemm_code_of(tt_dtype dtype) { return TT_CODE_OF(dtype); }

TT_PYTHON(numpy_cholesky_ex, "tt.backends.cpu.decomposition.factors", "cholesky_ex");
TT_PYTHON(numpy_cholesky, "tt.backends.cpu.decomposition.factors", "cholesky");

/* The factors of a batch; NULL without an error where it is left to NumPy. */
static PyArrayObject *factor(PyObject *matrices, PyObject *is_upper, factoring *job)
{
    PyArrayObject *a = tt_plain(matrices);
    int upper = PyObject_IsTrue(is_upper);
    if (upper < 0 || !tt_matrices_of(a, &job->in) || job->in.rows != job->in.columns) return NULL;
    npy_intp n = job->n = job->in.rows, number = tt_matrices_count(&job->in), cost = n * n * n / 3 + n;
    job->upper = upper;
    job->rs = upper ? job->in.rs : job->in.cs, job->cs = upper ? job->in.cs : job->in.rs;
    PyArrayObject *result = tt_empty_of(PyArray_NDIM(a), PyArray_DIMS(a), a);
    if (result == NULL) return NULL;
    job->result = PyArray_BYTES(result);
    bool single = job->in.dtype == TT_F32, small = n <= SMALL;
    tt_body body = single ? large_f32 : large_f64;
    if (small) body = single ? few_f32 : few_f64;
    if (n <= TINY && number >= MANY) body = single ? tiny_f32 : tiny_f64;
    TT_BEGIN_WORK(number * cost / 4)
    tt_parallel_for(0, number, small ? 1 + 60000 / cost : 1, body, job);
    TT_END_WORK
    if (job->failed) PyErr_NoMemory();
    if (job->failed || job->refused) Py_CLEAR(result);
    return result;
}

/* linalg_cholesky(A, upper) */
static PyObject *linalg_cholesky(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    factoring job = {0};
    PyArrayObject *result = count == 2 ? factor(args[0], args[1], &job) : NULL;
    return result != NULL || PyErr_Occurred() ? (PyObject *)result : tt_leave(&numpy_cholesky, args, count);
}

/* linalg_cholesky_ex(A, upper, check_errors) */
static PyObject *linalg_cholesky_ex(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    factoring job = {0};
    PyArrayObject *result = count == 3 ? factor(args[0], args[1], &job) : NULL;
    if (result == NULL) return PyErr_Occurred() ? NULL : tt_leave(&numpy_cholesky_ex, args, count);
    PyArrayObject *info = tt_empty(job.in.ndim, job.in.shape, TT_I32);
    PyObject *both = NULL;
    if (info != NULL) {
        memset(PyArray_DATA(info), 0, (size_t)PyArray_NBYTES(info));
        both = PyTuple_Pack(2, result, info);
    }
    Py_DECREF(result);
    Py_XDECREF(info);
    return both;
}

static PyMethodDef methods[] = {
    TT_METHOD(linalg_cholesky, "linalg_cholesky(A, upper)"),
    TT_METHOD(linalg_cholesky_ex, "linalg_cholesky_ex(A, upper, check_errors)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _cholesky
#define DOC "Cholesky factors of matrices and batches of matrices."
#include "module.inc"
