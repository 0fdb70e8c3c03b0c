"""The summary of an experiment: the final accuracy of every policy, over all seeds.

The over-the-air efficiency is the paper's: the final accuracy of a policy over that of ``perfect``,

    ζ = Accuracy_ota / Accuracy_fl,

computed per seed and averaged over the seeds. The seeds differ by more than the policies do, so
each policy is also compared with the first one but ``perfect`` on the same seeds. ± is one standard
error of the mean; with one seed there is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from airsched_client.federated.experiment import PERFECT, Record, Run
from airsched_client.federated.statistics import Mean, mean_of


@dataclass(frozen=True)
class Summary:
    """One policy at one tolerance, over all seeds.

    Parameters
    ----------
    policy, gamma_db, seeds
        What was run; ``seeds`` counts the finished ones.
    accuracy
        Final accuracy.
    loss
        Mean final test loss; None if one overflowed.
    active
        Mean |S| over all rounds.
    error
        Median measured error over all rounds with active devices; None for ``perfect``.
    efficiency
        ζ; None if ``perfect`` did not run.
    difference
        Final accuracy minus that of the first policy but ``perfect``, at the same tolerance and on
        the same seeds. None for that policy itself and for ``perfect``, and if there are no such
        runs.
    """

    policy: str
    gamma_db: float | None
    seeds: int
    accuracy: Mean
    loss: float | None
    active: float
    error: float | None
    efficiency: Mean | None
    difference: Mean | None = None


def summarise(records: Sequence[Record], perfect: str = PERFECT) -> list[Summary]:
    """Return a summary of every policy and tolerance, in the order of the runs.

    Parameters
    ----------
    perfect
        The policy in the role of ``perfect``.
    """
    # A run that a stop rule ended has fewer rounds; its last one counts.
    final: dict[Run, Record] = {}
    for record in records:
        if record.run not in final or record.round > final[record.run].round:
            final[record.run] = record
    reference = next((record.policy for record in records if record.policy != perfect), None)
    summaries = []
    for policy, gamma_db in dict.fromkeys((run.policy, run.gamma_db) for run in final):
        ends = [end for run, end in final.items() if run[:2] == (policy, gamma_db)]
        rounds = [record for record in records if record.run[:2] == (policy, gamma_db)]
        losses = [end.loss for end in ends if end.loss is not None]
        errors = [r.measured_error for r in rounds if r.measured_error is not None]
        ratios = [
            _value(end) / _value(best)
            for end in ends
            if (best := final.get(end.run._replace(policy=perfect, gamma_db=None)))
        ]
        differences = [
            _value(end) - _value(other)
            for end in ends
            if policy not in (perfect, reference)
            and (other := _counterpart(end.run, reference, final))
        ]
        summaries.append(
            Summary(
                policy,
                gamma_db,
                len(ends),
                mean_of([_value(end) for end in ends]),
                float(np.mean(losses)) if len(losses) == len(ends) else None,
                float(np.mean([len(record.active) for record in rounds])),
                float(np.median(errors)) if errors else None,
                mean_of(ratios) if ratios else None,
                mean_of(differences) if differences else None,
            )
        )
    return summaries


def _counterpart(run: Run, policy: str | None, final: Mapping[Run, Record]) -> Record | None:
    """Return the last round of ``policy`` on the same seed at the same tolerance.

    Where only one of them has a tolerance, the other is the one run of that seed, if it is one.
    """
    found = [
        end
        for other, end in final.items()
        if (other.policy, other.seed) == (policy, run.seed)
        and (run.gamma_db is None or other.gamma_db in (None, run.gamma_db))
    ]
    return found[0] if len(found) == 1 else None


def _value(record: Record) -> float:
    """Return the accuracy, NaN if it overflowed."""
    return np.nan if record.accuracy is None else record.accuracy
