"""What is compared: an experiment, its runs, and the record of a round."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from airsched_client.federated.air import AirOptions
from airsched_client.federated.channels import Channels, NetworkParameters
from airsched_client.federated.partition import PartitionParameters
from airsched_client.models import Schedule, WidebandSchedule
from airsched_client.options import ScheduleOptions

PERFECT = "perfect"
"""The policy that needs no service: all devices, no noise."""

AUTO = "auto"
"""The policy without a tolerance: the point of the round's frontier that the service recommends."""

DIGITAL = "digital"
"""The policy without the air: every device sends in a slot of its own, without noise."""

Scheduled = Schedule | WidebandSchedule | Sequence[Schedule]
"""A schedule; over a band also one for every subcarrier, each with a set of its own."""

PolicyFunction = Callable[[Channels, ScheduleOptions], Scheduled | None]
"""A policy of your own: from the channels and the options of a request to a schedule.

The options are ``weights``, ``power``, ``noise_variance``, ``seed`` and so on. It returns None if
nobody can be served. :func:`airsched_client.federated.zero_forcing` makes a schedule from a set and
a receiver.
"""


class Run(NamedTuple):
    """One policy at one tolerance on one network; None for policies without a tolerance."""

    policy: str
    gamma_db: float | None
    seed: int

    @property
    def policy_name(self) -> str:
        """The name of the policy without its parameters."""
        return name_of(self.policy)


def label_of(policy: str | PolicyFunction) -> str:
    """Return a policy as it is written, or the name of a function."""
    if isinstance(policy, str):
        return policy
    return getattr(policy, "__name__", type(policy).__name__)


def name_of(policy: str) -> str:
    """Return the name of a policy without its parameters."""
    return policy.partition(":")[0]


@dataclass(frozen=True)
class Experiment:
    """Everything that determines the results.

    Parameters
    ----------
    task
        A name of :data:`airsched_client.federated.tasks.TASKS`.
    policies
        ``perfect``, ``auto`` and the service's algorithms: a name, or a name with parameters such
        as ``matching_pursuit:delta=0.4,search=forward``. ``priorities=age`` prefers devices that
        have waited longer, ``priorities=weight`` those with more data; the service says which
        algorithms take priorities. ``auto`` takes them too, and ``participation``, the ρ of
        :meth:`airsched_client.Frontier.best`. ``digital`` sends without the air. A function is a
        policy of your own, known by its name: see :data:`PolicyFunction`.
    gammas_db
        Tolerances γ, each with every algorithm of the service; other policies need none.
    seeds
        Seeds of network, data, fading, training and noise, or how many of them; with the same seed,
        all policies see the same ones.
    rounds
        T.
    coherence
        Number of rounds between changes of the fading.
    power, noise_variance
        P and σ². γ decides who may transmit and, with σ², how large the error is:
        E ≤ ε = γσ²/P. With interference the service takes the mean noise at an antenna for σ².
    coordination, polish
        As the service takes them.
    network, partition
        The positions of the devices, and their data.
    channels
        A trace to take the channels from, in place of the network: see
        :mod:`airsched_client.federated.traces`. Seed s begins where seed s − 1 ends; the trace must
        be long enough for all seeds. With one seed, it starts again after its last round.
    air
        Imperfections of the air, and both quadratures: see :class:`AirOptions`.
    data, samples, epochs
        The task's data folder, number of training samples and local epochs; None for its defaults.
    """

    task: str = "digits"
    policies: Sequence[str | PolicyFunction] = (PERFECT, "dual_pursuit", "matching_pursuit")
    gammas_db: Sequence[float] = (10.0,)
    seeds: int | Sequence[int] = (0,)
    rounds: int = 10
    coherence: int = 1
    power: float = 1.0
    noise_variance: float = 1.0
    coordination: Literal["zero_forcing", "mmse"] = "zero_forcing"
    polish: bool = False
    network: NetworkParameters = field(default_factory=NetworkParameters)
    partition: PartitionParameters = field(default_factory=PartitionParameters)
    air: AirOptions = field(default_factory=AirOptions)
    channels: str | None = None
    data: str | None = None
    samples: int | None = None
    epochs: int | None = None

    def __post_init__(self) -> None:
        one = isinstance(self.policies, str) or callable(self.policies)
        policies = (self.policies,) if one else self.policies
        gammas_db = self.gammas_db
        # As tuples, whatever was given, so that experiments can be compared.
        for name, values in (
            ("seeds", range(self.seeds) if isinstance(self.seeds, int) else self.seeds),
            ("policies", policies),
            ("gammas_db", (gammas_db,) if isinstance(gammas_db, int | float) else gammas_db),
        ):
            object.__setattr__(self, name, tuple(values))
        if not (self.policies and self.gammas_db and self.seeds) or self.rounds < 1:
            raise ValueError("an experiment needs a policy, a tolerance, a seed and a round")
        taken = [policy for policy in self.policies if isinstance(policy, str)]
        for function in dict.fromkeys(each for each in self.policies if callable(each)):
            name = label_of(function)
            if name in (*taken, PERFECT, AUTO, DIGITAL):
                raise ValueError(f"there are two policies {name}: give the function another name")
            taken.append(name)
        if self.coherence < 1:
            raise ValueError("coherence must be at least one round")
        if min(self.all_seeds) < 0:
            raise ValueError("seeds must be at least 0")
        if self.power <= 0 or self.noise_variance <= 0:
            raise ValueError("power and noise_variance must be positive")
        if self.network.elements and AUTO in map(name_of, self.names):
            raise ValueError(f"{AUTO} cannot tune a reflecting surface: leave out elements")
        for policy in (AUTO, DIGITAL):
            if self.network.subcarriers > 1 and policy in map(name_of, self.names):
                raise ValueError(f"{policy} takes no band: leave out subcarriers")
        if self.channels is not None and self.network.elements:
            raise ValueError("a trace has no reflecting surface: leave out elements")
        if self.channels is not None and self.network.is_cell:
            raise ValueError(
                "a trace has neither power limits nor interference: leave out power_spread_db and"
                " interference_db"
            )

    @staticmethod
    def algorithm(policy: str) -> dict[str, Any]:
        """Return a policy as the ``algorithm`` field of a request."""
        name, _, rest = policy.partition(":")
        parameters = dict(pair.partition("=")[::2] for pair in rest.split(",") if pair)
        return {"name": name, **{key: _value(text) for key, text in parameters.items()}}

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds, one by one."""
        return tuple(self.seeds)  # type: ignore[arg-type]

    @property
    def names(self) -> tuple[str, ...]:
        """The policies by name."""
        return tuple(dict.fromkeys(map(label_of, self.policies)))

    @property
    def functions(self) -> Mapping[str, PolicyFunction]:
        """The policies that are functions, by name."""
        return {label_of(each): each for each in self.policies if not isinstance(each, str)}

    def runs(self) -> list[Run]:
        """Return the runs in order; a policy without a tolerance runs once per seed."""
        without = {PERFECT, AUTO, DIGITAL, *self.functions}
        return [
            Run(policy, gamma_db, seed)
            for seed in self.all_seeds
            for policy in self.names
            for gamma_db in ((None,) if name_of(policy) in without else self.gammas_db)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, with tuples as lists and functions by name."""
        return {**_as_json(asdict(self)), "policies": list(self.names)}


@dataclass(frozen=True)
class Record:
    """What happened in one round.

    Parameters
    ----------
    policy, gamma_db, seed
        The run.
    round
        0 … T−1.
    active
        The devices that took part.
    computation_error, measured_error
        Mean squared errors that the service reported and that the air produced, for symbols of unit
        power; None when nobody was active.
    accuracy, loss
        Of the global model after the round, on the test data.
    train_loss
        Of the same model, on training data.
    channel_uses, energy
        Symbols sent in the round, and the sum of what the devices sent in units of power times
        channel uses; None for ``perfect``, 0 when nobody was active.

    Numbers that overflowed because of noise are None.
    """

    policy: str
    gamma_db: float | None
    seed: int
    round: int
    active: tuple[int, ...]
    computation_error: float | None
    measured_error: float | None
    accuracy: float | None
    loss: float | None
    train_loss: float | None = None
    channel_uses: int | None = None
    energy: float | None = None

    @property
    def run(self) -> Run:
        """The run that the round belongs to."""
        return Run(self.policy, self.gamma_db, self.seed)


def _value(text: str) -> Any:
    """Parse a number or a boolean; return anything else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_json(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return [_as_json(inner) for inner in value]
    return label_of(value) if callable(value) else value
