"""The tuner: asks studies for trials, trains and scores them fold by fold, and tells the studies."""

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
    """Return a protocol with no more trials than a grid or a single point has, and none where it fixes all.

    Args:
        protocol: The protocol.
        method: Name of the method.
        space: What is searched.
        validated: Whether given hyper-parameters are scored although nothing is chosen.
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
    """Return the finished study of each split, or its replacement where nothing is tuned.

    Args:
        trainer: Trains the proxy of its method.
        splits: What is trained on, side by side.
        protocol: Says how many trials there are, in which rounds, and the sampler.
        journals: File of each study, from which it goes on; None to store nothing.
        score: Scores trained fits, as `bench.evaluation.scoring.Scorer.trials`.
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
