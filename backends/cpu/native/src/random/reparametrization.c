/* Derivatives of gamma and beta numbers by their concentrations, element by element. */
#include "elementwise.h"
#include "sample_gradients.h"

#define GRAIN 512 /* elements worth a thread */

#define T float
#define NAME float
#define PRECISION tt_single
#include "reparametrization_loops.inc"

#define T double
#define NAME double
#define PRECISION tt_twice
#include "reparametrization_loops.inc"

TT_CALL(standard_gamma_grad, 2, 0, false, GRAIN)
TT_CALL(dirichlet_grad, 3, 0, false, GRAIN)

static PyMethodDef methods[] = {
    TT_OP_METHOD(standard_gamma_grad, "self, output"),
    TT_OP_METHOD(dirichlet_grad, "x, alpha, total"),
    {NULL, NULL, 0, NULL},
};

#define NAME _reparametrization
#define DOC "Derivatives of random numbers by the parameters of their distributions."
#include "module.inc"
