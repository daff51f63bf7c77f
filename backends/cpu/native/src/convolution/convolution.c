/* Convolutions over one, two and three dimensions, their transposes, and the gradients of their filters. */
#include "convolution.h"
#include "arguments.h"
#include "gemm.h"
#include "sizes.h"

/* --- code for each dtype and instruction set --- */

#if 0 /* what follows is made of this, too: the build looks for such lines */
#include "convolution.inc"
#endif
#define TT_SOURCE "convolution.inc"
#include "instances.h"

static const tt_gemm_code *tt_gemm_code_of(tt_dtype dtype) { return TT_CODE_OF(dtype); }

static const tt_convolution_code *code_of(tt_dtype dtype) { return dtype == TT_F32 ? &convolution_f32 : &convolution_f64; }

#include "convolution_product.h"
#include "convolution_last.h"
#include "convolution_transpose.h"
#include "convolution_weight.h"

/* --- the operators --- */

#define N 1
#include "convolution_dims.inc"

#define N 2
#include "convolution_dims.inc"

#define N 3
#include "convolution_dims.inc"

static PyMethodDef methods[] = {
    TT_METHOD(conv1d, "conv1d(input, weight, bias, stride, padding, dilation, groups)"),
    TT_METHOD(conv2d, "conv2d(input, weight, bias, stride, padding, dilation, groups)"),
    TT_METHOD(conv3d, "conv3d(input, weight, bias, stride, padding, dilation, groups)"),
    TT_METHOD(conv_transpose1d, "conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)"),
    TT_METHOD(conv_transpose2d, "conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)"),
    TT_METHOD(conv_transpose3d, "conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)"),
    TT_METHOD(_conv_weight, "_conv_weight(input, grad, weight_size, stride, padding, dilation, groups)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _convolution
#define DOC "Convolutions and their gradients."
#include "module.inc"
