"""What is said for single operators: a folder for each family, with its shape rules, composites, samples and texts."""
