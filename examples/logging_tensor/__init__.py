"""A tensor that logs its operators, and a mode that logs all operators."""
