"""What checks find: the kinds of faults, the log of an opcheck, and the report of a run."""
