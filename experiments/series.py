"""What a curve shows: an algorithm with all its parameters, and how it looks."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from airsched_client.federated.palette import color_of, marker_of
from app.scheduling import SCHEDULERS, Parameters

_SYMBOLS = {"delta": "δ"}


@dataclass(frozen=True)
class Series:
    """One curve of a figure. :func:`series` makes one.

    Parameters
    ----------
    algorithm
        A scheduler of the service, or another policy of the learning loop.
    parameters
        All its parameters; None for a policy that is not a scheduler.
    color, marker, line
        As in matplotlib. A series without a colour appears in the tables only. Curves of one
        algorithm have one colour, and differ in the line.
    setting
        What else sets the curve apart, such as ``γ = 5 dB``, or the panel it belongs to.
    """

    algorithm: str
    parameters: Parameters | None
    color: str | None
    marker: str = "o"
    setting: str = ""
    line: Literal["-", ":"] = "-"

    @property
    def label(self) -> str:
        """The algorithm and every parameter that differs from the service's default."""
        changed = [f"{_SYMBOLS.get(name, name)} = {_text(value)}" for name, value in self._changed]
        return ", ".join([self.algorithm.replace("_", " "), *changed])

    @property
    def title(self) -> str:
        """The label and the setting."""
        return f"{self.label}, {self.setting}" if self.setting else self.label

    @property
    def name(self) -> str:
        """The title as files have it, in the notation of the learning loop's policies."""
        name = _policy(self.algorithm, self._changed)
        return f"{name}@{self.setting}" if self.setting else name

    @property
    def policy(self) -> str:
        """The series as a policy of the learning loop, with every parameter written out.

        Not for ``round_robin`` and ``proportional_fair``: the loop sets their parameters itself.
        """
        return _policy(self.algorithm, list(self.arguments.items()))

    @property
    def arguments(self) -> dict[str, Any]:
        """Every parameter, defaults included."""
        return {} if self.parameters is None else asdict(self.parameters)

    def at(self, setting: str) -> "Series":
        """Return the same series in a setting."""
        return replace(self, setting=setting)

    @property
    def _changed(self) -> list[tuple[str, Any]]:
        if self.parameters is None:
            return []
        defaults = asdict(type(self.parameters)())
        return [(name, value) for name, value in self.arguments.items() if value != defaults[name]]


def series(algorithm: str, color: str | None, marker: str = "o", **parameters: Any) -> Series:
    """Return the series of a scheduler; parameters left out have the service's defaults."""
    return Series(algorithm, SCHEDULERS[algorithm].parameters(**parameters), color, marker)


def named(algorithm: str, **parameters: Any) -> Series:
    """Return the series of a scheduler in the colour that it has in the loop's pictures too."""
    made = series(algorithm, None, **parameters)
    return replace(made, color=color_of(made.name), marker=marker_of(made.name))


def _policy(algorithm: str, parameters: list[tuple[str, Any]]) -> str:
    text = ",".join(f"{name}={_text(value)}" for name, value in parameters)
    return f"{algorithm}:{text}" if text else algorithm


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def policy_series(name: str) -> Series:
    """Return the series of something that is no scheduler: a policy of the loop, or a rival."""
    return Series(name, None, color_of(name), marker_of(name))


PERFECT = policy_series("perfect")
"""All devices, without noise: the learning loop's reference."""
AUTO = policy_series("auto")
"""The best point of the round's frontier, without a tolerance."""
OPTIMAL = named("optimal")
"""The proven optimum; a band up to the bound where a proof took too long."""
DUAL_PURSUIT = named("dual_pursuit")
MATCHING_PURSUIT = named("matching_pursuit")
BIDIRECTIONAL = named("matching_pursuit", search="bidirectional")
DC = named("dc")
DC_CLARABEL = named("dc", solver="clarabel")
SDR = named("sdr")
SDR_PREFIX = named("sdr", reading="prefix")
