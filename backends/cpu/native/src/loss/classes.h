/* Cross entropy with classes: softmax, its logarithm and the loss in one.  Included by loss.c alone. */

typedef struct {
    const char *x;
    char *to;
    const void *weight;        /* of each class, in the dtype of the input, or NULL */
    const int64_t *target;
    double *each, *lse;        /* the loss and the logarithm of the sum of exponentials, for each target */
    const double *grad;        /* for each target */
    int64_t samples, classes, inner, size, ignored;
    int wide;
    double smoothing, weights; /* weights: the sum of those of all classes */
    _Atomic int failed;
} classes_plan;

enum { CLASSES_MEMORY = 1, CLASSES_CHANGED };

static double classes_weight(const classes_plan *p, int64_t target)
{
    if (!p->weight) return 1;
    return p->wide ? ((const double *)p->weight)[target] : (double)((const float *)p->weight)[target];
}

static double classes_value(const classes_plan *p, const char *line, int64_t i)
{
    return p->wide ? ((const double *)line)[i] : (double)((const float *)line)[i];
}

/* Reads a tile of lines whose neighbours lie in other lines, or writes it. */
static void classes_tile(const classes_plan *p, char *data, char *lines, int64_t now, int writes)
{
    int64_t n = p->classes, across = p->inner;
    for (int64_t c = 0; c < n; c++)
        for (int64_t t = 0; t < now; t++) {
            char *one = data + (c * across + t) * p->size, *other = lines + (t * n + c) * p->size;
            if (writes)
                memcpy(one, other, (size_t)p->size);
            else
                memcpy(other, one, (size_t)p->size);
        }
}

static void classes_forward_line(classes_plan *p, const char *line, int64_t i)
{
    double weighted, lse;
    int smooth = p->smoothing > 0;
    lse = (p->wide ? classes_line_f64 : classes_line_f32)(line, p->classes, p->weight, smooth, &weighted);
    int64_t target = tt_once(p->target[i]);
    p->lse[i] = lse;
    if (target == p->ignored) {
        p->each[i] = 0;
        return;
    }
    if ((uint64_t)target >= (uint64_t)p->classes) {
        p->failed = CLASSES_CHANGED;
        return;
    }
    double loss = classes_weight(p, target) * (lse - classes_value(p, line, target));
    if (smooth) loss = (1 - p->smoothing) * loss + p->smoothing / (double)p->classes * (p->weights * lse - weighted);
    p->each[i] = loss;
}

static void classes_backward_line(classes_plan *p, const char *line, char *to, int64_t i)
{
    int64_t target = tt_once(p->target[i]);
    if (target == p->ignored || (uint64_t)target >= (uint64_t)p->classes) {
        memset(to, 0, (size_t)(p->classes * p->size));
        if (target != p->ignored) p->failed = CLASSES_CHANGED;
        return;
    }
    double weight = classes_weight(p, target), even = p->smoothing / (double)p->classes;
    double own = (1 - p->smoothing) * weight * p->grad[i], share = own + even * p->weights * p->grad[i];
    (p->wide ? classes_slope_f64 : classes_slope_f32)(line, to, p->classes, p->weight, p->lse[i], share, even * p->grad[i]);
    if (p->wide)
        ((double *)to)[target] -= own;
    else
        ((float *)to)[target] -= (float)own;
}

static void classes_some(int64_t begin, int64_t end, void *context)
{
    classes_plan *p = context;
    int64_t line = p->classes * p->size;
    if (p->inner == 1) {
        for (int64_t i = begin; i < end; i++) {
            if (p->grad)
                classes_backward_line(p, p->x + i * line, p->to + i * line, i);
            else
                classes_forward_line(p, p->x + i * line, i);
        }
        return;
    }
    char *lines = malloc((size_t)(2 * LOSS_TILE * line) + 1), *results = lines + LOSS_TILE * line;
    if (!lines) {
        p->failed = CLASSES_MEMORY;
        return;
    }
    for (int64_t sample = begin; sample < end; sample++)
        for (int64_t at = 0; at < p->inner; at += LOSS_TILE) {
            int64_t now = p->inner - at < LOSS_TILE ? p->inner - at : LOSS_TILE, first = sample * p->inner + at;
            char *data = (char *)p->x + (sample * p->classes * p->inner + at) * p->size;
            classes_tile(p, data, lines, now, 0);
            for (int64_t t = 0; t < now; t++) {
                if (p->grad)
                    classes_backward_line(p, lines + t * line, results + t * line, first + t);
                else
                    classes_forward_line(p, lines + t * line, first + t);
            }
            if (p->grad) classes_tile(p, p->to + (data - p->x), results, now, 1);
        }
    free(lines);
}

/* What both directions are given; all owned. */
typedef struct {
    PyArrayObject *x, *target, *weight;
    classes_plan plan;
    loss_reduction how;
    int64_t count;      /* targets */
    double kept;        /* the sum of the weights of targets that count */
} classes_call;

static void classes_release(classes_call *c)
{
    Py_XDECREF(c->x);
    Py_XDECREF(c->target);
    Py_XDECREF(c->weight);
}

/* Reads input, target, weight, ignore_index, reduction, label_smoothing; -1 with an error set. */
static int classes_read(classes_call *c, PyObject *input, PyObject *target, PyObject *weight, PyObject *ignored, PyObject *reduction, PyObject *smoothing)
{
    classes_plan *p = &c->plan;
    PyArrayObject *x = tt_array(input, "input"), *t = x ? tt_array(target, "target") : NULL;
    if (!t || loss_reduction_of(reduction, &c->how) < 0) return -1;
    tt_dtype type = tt_dtype_of(x);
    if (type != TT_F32 && type != TT_F64) return tt_refuse_dtype("cross_entropy", x), -1;
    if (tt_dtype_of(t) != TT_I64 && tt_dtype_of(t) != TT_U8) return loss_refuse(), -1;
    int ndim = PyArray_NDIM(x), axis = ndim > 1;
    int fits = ndim > 0 && PyArray_NDIM(t) == ndim - 1;
    p->inner = 1;
    for (int d = 0; fits && d < ndim - 1; d++) {
        fits = PyArray_DIM(t, d) == PyArray_DIM(x, d + (d >= axis));
        if (d >= axis) p->inner *= PyArray_DIM(t, d);
    }
    if (!fits) return loss_refuse(), -1;
    p->classes = PyArray_DIM(x, axis);
    p->samples = axis ? PyArray_DIM(x, 0) : 1;
    p->wide = type == TT_F64;
    p->size = p->wide ? 8 : 4;
    p->ignored = PyLong_AsLongLong(ignored);
    p->smoothing = PyFloat_AsDouble(smoothing);
    if (PyErr_Occurred()) return -1;
    if (weight != Py_None) {
        PyArrayObject *w = tt_array(weight, "weight");
        if (!w || PyArray_NDIM(w) != 1 || PyArray_DIM(w, 0) != p->classes || tt_dtype_of(w) != type) return loss_refuse(), -1;
        c->weight = PyArray_GETCONTIGUOUS(w);
        if (!c->weight) return -1;
        p->weight = PyArray_DATA(c->weight);
    }
    c->x = PyArray_GETCONTIGUOUS(x);
    c->target = rows_contiguous(target, NPY_INT64);
    if (!c->x || !c->target) return -1;
    p->x = PyArray_BYTES(c->x);
    p->target = PyArray_DATA(c->target);
    c->count = PyArray_SIZE(c->target);
    for (int64_t i = 0; i < p->classes && p->smoothing > 0; i++) p->weights += classes_weight(p, i);
    for (int64_t i = 0; i < c->count; i++) {
        int64_t target = tt_once(p->target[i]);
        if (target == p->ignored) continue;
        if (target < 0 || target >= p->classes)
            return loss_raise("IndexValueError", "Target %lld is out of bounds.", (long long)target), -1;
        c->kept += classes_weight(p, target);
    }
    return 0;
}

static int classes_run(classes_call *c)
{
    classes_plan *p = &c->plan;
    int64_t tasks = p->samples, each = p->classes * p->inner;
    if (each && tasks)
        ROWS_RELEASED(each * tasks, tt_parallel_for(0, tasks, ROWS_PARALLEL / (2 * each) + 1, classes_some, p));
    if (p->failed == CLASSES_CHANGED) tt_refuse_changed();
    else if (p->failed) PyErr_NoMemory();
    return p->failed ? -1 : 0;
}

/* A new array in the shape of the targets. */
static PyArrayObject *classes_array(const classes_call *c, const double *values)
{
    PyArrayObject *array = tt_empty_of(PyArray_NDIM(c->target), PyArray_DIMS(c->target), c->x);
    if (array) rows_write(TT_F64, PyArray_BYTES(array), 8, c->plan.wide ? c->count : 0, values);
    if (array && !c->plan.wide)
        for (int64_t i = 0; i < c->count; i++) ((float *)PyArray_DATA(array))[i] = (float)values[i];
    return array;
}

/* cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing) -> (loss, logsumexp) */
static PyObject *cross_entropy(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    classes_call c = {0};
    PyObject *result = NULL;
    PyArrayObject *loss = NULL, *lse = NULL;
    double *memory = NULL;
    ROWS_EXPECT("cross_entropy", 6, 6);
    if (classes_read(&c, args[0], args[1], args[2], args[3], args[4], args[5]) < 0) goto done;
    memory = calloc((size_t)(2 * c.count) + 1, sizeof(double));
    if (!memory) {
        PyErr_NoMemory();
        goto done;
    }
    c.plan.each = memory;
    c.plan.lse = memory + c.count;
    if (classes_run(&c) < 0) goto done;
    lse = classes_array(&c, c.plan.lse);
    loss = c.how == NONE ? classes_array(&c, c.plan.each) : tt_empty_of(0, NULL, c.x);
    if (!lse || !loss) goto done;
    if (c.how != NONE) {
        double sum = 0;
        for (int64_t i = 0; i < c.count; i++) sum += c.plan.each[i];
        loss_set(loss, c.how == MEAN ? sum / c.kept : sum);
    }
    result = PyTuple_Pack(2, loss, lse);
done:
    free(memory);
    Py_XDECREF(loss);
    Py_XDECREF(lse);
    classes_release(&c);
    return result;
}

/* cross_entropy_backward(grad, input, target, weight, logsumexp, ignore_index, reduction, label_smoothing) */
static PyObject *cross_entropy_backward(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    classes_call c = {0};
    PyArrayObject *out = NULL, *grad = NULL, *lse = NULL;
    double *memory = NULL;
    int ok = 0;
    ROWS_EXPECT("cross_entropy_backward", 8, 8);
    if (classes_read(&c, args[1], args[2], args[3], args[5], args[6], args[7]) < 0) goto done;
    if (!tt_array(args[0], "grad") || !tt_array(args[4], "logsumexp")) goto done;
    grad = rows_contiguous(args[0], NPY_DOUBLE);
    lse = rows_contiguous(args[4], NPY_DOUBLE);
    if (!grad || !lse) goto done;
    if (PyArray_SIZE(lse) != c.count || PyArray_SIZE(grad) != (c.how == NONE ? c.count : 1)) {
        loss_refuse();
        goto done;
    }
    out = tt_empty_of(PyArray_NDIM(c.x), PyArray_DIMS(c.x), c.x);
    memory = malloc((size_t)c.count * sizeof(double) + 8);
    if (!out || !memory) {
        if (out) PyErr_NoMemory();
        goto done;
    }
    const double *g = PyArray_DATA(grad);
    for (int64_t i = 0; i < c.count; i++) memory[i] = c.how == NONE ? g[i] : c.how == SUM ? g[0] : g[0] / c.kept;
    c.plan.grad = memory;
    c.plan.lse = PyArray_DATA(lse);
    c.plan.to = PyArray_BYTES(out);
    ok = classes_run(&c) == 0;
done:
    free(memory);
    if (!ok) Py_CLEAR(out);
    Py_XDECREF(grad);
    Py_XDECREF(lse);
    classes_release(&c);
    return (PyObject *)out;
}
