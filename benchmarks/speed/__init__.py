"""How fast things here are, each beside a peer measured in the same run: ``python -m benchmarks.speed``."""
