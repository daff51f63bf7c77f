/* Products by the BLAS of another library, where `_serve_by` has named its functions.
 *
 * Its matrices are columns: a product C = A B by rows is C^T = B^T A^T.  Functions with the interface of C take numbers,
 * those with Fortran's take pointers.  Integers are given 64 bits for both: a library with integers of 32 bits reads the
 * lower half, of a register, of a place on the stack, or (on little-endian processors) of memory.
 */
#ifndef TT_BLAS_H
#define TT_BLAS_H

#include "gemm.h"

static struct {
    void *gemm_f32, *gemm_f64; /* NULL: the code here serves */
    bool fortran;
    bool whole; /* it has threads of its own, and gets whole products, one after the other */
} tt_blas;

#define T float
#define S(name) TT_CAT(name, _f32)
#include "blas.inc"
#undef S
#undef T
#define T double
#define S(name) TT_CAT(name, _f64)
#include "blas.inc"
#undef S
#undef T

static int tt_blas_along(const tt_gemm *job) { return 0; }

/* What divides products between threads sees it as code for blocks of 16 x 16. */
static const tt_gemm_code tt_blas_f32 = {.rows = 16, .width = 16, .serial = blas_serial_f32, .along = tt_blas_along},
                          tt_blas_f64 = {.rows = 16, .width = 16, .serial = blas_serial_f64, .along = tt_blas_along};

/* Whether a library serves: then both of its functions are named. */
TT_INLINE bool tt_blas_named(void) { return TT_UNLIKELY(tt_blas.gemm_f32 != NULL); }

/* Whether it takes the strides: in each matrix, rows or columns are contiguous, and do not overlap. */
static bool tt_blas_takes(const tt_gemm *job)
{
    bool a = (job->acs == 1 && job->ars >= job->k) || (job->ars == 1 && job->acs >= job->m);
    bool b = (job->bcs == 1 && job->brs >= job->n) || (job->brs == 1 && job->bcs >= job->k);
    return a && b && job->k > 0;
}

static int tt_blas_run(tt_dtype dtype, const tt_gemm *job, bool alone)
{
    const tt_gemm_code *code = dtype == TT_F32 ? &tt_blas_f32 : &tt_blas_f64;
    return alone || tt_blas.whole ? code->serial(job) : tt_gemm_run_by(code, tt_sizes[dtype], job);
}

/* _serve_by(sgemm, dgemm, fortran, whole): addresses of functions, 0 for the code here */
static PyObject *_serve_by(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("_serve_by", count, 4, 4)) return NULL;
    void *single = PyLong_AsVoidPtr(args[0]), *other = PyLong_AsVoidPtr(args[1]);
    if (PyErr_Occurred()) return NULL;
    tt_blas.fortran = args[2] == Py_True;
    tt_blas.whole = args[3] == Py_True;
    tt_blas.gemm_f32 = single;
    tt_blas.gemm_f64 = other;
    Py_RETURN_NONE;
}

#endif
