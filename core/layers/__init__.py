"""Layers and handlers of the core: fake tensors, functionalisation, several devices, `__tt_dispatch__`."""
