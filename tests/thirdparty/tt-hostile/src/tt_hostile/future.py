"""Made for a tt that is not there yet; importing it here fails."""

raise ImportError("this module is for tt 9")
