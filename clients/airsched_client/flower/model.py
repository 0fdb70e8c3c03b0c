"""A model as Flower holds it, and as one vector for the air."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord
from numpy.typing import NDArray

Real = NDArray[np.floating]
OverTheAirRule = Callable[[str, NDArray[np.generic]], bool]
"""Says of a name and an array whether the array goes over the air."""

_STATISTICS = ("running_mean", "running_var", "num_batches_tracked", "moving_mean", "moving_var")


def not_statistics(name: str, array: NDArray[np.generic]) -> bool:
    """Return whether an array is not a running statistic of a normalisation layer, by its name.

    Noise can make a variance negative, and statistics are far larger than updates: over the air
    they would set the scale of the round.
    """
    return not name.endswith(_STATISTICS)


class Model:
    """The global model before a round.

    Only arrays of floating-point numbers can be sent as amplitudes. Others, such as counters, go
    digitally: the server gets their weighted mean without noise.

    Parameters
    ----------
    arrays
        The model.
    over_the_air
        Which of its floating-point arrays go over the air.
    """

    def __init__(self, arrays: ArrayRecord, over_the_air: OverTheAirRule) -> None:
        self._arrays = {name: array.numpy() for name, array in arrays.items()}
        self._sent = [
            name
            for name, array in self._arrays.items()
            if np.issubdtype(array.dtype, np.floating) and over_the_air(name, array)
        ]
        if not self._sent:
            raise ValueError("no array of the model goes over the air: see over_the_air")

    def update(self, trained: ArrayRecord) -> Real:
        """Return what training changed in the arrays that go over the air, (D,).

        Raises
        ------
        ValueError
            The trained model has other arrays, or numbers that are not finite.
        """
        found = {name: array.numpy().shape for name, array in trained.items()}
        if found != {name: array.shape for name, array in self._arrays.items()}:
            raise ValueError(f"a model with other arrays, {found}")
        update = self._vector({name: trained[name].numpy() for name in self._sent})
        update -= self._vector(self._arrays)
        if not np.isfinite(update).all():
            raise ValueError("a model that is not finite")
        return update

    def after(
        self, step: Real, trained: Sequence[ArrayRecord], weights: Sequence[float]
    ) -> ArrayRecord:
        """Return the next global model.

        Parameters
        ----------
        step
            (D,), what the air delivered.
        trained, weights
            The models of those who sent, and their weights, for what goes digitally.
        """
        ends = np.cumsum([self._arrays[name].size for name in self._sent])
        steps = dict(zip(self._sent, np.split(step, ends[:-1]), strict=True))
        arrays = {}
        for name, before in self._arrays.items():
            if name in steps:
                after = before + steps[name].reshape(before.shape)
            else:
                after = np.average([one[name].numpy() for one in trained], axis=0, weights=weights)
                after = np.rint(after) if np.issubdtype(before.dtype, np.integer) else after
            # As an array again: NumPy makes a scalar of a result without dimensions.
            arrays[name] = Array(np.asarray(after, before.dtype))
        return ArrayRecord(arrays)

    @staticmethod
    def cast(arrays: ArrayRecord, dtypes: Mapping[str, Any]) -> ArrayRecord:
        """Return a model whose arrays have these types; integers are rounded."""
        found = {}
        for name, array in arrays.items():
            values, dtype = array.numpy(), dtypes[name]
            values = np.rint(values) if np.issubdtype(dtype, np.integer) else values
            found[name] = Array(np.asarray(values, dtype))
        return ArrayRecord(found)

    def _vector(self, arrays: dict[str, NDArray[np.generic]]) -> Real:
        return np.concatenate([arrays[name].ravel() for name in self._sent]).astype(np.float64)
