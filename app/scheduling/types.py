"""Array types of the core."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

ComplexArray = NDArray[np.complex128]
RealArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]
MaskArray = NDArray[np.bool_]

ColumnMap = Callable[[ComplexArray], ComplexArray]
