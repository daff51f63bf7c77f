/* Factors Q R of matrices of float32 and float64, by Householder's reflections.
 *
 * Note [Reflections by blocks]
 * A reflection is I - tau v v^T.  Those of a panel of columns are one product I - V T V^T, so that most of the work on other columns
 * is products of matrices.  T grows with the panel, which halves itself down to a few columns.  The matrix is kept transposed:
 * columns, on which reflections work, are then contiguous.  Small matrices are kept by rows and take one reflection after
 * the other, since they stay in the first-level cache.
 *
 * Threads share the matrices of a batch, or the products of a single matrix, whose bits do not depend on them.
 * Infinite elements and NaN are left to LAPACK: blocks would spread them further.
 */
#include "gemm.h"

#include "fallback.h"
#include "matrices.h"

#define SMALL 64 /* rows and columns of a matrix that stays in the first-level cache */
#define PANEL 48 /* columns, at most */

enum { REDUCED, COMPLETE, ONLY_R };

typedef struct {
    tt_matrices in;
    int mode;
    npy_intp rows, columns, few, wide, high; /* of a matrix; reflections; columns of Q; rows of R */
    char *q, *r;
    _Atomic int special, failed;             /* elements are not finite; memory is missing */
} factoring;

#if 0 /* what follows is made of this, too: the build looks for such lines */
#include "qr.inc"
#endif
#define TT_SOURCE "qr.inc"
#include "instances.h"

static const tt_gemm_code *tt_gemm_code_of(tt_dtype dtype) { return TT_CODE_OF(dtype); }

TT_PYTHON(numpy_qr, "tt.backends.cpu.decomposition.factors", "qr");

static int mode_of(PyObject *object)
{
    static const char *const names[] = {"reduced", "complete", "r"};
    for (int mode = 0; mode < 3 && PyUnicode_Check(object); mode++) {
        if (PyUnicode_CompareWithASCIIString(object, names[mode]) == 0) return mode;
    }
    return -1;
}

/* Describes a call; false where it is left to NumPy. */
static bool describe(PyArrayObject *a, int mode, factoring *job)
{
    if (mode < 0 || !tt_matrices_of(a, &job->in)) return false;
    job->mode = mode;
    job->rows = job->in.rows, job->columns = job->in.columns;
    job->few = job->rows < job->columns ? job->rows : job->columns;
    job->high = job->wide = mode == COMPLETE ? job->rows : job->few;
    return true;
}

static void run(factoring *job, npy_intp number)
{
    bool small = job->rows <= SMALL && job->columns <= SMALL;
    tt_body body = job->in.dtype == TT_F32 ? (small ? few_f32 : large_f32) : small ? few_f64 : large_f64;
    npy_intp cost = job->rows * job->columns * job->few;
    TT_BEGIN_WORK(number * cost)
    tt_parallel_for(0, number, small ? 1 + 60000 / cost : 1, body, job);
    TT_END_WORK
}

/* linalg_qr(A, mode) */
static PyObject *linalg_qr(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    factoring job = {0};
    PyArrayObject *a = count == 2 ? tt_plain(args[0]) : NULL;
    if (!describe(a, count == 2 ? mode_of(args[1]) : -1, &job)) return tt_leave(&numpy_qr, args, count);
    npy_intp q[NPY_MAXDIMS], r[NPY_MAXDIMS];
    int ndim = job.in.ndim;
    memcpy(q, job.in.shape, sizeof(q));
    memcpy(r, job.in.shape, sizeof(r));
    q[ndim] = job.rows, q[ndim + 1] = job.wide;
    r[ndim] = job.high, r[ndim + 1] = job.columns;
    npy_intp none = 0;
    PyArrayObject *Q = job.mode == ONLY_R ? tt_empty_of(1, &none, a) : tt_empty_of(ndim + 2, q, a);
    PyArrayObject *R = tt_empty_of(ndim + 2, r, a);
    PyObject *result = NULL;
    if (Q != NULL && R != NULL) {
        job.q = PyArray_BYTES(Q), job.r = PyArray_BYTES(R);
        run(&job, tt_matrices_count(&job.in));
        if (job.failed) PyErr_NoMemory();
        else if (job.special) result = tt_leave(&numpy_qr, args, count);
        else result = PyTuple_Pack(2, Q, R);
    }
    Py_XDECREF(Q);
    Py_XDECREF(R);
    return result;
}

static PyMethodDef methods[] = {
    TT_METHOD(linalg_qr, "linalg_qr(A, mode)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _qr
#define DOC "Factors Q R of matrices and batches of matrices."
#include "module.inc"
