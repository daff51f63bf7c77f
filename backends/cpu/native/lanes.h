/* Loops over lanes: partial results side by side, which compilers keep in vector registers. */
#ifndef TT_LANES_H
#define TT_LANES_H

enum { LANES = 64, LANES_BLOCK = 16 * LANES };

/* Combines x[0..n) with STEP(lane, value) into lanes that begin as START, then the lanes with JOIN.  Lanes begin anew after
   16 elements, so that sums are as exact as those in pairs. */
#define LANES_FOLD(A, START, STEP, JOIN, x, n, result)                                                                 \
    do {                                                                                                               \
        int64_t fold_i = 0;                                                                                            \
        A fold_r = START;                                                                                              \
        if ((n) >= LANES) {                                                                                            \
            A fold_l[LANES];                                                                                           \
            for (int fold_j = 0; fold_j < LANES; fold_j++) fold_l[fold_j] = START;                                     \
            while (fold_i + LANES <= (n)) {                                                                            \
                A fold_b[LANES];                                                                                       \
                int64_t fold_e = (n) - fold_i < LANES_BLOCK ? (n) : fold_i + LANES_BLOCK;                              \
                for (int fold_j = 0; fold_j < LANES; fold_j++) fold_b[fold_j] = START;                                 \
                for (; fold_i + LANES <= fold_e; fold_i += LANES)                                                      \
                    for (int fold_j = 0; fold_j < LANES; fold_j++) STEP(fold_b[fold_j], (x)[fold_i + fold_j]);         \
                for (int fold_j = 0; fold_j < LANES; fold_j++) JOIN(fold_l[fold_j], fold_b[fold_j]);                   \
            }                                                                                                          \
            for (int fold_h = LANES / 2; fold_h >= 8; fold_h /= 2)                                                     \
                for (int fold_j = 0; fold_j < fold_h; fold_j++) JOIN(fold_l[fold_j], fold_l[fold_j + fold_h]);         \
            for (int fold_j = 0; fold_j < 8; fold_j++) JOIN(fold_r, fold_l[fold_j]);                                   \
        }                                                                                                              \
        if (fold_i + 8 <= (n)) {                                                                                       \
            A fold_s[8];                                                                                               \
            for (int fold_j = 0; fold_j < 8; fold_j++) fold_s[fold_j] = START;                                         \
            for (; fold_i + 8 <= (n); fold_i += 8)                                                                     \
                for (int fold_j = 0; fold_j < 8; fold_j++) STEP(fold_s[fold_j], (x)[fold_i + fold_j]);                 \
            for (int fold_j = 0; fold_j < 4; fold_j++) JOIN(fold_s[fold_j], fold_s[fold_j + 4]);                       \
            JOIN(fold_s[0], fold_s[2]);                                                                                \
            JOIN(fold_s[1], fold_s[3]);                                                                                \
            JOIN(fold_s[0], fold_s[1]);                                                                                \
            JOIN(fold_r, fold_s[0]);                                                                                   \
        }                                                                                                              \
        for (; fold_i < (n); fold_i++) STEP(fold_r, (x)[fold_i]);                                                      \
        (result) = fold_r;                                                                                             \
    } while (0)


#endif
