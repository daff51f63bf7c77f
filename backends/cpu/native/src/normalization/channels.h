/* Batch normalisation: all numbers of a channel (dimension 1) together.  Included by normalization.c alone. */

typedef struct {
    int64_t samples, channels, segment; /* dimensions before, of, and behind the channels */
    int wide;                           /* double */
    const char *input, *grad;
    char *out;
    double *mean, *factor, *slope, *shift, *sum_g, *sum_gx; /* for each channel */
} channel_plan;

/* Whether the channels come last in memory; then there are more samples, and no segments. */
static int channels_are_last(PyArrayObject *x)
{
    npy_intp expected = PyArray_ITEMSIZE(x);
    if (PyArray_STRIDE(x, 1) != expected) return 0;
    expected *= PyArray_DIM(x, 1);
    for (int d = PyArray_NDIM(x) - 1; d >= 0; d--) {
        if (d == 1) continue;
        if (PyArray_DIM(x, d) != 1 && PyArray_STRIDE(x, d) != expected) return 0;
        expected *= PyArray_DIM(x, d);
    }
    return 1;
}

static void channel_sizes(channel_plan *p, PyArrayObject *x, int last)
{
    int64_t inner = 1;
    for (int d = 2; d < PyArray_NDIM(x); d++) inner *= PyArray_DIM(x, d);
    p->channels = PyArray_DIM(x, 1);
    p->samples = PyArray_DIM(x, 0) * (last ? inner : 1);
    p->segment = last ? 1 : inner;
    p->wide = tt_dtype_of(x) == TT_F64;
    p->input = PyArray_BYTES(x);
}

static void channel_apply(int64_t begin, int64_t end, void *context)
{
    const channel_plan *p = context;
    int64_t size = p->wide ? 8 : 4, line = p->segment * size;
    if (p->segment == 1) {
        for (int64_t i = begin; i < end; i++)
            (p->wide ? channel_lines_f64 : channel_lines_f32)(p->input + i * p->channels * size, p->out + i * p->channels * size,
                                                              p->channels, p->mean, p->factor, p->shift);
        return;
    }
    for (int64_t i = begin * p->channels; i < end * p->channels; i++) {
        int64_t c = i % p->channels;
        (p->wide ? channel_line_f64 : channel_line_f32)(p->input + i * line, p->out + i * line, p->segment, &p->mean[c], &p->factor[c], &p->shift[c]);
    }
}

/* Sums for some channels: over segments, or over single numbers row by row. */
static void channel_sum(int64_t begin, int64_t end, void *context)
{
    channel_plan *p = context;
    int64_t size = p->wide ? 8 : 4;
    for (int64_t c = begin; c < end; c++) p->sum_g[c] = p->sum_gx[c] = 0;
    if (p->segment == 1) {
        for (int64_t i = 0; i < p->samples; i++) {
            int64_t at = (i * p->channels + begin) * size;
            (p->wide ? channels_sums_f64 : channels_sums_f32)(p->grad + at, p->input + at, end - begin, p->mean + begin, p->sum_g + begin, p->sum_gx + begin);
        }
        return;
    }
    for (int64_t c = begin; c < end; c++)
        for (int64_t i = 0; i < p->samples; i++) {
            int64_t at = (i * p->channels + c) * p->segment * size;
            (p->wide ? channel_sums_f64 : channel_sums_f32)(p->grad + at, p->input + at, p->segment, p->mean[c], &p->sum_g[c], &p->sum_gx[c]);
        }
}

static void channel_backward(int64_t begin, int64_t end, void *context)
{
    const channel_plan *p = context;
    int64_t size = p->wide ? 8 : 4;
    if (p->segment == 1) {
        for (int64_t i = begin; i < end; i++) {
            int64_t at = i * p->channels * size;
            (p->wide ? channels_backward_f64 : channels_backward_f32)(p->grad + at, p->input + at, p->out + at, p->channels, p->mean, p->factor,
                                                                      p->slope, p->shift);
        }
        return;
    }
    for (int64_t i = begin * p->channels; i < end * p->channels; i++) {
        int64_t c = i % p->channels, at = i * p->segment * size;
        (p->wide ? channel_backward_f64 : channel_backward_f32)(p->grad + at, p->input + at, p->out + at, p->segment, p->mean[c], p->factor[c],
                                                                p->slope[c], p->shift[c]);
    }
}

/* Copies a parameter of the channels into doubles, `missing` for None; -1 with an error set. */
static int channel_parameter(PyObject *value, double missing, int64_t channels, double *to)
{
    if (value == Py_None) {
        for (int64_t c = 0; c < channels; c++) to[c] = missing;
        return 0;
    }
    PyArrayObject *array = tt_array(value, "a parameter");
    if (!array) return -1;
    if (PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != channels) {
        PyErr_SetString(PyExc_ValueError, "a parameter that does not fit, which the shape rule refuses");
        return -1;
    }
    array = rows_contiguous(value, NPY_DOUBLE);
    if (!array) return -1;
    memcpy(to, PyArray_DATA(array), (size_t)channels * sizeof(double));
    Py_DECREF(array);
    return 0;
}

static PyArrayObject *channel_input(PyObject *value, const char *name, int *last)
{
    PyArrayObject *x = tt_array(value, "input");
    if (!x) return NULL;
    if (tt_dtype_of(x) != TT_F32 && tt_dtype_of(x) != TT_F64) return tt_refuse_dtype(name, x);
    if (PyArray_NDIM(x) < 2) {
        PyErr_SetString(PyExc_ValueError, "sizes that do not fit, which the shape rule refuses");
        return NULL;
    }
    *last = !PyArray_IS_C_CONTIGUOUS(x) && PyArray_ISBEHAVED_RO(x) && channels_are_last(x);
    return *last ? (PyArrayObject *)Py_NewRef((PyObject *)x) : PyArray_GETCONTIGUOUS(x);
}

static PyArrayObject *channel_vector(int64_t channels, int wide, const double *values)
{
    npy_intp shape[1] = {channels};
    PyArrayObject *vector = tt_empty(1, shape, wide ? TT_F64 : TT_F32);
    if (vector)
        for (int64_t c = 0; c < channels; c++) {
            if (wide)
                ((double *)PyArray_DATA(vector))[c] = values[c];
            else
                ((float *)PyArray_DATA(vector))[c] = (float)values[c];
        }
    return vector;
}

/* batch_norm(input, weight, bias, running_mean, running_var, training, eps) -> (output, mean, var) */
static PyObject *batch_norm(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    channel_plan p;
    PyArrayObject *out = NULL, *mean = NULL, *var = NULL;
    PyObject *result = NULL;
    double *memory = NULL;
    int last;
    ROWS_EXPECT("batch_norm", 7, 7);
    int training = PyObject_IsTrue(args[5]);
    double eps = PyFloat_AsDouble(args[6]);
    if (eps == -1 && PyErr_Occurred()) return NULL;
    PyArrayObject *x = channel_input(args[0], "batch_norm", &last);
    if (!x) return NULL;
    channel_sizes(&p, x, last);
    int64_t n = p.channels;
    memory = malloc((size_t)n * 4 * sizeof(double) + 8);
    out = tt_new_like(x, last ? NPY_KEEPORDER : NPY_CORDER, NULL);
    if (!memory || !out) goto done;
    p.mean = memory, p.factor = memory + n, p.shift = memory + 2 * n;
    double *variance = memory + 3 * n;
    if (training) {
        unsigned char marked[NPY_MAXDIMS];
        npy_intp shape[1] = {n};
        memset(marked, 1, sizeof marked);
        marked[1] = 0;
        mean = tt_empty(1, shape, tt_dtype_of(x));
        var = tt_empty(1, shape, tt_dtype_of(x));
        if (!mean || !var) goto done;
        if (reduce_into(p.wide ? &variance_f64 : &variance_f32, x, marked, (double)(p.samples * p.segment), var, mean) < 0) goto done;
        if (channel_parameter((PyObject *)mean, 0, n, p.mean) < 0 || channel_parameter((PyObject *)var, 0, n, variance) < 0) goto done;
    } else {
        if (args[3] == Py_None || args[4] == Py_None) {
            PyErr_SetString(PyExc_ValueError, "without training, running_mean and running_var are needed");
            goto done;
        }
        if (channel_parameter(args[3], 0, n, p.mean) < 0 || channel_parameter(args[4], 1, n, variance) < 0) goto done;
        mean = channel_vector(n, p.wide, p.mean);
        var = channel_vector(n, p.wide, variance);
        if (!mean || !var) goto done;
    }
    if (channel_parameter(args[1], 1, n, p.factor) < 0 || channel_parameter(args[2], 0, n, p.shift) < 0) goto done;
    for (int64_t c = 0; c < n; c++) p.factor[c] /= sqrt(variance[c] + eps);
    p.out = PyArray_BYTES(out);
    int64_t each = n * p.segment;
    if (each) ROWS_RELEASED(each * p.samples, tt_parallel_for(0, p.samples, ROWS_PARALLEL / (2 * each) + 1, channel_apply, &p));
    result = PyTuple_Pack(3, out, mean, var);
done:
    if (!memory) PyErr_NoMemory();
    free(memory);
    Py_XDECREF(out);
    Py_XDECREF(mean);
    Py_XDECREF(var);
    Py_DECREF(x);
    return result;
}

/* batch_norm_backward(grad, input, weight, mean, var, training, eps) -> gradients of input, weight and bias */
static PyObject *batch_norm_backward(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    channel_plan p;
    PyArrayObject *g = NULL, *out = NULL, *weights = NULL, *biases = NULL;
    PyObject *result = NULL;
    double *memory = NULL;
    int last, last_g = 0;
    ROWS_EXPECT("batch_norm_backward", 7, 7);
    int training = PyObject_IsTrue(args[5]);
    double eps = PyFloat_AsDouble(args[6]);
    if (eps == -1 && PyErr_Occurred()) return NULL;
    PyArrayObject *x = channel_input(args[1], "batch_norm_backward", &last);
    if (!x) return NULL;
    g = channel_input(args[0], "batch_norm_backward", &last_g);
    if (!g) goto done;
    if (tt_dtype_of(g) != tt_dtype_of(x) || !tt_same_shape(g, x)) {
        PyErr_SetString(PyExc_ValueError, "a gradient that does not fit the input");
        goto done;
    }
    if (last != last_g && PyArray_SIZE(x)) { /* both row by row */
        Py_SETREF(x, tt_copied(x, NPY_CORDER));
        if (x) Py_SETREF(g, tt_copied(g, NPY_CORDER));
        if (!x || !g) goto done;
        last = 0;
    }
    channel_sizes(&p, x, last);
    int64_t n = p.channels, all = p.samples * p.segment;
    memory = malloc((size_t)n * 7 * sizeof(double) + 8);
    out = tt_new_like(x, last ? NPY_KEEPORDER : NPY_CORDER, NULL);
    if (!memory || !out) goto done;
    p.mean = memory, p.factor = memory + n, p.slope = memory + 2 * n, p.shift = memory + 3 * n;
    p.sum_g = memory + 4 * n, p.sum_gx = memory + 5 * n;
    double *variance = memory + 6 * n;
    if (channel_parameter(args[2], 1, n, p.factor) < 0 || channel_parameter(args[3], 0, n, p.mean) < 0 ||
        channel_parameter(args[4], 1, n, variance) < 0)
        goto done;
    p.grad = PyArray_BYTES(g);
    p.out = PyArray_BYTES(out);
    int64_t each = all > 0 ? all : 1;
    ROWS_RELEASED(all * n, tt_parallel_for(0, n, ROWS_PARALLEL / (2 * each) + (p.segment == 1 ? 16 : 1), channel_sum, &p));
    for (int64_t c = 0; c < n; c++) {
        double scale = 1 / sqrt(variance[c] + eps);
        p.factor[c] *= scale;
        p.slope[c] = training ? -p.factor[c] * scale * scale * p.sum_gx[c] / (double)each : 0;
        p.shift[c] = training ? -p.factor[c] * p.sum_g[c] / (double)each : 0;
        p.sum_gx[c] *= scale;
    }
    each = n * p.segment;
    if (each) ROWS_RELEASED(all * n, tt_parallel_for(0, p.samples, ROWS_PARALLEL / (2 * each) + 1, channel_backward, &p));
    weights = channel_vector(n, p.wide, p.sum_gx);
    biases = channel_vector(n, p.wide, p.sum_g);
    if (weights && biases) result = PyTuple_Pack(3, out, weights, biases);
done:
    if (out && !memory) PyErr_NoMemory();
    free(memory);
    Py_XDECREF(g);
    Py_XDECREF(out);
    Py_XDECREF(weights);
    Py_XDECREF(biases);
    Py_XDECREF(x);
    return result;
}
