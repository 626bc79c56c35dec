"""What runs inside a box: standard library only, sent there as source when the box starts."""
