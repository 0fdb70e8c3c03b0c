"""What the load test asks for."""

from dataclasses import dataclass

from benchmarks.service import JSON, MSGPACK, schedule_body


@dataclass(frozen=True)
class Case:
    """An algorithm at one size, in one encoding."""

    algorithm: str
    devices: int
    antennas: int
    media_type: str

    @property
    def shares(self) -> tuple[float, ...]:
        """Loads at which it is measured, as shares of its capacity."""
        slow = (self.algorithm, self.devices, self.antennas) == SLOW
        return (0.3, 0.7, 0.9, 1.1) if slow else (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1)

    @property
    def problem(self) -> str:
        """Algorithm and size, as they are printed."""
        return f"{self.algorithm} {self.devices}/{self.antennas}"

    @property
    def encoding(self) -> str:
        """As it is printed."""
        return "JSON" if self.media_type == JSON else "MessagePack"

    def body(self) -> bytes:
        """Return the request, at 0 dB."""
        media_type = self.media_type
        return schedule_body(self.antennas, self.devices, media_type, algorithm=self.algorithm)


PROBLEMS = (
    ("matching_pursuit", 20, 6),
    ("matching_pursuit", 100, 16),
    ("dual_pursuit", 20, 6),
    ("dual_pursuit", 100, 16),
    ("dc", 20, 6),
    ("dc", 100, 16),
)
SLOW = ("dc", 100, 16)
"""Takes a large part of a second: with fewer loads, for a minute each."""

CASES = tuple(Case(*problem, media) for problem in PROBLEMS for media in (JSON, MSGPACK))
