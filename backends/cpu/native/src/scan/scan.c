/* Scans along a dimension: sums, products, extremes, and logarithms of sums of exponentials.

   Sums and products of float are kept in double precision: one after the other, a million numbers would lose half of their
   digits. */
#include "lines.h"
#include "vector_math.h"

enum { SCAN_BLOCK = 1024 };

#define C float
#define S f32
#define A double
#include "scan.inc"

#define C double
#define S f64
#define A double
#include "scan.inc"

#define C int64_t
#define S i64
#define A uint64_t /* wraps around without undefined behaviour */
#include "scan.inc"

/* --- logarithms of sums of exponentials -------------------------------------------------------------------------- */

/* The sum of exponentials of what elements are above `base`, which moves up when an element is far above it. */
typedef struct { double base, sum; } lse_carry;

static inline double lse_next(lse_carry *c, double x)
{
    if (x > c->base + 20 || (c->base == -INFINITY && x > -INFINITY)) {
        if (x == INFINITY) {
            *c = (lse_carry){0, c->sum == c->sum ? INFINITY : NAN};
            return c->sum;
        }
        /* An infinite sum stays: the factor may be zero, and their product would be NaN. */
        if (c->base != -INFINITY && c->sum != INFINITY) c->sum *= exp(c->base - x);
        c->base = x;
    }
    c->sum += c->base == -INFINITY ? (x == x ? 0 : x) : exp(x - c->base);
    return c->base == -INFINITY && c->sum == 0 ? -INFINITY : c->base + log(c->sum);
}

#define S f32
#define C float
#include "scan_lse.inc"

#define S f64
#define C double
#include "scan_lse.inc"

/* --- calls ------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    int places;
    lines_line line[3]; /* for float, double, int64_t */
    lines_columns columns[3];
} scan_op;

/* op(self, dim) -> values, or (values, places) */
static PyObject *call_scan(const scan_op *op, PyObject *const *args, Py_ssize_t nargs)
{
    PyArrayObject *arrays[3] = {NULL, NULL, NULL};
    PyObject *result = NULL;
    lines_plan plan;
    ROWS_EXPECT(op->name, 2, 2);
    if (!(arrays[0] = rows_array(args[0]))) return NULL;
    int ndim = PyArray_NDIM(arrays[0]), dim = rows_dim(args[1], ndim);
    if (dim < 0) goto done;
    tt_dtype type = tt_dtype_of(arrays[0]);
    int which = type == TT_F64 ? 1 : rows_is_floating(type) ? 0 : 2;
    if (type < TT_BOOL || type > TT_F64 || type == TT_U64 || !op->line[which]) {
        tt_refuse_dtype(op->name, arrays[0]);
        goto done;
    }
    arrays[1] = tt_empty_of(ndim, PyArray_DIMS(arrays[0]), arrays[0]);
    if (op->places) arrays[2] = tt_empty(ndim, PyArray_DIMS(arrays[0]), TT_I64);
    if (!arrays[1] || (op->places && !arrays[2])) goto done;
    lines_prepare(&plan, arrays, 1, 2 + op->places, dim);
    plan.line = op->line[which];
    plan.columns = op->columns[which];
    plan.params = NULL;
    if (lines_run(&plan) < 0) goto done;
    result = op->places ? PyTuple_Pack(2, arrays[1], arrays[2]) : Py_NewRef((PyObject *)arrays[1]);
done:
    for (int k = 0; k < 3; k++) Py_XDECREF(arrays[k]);
    return result;
}

#define SCAN(NAME, PLACES, ...) SCAN_OF(NAME, PLACES, __VA_ARGS__) ROWS_ENTRY(NAME, call_scan(&NAME##_op, args, nargs))
#define SCAN_OF(NAME, ...) static const scan_op NAME##_op = {#NAME, __VA_ARGS__};
#define OF_ALL(NAME)                                                                                                   \
    {NAME##_line_f32, NAME##_line_f64, NAME##_line_i64}, {NAME##_columns_f32, NAME##_columns_f64, NAME##_columns_i64}

SCAN(cumsum, 0, OF_ALL(cumsum))
SCAN(cumprod, 0, OF_ALL(cumprod))
SCAN(cummax, 1, OF_ALL(cummax))
SCAN(cummin, 1, OF_ALL(cummin))
SCAN(logcumsumexp, 0, {logcumsumexp_line_f32, logcumsumexp_line_f64, NULL}, {NULL, NULL, NULL})

static PyMethodDef methods[] = {
    TT_METHOD(cumsum, "cumsum(self, dim)"),
    TT_METHOD(cumprod, "cumprod(self, dim)"),
    TT_METHOD(cummax, "cummax(self, dim)"),
    TT_METHOD(cummin, "cummin(self, dim)"),
    TT_METHOD(logcumsumexp, "logcumsumexp(self, dim)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _scan
#define DOC "Scans along a dimension."
#include "module.inc"
