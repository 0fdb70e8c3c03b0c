"""The algorithms written the plain way, to check the kernels and to measure them against."""
