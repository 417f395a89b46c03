"""The protocol of a run: the budget and settings of tuning and training, equal for all methods.

Each field of `Protocol` is declared in one line, with its metadata (`Setting`).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from lockstep_bench.shared.given_hparams import GivenHParams
from lockstep_bench.shared.texts import capped

TPE_STARTUP, TPE_ROUND = 10, 5  # trials in the first round of the TPE sampler, and in each later one
GP_STARTUP, GP_ROUND = 5, 1  # the same for Bayesian optimisation, as in the experiments of Mishkin et al. 2018
# Fields that a budget of seconds decides, with the values by which its protocol is known.
FROM_BUDGET = {"trials": 1, "sampler": "centre", "max_minibatches": None}
VECTORS, IMAGES, STREAMS = "vectors", "images", "streams"  # data that a field may concern
Value = int | str | GivenHParams | None  # of a field of a protocol


@dataclass(frozen=True)
class Setting:
    """Metadata of a field of `Protocol`.

    Attributes:
        words: phrase that describes the field in sentences, in which {} stands for the value.
        default: value if nothing is specified. A default of None also allows None, for no limit.
        since: version of the protocol that introduced the field. A field that is newer than version 1 is left out of
            the JSON at its default, so that hashes of earlier protocols stay valid.
        choices: allowed texts; empty if the value is an integer or free text.
        check: function that returns what is wrong with a text, or None; for free text.
        read: function that returns the value of a text; for given hyper-parameters.
        least, most: smallest and largest allowed integer.
        data: kinds of data (tables, images or streams) to which the field applies.
        tuning: whether the field concerns tuning only.
        rescales: whether the field changes only the amount of work, so that a cost measured at one value can be
            rescaled to others. False if it changes the time or memory of an update.
    """

    words: str
    default: int | str | None
    since: int = 1
    choices: tuple[str, ...] = ()
    check: Callable[[str], str | None] | None = None
    read: Callable[[str], GivenHParams] | None = None
    least: int = 1
    most: int = 10**9
    data: tuple[str, ...] = (VECTORS, IMAGES)
    tuning: bool = False
    rescales: bool = False

    @property
    def optional(self) -> bool:
        """True if None is allowed."""
        return self.default is None

    def complaint(self, value: object) -> str | None:
        """Return what is wrong with a value and what is allowed, or None if the value is allowed."""
        if self.choices:
            allowed = f"one of {', '.join(self.choices)}"
            return None if value in self.choices else f"is {value!r}; it must be {allowed}"
        if value is None and self.optional:
            return None
        if self.read:
            return None if isinstance(value, GivenHParams) else f"is {value!r}; it must be given hyper-parameters"
        if self.check:
            return self.check(value) if isinstance(value, str) else f"is {value!r}; it must be a text"
        if type(value) is int and value > self.most:
            return f"is {capped(str(value), 100)}; it must be an integer of at most {self.most}"
        if type(value) is int and value >= self.least:
            return None
        return f"is {value}; it must be an integer of at least {self.least}"


def _count(default: int | None, words: str, **metadata: Any) -> Any:
    """Return a dataclass field that holds an integer."""
    return field(default=default, metadata={"setting": Setting(words, default, **metadata)})


def _choice(choices: tuple[str, ...], words: str, **metadata: Any) -> Any:
    """Return a dataclass field that holds one of `choices`, by default the first."""
    return field(default=choices[0], metadata={"setting": Setting(words, choices[0], choices=choices, **metadata)})


def _text(check: Callable[[str], str | None], words: str, **metadata: Any) -> Any:
    """Return a dataclass field that holds a text that passes a check, or None."""
    return field(default=None, metadata={"setting": Setting(words, None, check=check, **metadata)})


def _milestones_complaint(text: str) -> str | None:
    """Return what is wrong with the milestones of a step schedule, or None."""
    epochs = text.split(",")
    if all(re.fullmatch("[1-9][0-9]*", epoch) for epoch in epochs) and epochs == sorted(set(epochs), key=int):
        return None
    return f"is {text!r}; it must be rising numbers of epochs, as in 100,150"


def _hidden_complaint(text: str) -> str | None:
    """Return what is wrong with the numbers of hidden units, or None."""
    if all(re.fullmatch("[1-9][0-9]*", units) for units in text.split(",")):
        return None
    return f"is {text!r}; it must be the number of units of each hidden layer, as in 50,50"


NETWORKS = (
    "mlp",
    "cnn",
    "lenet5",
    "alexnet",
    "preresnet20",
    "preresnet20-frn",
    "resnet18",
    "resnet18-gn",
    "preact-resnet18",
    "preact-resnet18-gn",
)


@dataclass(frozen=True)
class Protocol:
    """The settings of tuning and training, equal for all methods.

    Attributes:
        trials: number of hyper-parameter settings tried for each method and split.
        sampler: "random" draws all trials at once; "tpe" draws rounds that learn from earlier rounds; "gp" is Bayesian
            optimisation with a Gaussian process, one trial after the other; "centre" tunes nothing and takes the middle
            of each range, on the range's own scale; "grid" takes every combination of choices in turn, and draws ranges
            of real numbers at random.
        hparams: hyper-parameters whose value or range the user gives; None for none.
        folds: number of parts in the cross-validation on each split's training rows.
        validation: "folds" holds out every part in turn, and the final fit sees all parts; with "holdout" the first
            part alone validates, and no fit sees it. With nine parts of 90 % training rows, this gives 80 % training,
            10 % validation and 10 % test rows.
        fold_kind: "random" folds, or "block" folds along the feature that defines the split (`datasets.block_folds`).
        epochs: number of passes over the training rows.
        batch_size: M, number of training examples per minibatch.
        max_minibatches: number of minibatches after which training stops, even if epochs are left; None for no limit.
        max_updates: number of updates after which training stops, however many minibatches each takes; None for no
            limit.
        budget_seconds: seconds that tuning and training on a split should take. The numbers of trials and minibatches
            are then chosen for each method and data set to fit this time. None for equal numbers for all.
        samples: S, number of weight samples for test predictions.
        validation_samples: number of weight samples for validation predictions.
        network: architecture of image classifiers. Other data sets use the suite's multilayer perceptron.
        hidden: units of each hidden layer of a multilayer perceptron, as "50,50"; None for the suite's.
        activation: activation of networks. A method that needs a smooth activation always uses softplus instead of
            ReLU.
        schedule: learning rate of image classifiers: "constant", a "cosine" that falls to zero, or a "step" schedule.
        milestones: epochs after which a step schedule divides the learning rate, as in "100,150".
        factor: number by which a step schedule divides the learning rate at each milestone.
        max_train, max_test: largest number of images to train on, and to test on from each data set; None for all.
        max_shifted: largest number of test images that are also tested under every severity of every shift; 0 for no
            shifts.
        shifts: shifts of test images: "benchmark" for the shifts of published benchmarks, "all" to add the extra
            corruptions.
        start: initial weights of image classifiers: "random", or pretrained on "imagenet" in all layers but the last.
        precision: arithmetic of forward and backward passes when image networks are trained: "float32" or "bfloat16".
            All other arithmetic is in float32.
        space: search space: "paper" for the ranges of each method's paper, "wide" for ranges that suit every data set.
        likelihood: regression likelihood: "gaussian" with one tuned noise precision; "heteroscedastic", whose variance
            the network predicts; or "student-t" with a tuned noise precision and tuned degrees of freedom.
        stream_length: largest number of vectors in the stream that an estimator of the suite factor-analysis sees.
        stream_batch: number of training examples per minibatch of SGD, for streams of SGD iterates.
        window: number of consecutive vectors of a stream that estimators of window averages average.
    """

    trials: int = _count(30, "{} trials", tuning=True)
    sampler: str = _choice(("random", "tpe", "gp", "centre", "grid"), "drawn by {} search", tuning=True)
    hparams: GivenHParams | None = field(
        default=None,
        metadata={"setting": Setting("given {}", None, read=GivenHParams.read, since=9, data=(VECTORS, IMAGES))},
    )
    folds: int = _count(5, "{}-fold cross-validation", least=2, data=(VECTORS,), tuning=True)
    validation: str = _choice(("folds", "holdout"), "cut to a {} of one fold", since=9, data=(VECTORS,))
    fold_kind: str = _choice(("random", "block"), "{} folds", since=10, data=(VECTORS,), tuning=True)
    epochs: int = _count(120, "{} epochs", rescales=True)
    batch_size: int = _count(10, "minibatches of {}")
    max_minibatches: int | None = _count(None, "at most {} minibatches", rescales=True)
    max_updates: int | None = _count(None, "at most {} updates", since=4, rescales=True)
    budget_seconds: int | None = _count(
        None, "about {} s of tuning and training for each split", since=12, data=(VECTORS,)
    )
    samples: int = _count(100, "{} samples per test prediction", rescales=True)
    validation_samples: int = _count(100, "{} per validation prediction", tuning=True, rescales=True)
    network: str = _choice(NETWORKS, "network {}", since=5, data=(IMAGES,))
    hidden: str | None = _text(_hidden_complaint, "hidden layers of {} units", since=11, data=(VECTORS,))
    activation: str = _choice(("relu", "softplus", "tanh"), "{} activations", since=9)
    schedule: str = _choice(("constant", "cosine", "step"), "{} learning rate", since=5, data=(IMAGES,))
    milestones: str | None = _text(_milestones_complaint, "which falls after epochs {}", since=9, data=(IMAGES,))
    factor: int | None = _count(None, "divided by {} each time", least=2, since=9, data=(IMAGES,))
    max_train: int | None = _count(None, "at most {} training images", since=5, data=(IMAGES,))
    max_test: int | None = _count(None, "at most {} test images of each set", since=5, data=(IMAGES,))
    max_shifted: int = _count(1000, "every severity of every shift on {} test images", since=6, least=0, data=(IMAGES,))
    shifts: str = _choice(("benchmark", "all"), "{} shifts", since=9, data=(IMAGES,))
    start: str = _choice(("random", "imagenet"), "from {} weights", since=7, data=(IMAGES,))
    precision: str = _choice(("float32", "bfloat16"), "passes through the network in {}", since=8, data=(IMAGES,))
    space: str = _choice(("paper", "wide"), "{} search ranges", since=2, data=(VECTORS,))
    likelihood: str = _choice(("gaussian", "heteroscedastic", "student-t"), "{} likelihood", since=2, data=(VECTORS,))
    stream_length: int = _count(100_000, "streams of up to {} vectors", since=3, data=(STREAMS,), rescales=True)

    stream_batch: int = _count(100, "SGD on minibatches of {}", since=9, data=(STREAMS,))
    window: int = _count(10, "windows of {}", since=9, data=(STREAMS,))

    def __post_init__(self) -> None:
        """Raise ValueError for a value that its field does not allow."""
        for name, setting in SETTINGS.items():
            if complaint := setting.complaint(getattr(self, name)):
                raise ValueError(f"{name} {complaint}")

    def __hash__(self) -> int:
        """Return the hash of `hash`, which is computed once; plans look up the protocols of many cells."""
        return hash(self.hash)

    def changed(self, **changes: Any) -> "Protocol":
        """Return this protocol with the fields in `changes` changed."""
        return replace(self, **changes)

    @classmethod
    def from_json(cls, text: str) -> "Protocol":
        """Return the protocol from the JSON text that `to_json` returned.

        Raises:
            TypeError, ValueError: the text has fields or values that a protocol cannot have.
        """
        values = json.loads(text)
        texts = {name: value for name, value in values.items() if isinstance(value, str)}
        read = {name: setting.read(texts[name]) for name, setting in SETTINGS.items() if setting.read and name in texts}
        return cls(**values | read)

    def to_json(self) -> str:
        """Return the fields as JSON with sorted keys, without later fields at their defaults (`Setting.since`)."""
        values = {name: getattr(self, name) for name in SETTINGS}
        said = {
            name: value
            for name, value in values.items()
            if SETTINGS[name].since == 1 or value != SETTINGS[name].default
        }
        return json.dumps(said, sort_keys=True, default=str)

    @property
    def weights(self) -> str | None:
        """Name in `datasets.images.weights` of the pretrained weights to start from; None for random weights."""
        return None if self.start == "random" else f"{self.network}-{self.start}"

    @property
    def milestone_epochs(self) -> tuple[int, ...]:
        """The epochs in `milestones` as numbers; () without a step schedule."""
        return tuple(map(int, self.milestones.split(","))) if self.milestones else ()

    @property
    def hidden_units(self) -> tuple[int, ...] | None:
        """Units of each hidden layer of a multilayer perceptron; None for the suite's."""
        return tuple(map(int, self.hidden.split(","))) if self.hidden else None

    def fixed_for(self, method: str) -> dict[str, float]:
        """Return the values of a method's hyper-parameters that the user fixed, by name."""
        return {name: low for name, (low, high) in self.ends_for(method).items() if low == high}

    @property
    def fits_per_trial(self) -> int:
        """Number of fits that score one trial on tables: one for each part of the training rows that is held out."""
        return 1 if self.validation == "holdout" else self.folds

    def ends_for(self, method: str) -> dict[str, tuple[float, float]]:
        """Return the lower and upper end of each range that the user gives for a method, equal for a fixed value."""
        return {name: given.ends for name, given in self.hparams.of_method(method).items()} if self.hparams else {}

    @cached_property
    def hash(self) -> str:
        """Eight hexadecimal digits that identify the protocol.

        With a budget of seconds, the numbers of trials and minibatches that follow from it do not enter the hash.
        """
        same = self if self.budget_seconds is None else self.changed(**FROM_BUDGET)
        return hashlib.sha256(same.to_json().encode()).hexdigest()[:8]

    def rounds(self) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of each round of tuning: trials start to end - 1 are trained at once."""
        if self.sampler == "centre":
            return
        if self.sampler not in ("tpe", "gp"):
            yield 0, self.trials
            return
        startup, size = (GP_STARTUP, GP_ROUND) if self.sampler == "gp" else (TPE_STARTUP, TPE_ROUND)
        start, end = 0, min(startup, self.trials)
        while start < end:
            yield start, end
            start, end = end, min(end + size, self.trials)


SETTINGS: dict[str, Setting] = {entry.name: entry.metadata["setting"] for entry in fields(Protocol)}


def in_words(protocol: Mapping[str, object], data: str | None = None) -> str:
    """Return a description of a protocol in words.

    Args:
        protocol: values by field, as `Protocol.to_json` has them. Values of None are left out; unknown names are
            appended as they are.
        data: kind of data, a value in `Setting.data`; fields that do not apply to it are left out. None for all fields.
    """
    untuned = protocol.get("sampler") == "centre" and not protocol.get("budget_seconds")
    chosen = FROM_BUDGET if protocol.get("budget_seconds") else ()
    phrases = ["no tuning: the middle of each range"] if untuned else []
    for name, setting in SETTINGS.items():
        value = protocol.get(name)
        concerns = (data is None or data in setting.data) and not (untuned and setting.tuning) and name not in chosen
        if value is None or not concerns:
            continue
        phrases.append(setting.words.format(f"{value:,}" if isinstance(value, int) else value))
    unknown = {name: value for name, value in protocol.items() if name not in SETTINGS and value is not None}
    return ", ".join(phrases + [f"{name} {value}" for name, value in unknown.items()])
