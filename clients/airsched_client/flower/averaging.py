"""Which strategies work on a sum: the air does not deliver the nodes' own models."""

from typing import Any

from flwr.serverapp.strategy import Strategy

_NEED_EVERY_MODEL = frozenset(
    {
        "Bulyan",
        "DifferentialPrivacyServerSideAdaptiveClipping",
        "DifferentialPrivacyServerSideFixedClipping",
        "FedMedian",
        "FedTrimmedAvg",
        "FedXgbBagging",
        "FedXgbCyclic",
        "Krum",
        "MultiKrum",
        "QFedAvg",
    }
)


def require_averaging(strategy: Strategy) -> None:
    """Raise ValueError if a strategy, or one that it wraps, needs every node's model."""
    inner: Any = strategy
    while inner is not None:
        for kind in type(inner).__mro__:
            if kind.__name__ in _NEED_EVERY_MODEL:
                raise ValueError(
                    f"{kind.__name__} needs every node's model, and the air delivers only their"
                    " sum: wrap a strategy that averages, such as FedAvg, FedAdam or FedProx"
                )
        inner = getattr(inner, "strategy", None)
