"""The autograd plugin: records operations and differentiates them."""
