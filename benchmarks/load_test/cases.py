"""What the load tests ask for."""

from dataclasses import dataclass

from benchmarks.service import MSGPACK, schedule_body


@dataclass(frozen=True)
class Case:
    """An algorithm at one size."""

    algorithm: str
    devices: int
    antennas: int

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"{self.algorithm} {self.devices}/{self.antennas}"

    def body(self) -> bytes:
        """Return the request, at 0 dB, in MessagePack."""
        return schedule_body(self.antennas, self.devices, MSGPACK, algorithm=self.algorithm)


CASES = {
    case.name: case
    for case in (
        Case("matching_pursuit", 20, 6),
        Case("matching_pursuit", 100, 16),
        Case("dual_pursuit", 20, 6),
        Case("dual_pursuit", 100, 16),
        Case("dc", 20, 6),
    )
}
