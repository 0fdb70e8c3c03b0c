"""Requests made from the OpenAPI document, right and wrong ones: no 5xx, and answers as described.

Some hundreds here; ``make fuzz`` sends thousands.
"""

from pathlib import Path

import msgpack
import numpy as np
import schemathesis
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from lab.channels import iid_channels
from tests.api.bodies import nested

# What fits the document may still be refused: shapes that disagree, two tolerances. That is what
# test_consistent_bodies is for.
CONFIG = {"checks": {"positive_data_acceptance": {"enabled": False}}}
DOCUMENT = schemathesis.openapi.from_path(
    Path(__file__).parents[2] / "openapi" / "openapi.json",
    config=schemathesis.Config.from_dict(CONFIG),
)
SCHEDULE = DOCUMENT["/schedule"]["POST"]


@schemathesis.serializer("application/msgpack")
def pack(context, value):
    try:
        return msgpack.packb(value)
    except OverflowError:
        # MessagePack has no room for this integer.
        reject()


@schemathesis.deserializer("application/msgpack")
def unpack(context, response):
    return msgpack.unpackb(response.content)


@DOCUMENT.parametrize()
def test_every_answer_is_as_described(case, address):
    match case.body:
        case {"deadline_ms": int() | float() as short} if 0 < short < 20_000 and short is not True:
            # 504 is the right answer to a deadline of a nanosecond; these checks would call it an
            # error of the server.
            case.body["deadline_ms"] = 20_000
    case.call_and_validate(base_url=address, timeout=30)


def integers(value):
    """Write whole numbers as integers: to JSON Schema 1.0 is one, to the service it is not."""
    if isinstance(value, dict):
        return {name: integers(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


@settings(deadline=None)
@given(
    case=SCHEDULE.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE),
    antennas=st.integers(1, 4),
    devices=st.integers(1, 6),
    tolerance=st.sampled_from([{"gamma": 1.0}, {"gamma_db": -3}, {"max_error": 0.5}]),
    seed=st.integers(0, 2**32),
)
def test_consistent_bodies(case, antennas, devices, tolerance, seed, address):
    """Shapes made to agree, and one tolerance; all else as it was drawn."""
    rng = np.random.default_rng(seed)
    body = case.body = integers(case.body)
    body["channels"] = nested(iid_channels(rng, antennas, devices))
    for name in ("gamma", "gamma_db", "max_error", "power", "noise_variance", "noise_covariance"):
        body.pop(name, None)
    for name in ("excluded", "required", "previous"):
        body.pop(name, None)
    body |= tolerance
    if body.get("weights") is not None:
        body["weights"] = rng.uniform(0.5, 2, devices).tolist()
    if isinstance(body.get("csi_error"), list):
        body["csi_error"] = rng.uniform(0, 0.1, devices).tolist()
    elif "csi_error" in body:
        body["csi_error"] = 0.1
    algorithm = body.get("algorithm")
    if isinstance(algorithm, dict) and algorithm.get("average_gains") is not None:
        algorithm["average_gains"] = rng.uniform(0.5, 2, devices).tolist()
    if body.get("device_ids") is not None:
        body["device_ids"] = [f"device {index}" for index in range(devices)]
    if body.get("warm_start") is not None:
        body["warm_start"] = nested(iid_channels(rng, antennas, 1)[:, 0])
    if body.get("deadline_ms") is not None:
        body["deadline_ms"] = 20_000
    if body.get("priorities") is not None:
        body["priorities"] = rng.uniform(0.5, 2, devices).tolist()
        body["algorithm"] = "dual_pursuit"
        body["bound"] = False
    if not body.get("bound"):
        body.pop("bound_ms", None)
    answer = case.call(base_url=address, timeout=30)
    assert answer.status_code == 200, answer.text
    case.validate_response(answer)
