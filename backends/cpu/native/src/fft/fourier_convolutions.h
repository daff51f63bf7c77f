/* Plans of transforms that are convolutions (fourier.c, Note [Large prime factors]); needs the code for double. */
#ifndef TT_FOURIER_CONVOLUTIONS_H
#define TT_FOURIER_CONVOLUTIONS_H

#include "fourier_factors.h"

static plan *take_plan(npy_intp n, tt_dtype dtype, bool split);
static void leave_plan(plan *p);

static void free_cyclic(cyclic *c)
{
    if (c == NULL) return;
    leave_plan(c->inner);
    free(c->from);
    free(c->to);
    free(c->chirp);
    free(c->kernel);
    free(c);
}

static npy_intp power_of(npy_intp base, npy_intp power, npy_intp n)
{
    npy_intp found = 1;
    for (; power > 0; power /= 2, base = base * base % n) found = power % 2 ? found * base % n : found;
    return found;
}

/* A number whose powers are all others but 0 modulo a prime; 0 where n is none. */
static npy_intp root_modulo(npy_intp n)
{
    npy_intp left = n - 1, factors[STAGES];
    int count = 0;
    for (npy_intp r = 2; r * r <= n; r++) {
        if (n % r == 0) return 0;
    }
    for (npy_intp r = 2; left > 1; r = r * r > left ? left : r + 1) {
        if (left % r != 0) continue;
        factors[count++] = r;
        while (left % r == 0) left /= r;
    }
    for (npy_intp root = 2;; root++) {
        bool all = true;
        for (int i = 0; i < count && all; i++) all = power_of(root, (n - 1) / factors[i], n) != 1;
        if (all) return root;
    }
}

/* The kernel of a convolution from its numbers in double: their transform, divided by m, in the order of frequencies. */
static bool transform_kernel(cyclic *c, const double *numbers, tt_dtype dtype)
{
    npy_intp m = c->m, lanes = VB / (npy_intp)sizeof(double);
    plan *p = take_plan(m, TT_F64, false);
    double *x = NULL;
    bool found = p != NULL && posix_memalign((void **)&x, 64, (size_t)m * 2 * VB) == 0;
    for (npy_intp i = 0; i < 2 * m && found; i++) {
        for (npy_intp l = 0; l < lanes; l++) x[i * lanes + l] = numbers[i];
    }
    if (found) stages_f64(p, 0, (void *)x, m, p->turns, NULL);
    for (npy_intp f = 0; f < 2 * m && found; f++) {
        double value = x[(2 * p->order[f / 2] + f % 2) * lanes] / (double)m;
        if (dtype == TT_F32) ((float *)c->kernel)[f] = (float)value;
        else ((double *)c->kernel)[f] = value;
    }
    free(x);
    leave_plan(p);
    return found;
}

/* Rader: powers of a root order the numbers so that the sums are a convolution of n - 1 of them. */
static bool make_rader(cyclic *c, npy_intp root, tt_dtype dtype, const turns *t, npy_intp apart, double *numbers)
{
    npy_intp n = c->n, m = c->m, back = power_of(root, n - 2, n);
    c->from = malloc((size_t)n * sizeof(npy_intp));
    c->to = malloc((size_t)n * sizeof(npy_intp));
    if (c->from == NULL || c->to == NULL) return false;
    npy_intp forth = 1, reverse = 1;
    c->to[0] = 0;
    for (npy_intp i = 0; i < m; i++, forth = forth * root % n, reverse = reverse * back % n) {
        c->from[i] = forth;
        c->to[reverse] = c->inner->order[i];
        turn_of(t, reverse * apart, numbers + 2 * i, numbers + 2 * i + 1);
    }
    return transform_kernel(c, numbers, dtype);
}

/* Bluestein: i k = (i^2 + k^2 - (i - k)^2) / 2, so the sums are a convolution with a chirp; `numbers` are its conjugates. */
static bool make_chirp(cyclic *c, tt_dtype dtype, double *numbers)
{
    npy_intp n = c->n, m = c->m, square = 0;
    turns t;
    c->chirp = malloc((size_t)(n * number_size(dtype)));
    if (c->chirp == NULL || !make_turns(&t, 2 * n)) return false;
    memset(numbers, 0, (size_t)m * 2 * sizeof(double));
    for (npy_intp i = 0; i < n; i++) {
        set_turn(c->chirp, dtype, 2 * i, 1, &t, square);
        turn_of(&t, square, numbers + 2 * i, numbers + 2 * i + 1);
        numbers[2 * i + 1] = -numbers[2 * i + 1];
        if (i > 0) numbers[2 * (m - i)] = numbers[2 * i], numbers[2 * (m - i) + 1] = numbers[2 * i + 1];
        square += 2 * i + 1; /* the square of i modulo 2 n */
        square -= square >= 4 * n ? 4 * n : square >= 2 * n ? 2 * n : 0;
    }
    free_turns(&t);
    return true;
}

/* The roots of n are each `apart`-th of t. */
static cyclic *make_cyclic(npy_intp n, tt_dtype dtype, const turns *t, npy_intp apart)
{
    cyclic *c = calloc(1, sizeof(cyclic));
    if (c == NULL) return NULL;
    npy_intp root = root_modulo(n), best = 0;
    double least = root == 0 ? INFINITY : cost_of(n - 1) * (double)(n - 1);
    for (npy_intp m = 2 * n - 1; m < 5 * n / 2 && m <= LONGEST; m++) {
        double cost = cost_of(m) * (double)m;
        if (cost < least) least = cost, best = m;
    }
    c->n = n, c->m = best == 0 ? n - 1 : best;
    double *numbers = malloc((size_t)c->m * 2 * sizeof(double));
    c->kernel = malloc((size_t)(c->m * number_size(dtype)));
    c->inner = take_plan(c->m, dtype, false);
    bool made = numbers != NULL && c->kernel != NULL && c->inner != NULL;
    if (made && best == 0) made = make_rader(c, root, dtype, t, apart, numbers);
    else made = made && make_chirp(c, dtype, numbers) && transform_kernel(c, numbers, dtype);
    free(numbers);
    if (made) return c;
    free_cyclic(c);
    return NULL;
}

/* --- single lines --- */

/* A single line as a convolution of the least length that fills lanes: a multiple of 256 of factors 2, 3 and 5. */
static bool make_single(plan *p)
{
    npy_intp n = p->n, least = 4 * n + 256, size = number_size(p->dtype);
    for (npy_intp fives = 256; fives < least; fives *= 5) {
        for (npy_intp threes = fives; threes < least; threes *= 3) {
            npy_intp m = threes;
            while (m < 2 * n - 1) m *= 2;
            if (m < least) least = m;
        }
    }
    cyclic *c = p->cyclic = calloc(1, sizeof(cyclic));
    if (c == NULL) return false;
    c->n = n, c->m = least;
    p->size = (size_t)((least + n + n / 2) * size);
    double *numbers = malloc((size_t)least * 2 * sizeof(double));
    c->kernel = malloc((size_t)(least * size));
    c->inner = take_plan(least, p->dtype, true);
    plan *exact = take_plan(least, TT_F64, true); /* transforms the kernel */
    bool made = numbers != NULL && c->kernel != NULL && c->inner != NULL && exact != NULL && make_chirp(c, p->dtype, numbers);
    if (made) {
        transform job = {.plan = exact, .kind = COMPLEX, .scale = 1 / (double)least, .in = numbers, .out = numbers};
        split_lines_f64(0, 1, &job);
        made = !job.failed;
    }
    for (npy_intp i = 0; i < 2 * least && made; i++) {
        if (p->dtype == TT_F32) ((float *)c->kernel)[i] = (float)numbers[i];
        else ((double *)c->kernel)[i] = numbers[i];
    }
    leave_plan(exact);
    free(numbers);
    return made;
}

#endif
