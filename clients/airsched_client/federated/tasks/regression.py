"""Linear regression, the illustrative example of the paper's appendix.

The data are β_i = θᵀa_i + noise with Gaussian a_i ∈ ℝᴰ. Device k solves

    min_θ Σ_{i∈D_k} |β_i − θᵀa_i|²

in closed form, and the global model is the weighted mean of the solutions. One round without noise
is enough to learn it.
"""

import numpy as np

from airsched_client.federated.tasks.task import Evaluation, Indices, LocalRound, Real


class Regression:
    """Least squares on synthetic data.

    Parameters
    ----------
    samples
        L, training samples; a quarter as many are added for testing.
    features
        D.
    noise
        Standard deviation of β around θᵀa; that of θᵀa itself is about 1.
    seed
        Of the data.
    """

    accuracy_name = "R²"

    def __init__(
        self, samples: int = 2000, features: int = 10, noise: float = 0.1, seed: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        truth = rng.standard_normal(features) / np.sqrt(features)
        inputs = rng.standard_normal((samples + samples // 4, features))
        outputs = inputs @ truth + noise * rng.standard_normal(len(inputs))
        self._inputs, self._test_inputs = inputs[:samples], inputs[samples:]
        self._outputs, self._test_outputs = outputs[:samples], outputs[samples:]

    @property
    def labels(self) -> Indices:
        """Zeros: there are no classes."""
        return np.zeros(len(self._inputs), np.int64)

    def initial(self, rng: np.random.Generator) -> Real:
        """Return zeros."""
        return np.zeros(self._inputs.shape[1])

    def train(self, model: Real, local: LocalRound) -> Real:
        """Return the least-squares solution; with fewer samples than features, the nearest one."""
        inputs = self._inputs[local.samples]
        rest = self._outputs[local.samples] - inputs @ model
        return np.asarray(model + np.linalg.lstsq(inputs, rest, rcond=None)[0])

    def evaluate(self, model: Real) -> Evaluation:
        """Return the mean squared error and R²."""
        loss = float(np.mean((self._test_outputs - self._test_inputs @ model) ** 2))
        train_loss = float(np.mean((self._outputs - self._inputs @ model) ** 2))
        return Evaluation(loss, 1 - loss / float(np.var(self._test_outputs)), train_loss)
