"""Any torch module and its data as a task of the loop.

**What goes over the air** are the parameters that require a gradient, in the module's own
precision. Everything else of the module stays as ``make_net`` made it, except the running
statistics of normalisation layers, wherever they are in the module. These belong to the weights
they were measured with: what devices find while they train, each with weights of its own, is not
right for the mean of their weights. So the active devices measure them at the new global model, on
:data:`STATISTICS_SAMPLES` samples each, as the mean m and the second moment q = v + m². The server
uses the weighted means of m and q. For the first normalisation layer these are the statistics of
all the samples together; for later ones each device's samples were normalised by its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from copy import deepcopy
from hashlib import sha256
from typing import Any, cast

import numpy as np

from airsched_client._extras import install_hint
from airsched_client.federated.tasks.task import Evaluation, Indices, LocalRound, Real

try:
    import torch
    from torch import nn
    from torch.nn.modules.batchnorm import _NormBase
    from torch.utils.data import TensorDataset
except ImportError as error:
    raise ImportError(f"{error}: TorchTask needs torch; {install_hint('torch')}") from error

STATISTICS_SAMPLES = 256
"""Samples on which a device measures the statistics of the global model."""

_EVALUATED_AT_ONCE = 500


def accuracy(outputs: Any, targets: Any) -> Any:
    """Return the share of samples whose largest output is their class."""
    return (outputs.argmax(1) == targets).double().mean()


class TorchTask:
    """Train a torch module on every device, and evaluate the mean.

    Parameters
    ----------
    make_net
        Makes the module; called once per seed for its initial parameters.
    train, test
        A map-style dataset of (input, target), or a pair of tensors or NumPy arrays.
    parts
        K arrays of indices into ``train``, the samples of every device. Without them the
        experiment divides the data by its own rule, which needs integer targets.
    optimizer
        From the parameters to an optimiser; a new one on every device in every round.
    loss
        From outputs and targets to their mean loss.
    metric
        From outputs and targets to the mean of what the results call accuracy.
    epochs, batch_size
        Of the local training. With normalisation layers, a last batch of one sample is left out:
        it has no variance.
    device
        Where torch computes, such as ``cuda``.
    train_samples
        Number of training samples on which the training loss is measured.
    """

    def __init__(
        self,
        make_net: Callable[[], Any],
        train: Any,
        test: Any,
        *,
        parts: Sequence[Indices] | None = None,
        optimizer: Callable[[Any], Any] = lambda parameters: torch.optim.SGD(
            parameters, lr=0.01, momentum=0.9
        ),
        loss: Callable[[Any, Any], Any] = nn.functional.cross_entropy,
        metric: Callable[[Any, Any], Any] = accuracy,
        epochs: int = 1,
        batch_size: int = 32,
        device: str = "cpu",
        train_samples: int = 1000,
    ) -> None:
        if epochs < 1 or batch_size < 1:
            raise ValueError("epochs and batch_size must be at least 1")
        self._make, self._optimizer, self._loss, self._metric = make_net, optimizer, loss, metric
        self.accuracy_name: str = getattr(metric, "__name__", "metric").replace("_", " ")
        self._epochs, self._batch_size, self._device = epochs, batch_size, torch.device(device)
        self._train, self._test = (_Data(data, self._device) for data in (train, test))
        self._train_samples = min(train_samples, len(self._train))
        self.parts = None if parts is None else [np.asarray(part) for part in parts]
        for number, part in enumerate(self.parts or ()):
            if part.size and not 0 <= part.min() <= part.max() < len(self._train):
                raise ValueError(
                    f"part {number} has the indices {part.min()} to {part.max()}, but there are"
                    f" {len(self._train)} training samples"
                )
        if isinstance(make_net, nn.Module) or not callable(make_net):
            raise TypeError(
                "make_net must be a function that makes a module: every seed needs a new one;"
                f" it is {type(make_net).__name__}"
            )
        with self._seeded(np.random.default_rng(0)):
            self._net = make_net().to(self._device)
        if not _trained(self._net):
            raise ValueError("the module has no parameter that requires a gradient")
        self._norms = [
            layer
            for layer in self._net.modules()
            if isinstance(layer, _NormBase) and layer.running_mean is not None
        ]

    @property
    def labels(self) -> Indices:
        """Integer targets of the training samples; zeros if they are not integers."""
        return self._train.labels()

    def initial(self, rng: np.random.Generator) -> Real:
        """Return the parameters of a new module."""
        with self._seeded(rng):
            return _vector(_trained(self._make()))

    def train(self, model: Real, local: LocalRound) -> Real:
        """Return the parameters after some epochs on one device."""
        net = self._load(model).train()
        optimizer = self.optimizer_of(_trained(net), local)
        with self._seeded(local.rng):
            for _ in range(self._epochs):
                order = local.samples[local.rng.permutation(local.samples.size)]
                for first in range(0, order.size, self._batch_size):
                    batch = order[first : first + self._batch_size]
                    if batch.size == 1 and self._norms:
                        continue
                    inputs, targets = self._train.batch(batch)
                    optimizer.zero_grad()
                    self._loss(net(inputs), targets).backward()
                    optimizer.step()
        return _vector(_trained(net))

    def optimizer_of(self, parameters: Any, local: LocalRound) -> Any:
        """Return the optimiser of one device; override it for rates that depend on the round."""
        return self._optimizer(parameters)

    def statistics(self, model: Real, local: LocalRound) -> Real:
        """Return m and q = v + m² of every normalised channel, on some of the samples."""
        if not self._norms:
            return np.empty(0)
        net = self._load(model).eval()
        momenta = [norm.momentum for norm in self._norms]
        for norm in self._norms:
            # Keep this batch's statistics, nothing of earlier ones.
            norm.train().momentum = 1.0
        some = local.rng.permutation(local.samples)[:STATISTICS_SAMPLES]
        moments = []
        if some.size > 1:
            with torch.no_grad():
                net(self._train.batch(some)[0])
        for norm, momentum in zip(self._norms, momenta, strict=True):
            norm.momentum = momentum
            moments += [norm.running_mean, norm.running_var + norm.running_mean**2]
        return _vector(moments)

    def evaluate(self, model: Real, statistics: Real | None = None) -> Evaluation:
        """Return loss and metric on the test data, and the loss on some training samples."""
        net = self._load(model, statistics).eval()
        loss, metric = self._measure(net, self._test, np.arange(len(self._test)))
        train_loss, _ = self._measure(net, self._train, np.arange(self._train_samples))
        return Evaluation(loss, metric, train_loss)

    def evaluate_on(
        self, model: Real, samples: Indices, statistics: Real | None = None
    ) -> Evaluation:
        """Return loss and metric on some training samples."""
        net = self._load(model, statistics).eval()
        loss, metric = self._measure(net, self._train, samples)
        return Evaluation(loss, metric, loss)

    def module(self, model: Real, statistics: Real | None = None) -> Any:
        """Return a module of its own with these parameters and statistics, ready to evaluate."""
        return deepcopy(self._load(model, statistics)).eval()

    def describe(self) -> Mapping[str, Any]:
        """Return what the results depend on, except the initial model."""
        shapes = [[name, *value.shape] for name, value in self._net.named_parameters()]
        targets = sha256(self.labels.tobytes()).hexdigest()[:16]
        return {
            "module": shapes,
            "samples": [len(self._train), len(self._test)],
            "targets": targets,
            "optimizer": str(self._optimizer(_trained(self._net))),
            "loss": getattr(self._loss, "__name__", type(self._loss).__name__),
            "epochs": self._epochs,
            "batch_size": self._batch_size,
        }

    def _load(self, model: Real, statistics: Real | None = None) -> Any:
        """Fill the one module that all calls share; without statistics, means 0, variances 1."""
        with torch.no_grad():
            _fill(_trained(self._net), model)
            for norm in self._norms:
                norm.reset_running_stats()
            if statistics is not None and statistics.size:
                moments = [m for norm in self._norms for m in (norm.running_mean, norm.running_var)]
                _fill(moments, statistics)
                for norm in self._norms:
                    # q − m² of the means; rounding alone can take it below zero.
                    norm.running_var.sub_(norm.running_mean**2).clamp_(min=0)
        return self._net

    def _measure(self, net: Any, data: "_Data", samples: Indices) -> tuple[float, float]:
        """Return the mean loss and metric on these samples."""
        loss = metric = 0.0
        with torch.no_grad():
            for first in range(0, samples.size, _EVALUATED_AT_ONCE):
                some = samples[first : first + _EVALUATED_AT_ONCE]
                inputs, targets = data.batch(some)
                outputs = net(inputs)
                loss += some.size * float(self._loss(outputs, targets))
                metric += some.size * float(self._metric(outputs, targets))
        return loss / samples.size, metric / samples.size

    @contextmanager
    def _seeded(self, rng: np.random.Generator) -> Iterator[None]:
        """Let torch draw from ``rng``, and leave its own generators as they were."""
        cuda = [self._device] if self._device.type == "cuda" else []
        with torch.random.fork_rng(devices=cuda):
            torch.manual_seed(int(rng.integers(2**63)))
            yield


class _Data:
    """A dataset, or a pair of tensors, by arrays of indices."""

    def __init__(self, data: Any, device: Any) -> None:
        pair = data.tensors if isinstance(data, TensorDataset) else data
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        is_pair = is_pair and isinstance(pair[0], (torch.Tensor, np.ndarray))
        self._tensors = tuple(torch.as_tensor(one).to(device) for one in pair) if is_pair else None
        if not is_pair and not (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
            raise TypeError(
                "data must be a map-style dataset or a pair of tensors or arrays;"
                f" it is {type(data).__name__}"
            )
        sizes = [len(one) for one in self._tensors or (data,)]
        if not min(sizes) or min(sizes) < max(sizes):
            raise ValueError(f"data must have as many inputs as targets, at least one: {sizes}")
        self._data, self._device = data, device

    def __len__(self) -> int:
        sized: Sized = self._data if self._tensors is None else self._tensors[0]
        return len(sized)

    def batch(self, samples: Indices) -> tuple[Any, Any]:
        """Return inputs and targets, stacked."""
        if self._tensors is not None:
            index = torch.from_numpy(samples).to(self._device)
            return self._tensors[0][index], self._tensors[1][index]
        items = torch.utils.data.default_collate([self._data[int(at)] for at in samples])
        inputs, targets = (each.to(self._device) for each in items)
        return inputs, targets

    def labels(self) -> Indices:
        """Return integer targets, or zeros."""
        if self._tensors is not None:
            targets = self._tensors[1].cpu().numpy()
        elif hasattr(self._data, "targets"):
            targets = np.asarray(self._data.targets)
        else:
            targets = np.asarray([np.asarray(self._data[at][1]) for at in range(len(self))])
        if targets.ndim != 1 or not np.issubdtype(targets.dtype, np.integer):
            return np.zeros(len(self), np.int64)
        return np.asarray(targets, np.int64)


def _trained(net: Any) -> list[Any]:
    return [parameter for parameter in net.parameters() if parameter.requires_grad]


def _vector(tensors: Sequence[Any]) -> Real:
    """Return all entries in one vector, in their own precision."""
    return cast(Real, torch.cat([tensor.detach().flatten().cpu() for tensor in tensors]).numpy())


def _fill(tensors: Sequence[Any], vector: Real) -> None:
    parts = torch.from_numpy(vector).split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view(tensor.shape))
