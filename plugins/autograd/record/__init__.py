"""Recording: the graph, and the rules that extend it when an operator is called."""
