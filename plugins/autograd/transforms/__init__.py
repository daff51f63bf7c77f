"""Function transforms, as levels on a stack: `vmap` and, through autograd, `grad`."""
