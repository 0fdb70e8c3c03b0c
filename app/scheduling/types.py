"""Array types of the core."""

import numpy as np
from numpy.typing import NDArray

ComplexArray = NDArray[np.complex128]
RealArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]
MaskArray = NDArray[np.bool_]
