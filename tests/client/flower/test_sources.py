"""Channels by node: the right column, and clear words if there is none."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")


from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.fading import NetworkFading
from airsched_client.federated.traces import Trace
from airsched_client.flower import Device, NetworkSource, ReportedSource, TraceSource

PARAMETERS = NetworkParameters(5, 3, csi_error=0.1)


def devices(*indices):
    return [Device(100 - number, 1.0, index) for number, index in enumerate(indices)]


def test_a_node_has_the_column_of_its_partition():
    every = NetworkFading(PARAMETERS, 4).channels(6)
    some = NetworkSource(PARAMETERS, 4).channels(7, devices(3, 0))
    np.testing.assert_array_equal(some.direct, every.direct[:, [3, 0]])
    np.testing.assert_array_equal(some.estimates, every.estimates[:, [3, 0]])
    assert not np.array_equal(some.direct, some.estimates)


def test_a_trace_is_played_from_its_start_and_again():
    trace = Trace.open("examples/sionna/umi.npz")
    source = TraceSource(trace, start=198)
    for server_round, number in ((1, 198), (2, 199), (3, 0)):
        channels = source.channels(server_round, devices(2))
        np.testing.assert_array_equal(channels.direct[:, 0], trace.channels[number, :, 2])


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        ((0, None), "node 99 has partition-id None"),
        ((5,), r"channels for 0 … 4"),
        ((-1,), "partition-id -1"),
        ((1, 1), "two nodes have the same partition-id"),
    ],
)
def test_nodes_without_a_column_of_their_own_are_refused(indices, words):
    with pytest.raises(ValueError, match=words):
        NetworkSource(PARAMETERS).channels(1, devices(*indices))


def test_a_surface_is_refused():
    with pytest.raises(ValueError, match="no reflecting surface"):
        NetworkSource(NetworkParameters(elements=4))


def test_reports_are_columns_and_bad_ones_are_zero(caplog):
    good = np.array([1 + 2j, 3, 4j])
    reports = [good, None, good[:2], np.array([1, np.nan, 0])]
    found = ReportedSource(3).channels(
        1, [Device(number, 1.0, None, report) for number, report in enumerate(reports)]
    )
    np.testing.assert_array_equal(found.direct[:, 0], good)
    np.testing.assert_array_equal(found.direct[:, 1:], 0)
    for words in ("node 1 reports no channel", "node 2 reports a channel of 2", "node 3 reports"):
        assert words in caplog.text
