"""The backward pass: the engine, and what it checks of gradients."""
