/* Loops over lanes: partial results side by side, which compilers keep in vector registers. */
#ifndef TT_LANES_H
#define TT_LANES_H

enum { LANES = 64, LANES_BLOCK = 16 * LANES };

/* Combines the elements i = 0, ..., n - 1 with AT(lane, i) into lanes that begin as START, then the lanes with JOIN.  Lanes
   begin anew after 16 elements, so that sums are as exact as those in pairs. */
#define LANES_OVER(A, START, AT, JOIN, n, result)                                                                      \
    do {                                                                                                               \
        int64_t fold_i = 0, fold_n = (n);                                                                              \
        A fold_r = START;                                                                                              \
        if (fold_n >= LANES) {                                                                                         \
            A fold_l[LANES];                                                                                           \
            int64_t fold_e = fold_n < LANES_BLOCK ? fold_n : LANES_BLOCK;                                              \
            for (int fold_j = 0; fold_j < LANES; fold_j++) fold_l[fold_j] = START;                                     \
            for (; fold_i + LANES <= fold_e; fold_i += LANES)                                                          \
                for (int fold_j = 0; fold_j < LANES; fold_j++) AT(fold_l[fold_j], fold_i + fold_j);                    \
            while (fold_i + LANES <= fold_n) {                                                                         \
                A fold_b[LANES];                                                                                       \
                fold_e = fold_n - fold_i < LANES_BLOCK ? fold_n : fold_i + LANES_BLOCK;                                \
                for (int fold_j = 0; fold_j < LANES; fold_j++) fold_b[fold_j] = START;                                 \
                for (; fold_i + LANES <= fold_e; fold_i += LANES)                                                      \
                    for (int fold_j = 0; fold_j < LANES; fold_j++) AT(fold_b[fold_j], fold_i + fold_j);                \
                for (int fold_j = 0; fold_j < LANES; fold_j++) JOIN(fold_l[fold_j], fold_b[fold_j]);                   \
            }                                                                                                          \
            for (int fold_j = 0; fold_j < 32; fold_j++) JOIN(fold_l[fold_j], fold_l[fold_j + 32]);                     \
            for (int fold_j = 0; fold_j < 16; fold_j++) JOIN(fold_l[fold_j], fold_l[fold_j + 16]);                     \
            for (int fold_j = 0; fold_j < 8; fold_j++) JOIN(fold_l[fold_j], fold_l[fold_j + 8]);                       \
            LANES_EIGHT(JOIN, fold_l);                                                                                 \
            fold_r = fold_l[0];                                                                                        \
        }                                                                                                              \
        if (fold_i + 8 <= fold_n) {                                                                                    \
            A fold_s[8];                                                                                               \
            for (int fold_j = 0; fold_j < 8; fold_j++) fold_s[fold_j] = START;                                         \
            for (; fold_i + 8 <= fold_n; fold_i += 8)                                                                  \
                for (int fold_j = 0; fold_j < 8; fold_j++) AT(fold_s[fold_j], fold_i + fold_j);                        \
            LANES_EIGHT(JOIN, fold_s);                                                                                 \
            JOIN(fold_r, fold_s[0]);                                                                                   \
        }                                                                                                              \
        for (; fold_i < fold_n; fold_i++) AT(fold_r, fold_i);                                                          \
        (result) = fold_r;                                                                                             \
    } while (0)

#define LANES_EIGHT(JOIN, l)                                                                                           \
    do {                                                                                                               \
        JOIN((l)[0], (l)[4]);                                                                                          \
        JOIN((l)[1], (l)[5]);                                                                                          \
        JOIN((l)[2], (l)[6]);                                                                                          \
        JOIN((l)[3], (l)[7]);                                                                                          \
        JOIN((l)[0], (l)[2]);                                                                                          \
        JOIN((l)[1], (l)[3]);                                                                                          \
        JOIN((l)[0], (l)[1]);                                                                                          \
    } while (0)

/* The same for the elements of an array, which STEP(lane, element) gets. */
#define LANES_FOLD(A, START, STEP, JOIN, x, n, result)                                                                 \
    do {                                                                                                               \
        int64_t fold_i = 0, fold_n = (n);                                                                              \
        A fold_r = START;                                                                                              \
        if (fold_n >= LANES) {                                                                                         \
            A fold_l[LANES];                                                                                           \
            int64_t fold_e = fold_n < LANES_BLOCK ? fold_n : LANES_BLOCK;                                              \
            for (int fold_j = 0; fold_j < LANES; fold_j++) fold_l[fold_j] = START;                                     \
            for (; fold_i + LANES <= fold_e; fold_i += LANES)                                                          \
                for (int fold_j = 0; fold_j < LANES; fold_j++) STEP(fold_l[fold_j], (x)[fold_i + fold_j]);             \
            while (fold_i + LANES <= fold_n) {                                                                         \
                A fold_b[LANES];                                                                                       \
                fold_e = fold_n - fold_i < LANES_BLOCK ? fold_n : fold_i + LANES_BLOCK;                                \
                for (int fold_j = 0; fold_j < LANES; fold_j++) fold_b[fold_j] = START;                                 \
                for (; fold_i + LANES <= fold_e; fold_i += LANES)                                                      \
                    for (int fold_j = 0; fold_j < LANES; fold_j++) STEP(fold_b[fold_j], (x)[fold_i + fold_j]);         \
                for (int fold_j = 0; fold_j < LANES; fold_j++) JOIN(fold_l[fold_j], fold_b[fold_j]);                   \
            }                                                                                                          \
            for (int fold_j = 0; fold_j < 32; fold_j++) JOIN(fold_l[fold_j], fold_l[fold_j + 32]);                     \
            for (int fold_j = 0; fold_j < 16; fold_j++) JOIN(fold_l[fold_j], fold_l[fold_j + 16]);                     \
            for (int fold_j = 0; fold_j < 8; fold_j++) JOIN(fold_l[fold_j], fold_l[fold_j + 8]);                       \
            LANES_EIGHT(JOIN, fold_l);                                                                                 \
            fold_r = fold_l[0];                                                                                        \
        }                                                                                                              \
        if (fold_i + 8 <= fold_n) {                                                                                    \
            A fold_s[8];                                                                                               \
            for (int fold_j = 0; fold_j < 8; fold_j++) fold_s[fold_j] = START;                                         \
            for (; fold_i + 8 <= fold_n; fold_i += 8)                                                                  \
                for (int fold_j = 0; fold_j < 8; fold_j++) STEP(fold_s[fold_j], (x)[fold_i + fold_j]);                 \
            LANES_EIGHT(JOIN, fold_s);                                                                                 \
            JOIN(fold_r, fold_s[0]);                                                                                   \
        }                                                                                                              \
        for (; fold_i < fold_n; fold_i++) STEP(fold_r, (x)[fold_i]);                                                   \
        (result) = fold_r;                                                                                             \
    } while (0)

#define LANES_ADD(a, x) (a) += (x)

#endif
