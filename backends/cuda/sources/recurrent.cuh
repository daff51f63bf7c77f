// One step of a recurrent layer, after its products: the functions of the gates, and their gradients.  A thread computes one
// number of the hidden state of one row.  All arrays are in row-major order; C is float or double.

#ifndef TT_RECURRENT_CUH
#define TT_RECURRENT_CUH

#include "common.cuh"

namespace rnn {

template <typename C>
TT_INLINE C sigmoid(C x) {
    return C(1) / (C(1) + math::exp(-x));
}
template <typename C>
TT_INLINE C sigmoid_back(C g, C y) {
    return g * (C(1) - y) * y;
}
template <typename C>
TT_INLINE C tanh_back(C g, C y) {
    return g * (C(1) - y * y);
}

// The arrays of a step.  `row` is its first row among all, `batch` how many rows it has.
struct Step {
    int64 row, batch, hidden, known, before, fresh;
};

// Each mode has GATES vectors of products, and keeps KEPT vectors for the gradients.
// step: from the products p (with the input) and q (with the state) to the next state, and to what is kept.
// back: from the gradient g of the state to those of the products, d and e, and directly to that of the state before.
struct Lstm {
    static constexpr int GATES = 4, KEPT = 5;
    template <typename C>
    TT_INLINE static C step(const C* p, const C* q, C, C* cell, C* kept) {
        const C i = sigmoid(p[0] + q[0]), f = sigmoid(p[1] + q[1]), g = math::tanh(p[2] + q[2]), o = sigmoid(p[3] + q[3]);
        const C c = f * *cell + i * g;
        *cell = c;
        kept[0] = i, kept[1] = f, kept[2] = g, kept[3] = o, kept[4] = c;
        return o * math::tanh(c);
    }
    template <typename C>
    TT_INLINE static C back(C g, const C* kept, const C* extra, C, C cell, C, C* to_cell, C* d, C* e) {
        const C bend = math::tanh(kept[4]);
        const C to_c = *to_cell + tanh_back(g * kept[3], bend) + extra[4];
        d[0] = sigmoid_back(to_c * kept[2] + extra[0], kept[0]);
        d[1] = sigmoid_back(to_c * cell + extra[1], kept[1]);
        d[2] = tanh_back(to_c * kept[0] + extra[2], kept[2]);
        d[3] = sigmoid_back(g * bend + extra[3], kept[3]);
        for (int k = 0; k < 4; k++) e[k] = d[k];
        *to_cell = to_c * kept[1];
        return C(0);
    }
};
struct Gru {
    static constexpr int GATES = 3, KEPT = 4;
    template <typename C>
    TT_INLINE static C step(const C* p, const C* q, C h, C*, C* kept) {
        const C r = sigmoid(p[0] + q[0]), z = sigmoid(p[1] + q[1]), n = math::tanh(p[2] + r * q[2]);
        kept[0] = r, kept[1] = z, kept[2] = n, kept[3] = q[2];
        return n + z * (h - n);
    }
    template <typename C>
    TT_INLINE static C back(C g, const C* kept, const C* extra, C before, C, C, C*, C* d, C* e) {
        const C r = kept[0], z = kept[1], n = kept[2];
        d[2] = tanh_back(g * (C(1) - z) + extra[2], n);
        d[1] = e[1] = sigmoid_back(g * (before - n) + extra[1], z);
        d[0] = e[0] = sigmoid_back(d[2] * kept[3] + extra[0], r);
        e[2] = d[2] * r + extra[3];
        return g * z;
    }
};
struct Tanh {
    static constexpr int GATES = 1, KEPT = 0;
    template <typename C>
    TT_INLINE static C step(const C* p, const C* q, C, C*, C*) {
        return math::tanh(p[0] + q[0]);
    }
    template <typename C>
    TT_INLINE static C back(C g, const C*, const C*, C, C, C y, C*, C* d, C* e) {
        d[0] = e[0] = tanh_back(g, y);
        return C(0);
    }
};
struct Relu {
    static constexpr int GATES = 1, KEPT = 0;
    template <typename C>
    TT_INLINE static C step(const C* p, const C* q, C, C*, C*) {
        const C x = p[0] + q[0];
        return x <= C(0) ? C(0) : x;  // NaN stays
    }
    template <typename C>
    TT_INLINE static C back(C g, const C*, const C*, C, C, C y, C*, C* d, C* e) {
        d[0] = e[0] = y <= C(0) ? C(0) : g;
        return C(0);
    }
};

}  // namespace rnn

// From the products with the input, of all rows, and with the state, of the rows of this step (both without `bias`, that of
// the state), to the new states: into `output` at all rows, and into h and c.  With a projection, output and h are null and
// `raw` gets the states to project.
template <typename Mode, typename C>
__global__ void rnn_step(const C* own, const C* recurrent, const C* bias, C* h, C* c, C* output, C* kept, C* raw, rnn::Step s) {
    constexpr int GATES = Mode::GATES, KEPT = Mode::KEPT;
    for (int64 i = first_element(); i < s.batch * s.hidden; i += element_step()) {
        const int64 r = i / s.hidden, j = i - r * s.hidden, row = s.row + r;
        C p[GATES], q[GATES], saved[KEPT + 1];
        for (int k = 0; k < GATES; k++) {
            p[k] = own[(row * GATES + k) * s.hidden + j];
            q[k] = recurrent[(r * GATES + k) * s.hidden + j];
            if (bias) q[k] += bias[k * s.hidden + j];
        }
        C cell = c ? c[i] : C(0);
        const C found = Mode::step(p, q, h ? h[i] : C(0), &cell, saved);
        if (c) c[i] = cell;
        if (h) h[i] = found;
        if (output) output[s.row * s.hidden + i] = found;
        if (raw) raw[i] = found;
        for (int k = 0; k < KEPT; k++) kept[(row * KEPT + k) * s.hidden + j] = saved[k];
    }
}

// The gradient of the states after a step: of the output, of the state itself, and through the products of the step
// after it, which had `fresh` rows; rows that end there keep what they got.  With a projection `projected` gets what was
// projected, and nothing goes directly to the states before.
template <typename C>
__global__ void rnn_slope(const C* grad, C* state, const C* product, const C* kept, C* slope, C* projected, rnn::Step s,
                          int64 width) {
    const int64 rows = s.batch > s.fresh ? s.batch : s.fresh;
    for (int64 i = first_element(); i < rows * width; i += element_step()) {
        const bool here = i < s.batch * width;
        C g = state[i];
        if (product && i < s.fresh * width) g += product[i];
        if (here && grad) g += grad[s.row * width + i];
        if (!here || projected) state[i] = here ? C(0) : g;
        if (here) slope[i] = g;
    }
    if (!projected) return;
    for (int64 i = first_element(); i < s.batch * s.hidden; i += element_step()) {
        const int64 r = i / s.hidden, j = i - r * s.hidden;
        const C* at = kept + (s.row + r) * 5 * s.hidden + j;
        projected[i] = at[3 * s.hidden] * math::tanh(at[4 * s.hidden]);
    }
}

// The gradients of both products of a step, from that of the states before any projection; and directly of the states before,
// into `state` (null with a projection, through which nothing goes directly).  `extra`: the gradient of what was kept, or null.
// `outputs`, or h at the rows that had no step before, has the states before; `cells` and c those of the cells.
template <typename Mode, typename C>
__global__ void rnn_step_back(const C* slope, const C* kept, const C* extra, const C* output, const C* h, const C* c, C* state,
                              C* to_cell, C* to_own, C* to_recurrent, rnn::Step s) {
    constexpr int GATES = Mode::GATES, KEPT = Mode::KEPT;
    for (int64 i = first_element(); i < s.batch * s.hidden; i += element_step()) {
        const int64 r = i / s.hidden, j = i - r * s.hidden, row = s.row + r;
        C saved[KEPT + 1], more[KEPT + 1], d[GATES], e[GATES];
        for (int k = 0; k < KEPT; k++) {
            const int64 at = (row * KEPT + k) * s.hidden + j;
            saved[k] = kept[at];
            more[k] = extra ? extra[at] : C(0);
        }
        const int64 earlier = s.before + r;
        C before = C(0), cell = C(0), y = C(0), to_c = C(0);
        if constexpr (GATES == 3) before = r < s.known ? output[earlier * s.hidden + j] : h[i];
        if constexpr (GATES == 4) {
            cell = r < s.known ? kept[(earlier * KEPT + 4) * s.hidden + j] : c[i];
            to_c = to_cell[i];
        }
        if constexpr (GATES == 1) y = output[row * s.hidden + j];
        const C direct = Mode::back(slope[i], saved, more, before, cell, y, &to_c, d, e);
        if constexpr (GATES == 4) to_cell[i] = to_c;
        if (state) state[i] = direct;
        for (int k = 0; k < GATES; k++) {
            const int64 at = (row * GATES + k) * s.hidden + j;
            to_own[at] = d[k];
            if (to_recurrent != to_own) to_recurrent[at] = e[k];
        }
    }
}

// Rows of `target` from those of `one`, where a row has a place, and else of `two`: the states before each row.
template <typename C>
__global__ void rnn_before(const C* one, const C* two, C* target, rnn::Step s, int64 width) {
    for (int64 i = first_element(); i < s.batch * width; i += element_step())
        target[s.row * width + i] = i < s.known * width ? one[s.before * width + i] : two[i];
}

// Both arrays that get the first rows of a state: of all rows, and of the state.
template <typename C>
__global__ void rnn_place(const C* source, C* output, C* h, rnn::Step s, int64 width) {
    for (int64 i = first_element(); i < s.batch * width; i += element_step()) {
        h[i] = source[i];
        output[s.row * width + i] = source[i];
    }
}

#endif  // TT_RECURRENT_CUH
