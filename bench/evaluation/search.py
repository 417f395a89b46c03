"""The tuner: draws trials from Optuna studies, trains and scores them on all folds, and stores their scores."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution

from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.evaluation.fits import SplitFits, stacks
from lockstep_bench.bench.evaluation.trainer import Trainer
from lockstep_bench.bench.evaluation.tuning.tuner import Centred, Score, Search, n_combinations, rounds
from lockstep_bench.shared.protocol import Protocol


def search_protocol(
    protocol: Protocol, method: str, space: Mapping[str, BaseDistribution], validated: bool = False
) -> Protocol:
    """Return the protocol with its number of trials reduced to the number of points of the search space.

    There are no trials if all hyper-parameters are fixed, unless `validated`.

    Args:
        protocol: The protocol.
        method: Name of the method.
        space: Search space, hyper-parameter -> distribution.
        validated: Whether given hyper-parameters are scored although there is nothing to choose.
    """
    given = protocol.fixed_for(method)
    if given and space.keys() <= given.keys():
        return protocol.changed(sampler="random" if validated else "centre", trials=1)
    points = n_combinations(space)
    if points is None or (points > 1 and protocol.sampler != "grid"):
        return protocol
    return protocol.changed(trials=min(points, protocol.trials))


def tune(
    trainer: Trainer,
    splits: Sequence[SplitFits],
    protocol: Protocol,
    journals: Sequence[Path | None],
    score: Callable[[TrainedFits, Sequence[Any]], list[Score]],
) -> Sequence[Search | Centred]:
    """Tune the hyper-parameters of a method on each split, and return the finished studies.

    If nothing is tuned, a `Centred` takes the place of a study.

    Args:
        trainer: Trains the fits, by the cheaper method `Method.proxy`.
        splits: The splits, which are tuned side by side.
        protocol: Gives the number of trials, their rounds, and the sampler.
        journals: File of each study, from which it resumes; None to store nothing.
        score: Function that scores trained fits, such as `bench.evaluation.scoring.Scorer.trials`.
    """
    if protocol.sampler == "centre":
        return [Centred(split.space) for split in splits]
    searches = [
        Search(journal, split.space, protocol, split.seed) for split, journal in zip(splits, journals, strict=True)
    ]
    proxy = trainer.method.proxy()
    for due in rounds(searches, protocol):
        asked = [(splits[number], trial, hparams) for number, trial, hparams in due.trials]
        fits = [
            (split, fit, part.scored_on)
            for split, trial, hparams in asked
            for fit, part in zip(split.trial(trial, hparams), split.held_out(), strict=True)
        ]
        scores: dict[int, Score] = {}
        for places in stacks([split for split, _, _ in fits], trainer.limit):
            of_stack, stacked, scored_on = zip(*(fits[place] for place in places), strict=True)
            trained = trainer.train(proxy, of_stack[0], stacked, of_stack[0].largest.trial)
            scores |= zip(places, score(trained, scored_on), strict=True)
        due.tell([scores[place] for place in range(len(fits))])
    return searches
