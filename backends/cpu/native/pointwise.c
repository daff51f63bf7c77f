/* Functions of one argument and of two, element by element. */
#include "elementwise.h"
#include "vector_math.h"

/* --- functions of one argument ------------------------------------------------------------------------------ */

#define UNARY_LOOP(NAME, TYPE, FUNCTION) \
    TT_CLONES static void NAME(char *const *data, npy_intp count, const void *params) \
    { \
        const TYPE *x = (const TYPE *)data[0]; \
        TYPE *y = (TYPE *)data[1]; \
        TT_IVDEP for (npy_intp i = 0; i < count; i++) y[i] = FUNCTION(x[i]); \
    }

typedef struct {
    const char *name;
    tt_loop of_float, of_double;
} unary_op;

/* op(self) or op(self, out) */
static PyObject *call_unary(const unary_op *op, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count(op->name, count, 1, 2)) return NULL;
    PyArrayObject *self = tt_array(args[0], "self"), *out = NULL;
    if (self == NULL || (count == 2 && (out = tt_array(args[1], "out")) == NULL)) return NULL;
    tt_dtype dtype = tt_dtype_of(self), compute = dtype == TT_F16 || dtype == TT_BF16 ? TT_F32 : dtype;
    if (compute != TT_F32 && compute != TT_F64) return tt_refuse_dtype(op->name, self);
    tt_input in = {self, NULL, compute};
    return tt_elementwise(op->name, 1, &in, out, dtype, compute, compute == TT_F32 ? op->of_float : op->of_double,
                          NULL, TT_GRAIN_DEAR);
}

#define UNARY(NAME) \
    UNARY_LOOP(NAME##_float, float, tt_##NAME##_f) \
    UNARY_LOOP(NAME##_double, double, tt_##NAME) \
    static PyObject *call_##NAME(PyObject *module, PyObject *const *args, Py_ssize_t count) \
    { \
        static const unary_op op = {#NAME, NAME##_float, NAME##_double}; \
        return call_unary(&op, args, count); \
    }
#define UNARY_METHOD(NAME) TT_METHOD_AS(#NAME, call_##NAME, #NAME "(self, out=None)")

UNARY(exp)

static PyMethodDef methods[] = {
    UNARY_METHOD(exp),
    {NULL, NULL, 0, NULL},
};

TT_MODULE(_pointwise, methods, "Functions of one argument and of two, element by element.")
