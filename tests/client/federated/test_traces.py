"""Traces: what is read, what is refused, and that the loop plays them."""

import itertools
import sys

import numpy as np
import pytest

from airsched_client.federated.__main__ import main as federated
from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.checkpoint import read_records
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment
from airsched_client.federated.fading import TraceFading
from airsched_client.federated.loop import Setting
from airsched_client.federated.tasks import build
from airsched_client.federated.traces import Trace
from airsched_client.federated.traces.__main__ import least_gammas, main
from tests.pages import BLOCKS, ROOT

RECORDED = ROOT / "examples" / "sionna" / "umi.npz"
ROUNDS, ANTENNAS, DEVICES = 7, 3, 5


def made_up(seed=0, shape=(ROUNDS, ANTENNAS, DEVICES)):
    return np.random.default_rng(seed).standard_normal((*shape, 2)) @ [1, 1j]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trace.npz"


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("subcarriers", [(), (1,), (4,)])
def test_channels_are_read_as_written(path, dtype, order, save, subcarriers):
    shape = (ROUNDS, *subcarriers, ANTENNAS, DEVICES)
    channels, estimates = (np.asarray(made_up(seed, shape), dtype, order=order) for seed in (0, 1))
    # Names of any length before it: where an array begins in the file depends on them.
    save(path, a_name_of_any_length=np.arange(3), channels=channels, estimates=estimates)
    trace = Trace.open(path)
    assert isinstance(trace.channels, np.memmap) == (save is np.savez)
    assert (len(trace), trace.antennas, trace.devices) == (ROUNDS, ANTENNAS, DEVICES)
    assert trace.subcarriers == (*subcarriers, 1)[0]
    if subcarriers == (1,):
        channels, estimates = channels[:, 0], estimates[:, 0]
    for number in range(2 * ROUNDS):
        found = trace.at(number)
        assert found.direct.shape == channels.shape[1:]
        np.testing.assert_array_equal(found.direct, channels[number % ROUNDS])
        np.testing.assert_array_equal(found.estimates, estimates[number % ROUNDS])
    assert trace.ignored == ("a_name_of_any_length",)


def test_without_estimates_the_server_knows_the_channels(path):
    np.savez(path, channels=made_up())
    found = Trace.open(path).at(2)
    np.testing.assert_array_equal(found.direct, found.estimates)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"h": made_up()}, "has no array `channels`; it has h"),
        ({"channels": made_up()[0]}, r"× antennas × devices; it is complex128 of shape \(3"),
        ({"channels": made_up()[None, None]}, "rounds × subcarriers × antennas × devices; it is"),
        ({"channels": made_up().real}, "must be complex"),
        ({"channels": made_up()[:0]}, "`channels` is empty"),
        ({"channels": np.array([None])}, "channels.npy is not an array of numbers"),
        ({"channels": made_up(), "estimates": made_up()[1:]}, "`estimates` must be complex with"),
        ({"channels": made_up(), "estimates": made_up().real}, "`estimates` must be complex with"),
        ({"channels": made_up(), "positions": np.zeros((4, 2))}, "each of 5 devices"),
        ({"channels": made_up(), "power": 0.0}, "`power` must be one positive number"),
        ({"channels": made_up(), "power": "high"}, "`power` must be one positive number"),
        ({"channels": made_up(), "noise_variance": [1.0, 2.0]}, "`noise_variance` must be one"),
        ({"channels": made_up(), "carrier_frequency": np.nan}, "`carrier_frequency` must be one"),
    ],
)
def test_what_is_not_a_trace_is_refused(path, arrays, words):
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=words):
        Trace.open(path)


def test_what_is_not_an_npz_file_is_refused(path, tmp_path):
    path.write_bytes(b"not a zip")
    with pytest.raises(ValueError, match=r"is not an \.npz file: write it with numpy\.savez"):
        Trace.open(path)
    np.savez(path, channels=made_up())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"is not an \.npz file"):
        Trace.open(path)
    with pytest.raises(FileNotFoundError):
        Trace.open(tmp_path / "none.npz")


@pytest.mark.parametrize("name", ["channels", "estimates"])
@pytest.mark.parametrize("subcarriers", [(), (2,)])
def test_values_that_are_not_finite_are_refused_where_they_are_used(path, name, subcarriers):
    good = made_up(shape=(ROUNDS, *subcarriers, ANTENNAS, DEVICES))
    broken = good.copy()
    broken[4, ..., 1, 3:] = np.nan
    np.savez(path, **{"channels": good, "estimates": good, name: broken})
    trace = Trace.open(path)
    trace.at(3)
    with pytest.raises(
        ValueError, match="round 4 has values that are not finite, first for device 3"
    ):
        trace.at(4)


@pytest.mark.parametrize("units", [{"power": 0.2}, {"noise_variance": 1e-13}])
def test_other_units_are_refused_with_the_command_that_helps(path, units):
    np.savez(path, channels=made_up(), **units)
    trace = Trace.open(path)
    with pytest.raises(ValueError, match=r"federated\.traces .*trace\.npz --scale scaled\.npz"):
        TraceFading(trace)
    TraceFading(trace, **units)


def test_scaling_keeps_the_signal_to_noise_ratio(path, tmp_path, capsys):
    channels, power, noise = 1e-6 * made_up(), 0.2, 4e-14
    np.savez(path, channels=channels, estimates=channels, power=power, noise_variance=noise)
    assert main([str(path), "--scale", str(tmp_path / "scaled")]) == 0
    scaled = Trace.open(tmp_path / "scaled")
    assert (scaled.power, scaled.noise_variance) == (1.0, 1.0)
    np.testing.assert_allclose(
        np.abs(scaled.channels) ** 2, power * np.abs(channels) ** 2 / noise, rtol=1e-12
    )
    np.testing.assert_array_equal(scaled.channels, scaled.estimates)
    TraceFading(scaled)


def test_scaling_needs_units_and_another_file(path, capsys):
    np.savez(path, channels=made_up())
    assert main([str(path), "--scale", str(path)]) == 1
    assert "does not say its `power`" in capsys.readouterr().err
    np.savez(path, channels=made_up(), power=2.0, noise_variance=1.0)
    before = path.read_bytes()
    assert main([str(path), "--scale", str(path)]) == 1
    assert "is the trace itself" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_bounds_on_gamma_enclose_the_optimum():
    """For two devices the least γ is known: 1/max_c min_k |h_kᴴc|², here by a fine search."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        channels = rng.standard_normal((2, 2, 2)) @ [1, 1j]
        angles = np.linspace(0, np.pi / 2, 120), np.linspace(0, 2 * np.pi, 240)
        mix, phase = (grid.ravel() for grid in np.meshgrid(*angles))
        receivers = np.stack([np.cos(mix), np.sin(mix) * np.exp(1j * phase)])
        best = (np.abs(receivers.conj().T @ channels) ** 2).min(axis=1).max()
        low, high = least_gammas(channels)
        assert low[0] == pytest.approx(1 / (np.abs(channels) ** 2).sum(axis=0).max())
        assert high[0] == pytest.approx(low[0])
        assert low[1] <= 1.01 / best
        assert high[1] >= 0.99 / best


def test_the_command_describes_a_trace(capsys):
    assert main([str(RECORDED)]) == 0
    printed = capsys.readouterr().out
    assert "200 rounds, 6 antennas, 20 devices, complex64, memory-mapped" in printed
    assert "power 1, noise_variance 1, carrier_frequency 3.5e+09" in printed
    table = np.array(
        [line.split() for line in printed.splitlines() if line[:6].strip("- ").isdecimal()], float
    )
    assert np.all(np.diff(table[:, 1]) >= 0)
    assert np.all(table[:, 1] <= table[:, 2])
    assert table[-1, 1] == 20.0


def test_the_command_describes_a_band(path, capsys):
    channels = made_up(shape=(300, 8, ANTENNAS, DEVICES))
    np.savez(path, channels=channels)
    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert "300 rounds, 8 subcarriers, 3 antennas, 5 devices" in printed
    assert "mean over 200 subcarriers" in printed
    # E‖h_k‖² = 2N; the weakest device's mean over 200 matrices is within 10 % of it.
    assert float(printed.partition("[dB]: ")[2].split()[0]) == pytest.approx(7.8, abs=0.5)


def test_the_command_says_when_nobody_can_be_served_and_when_it_fails(path, capsys):
    np.savez(path, channels=np.zeros((1, 2, 3), complex))
    assert main([str(path)]) == 0
    assert "nobody can be served" in capsys.readouterr().out
    assert main([str(path.with_name("none.npz"))]) == 1
    assert "stopped: " in capsys.readouterr().err


def experiment(path, **options):
    network = NetworkParameters(DEVICES, ANTENNAS)
    return Experiment(
        **{
            "policies": ("matching_pursuit", "proportional_fair"),
            "task": "regression",
            "rounds": 3,
            "network": network,
            "channels": str(path),
            **options,
        }
    )


def test_the_loop_plays_the_trace_and_each_seed_another_part(path):
    channels = made_up()
    np.savez(path, channels=channels)
    task = build("regression")
    for seed, coherence in itertools.product((0, 1, 4), (1, 2)):
        setting = Setting(experiment(path, coherence=coherence), task, seed)
        for number in (0, 1):
            played = setting._fading.channels(number)
            expected = channels[(seed * (3 if coherence == 1 else 2) + number) % ROUNDS]
            np.testing.assert_array_equal(played.direct, expected)
    np.testing.assert_allclose(
        setting._fading.average_gains(), np.mean(np.sum(np.abs(channels) ** 2, axis=1), axis=0)
    )


def test_a_device_without_a_path_is_left_out(service_url, path, tmp_path):
    channels = made_up()
    channels[:, :, 2] = 0
    np.savez(path, channels=channels)
    arguments = ["--url", service_url, "--task", "regression", "--policies", "dual_pursuit"]
    arguments += ["--gamma-db", "40", "--rounds", "2", "--output", str(tmp_path / "results")]
    assert federated([*arguments, "--channels", str(path)]) == 0
    records = read_records(tmp_path / "results")
    assert [record.active for record in records] == [(0, 1, 3, 4)] * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--devices", "20"], "has 5 devices: leave out --devices"),
        (["--antennas", "6"], "has 3 antennas: leave out --antennas"),
        (["--elements", "4"], "no reflecting surface"),
        (["--noise-variance", "2"], "--scale scaled.npz"),
    ],
)
def test_the_command_refuses_what_the_trace_contradicts(
    service_url, path, tmp_path, capsys, arguments, words
):
    np.savez(path, channels=made_up(), noise_variance=1.0)
    given = ["--url", service_url, "--channels", str(path), "--task", "regression", *arguments]
    assert federated([*given, "--output", str(tmp_path / "results")]) == 1
    assert words in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "results").exists()


def test_the_trace_says_how_many_devices_there_are(path):
    np.savez(path, channels=made_up())
    given = experiment(path, network=NetworkParameters(4, ANTENNAS))
    assert len(Setting(given, build("regression"), 0).parts) == 5


def test_a_trace_too_short_for_all_seeds_is_refused(path, tmp_path):
    """Otherwise seeds would share channels and count as independent."""
    np.savez(path, channels=made_up())
    given = experiment(path, seeds=4, policies=("perfect",))
    with pytest.raises(ValueError, match="4 seeds need 3 each, 12 in all: use fewer seeds"):
        compare(given, None, tmp_path)


class DeepMimo:
    """As much of DeepMIMO as the documented conversion uses."""

    n_ue = 30

    def load(self, scenario):
        return self

    def ChannelParameters(self, bs_antenna, ofdm):
        return bs_antenna["shape"], ofdm["selected_subcarriers"]

    def compute_channels(self, parameters):
        (antennas, one), subcarriers = parameters
        self.channels = made_up(shape=(self.n_ue, 2, antennas * one, len(subcarriers)))
        self.channels[::3] = np.nan
        return self.channels


def test_the_documented_conversion_from_deepmimo(path, monkeypatch):
    (block,) = (block for block in BLOCKS if "import deepmimo" in block.text)
    fake = DeepMimo()
    monkeypatch.setitem(sys.modules, "deepmimo", fake)
    monkeypatch.chdir(path.parent)
    found = {}
    exec(compile(block.text, str(block), "exec"), found)
    trace = Trace.open(path)
    assert trace.channels.shape == (64, 6, 20)
    for k, user in enumerate(found["users"]):
        expected = np.zeros((64, 6)) if user % 3 == 0 else fake.channels[user, 0].T
        np.testing.assert_allclose(trace.channels[:, :, k], expected, rtol=1e-6)
    assert (trace.power, trace.noise_variance) == (0.2, 1e-13)
