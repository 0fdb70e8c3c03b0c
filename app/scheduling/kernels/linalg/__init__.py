"""Linear algebra: the principal eigenvector, factorisations, weighted Gram matrices."""
