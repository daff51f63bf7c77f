"""The backward pass: the engine and the validation of gradients."""
