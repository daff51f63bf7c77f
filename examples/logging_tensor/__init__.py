"""A tensor that writes down what is done with it, and a mode that writes down what everything does."""
