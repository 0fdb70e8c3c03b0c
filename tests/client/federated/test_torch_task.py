"""A torch module as a task: against FedAvg written apart, and what stays off the air."""

from copy import deepcopy
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch comes with the torch extra")

from torch import nn  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402

from airsched_client.federated import Experiment, LocalRound, TorchTask, compare  # noqa: E402
from tests.pages import ROOT, URL, blocks  # noqa: E402

# Two threads wait for each other where other processes run.
torch.set_num_threads(1)

DEVICES, RATE, MOMENTUM, EPOCHS, BATCH = 4, 0.05, 0.9, 2, 8
SGD = partial(torch.optim.SGD, lr=RATE, momentum=MOMENTUM)
EXPERIMENT = Experiment(policies=("perfect",), rounds=3)


class Block(nn.Module):
    """Batch normalisation that is not at the top of the module."""

    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleDict({"conv": nn.Conv2d(1, 4, 3), "norm": nn.BatchNorm2d(4)})
        self.register_buffer("shift", torch.full((1,), 0.25))

    def forward(self, x):
        return torch.relu(self.inner["norm"](self.inner["conv"](x + self.shift)))


def make_net():
    return nn.Sequential(Block(), nn.Flatten(), nn.Linear(64, 3), nn.BatchNorm1d(3))


def pictures(count, seed, dtype=torch.float32):
    rng = np.random.default_rng(seed)
    patterns = np.random.default_rng(0).standard_normal((3, 1, 6, 6))
    labels = rng.integers(0, 3, count)
    images = patterns[labels] + rng.standard_normal((count, 1, 6, 6))
    return torch.tensor(images, dtype=dtype), torch.tensor(labels)


def unequal_parts(count):
    """Sizes 9, 17, 25 and the rest: two have a last batch of one sample."""
    return np.split(np.random.default_rng(3).permutation(count), [9, 26, 51])


def channels(number, rng):
    return rng.standard_normal((3, DEVICES)) + 1j * rng.standard_normal((3, DEVICES))


def make_task(dtype=torch.float32, **options):
    train, test = pictures(90, 1, dtype), pictures(60, 2, dtype)
    given = {"parts": unequal_parts(90), "epochs": EPOCHS, "batch_size": BATCH, "optimizer": SGD}
    return TorchTask(lambda: make_net().to(dtype), train, test, **{**given, **options})


def fedavg(dtype, parts, rounds, seed=0):
    """FedAvg with modules and a momentum of its own; it shares only the streams of randomness."""
    train, test = pictures(90, 1, dtype), pictures(60, 2, dtype)

    def stream(*numbers):
        return np.random.default_rng([seed, *numbers])

    torch.manual_seed(int(stream(2).integers(2**63)))
    server, accuracies = make_net().to(dtype), []
    share = np.array([len(part) for part in parts]) / sum(len(part) for part in parts)
    for number in range(rounds):
        sums = {n: torch.zeros_like(p, dtype=torch.float64) for n, p in server.named_parameters()}
        for k, part in enumerate(parts):
            rng = stream(4, number, k)
            rng.integers(2**63)
            local = deepcopy(server).train()
            speed = {n: torch.zeros_like(p) for n, p in local.named_parameters()}
            for _ in range(EPOCHS):
                order = part[rng.permutation(len(part))]
                for first in range(0, len(order), BATCH):
                    batch = torch.as_tensor(order[first : first + BATCH])
                    if len(batch) == 1:
                        continue
                    local.zero_grad()
                    nn.functional.cross_entropy(local(train[0][batch]), train[1][batch]).backward()
                    with torch.no_grad():
                        for n, p in local.named_parameters():
                            speed[n] = MOMENTUM * speed[n] + p.grad
                            p -= RATE * speed[n]
            for n, p in local.named_parameters():
                sums[n] += share[k] * p.detach().double()
        with torch.no_grad():
            for n, p in server.named_parameters():
                p.copy_(sums[n])
        pool_statistics(server, train, parts, share, partial(stream, 6, number))
        with torch.no_grad():
            right = server.eval()(test[0]).argmax(1) == test[1]
        accuracies.append(float(right.double().mean()))
    return server, accuracies


def pool_statistics(server, train, parts, share, stream):
    """Measure what every normalisation sees on each device, and pool the moments."""
    pooled = {}
    for k, part in enumerate(parts):
        seen, copy = {}, deepcopy(server).train()
        for name, layer in copy.named_modules():
            if isinstance(layer, nn.modules.batchnorm._BatchNorm):

                def note(layer, inputs, name=name, seen=seen):
                    values = inputs[0].double().transpose(0, 1).flatten(1)
                    seen[name] = values.mean(1), values.var(1)

                layer.register_forward_pre_hook(note)
        with torch.no_grad():
            copy(train[0][torch.as_tensor(stream(k).permutation(part)[:256])])
        for name, (m, v) in seen.items():
            before = pooled.get(name, (0, 0))
            pooled[name] = before[0] + share[k] * m, before[1] + share[k] * (v + m**2)
    for name, layer in server.named_modules():
        if name in pooled:
            m, q = pooled[name]
            layer.running_mean.copy_(m)
            layer.running_var.copy_(q - m**2)


@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-5), (torch.float64, 1e-13)])
def test_perfect_is_fedavg_written_apart(dtype, close):
    task = make_task(dtype)
    result = compare(EXPERIMENT, None, task=task, channels=channels)
    server, accuracies = fedavg(dtype, task.parts, EXPERIMENT.rounds)
    ours = result.model("perfect", seed=0)
    found = zip(ours.state_dict().items(), server.state_dict().values(), strict=True)
    for (name, mine), theirs in found:
        if "num_batches" not in name:
            np.testing.assert_allclose(mine, theirs, atol=close, rtol=0, err_msg=name)
            assert mine.dtype == dtype
    assert [record.accuracy for record in result.records] == pytest.approx(accuracies)
    # The control: with the parts moved by one device it is another model.
    other, _ = fedavg(dtype, [*task.parts[1:], task.parts[0]], EXPERIMENT.rounds)
    last = [net.state_dict()["2.weight"] for net in (ours, other)]
    assert float((last[0] - last[1]).abs().max()) > 0.01


def test_only_what_requires_a_gradient_goes_over_the_air():
    def half_frozen():
        net = make_net()
        net[0].requires_grad_(False)
        return net

    train, test = pictures(90, 1), pictures(60, 2)
    task = TorchTask(half_frozen, train, test, parts=unequal_parts(90))
    rng = np.random.default_rng(0)
    model = task.initial(rng)
    # The linear layer and its normalisation.
    assert model.size == 64 * 3 + 3 + 3 + 3
    assert model.dtype == np.float32
    frozen = deepcopy(task.module(model)[0].state_dict())
    trained = task.train(model, LocalRound(0, 0, np.arange(30), (), rng))
    after = task.module(trained)
    np.testing.assert_array_equal(after[0].inner["conv"].weight, frozen["inner.conv.weight"])
    assert float(after[0].shift) == 0.25
    with pytest.raises(ValueError, match="no parameter that requires a gradient"):
        TorchTask(lambda: make_net().requires_grad_(False), train, test)


def test_statistics_are_measured_at_the_new_model_and_nothing_is_left_behind():
    task = make_task()
    rng = np.random.default_rng(0)
    model = task.initial(rng)
    local = LocalRound(1, 0, task.parts[1], (), np.random.default_rng(5))
    found = task.statistics(model, local)
    images, _ = pictures(90, 1)
    net = task.module(model)
    inside = net[0].inner["conv"](images[task.parts[1]] + 0.25).double()
    mean, square = inside.mean((0, 2, 3)), inside.var((0, 2, 3)) + inside.mean((0, 2, 3)) ** 2
    np.testing.assert_allclose(found[:4], mean.detach(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[4:8], square.detach(), rtol=1e-4)
    # Evaluated with them, the first normalisation gives mean 0 and variance 1.
    task.parts = [np.arange(90)]
    whole = task.statistics(model, LocalRound(0, 0, np.arange(90), (), rng))
    first = task.module(model, whole)[0].inner
    out = first["norm"](first["conv"](images + 0.25)).double()
    np.testing.assert_allclose(out.mean((0, 2, 3)).detach(), 0, atol=1e-5)
    assert all(norm.momentum == 0.1 for norm in task._norms)


class Pairs(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, at):
        return self.images[at], int(self.labels[at])


def test_a_dataset_gives_what_tensors_give():
    train, test = pictures(90, 1), pictures(60, 2)
    options = {"parts": unequal_parts(90), "optimizer": SGD, "batch_size": BATCH}
    tensors = TorchTask(make_net, train, test, **options)
    dataset = TorchTask(make_net, Pairs(*train), Pairs(*test), **options)
    one, other = (
        compare(EXPERIMENT, None, task=task, channels=channels) for task in (tensors, dataset)
    )
    assert one.records == other.records
    np.testing.assert_array_equal(tensors.labels, dataset.labels)
    with pytest.raises(TypeError, match="map-style dataset"):
        TorchTask(make_net, 3, test)


def test_arrays_give_what_tensors_give():
    train, test = ([each.numpy() for each in pictures(*given)] for given in ((90, 1), (60, 2)))
    given = {"parts": unequal_parts(90), "epochs": EPOCHS, "batch_size": BATCH, "optimizer": SGD}
    arrays = TorchTask(make_net, train, test, **given)
    found, expected = (
        compare(EXPERIMENT, None, task=t, channels=channels) for t in (arrays, make_task())
    )
    assert found.records == expected.records


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"make_net": make_net()}, "make_net must be a function.*it is Sequential"),
        ({"train": (torch.zeros(3, 1, 6, 6), torch.zeros(2))}, r"as many inputs as targets.*3, 2"),
        ({"test": (torch.zeros(0, 1, 6, 6), torch.zeros(0))}, "at least one"),
        ({"train": iter([])}, "map-style dataset or a pair.*it is list_iterator"),
        ({"parts": [[0, 90]]}, "part 0 has the indices 0 to 90, but there are 90"),
        ({"parts": [[0], [-1, 2]]}, "part 1 has the indices -1 to 2"),
        ({"epochs": 0}, "epochs and batch_size"),
    ],
)
def test_what_a_task_cannot_be_made_of_is_refused(wrong, words):
    given = {"make_net": make_net, "train": pictures(90, 1), "test": pictures(60, 2), **wrong}
    with pytest.raises((TypeError, ValueError), match=words):
        TorchTask(**given)


def test_parts_that_are_no_indices_are_refused():
    task = make_task(parts=[[0.5], [1.0], [2.0], [3.0]])
    with pytest.raises(ValueError, match="part of device 0 must be indices"):
        compare(EXPERIMENT, None, task=task, channels=channels)


def test_our_partition_divides_by_the_targets():
    task = make_task(parts=None)
    result = compare(EXPERIMENT, None, task=task, channels=channels)
    assert len(result.devices("perfect")) == DEVICES
    regression = TorchTask(
        lambda: nn.Linear(4, 1),
        (torch.ones(40, 4), torch.ones(40, 1)),
        (torch.ones(8, 4), torch.ones(8, 1)),
        loss=nn.functional.mse_loss,
        metric=lambda outputs, targets: -((outputs - targets) ** 2).mean(),
    )
    assert not regression.labels.any()
    found = compare(EXPERIMENT, None, task=regression, channels=channels)
    assert found.records[-1].accuracy == pytest.approx(-found.records[-1].loss)


def test_a_metric_that_is_not_finite_is_recorded():
    task = make_task(metric=lambda outputs, targets: float("-inf"))
    result = compare(EXPERIMENT, None, task=task, channels=channels)
    assert [record.accuracy for record in result.records] == [None] * 3
    assert "overflow" in result.markdown()


def test_torch_draws_from_our_generators_alone():
    task = make_task()
    state = torch.get_rng_state()
    model = task.initial(np.random.default_rng(0))
    for seed in (1, 1, 2):
        task.train(model, LocalRound(0, 0, task.parts[3], (), np.random.default_rng(seed)))
    assert torch.equal(state, torch.get_rng_state())


def test_the_script_of_the_documentation_runs_as_it_stands(service_url, tmp_path, monkeypatch):
    page = ROOT / "docs" / "federated.md"
    script, own = [block for block in blocks(page) if block.language == "python"][:2]
    assert "make_net" in script.text
    assert len([line for line in script.text.splitlines() if line]) <= 12
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(own.text, str(own), "exec"), names)
    exec(compile(script.text.replace(URL, service_url), str(script), "exec"), names)
    assert (tmp_path / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    records = names["result"].records
    assert len(records) == 3 * 3 * 2
    assert records[2].accuracy > 0.3
    with torch.no_grad():
        right = names["net"](names["test"][0]).argmax(1) == names["test"][1]
    last = [r for r in records if (r.policy, r.seed) == ("auto", 0)][-1]
    assert float(right.double().mean()) == pytest.approx(last.accuracy)
