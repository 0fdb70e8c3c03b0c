"""The proof of a bound: relaxation and search."""
