/* Functions of several arrays, element by element, over any shapes, strides and memory orders.
 *
 * A loop sees contiguous memory of the dtype that it computes in, and nothing else: `loop(data, n, params)` with one pointer
 * for each input and then that of the output.  What lies otherwise in memory, is repeated, or is half precision goes
 * through blocks that fit into the first cache.  So an operator needs a loop for float and one for double.
 */
#ifndef TT_ELEMENTWISE_H
#define TT_ELEMENTWISE_H

#include "common.h"
#include "halves.h"

#define TT_OPERANDS 6
#define TT_BLOCK_BYTES 4096
#define TT_ROW_LEAST 32 /* elements of a row that is worth a call of the loop */

#define TT_GRAIN_CHEAP 32768 /* elements worth a thread: of a sum, a comparison, a copy */
#define TT_GRAIN_DEAR 4096   /* of an exponential or the like */

typedef void (*tt_loop)(char *const *data, npy_intp count, const void *params);

/* An operand as the iteration sees it: dimensions in the order of the iteration, merged where they can be. */
typedef struct {
    char *data;
    int ndim;
    bool linear;      /* element i lies at data + i * size */
    bool constant;    /* all elements are one */
    tt_dtype dtype;   /* in memory */
    tt_dtype compute; /* in the loop */
    npy_intp size;    /* of an element in memory */
    npy_intp shape[NPY_MAXDIMS], steps[NPY_MAXDIMS];
} tt_view;

typedef struct {
    int count; /* of operands, the output last */
    npy_intp block;
    bool direct; /* the loop works on the arrays themselves */
    tt_loop loop;
    const void *params;
    tt_view views[TT_OPERANDS];
    /* by rows: the dimensions that all operands have in common, of which the last is `row` elements long */
    int outer;
    npy_intp row, outer_shape[NPY_MAXDIMS], outer_steps[TT_OPERANDS][NPY_MAXDIMS];
    bool repeats[TT_OPERANDS]; /* one element for each row */
} tt_job;

/* --- copies into and out of blocks -------------------------------------------------------------------------- */

#define NAME 1
#define TYPE uint8_t
#include "elementwise_runs.inc"

#define NAME 2
#define TYPE uint16_t
#include "elementwise_runs.inc"

#define NAME 4
#define TYPE uint32_t
#include "elementwise_runs.inc"

#define NAME 8
#define TYPE tt_moved8
#include "elementwise_runs.inc"

#define NAME 16
#define TYPE tt_c128
#include "elementwise_runs.inc"

static void tt_copy_strided(char *to, npy_intp to_step, const char *from, npy_intp from_step, npy_intp count, npy_intp size)
{
    if (to_step == size && from_step == size) {
        memcpy(to, from, (size_t)(count * size));
        return;
    }
    if (to_step == size && count >= 16) {
        switch (size) {
        case 1: tt_gather_run_1((uint8_t *)to, from, from_step, count); return;
        case 2: tt_gather_run_2((uint16_t *)to, from, from_step, count); return;
        case 4: tt_gather_run_4((uint32_t *)to, from, from_step, count); return;
        case 8: tt_gather_run_8((tt_moved8 *)to, from, from_step, count); return;
        default: break;
        }
    }
    switch (size) {
    case 1: tt_strided_copy_1(to, to_step, from, from_step, count); break;
    case 2: tt_strided_copy_2(to, to_step, from, from_step, count); break;
    case 4: tt_strided_copy_4(to, to_step, from, from_step, count); break;
    case 8: tt_strided_copy_8(to, to_step, from, from_step, count); break;
    default: tt_strided_copy_16(to, to_step, from, from_step, count); break;
    }
}

/* Copies elements [begin, begin + count) of a view to or from contiguous memory of the view's dtype. */
static void tt_transfer(const tt_view *view, npy_intp begin, npy_intp count, char *block, bool gather)
{
    npy_intp size = view->size;
    int last = view->ndim - 1;
    npy_intp at[NPY_MAXDIMS], rest = begin;
    char *data = view->data;
    for (int d = last; d >= 0; d--) {
        at[d] = rest % view->shape[d];
        rest /= view->shape[d];
        data += at[d] * view->steps[d];
    }
    while (count > 0) {
        npy_intp run = last < 0 ? 1 : view->shape[last] - at[last], step = last < 0 ? 0 : view->steps[last];
        if (run > count) run = count;
        if (gather)
            tt_copy_strided(block, size, data, step, run, size);
        else
            tt_copy_strided(data, step, block, size, run, size);
        block += run * size;
        count -= run;
        if (count == 0) break;
        data -= at[last] * step;
        at[last] = 0;
        int d = last - 1;
        for (; d >= 0; d--) {
            data += view->steps[d];
            if (++at[d] < view->shape[d]) break;
            data -= at[d] * view->steps[d];
            at[d] = 0;
        }
    }
}

static void tt_load(const tt_view *view, npy_intp begin, npy_intp count, char *block)
{
    char raw[TT_BLOCK_BYTES];
    if (view->dtype == view->compute) {
        tt_transfer(view, begin, count, block, true);
        return;
    }
    const char *from = view->data + begin * view->size;
    if (!view->linear) {
        tt_transfer(view, begin, count, raw, true);
        from = raw;
    }
    if (view->dtype == TT_F16)
        tt_floats_of_halves((float *)block, (const tt_half *)from, count);
    else
        tt_floats_of_bfloats((float *)block, (const tt_bfloat *)from, count);
}

static void tt_store(const tt_view *view, npy_intp begin, npy_intp count, char *block)
{
    char raw[TT_BLOCK_BYTES];
    if (view->dtype == view->compute) {
        tt_transfer(view, begin, count, block, false);
        return;
    }
    char *to = view->linear ? view->data + begin * view->size : raw;
    if (view->dtype == TT_F16)
        tt_halves_of_floats((tt_half *)to, (const float *)block, count);
    else
        tt_bfloats_of_floats((tt_bfloat *)to, (const float *)block, count);
    if (!view->linear) tt_transfer(view, begin, count, raw, false);
}

/* --- running ------------------------------------------------------------------------------------------------ */

static void tt_run_part(int64_t begin, int64_t end, void *context)
{
    const tt_job *job = context;
    char *data[TT_OPERANDS];
    int count = job->count;
    if (job->direct) {
        for (int k = 0; k < count; k++) data[k] = job->views[k].data + begin * job->views[k].size;
        job->loop(data, (npy_intp)(end - begin), job->params);
        return;
    }
    char blocks[TT_OPERANDS][TT_BLOCK_BYTES] __attribute__((aligned(64)));
    const tt_view *out = &job->views[count - 1];
    bool direct_out = out->linear && out->dtype == out->compute;
    for (int k = 0; k < count - 1; k++) {
        if (!job->views[k].constant) continue;
        tt_load(&job->views[k], 0, job->block < end - begin ? job->block : (npy_intp)(end - begin), blocks[k]);
        data[k] = blocks[k];
    }
    for (int64_t at = begin; at < end; at += job->block) {
        npy_intp part = job->block < end - at ? job->block : (npy_intp)(end - at);
        for (int k = 0; k < count - 1; k++) {
            const tt_view *view = &job->views[k];
            if (view->constant) continue;
            if (view->linear && view->dtype == view->compute) {
                data[k] = view->data + at * view->size;
            } else {
                tt_load(view, (npy_intp)at, part, blocks[k]);
                data[k] = blocks[k];
            }
        }
        data[count - 1] = direct_out ? out->data + at * out->size : blocks[count - 1];
        job->loop(data, part, job->params);
        if (!direct_out) tt_store(out, (npy_intp)at, part, blocks[count - 1]);
    }
}

/* Fills a block with one element. */
static void tt_repeat(char *block, const char *element, npy_intp count, npy_intp size)
{
    uint32_t one;
    switch (size) {
    case 1: memset(block, *(const uint8_t *)element, (size_t)count); break;
    case 4:
        memcpy(&one, element, sizeof one); /* read once: the block might be the element, for all that compilers see */
        for (npy_intp i = 0; i < count; i++) ((uint32_t *)block)[i] = one;
        break;
    default: for (npy_intp i = 0; i < count; i++) memcpy(block + i * size, element, (size_t)size);
    }
}

#define TT_REPEATED 256 /* elements */

/* Rows are contiguous in the output, and in each input contiguous or one element: the loop works on the arrays. */
static void tt_run_rows(int64_t begin, int64_t end, void *context)
{
    const tt_job *job = context;
    char blocks[TT_OPERANDS][TT_BLOCK_BYTES] __attribute__((aligned(64)));
    char *base[TT_OPERANDS], *data[TT_OPERANDS];
    int count = job->count, outer = job->outer;
    npy_intp at[NPY_MAXDIMS], from = (npy_intp)(begin % job->row), index = (npy_intp)(begin / job->row);
    /* An element that is another one in the next row is repeated for a piece of the row only: the pieces read it again. */
    npy_intp block = outer > 0 && job->block > TT_REPEATED ? TT_REPEATED : job->block;
    npy_intp longest = job->row < block ? job->row : block;
    for (int k = 0; k < count; k++) base[k] = job->views[k].data;
    for (int d = outer - 1; d >= 0; d--) {
        at[d] = index % job->outer_shape[d];
        index /= job->outer_shape[d];
        for (int k = 0; k < count; k++) base[k] += at[d] * job->outer_steps[k][d];
    }
    const char *filled[TT_OPERANDS] = {NULL};
    while (begin < end) {
        npy_intp last = end - begin < job->row - from ? from + (npy_intp)(end - begin) : job->row;
        begin += last - from;
        bool blocked = false;
        for (int k = 0; k < count - 1; k++) {
            if (!job->repeats[k]) continue;
            blocked = true;
            data[k] = blocks[k];
            if (filled[k] == base[k]) continue;
            tt_repeat(blocks[k], base[k], longest, job->views[k].size);
            filled[k] = base[k];
        }
        while (from < last) {
            npy_intp part = blocked && last - from > block ? block : last - from;
            for (int k = 0; k < count; k++)
                if (k == count - 1 || !job->repeats[k]) data[k] = base[k] + from * job->views[k].size;
            job->loop(data, part, job->params);
            from += part;
        }
        from = 0;
        for (int d = outer - 1; d >= 0; d--) {
            for (int k = 0; k < count; k++) base[k] += job->outer_steps[k][d];
            if (++at[d] < job->outer_shape[d]) break;
            for (int k = 0; k < count; k++) base[k] -= at[d] * job->outer_steps[k][d];
            at[d] = 0;
        }
    }
}

/* --- shapes ------------------------------------------------------------------------------------------------- */

/* Merges dimensions that go on in the same steps in all operands; whether the last one can be worked on by rows. */
static bool tt_find_rows(tt_job *job, int ndim, const npy_intp *shape, npy_intp (*const steps)[NPY_MAXDIMS], const int *order)
{
    int n = 0;
    for (int d = ndim - 1; d >= 0; d--) { /* from the outermost dimension in */
        npy_intp size = shape[order[d]];
        if (size == 1) continue;
        bool merges = n > 0;
        for (int k = 0; k < job->count && merges; k++) merges = job->outer_steps[k][n - 1] == steps[k][order[d]] * size;
        n += !merges;
        job->outer_shape[n - 1] = merges ? job->outer_shape[n - 1] * size : size;
        for (int k = 0; k < job->count; k++) job->outer_steps[k][n - 1] = steps[k][order[d]];
    }
    if (n == 0 || job->outer_shape[n - 1] < TT_ROW_LEAST) return false;
    job->outer = n - 1;
    job->row = job->outer_shape[n - 1];
    for (int k = 0; k < job->count; k++) {
        const tt_view *view = &job->views[k];
        npy_intp step = job->outer_steps[k][n - 1];
        job->repeats[k] = step == 0;
        if (view->dtype != view->compute || (step != view->size && (step != 0 || k == job->count - 1))) return false;
    }
    return true;
}

/* The order of dimensions in which an iteration over several arrays is local: order[0] is the innermost one.  Of two
 * dimensions, the first array in which they have different steps decides, or equal ones and the first is shorter, as for
 * `dense_strides` of core: new results get their dimensions in this order. */
static void tt_order(int ndim, int count, const npy_intp *shape, npy_intp (*const steps)[NPY_MAXDIMS], int *order)
{
    for (int d = 0; d < ndim; d++) order[d] = ndim - 1 - d;
    for (int i = 1; i < ndim; i++) {
        int moved = order[i], place = i;
        for (int j = i - 1; j >= 0; j--) {
            bool undecided = true, swap = false;
            for (int k = 0; k < count; k++) {
                npy_intp outer = llabs(steps[k][moved]), inner = llabs(steps[k][order[j]]);
                if (outer == 0 || inner == 0) continue;
                if (outer == inner && shape[order[j]] <= shape[moved]) continue;
                swap = inner >= outer;
                undecided = false;
                break;
            }
            if (undecided) continue;
            if (!swap) break;
            place = j;
        }
        for (int j = i; j > place; j--) order[j] = order[j - 1];
        order[place] = moved;
    }
}

/* Fills a view with dimensions in the given order, merging those that lie behind one another. */
static void tt_set_view(tt_view *view, int ndim, const npy_intp *shape, const npy_intp *steps, const int *order)
{
    int n = 0;
    for (int d = ndim - 1; d >= 0; d--) { /* from the outermost dimension in */
        npy_intp size = shape[order[d]], step = steps[order[d]];
        if (size == 1) continue;
        if (n > 0 && view->steps[n - 1] == step * size) {
            view->shape[n - 1] *= size;
            view->steps[n - 1] = step;
        } else {
            view->shape[n] = size;
            view->steps[n] = step;
            n++;
        }
    }
    view->ndim = n;
    view->linear = n == 0 || (n == 1 && view->steps[0] == view->size);
    view->constant = n == 1 && view->steps[0] == 0;
}

/* --- the call ----------------------------------------------------------------------------------------------- */

typedef struct {
    PyArrayObject *array; /* NULL for a number */
    const void *number;   /* of the dtype that the loop computes in */
    tt_dtype compute;
} tt_input;

/* Runs a loop over the broadcast inputs and returns a new reference to the output, which is made unless it is given.
 * NULL with an error where the shapes do not fit. */
static PyObject *tt_elementwise(const char *name, int inputs, const tt_input *in, PyArrayObject *out, tt_dtype result,
                                tt_dtype result_compute, tt_loop loop, const void *params, int64_t grain)
{
    tt_job job;
    job.count = inputs + 1;
    job.loop = loop;
    job.params = params;
    job.direct = true;

    /* All arrays contiguous and of one shape: nothing to work out. */
    const PyArrayObject *first = NULL;
    bool plain = result == result_compute;
    for (int k = 0; k < inputs && plain; k++) {
        PyArrayObject *array = in[k].array;
        plain = array != NULL && PyArray_IS_C_CONTIGUOUS(array) && tt_dtype_of(array) == in[k].compute &&
                (first == NULL || tt_same_shape((PyArrayObject *)first, array));
        first = array;
    }
    if (plain && out != NULL) plain = PyArray_IS_C_CONTIGUOUS(out) && tt_same_shape((PyArrayObject *)first, out);
    if (plain) {
        npy_intp total = PyArray_SIZE((PyArrayObject *)first);
        if (out == NULL) {
            out = tt_empty(PyArray_NDIM(first), PyArray_DIMS((PyArrayObject *)first), result);
            if (out == NULL) return NULL;
        } else {
            Py_INCREF(out);
        }
        if (total <= grain && total < TT_GIL_LIMIT) {
            char *data[TT_OPERANDS];
            for (int k = 0; k < inputs; k++) data[k] = PyArray_BYTES(in[k].array);
            data[inputs] = PyArray_BYTES(out);
            loop(data, total, params);
            return (PyObject *)out;
        }
        for (int k = 0; k <= inputs; k++) {
            PyArrayObject *array = k < inputs ? in[k].array : out;
            job.views[k].data = PyArray_BYTES(array);
            job.views[k].size = PyArray_ITEMSIZE(array);
        }
        TT_BEGIN_WORK(total)
        tt_parallel_for(0, total, grain, tt_run_part, &job);
        TT_END_WORK
        return (PyObject *)out;
    }

    int ndim = 0;
    for (int k = 0; k < inputs; k++)
        if (in[k].array != NULL && PyArray_NDIM(in[k].array) > ndim) ndim = PyArray_NDIM(in[k].array);
    npy_intp shape[NPY_MAXDIMS], steps[TT_OPERANDS][NPY_MAXDIMS], total = 1;
    for (int d = 0; d < ndim; d++) shape[d] = 1;
    for (int k = 0; k < inputs; k++) {
        if (in[k].array == NULL) continue;
        int lacks = ndim - PyArray_NDIM(in[k].array);
        for (int d = lacks; d < ndim; d++) {
            npy_intp size = PyArray_DIM(in[k].array, d - lacks);
            if (size == 1 || size == shape[d]) continue;
            if (shape[d] != 1) {
                PyErr_Format(PyExc_ValueError, "%s(): the shapes cannot be broadcast together", name);
                return NULL;
            }
            shape[d] = size;
        }
    }
    for (int d = 0; d < ndim; d++) total *= shape[d];
    for (int k = 0; k < inputs; k++) {
        int lacks = in[k].array == NULL ? ndim : ndim - PyArray_NDIM(in[k].array);
        for (int d = 0; d < lacks; d++) steps[k][d] = 0;
        for (int d = lacks; d < ndim; d++) {
            npy_intp size = PyArray_DIM(in[k].array, d - lacks);
            /* Where nothing grows, the stride of one element stays: it says which memory format an image has. */
            steps[k][d] = size == 1 && shape[d] != 1 ? 0 : PyArray_STRIDE(in[k].array, d - lacks);
        }
    }
    int order[NPY_MAXDIMS], known = inputs;
    if (out != NULL) {
        if (PyArray_NDIM(out) != ndim || !tt_same_sizes(PyArray_DIMS(out), shape, ndim)) {
            PyErr_Format(PyExc_ValueError, "%s(): the output has another shape than the result", name);
            return NULL;
        }
        Py_INCREF(out);
        for (int d = 0; d < ndim; d++) steps[inputs][d] = shape[d] == 1 ? 0 : PyArray_STRIDE(out, d);
        known++;
    }
    tt_order(ndim, known, shape, steps, order);
    if (out == NULL) {
        PyArray_Descr *descr = PyArray_DescrFromType(tt_number_of(result));
        npy_intp step = tt_sizes[result];
        for (int i = 0; i < ndim; i++) {
            steps[inputs][order[i]] = step;
            step *= shape[order[i]] != 0 ? shape[order[i]] : 1;
        }
        bool row_major = true;
        for (int i = 0; i < ndim; i++) row_major &= order[i] == ndim - 1 - i;
        out = tt_new(descr, ndim, shape, row_major ? NULL : steps[inputs]);
        if (out == NULL) return NULL;
    }
    if (total == 0) return (PyObject *)out;
    job.block = TT_BLOCK_BYTES / 8;
    npy_intp widest = 1;
    for (int k = 0; k <= inputs; k++) {
        tt_view *view = &job.views[k];
        view->compute = k < inputs ? in[k].compute : result_compute;
        if (tt_sizes[view->compute] > widest) widest = tt_sizes[view->compute];
        if (k < inputs && in[k].array == NULL) {
            view->data = (char *)in[k].number;
            view->dtype = view->compute;
            view->size = tt_sizes[view->dtype];
            view->ndim = 1;
            view->shape[0] = total;
            view->steps[0] = 0;
            view->constant = true;
            view->linear = false;
        } else {
            PyArrayObject *array = k < inputs ? in[k].array : out;
            view->data = PyArray_BYTES(array);
            view->dtype = tt_dtype_of(array);
            view->size = PyArray_ITEMSIZE(array);
            tt_set_view(view, ndim, shape, steps[k], order);
        }
        job.direct &= view->linear && view->dtype == view->compute;
    }
    job.block = TT_BLOCK_BYTES / widest;
    bool by_rows = !job.direct && tt_find_rows(&job, ndim, shape, steps, order);
    TT_BEGIN_WORK(total)
    tt_parallel_for(0, total, grain, by_rows ? tt_run_rows : tt_run_part, &job);
    TT_END_WORK
    return (PyObject *)out;
}

/* --- operators of floating point numbers -------------------------------------------------------------------- */

#define TT_NUMBERS 4

/* An operator: arrays (or Python numbers in their place), then numbers, then perhaps the output. */
typedef struct {
    const char *name;
    int arrays, numbers;
    bool test; /* the result is a bool */
    int64_t grain;
    tt_loop of_float, of_double; /* get the numbers as doubles in `params` */
} tt_op;

static PyObject *tt_call(const tt_op *op, PyObject *const *args, Py_ssize_t count)
{
    int arrays = op->arrays, takes = arrays + op->numbers;
    if (!tt_expect_count(op->name, count, takes, takes + 1)) return NULL;
    PyArrayObject *first = NULL, *out = NULL;
    for (int k = 0; k < arrays && first == NULL; k++)
        if (PyArray_Check(args[k])) first = (PyArrayObject *)args[k];
    if (first == NULL) {
        PyErr_Format(PyExc_TypeError, "%s() takes an array, not %s", op->name, Py_TYPE(args[0])->tp_name);
        return NULL;
    }
    if (count > takes && (out = tt_array(args[takes], "out")) == NULL) return NULL;
    tt_dtype dtype = tt_dtype_of(first), compute = dtype == TT_F16 || dtype == TT_BF16 ? TT_F32 : dtype;
    if (compute != TT_F32 && compute != TT_F64) return tt_refuse_dtype(op->name, first);
    tt_dtype result = op->test ? TT_BOOL : dtype;
    if (out != NULL && tt_dtype_of(out) != result) return tt_refuse_dtype(op->name, out);
    tt_input in[TT_OPERANDS];
    union { float single; double wide; } values[TT_OPERANDS];
    double numbers[TT_NUMBERS] = {0};
    for (int k = 0; k < arrays; k++) {
        in[k].compute = compute;
        if (TT_LIKELY(PyArray_Check(args[k]))) {
            in[k].array = (PyArrayObject *)args[k];
            if (TT_UNLIKELY(tt_dtype_of(in[k].array) != dtype)) {
                PyErr_Format(PyExc_ValueError, "%s(): the arrays have the dtypes %S and %S", op->name,
                             (PyObject *)PyArray_DESCR(first), (PyObject *)PyArray_DESCR(in[k].array));
                return NULL;
            }
            continue;
        }
        double value = PyFloat_AsDouble(args[k]);
        if (value == -1.0 && PyErr_Occurred()) return NULL;
        if (op->test && dtype == TT_F16) value = tt_float_of_half(tt_half_of_float((float)value));
        if (op->test && dtype == TT_BF16) value = tt_float_of_bfloat(tt_bfloat_of_float((float)value));
        if (compute == TT_F32)
            values[k].single = (float)value;
        else
            values[k].wide = value;
        in[k].array = NULL;
        in[k].number = &values[k];
    }
    for (int k = 0; k < op->numbers; k++) {
        numbers[k] = PyFloat_AsDouble(args[arrays + k]);
        if (numbers[k] == -1.0 && PyErr_Occurred()) return NULL;
    }
    return tt_elementwise(op->name, arrays, in, out, result, op->test ? TT_BOOL : compute,
                          compute == TT_F32 ? op->of_float : op->of_double, numbers, op->grain);
}

/* Loops over arrays of T, which give arrays of RESULT (elementwise_loops.inc). */
#define NAME float
#define T float
#define RESULT float
#include "elementwise_loops.inc"

#define NAME double
#define T double
#define RESULT double
#include "elementwise_loops.inc"

#define NAME float_test
#define T float
#define RESULT uint8_t
#include "elementwise_loops.inc"

#define NAME double_test
#define T double
#define RESULT uint8_t
#include "elementwise_loops.inc"

/* TT_OP: an operator from expressions in a, b, c and number[], one for floats and one for doubles.  Each becomes a function of
 * elements, which a loop for the number of arrays calls inline; TT_TEST gives bools. */
#define TT_OP(NAME, ARRAYS, NUMBERS, GRAIN, F, D) TT_LOOPS(NAME, ARRAYS, , F, D) TT_CALL(NAME, ARRAYS, NUMBERS, false, GRAIN)
#define TT_TEST(NAME, ARRAYS, E) TT_LOOPS(NAME, ARRAYS, _test, E, E) TT_CALL(NAME, ARRAYS, 0, true, TT_GRAIN_CHEAP)
#define TT_LOOPS(NAME, ARRAYS, KIND, F, D) TT_LOOP(NAME##_float, ARRAYS, float##KIND, F) TT_LOOP(NAME##_double, ARRAYS, double##KIND, D)
#define TT_LOOP(NAME, ARRAYS, KIND, E) TT_ELEMENT(NAME##_of, KIND, E) TT_LOOP_OVER(NAME, tt_loop##ARRAYS##_##KIND, NAME##_of)
#define TT_ELEMENT(NAME, KIND, E) TT_INLINE tt_result_##KIND NAME(TT_ELEMENTS(KIND), const double *number) { return E; }
#define TT_ELEMENTS(KIND) tt_element_##KIND a, tt_element_##KIND b, tt_element_##KIND c
#define TT_LOOP_OVER(NAME, LOOP, OF) static void NAME(char *const *data, npy_intp count, const void *params) { LOOP(data, count, params, OF); }

/* The function of the module for loops NAME_float and NAME_double. */
#define TT_CALL(NAME, ARRAYS, NUMBERS, TEST, GRAIN) TT_OP_OF(NAME, ARRAYS, NUMBERS, TEST, GRAIN) TT_ENTRY(NAME, tt_call, NAME##_op)
#define TT_OP_OF(NAME, ...) static const tt_op NAME##_op = {#NAME, __VA_ARGS__, NAME##_float, NAME##_double};
#define TT_ENTRY(NAME, CALL, OP) static PyObject *call_##NAME(PyObject *module, PyObject *const *args, Py_ssize_t count) { return CALL(&OP, args, count); }
#define TT_OP_METHOD(NAME, ARGUMENTS) TT_METHOD_AS(#NAME, call_##NAME, #NAME "(" ARGUMENTS ", out=None)")

#endif
