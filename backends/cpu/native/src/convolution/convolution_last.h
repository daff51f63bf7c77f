/* Convolutions of images whose channels lie last in memory; see Note [Channels last]. */

/* One remainder of a transposed convolution, or the whole of another one: which taps its windows meet, and at which pixels. */
typedef struct { npy_intp count, *tap, *pixel[3]; } last_taps;

static bool take_taps(last_taps *taps, npy_intp most)
{
    taps->tap = malloc((size_t)(4 * most + 1) * sizeof(npy_intp));
    for (int d = 0; d < 3; d++) taps->pixel[d] = taps->tap == NULL ? NULL : taps->tap + (d + 1) * most;
    return taps->tap != NULL;
}

/* Whether the channels of a group are worth it: few filters of each of many groups would leave most lanes without work. */
static bool serves_last(const geometry *g, const tt_convolution_code *code)
{
    if (g->m == 1 && g->c == 1 && g->groups >= code->lanes) return true;
    return g->c > 0 && (g->groups == 1 || 2 * g->m > code->lanes);
}

/* Decides what is computed at once: places for all registers, whose windows stay in the cache. */
static void choose_band(tt_last *job, npy_intp size)
{
    npy_intp pixel = job->groups * job->c, whole = volume(job->out), threads = tt_threads->thread_count();
    job->direct = 1;
    for (int d = 0; d < 3; d++) job->direct &= job->pad[d] == 0 && (job->out[d] - 1) * job->hop[d] + job->span[d] <= job->in[d];
    tt_extent *band = &job->band;
    *band = (tt_extent){1, 1, TT_LAST_PLACES / job->out[2]};
    npy_intp wide = ((job->out[2] - 1) * job->hop[2] + job->span[2]) * pixel;
    if (2 * whole <= TT_LAST_PLACES) {
        npy_intp share = (job->n + threads - 1) / threads;
        *band = (tt_extent){TT_LAST_PLACES / whole, job->out[0], job->out[1]};
        band->images = band->images < share ? band->images : share;
    } else if (!job->direct) {
        npy_intp room = TT_LAST_BYTES / (wide * job->span[0] * size + 1) - job->span[1];
        room = room < 0 ? 1 : room / job->hop[1] + 1;
        /* Little is computed of each channel: copying rows more often would take longer. */
        if (job->single && room < 2 * job->span[1]) room = 2 * job->span[1];
        band->rows = band->rows < room ? band->rows : room;
    }
    band->rows = band->rows < 1 ? 1 : band->rows < job->out[1] ? band->rows : job->out[1];
    npy_intp bands = (job->out[1] + band->rows - 1) / band->rows;
    band->rows = (job->out[1] + bands - 1) / bands;
    job->pitch[2] = job->direct ? job->in[2] * pixel : wide;
    job->pitch[1] = job->pitch[2] * (job->direct ? job->in[1] : (band->rows - 1) * job->hop[1] + job->span[1]);
    job->pitch[0] = job->pitch[1] * (job->direct ? job->in[0] : (band->slices - 1) * job->hop[0] + job->span[0]);
}

/* Finds the stretches of a window, which also end where all filters have met a part of them. */
static bool find_stretches(tt_last *job, const last_taps *taps)
{
    npy_intp pixel = job->groups * job->c, share = (job->k + TT_LAST_DEPTH - 1) / TT_LAST_DEPTH, count = 0, k = 0;
    share = share > 0 ? share : 1; /* some results of a transposed convolution meet no element of a filter */
    job->depth = (job->k + share - 1) / share;
    job->stretches = malloc((size_t)(taps->count + share) * sizeof(tt_stretch));
    if (job->stretches == NULL) return false;
    for (npy_intp j = 0; j < taps->count; j++) {
        npy_intp offset = taps->pixel[0][j] * job->pitch[1] + taps->pixel[1][j] * job->pitch[2] + taps->pixel[2][j] * pixel;
        for (npy_intp e = 0, length; e < job->c; e += length, k += length) {
            tt_stretch *last = &job->stretches[count - 1];
            npy_intp room = job->depth - k % job->depth;
            length = job->c - e < room ? job->c - e : room;
            if (count > 0 && k % job->depth != 0 && last->offset + last->length == offset + e) last->length += length;
            else job->stretches[count++] = (tt_stretch){offset + e, length};
        }
    }
    return true;
}

/* Computes the results of one phase; false without memory.  Runs without the GIL. */
static bool multiply_phase(const tt_convolution_code *code, tt_last *job, const last_taps *taps, npy_intp size)
{
    npy_intp lanes = code->lanes, places = volume(job->out), room = job->groups * (job->single ? 1 : job->vectors * lanes);
    if (places == 0) return true;
    job->k = taps->count * job->c;
    job->taps = taps->count, job->tap = taps->tap;
    choose_band(job, size);
    bool done = find_stretches(job, taps) && posix_memalign(&job->packed, 64, (size_t)(room * job->k * size + 1)) == 0;
    if (done) {
        npy_intp blocks = job->groups * job->blocks, threads = tt_threads->thread_count();
        npy_intp bands = (job->n + job->band.images - 1) / job->band.images * ((job->out[0] + job->band.slices - 1) / job->band.slices) *
                         ((job->out[1] + job->band.rows - 1) / job->band.rows);
        tt_parallel_for(0, blocks, 1 + 20000 / (job->m * job->k / job->blocks + 1), code->pack_last, job);
        job->parts = job->single || threads == 1 || bands >= 4 * threads ? 1 : (4 * threads + bands - 1) / bands;
        job->parts = job->parts < blocks ? job->parts : blocks;
        npy_intp cost = job->n * places * room * (job->k + 1) / (bands * job->parts);
        tt_parallel_for(0, bands * job->parts, 1 + 300000 / (cost + 1), code->multiply_last, job);
    }
    free(job->stretches);
    free(job->packed);
    job->stretches = NULL, job->packed = NULL;
    return done && !job->failed;
}

static PyObject *last_result(const geometry *g, const operands *o, int dims)
{
    npy_intp shape[5] = {g->n, g->groups * g->m}, strides[5];
    for (int d = 0; d < dims; d++) shape[2 + d] = g->out[3 - dims + d];
    tt_last_strides(dims + 2, shape, PyArray_ITEMSIZE(o->input), strides);
    return (PyObject *)tt_new(PyArray_DescrFromType(tt_number_of(tt_dtype_of(o->input))), dims + 2, shape, strides);
}

/* What a convolution and a transposed one begin with; false without memory. */
static bool begin_last(const geometry *g, const operands *o, PyArrayObject *result, tt_last *job, void **bias)
{
    npy_intp size = PyArray_ITEMSIZE(o->input), lanes = code_of(tt_dtype_of(o->input))->lanes;
    job->groups = g->groups, job->m = g->m, job->c = g->c, job->n = g->n;
    job->size = volume(g->out);
    job->vectors = (g->m + lanes - 1) / lanes, job->blocks = (job->vectors + 2) / 3;
    job->taps_of_filter = volume(g->kernel);
    job->input = PyArray_DATA(o->input), job->weight = PyArray_DATA(o->weight), job->result = PyArray_DATA(result);
    memcpy(job->in, g->in, sizeof(job->in));
    job->single = g->m == 1 && g->c == 1 && g->groups >= lanes;
    job->bias = o->bias != NULL ? PyArray_DATA(o->bias) : NULL;
    if (o->bias == NULL || job->single) return true;
    job->bias = *bias = calloc((size_t)(g->groups * job->vectors * lanes), (size_t)size); /* blocks read whole vectors of it */
    for (npy_intp group = 0; group < g->groups && *bias != NULL; group++) {
        memcpy((char *)*bias + group * job->vectors * lanes * size, PyArray_BYTES(o->bias) + group * g->m * size, (size_t)(g->m * size));
    }
    return *bias != NULL;
}

/* Computes what convolve does of channels that lie last. */
static PyObject *convolve_last(const geometry *g, const operands *o, int dims)
{
    PyObject *result = last_result(g, o, dims);
    if (result == NULL || PyArray_SIZE((PyArrayObject *)result) == 0) return result;
    tt_last job = {0};
    last_taps taps = {0};
    void *bias = NULL;
    npy_intp at = 0, count = volume(g->kernel);
    bool done = begin_last(g, o, (PyArrayObject *)result, &job, &bias) && take_taps(&taps, count);
    for (npy_intp i = 0; i < g->kernel[0] && done; i++) {
        for (npy_intp j = 0; j < g->kernel[1]; j++) {
            for (npy_intp k = 0; k < g->kernel[2]; k++, at++) {
                taps.tap[at] = at;
                taps.pixel[0][at] = i * g->dilation[0], taps.pixel[1][at] = j * g->dilation[1], taps.pixel[2][at] = k * g->dilation[2];
            }
        }
    }
    if (done) {
        taps.count = count;
        job.in_order = 1;
        job.filter_step = g->c * count, job.group_step = g->m * g->c * count;
        job.channel_step = o->weight_last ? 1 : count, job.tap_step = o->weight_last ? g->c : 1;
        for (int d = 0; d < 3; d++) {
            job.out[d] = g->out[d], job.hop[d] = g->stride[d], job.pad[d] = g->padding[d];
            job.span[d] = (g->kernel[d] - 1) * g->dilation[d] + 1;
        }
        job.step[0] = g->out[1] * g->out[2], job.step[1] = g->out[2], job.step[2] = 1;
        TT_BEGIN_WORK(effort(g, g->out))
        done = multiply_phase(code_of(tt_dtype_of(o->input)), &job, &taps, PyArray_ITEMSIZE(o->input));
        TT_END_WORK
    }
    free(taps.tap);
    free(bias);
    if (done) return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}
