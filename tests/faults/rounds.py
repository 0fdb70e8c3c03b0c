"""Rounds whose schedules are known, to tell a right answer from a wrong one."""

from dataclasses import dataclass

import httpx
import numpy as np

from app.scheduling import Problem, solve
from lab.channels import iid_channels
from tests.api.bodies import packed, unpacked


@dataclass(frozen=True)
class Round:
    """A request, and the schedule that the core finds for it in this process."""

    body: dict[str, object]
    active: list[int]
    receiver: np.ndarray

    def check(self, answer: httpx.Response) -> None:
        """Fail unless ``answer`` is this round's schedule."""
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert found["active"] == self.active
        np.testing.assert_allclose(unpacked(found["receiver"]), self.receiver, rtol=0, atol=1e-9)


def known_round(algorithm: str, seed: int, antennas: int = 6, devices: int = 20) -> Round:
    channels = iid_channels(np.random.default_rng(seed), antennas, devices)
    found = solve(Problem(channels, np.ones(devices), gamma=1.0), algorithm)
    body = {"channels": packed(channels), "gamma": 1.0, "algorithm": algorithm}
    return Round(body, found.active.tolist(), found.receiver)
