/* Transposed convolutions. */

/* Note [Transposed convolutions]

Result i of a transposed convolution collects from input o through tap k where i + padding = o * stride + k * dilation.
All results with the same remainder by the stride use the same taps, at the same offsets from i / stride: each
remainder is a phase, a convolution with stride 1 whose results lie a stride apart, and they share one copy of the input
with zeros around it.  Nothing is added up in memory and no zeros are multiplied that lie between inputs.
*/

/* The offset of the input that tap k needs for results with a remainder, or false where they do not meet. */
static bool shift_of(const geometry *g, int d, npy_intp remainder, npy_intp k, npy_intp *shift)
{
    npy_intp at = remainder + g->padding[d] - k * g->dilation[d];
    if (at % g->stride[d] != 0) return false;
    *shift = at / g->stride[d];
    return true;
}

static bool place_phase(const geometry *g, tt_convolution *job, tt_phase *phase, const npy_intp *remainder)
{
    npy_intp most = g->c * volume(g->kernel), at = 0, shift[3];
    phase->offset = malloc((size_t)(2 * most + 1) * sizeof(npy_intp));
    if (phase->offset == NULL) {
        PyErr_NoMemory();
        return false;
    }
    phase->tap = phase->offset + most;
    for (npy_intp i = 0; i < (g->c > 0 ? g->kernel[0] : 0); i++) {
        if (!shift_of(g, 0, remainder[0], i, &shift[0])) continue;
        for (npy_intp j = 0; j < g->kernel[1]; j++) {
            if (!shift_of(g, 1, remainder[1], j, &shift[1])) continue;
            for (npy_intp k = 0; k < g->kernel[2]; k++) {
                if (!shift_of(g, 2, remainder[2], k, &shift[2])) continue;
                phase->offset[at] = (shift[0] + job->axis[0].pad) * job->pitch[0] + (shift[1] + job->axis[1].pad) * job->pitch[1] +
                                    shift[2] + job->axis[2].pad;
                phase->tap[at++] = (i * g->kernel[1] + j) * g->kernel[2] + k;
            }
        }
    }
    npy_intp taps = at;
    for (; at < g->c * taps; at++) {
        phase->offset[at] = phase->offset[at - taps] + job->plane;
        phase->tap[at] = phase->tap[at - taps] + g->m * volume(g->kernel);
    }
    phase->k = at;
    npy_intp steps[3] = {g->out[1] * g->out[2], g->out[2], 1};
    for (int d = 0; d < 3; d++) {
        phase->out[d] = remainder[d] < g->out[d] ? (g->out[d] - remainder[d] - 1) / g->stride[d] + 1 : 0;
        phase->step[d] = phase->out[d] > 1 ? g->stride[d] * steps[d] : steps[d];
        phase->first += remainder[d] * steps[d];
    }
    return true;
}

/* Where the input is a single place that meets each element of the filters once, the filters are columns of a matrix. */
static bool is_product(const geometry *g)
{
    bool alone = volume(g->in) == 1;
    for (int d = 0; d < 3; d++) alone = alone && g->out[d] == g->kernel[d] && g->padding[d] == 0;
    return alone;
}

static bool multiply_matrices(const geometry *g, const operands *o, char *result)
{
    npy_intp size = PyArray_ITEMSIZE(o->input), columns = g->m * volume(g->kernel);
    char *bias = o->bias != NULL ? malloc((size_t)(columns * size)) : NULL;
    bool done = o->bias == NULL || bias != NULL;
    for (npy_intp group = 0; group < g->groups && done; group++) {
        const char *own = o->bias != NULL ? PyArray_BYTES(o->bias) + group * g->m * size : NULL;
        for (npy_intp i = 0; i < columns && own != NULL; i++) memcpy(bias + i * size, own + i / volume(g->kernel) * size, (size_t)size);
        tt_gemm product = {
            .m = g->n, .n = columns, .k = g->c, .ars = g->groups * g->c, .acs = 1, .brs = columns, .bcs = 1, .bias = bias,
            .a = PyArray_BYTES(o->input) + group * g->c * size, .b = PyArray_BYTES(o->weight) + group * g->c * columns * size,
            .c = result + group * columns * size, .ldc = g->groups * columns,
        };
        done = tt_gemm_run_by(tt_gemm_code_of(tt_dtype_of(o->input)), size, &product) == 0;
    }
    free(bias);
    return done;
}

static PyObject *run_matrices(const geometry *g, const operands *o, int dims)
{
    PyArrayObject *result = result_of(g, o->input, dims, g->out);
    bool done = result != NULL;
    if (done && PyArray_SIZE(result) > 0) {
        TT_BEGIN_WORK(effort(g, g->in))
        done = multiply_matrices(g, o, PyArray_DATA(result));
        TT_END_WORK
        if (!done) PyErr_NoMemory();
    }
    if (!done) Py_CLEAR(result);
    return (PyObject *)result;
}

/* The results of one remainder, whose channels lie last; false without memory. */
static bool transpose_remainder(const geometry *g, const tt_convolution_code *code, tt_last *job, last_taps *taps,
                                const npy_intp *remainder, npy_intp size)
{
    npy_intp shift[3], steps[3] = {g->out[1] * g->out[2], g->out[2], 1};
    taps->count = job->first = 0;
    for (int d = 0; d < 3; d++) {
        job->out[d] = remainder[d] < g->out[d] ? (g->out[d] - remainder[d] - 1) / g->stride[d] + 1 : 0;
        job->step[d] = g->stride[d] * steps[d];
        job->first += remainder[d] * steps[d];
        job->hop[d] = job->span[d] = 1;
    }
    /* From the last tap on, pixels follow each other. */
    for (npy_intp i = g->kernel[0] - 1; i >= 0; i--) {
        if (!shift_of(g, 0, remainder[0], i, &shift[0])) continue;
        for (npy_intp j = g->kernel[1] - 1; j >= 0; j--) {
            if (!shift_of(g, 1, remainder[1], j, &shift[1])) continue;
            for (npy_intp k = g->kernel[2] - 1; k >= 0; k--) {
                if (!shift_of(g, 2, remainder[2], k, &shift[2])) continue;
                for (int d = 0; d < 3; d++) {
                    npy_intp pixel = taps->pixel[d][taps->count] = shift[d] + job->pad[d];
                    job->span[d] = pixel >= job->span[d] ? pixel + 1 : job->span[d];
                }
                taps->tap[taps->count++] = (i * g->kernel[1] + j) * g->kernel[2] + k;
            }
        }
    }
    return multiply_phase(code, job, taps, size);
}

/* Computes what transpose does of channels that lie last, for some remainders, from an input with so many zeros before it. */
static PyObject *transpose_last(const geometry *g, const operands *o, int dims, const npy_intp *remainders, const npy_intp *pad)
{
    PyObject *result = last_result(g, o, dims);
    if (result == NULL || PyArray_SIZE((PyArrayObject *)result) == 0) return result;
    tt_last job = {0};
    last_taps taps = {0};
    void *bias = NULL;
    npy_intp count = volume(g->kernel), size = PyArray_ITEMSIZE(o->input);
    bool done = begin_last(g, o, (PyArrayObject *)result, &job, &bias) && take_taps(&taps, count);
    if (done) {
        job.filter_step = o->weight_last ? 1 : count, job.tap_step = o->weight_last ? g->m : 1;
        job.channel_step = g->m * count, job.group_step = g->c * g->m * count;
        memcpy(job.pad, pad, sizeof(job.pad));
        TT_BEGIN_WORK(effort(g, g->out))
        for (npy_intp at = 0; at < volume(remainders) && done; at++) {
            npy_intp remainder[3] = {at / remainders[2] / remainders[1], at / remainders[2] % remainders[1], at % remainders[2]};
            done = transpose_remainder(g, code_of(tt_dtype_of(o->input)), &job, &taps, remainder, size);
        }
        TT_END_WORK
    }
    free(taps.tap);
    free(bias);
    if (done) return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

static PyObject *transpose(PyObject *const *args, Py_ssize_t count, int dims)
{
    if (!tt_expect_count("conv_transpose", count, 8, 8)) return NULL;
    operands o;
    geometry g = {0};
    tt_convolution job = {0};
    tt_phase *phases = NULL;
    npy_intp number = 0;
    PyObject *result = NULL;
    if (!take(&o, args, dims, "conv_transpose")) goto end;
    if (!spread(args[3], dims, 1, 1, g.stride) || !spread(args[4], dims, 0, 0, g.padding) ||
        !spread(args[5], dims, 0, 0, g.more) || !groups_of(args[6], &g) || !spread(args[7], dims, 1, 1, g.dilation)) goto end;
    int ndim = PyArray_NDIM(o.input);
    npy_intp channels = PyArray_DIM(o.input, ndim - dims - 1);
    g.n = ndim == dims + 2 ? PyArray_DIM(o.input, 0) : 1;
    spatial(o.input, dims, g.in);
    spatial(o.weight, dims, g.kernel);
    g.m = PyArray_DIM(o.weight, 1);
    g.c = channels / g.groups;
    bool fits = channels >= g.groups && channels % g.groups == 0 && PyArray_DIM(o.weight, 0) == channels && volume(g.kernel) > 0;
    fits = fits && (o.bias == NULL || (PyArray_NDIM(o.bias) == 1 && PyArray_DIM(o.bias, 0) == g.m * g.groups));
    npy_intp span[3] = {1, 1, 1};
    for (int d = 0; d < 3 && fits; d++) {
        npy_intp between, reach, padded;
        fits = tt_window_sizes(g.more[d], g.padding[d], g.kernel[d], g.dilation[d], &reach, &padded) &&
               tt_multiply_add(g.in[d] - 1, g.stride[d], 1, &between) && !__builtin_add_overflow(between, reach, &between) &&
               !__builtin_add_overflow(between, g.more[d], &between);
        if (!fits) break;
        g.out[d] = between - 2 * g.padding[d];
        span[d] = g.stride[d] < g.out[d] ? g.stride[d] : g.out[d]; /* remainders of results that are there */
        fits = g.out[d] > 0 && (d < 3 - dims || g.more[d] < (g.stride[d] > g.dilation[d] ? g.stride[d] : g.dilation[d]));
    }
    npy_intp sizes[5] = {g.n, g.m * g.groups, g.out[0], g.out[1], g.out[2]};
    if (!fits || !tt_product_below(sizes, 5, LARGEST_PLANES)) {
        refuse("the shapes do not fit");
        goto end;
    }
    bool last = o.last && serves_last(&g, code_of(tt_dtype_of(o.input)));
    if (o.last && !last && !turn_to_rows(&o)) goto end;
    if (!last && is_product(&g)) {
        result = run_matrices(&g, &o, dims);
        goto end;
    }
    job.groups = g.groups, job.m = g.m, job.c = g.c;
    job.row_stride = volume(g.kernel), job.group_stride = g.c * g.m * job.row_stride;
    for (int d = 0; d < 3; d++) {
        npy_intp low = 0, high = 0, shift;
        for (npy_intp r = 0; r < span[d]; r++) {
            for (npy_intp k = 0; k < g.kernel[d]; k++) {
                if (!shift_of(&g, d, r, k, &shift)) continue;
                low = shift < low ? shift : low;
                high = shift > high ? shift : high;
            }
        }
        npy_intp steps = (g.out[d] - 1) / g.stride[d] + 1;
        npy_intp rows = high + steps > g.in[d] ? high + steps : g.in[d];
        job.axis[d] = (tt_axis){g.in[d], rows - low, 1, -low};
    }
    npy_intp most[3] = {job.axis[0].rows, job.axis[1].rows, job.axis[2].rows};
    if (!planes_fit(&g, most)) goto end;
    if (last) {
        npy_intp pad[3] = {job.axis[0].pad, job.axis[1].pad, job.axis[2].pad};
        result = transpose_last(&g, &o, dims, span, pad);
        goto end;
    }
    job.direct = !lay_planes(&job);
    job.used = malloc(1);
    phases = calloc((size_t)volume(span), sizeof(tt_phase));
    if (phases == NULL || job.used == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    job.used[0] = 1;
    for (npy_intp a = 0; a < span[0]; a++) {
        for (npy_intp b = 0; b < span[1]; b++) {
            for (npy_intp c = 0; c < span[2]; c++) {
                npy_intp remainder[3] = {a, b, c};
                if (!place_phase(&g, &job, &phases[number++], remainder)) goto end;
            }
        }
    }
    result = run(&g, &job, phases, number, o.input, o.weight, o.bias, dims, g.out);
end:
    release(&job, phases, number);
    free(phases);
    drop(&o);
    return result;
}
