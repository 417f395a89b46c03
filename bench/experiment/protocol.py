"""How a cell is tuned and trained: everything a method is not free to choose."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property

# Attributes that the first results did not have.
LATER = {
    "space",
    "likelihood",
    "stream_length",
    "max_updates",
    "network",
    "schedule",
    "max_train",
    "max_test",
    "max_shifted",
    "start",
    "precision",
}
CHOICES = {
    "sampler": ("random", "tpe", "centre"),
    "space": ("paper", "wide"),
    "likelihood": ("gaussian", "heteroscedastic"),
    "network": (
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
    ),
    "schedule": ("constant", "cosine"),
    "start": ("random", "imagenet"),
    "precision": ("float32", "bfloat16"),
}
OF_IMAGES = ("network", "schedule", "max_train", "max_test", "max_shifted", "start", "precision")
OPTIONAL = ("max_minibatches", "max_updates", "max_train", "max_test")


TPE_STARTUP, TPE_ROUND = 10, 5  # trials in the first round of the TPE sampler, and in each later one


@dataclass(frozen=True)
class Protocol:
    """A training and tuning budget, the same for every method.

    Attributes:
        epochs: passes over the training rows of a fit.
        batch_size: M, training examples per minibatch.
        trials: hyper-parameter settings drawn per cell.
        folds: parts of the cross-validation inside each train split.
        sampler: "random" draws all trials at once, "tpe" in rounds that learn from the ones before; "centre" tunes
            nothing and takes the middle of each range, on the range's own scale.
        samples: S, weight samples of a test-time predictive.
        validation_samples: S of a validation predictive.
        space: "paper" tunes over the ranges of each method's paper, "wide" over ranges that suit every data set.
        likelihood: of regression tasks: "gaussian" with one tuned noise precision, or "heteroscedastic", whose variance
            the network predicts.
        max_updates: training stops after this many updates, whatever number of minibatches each takes; None for never.
        stream_length: vectors that an estimator of the suite factor-analysis sees.
        network: of image classifiers; other data have the suite's "mlp".
        schedule: of the learning rate of image classifiers: "constant", or a "cosine" that falls to zero.
        max_train, max_test: the most images to train on, and of each set to test on; None for all.
        max_shifted: the most test images that are shown again, corrupted or moved, at every severity of every shift;
            0 for no shifts.
        start: of image classifiers' weights: "random", or those that were trained on "imagenet", all but the last
            layer's.
        precision: of image networks' passes in training: "float32", or "bfloat16" where the rest stays in float32.
        max_minibatches: training stops after this many minibatches even if epochs are left; None for never.
    """

    epochs: int = 120
    batch_size: int = 10
    trials: int = 30
    folds: int = 5
    sampler: str = "random"
    samples: int = 100
    validation_samples: int = 100
    max_minibatches: int | None = None
    space: str = "paper"
    likelihood: str = "gaussian"
    stream_length: int = 100_000
    max_updates: int | None = None
    network: str = "mlp"
    schedule: str = "constant"
    max_train: int | None = None
    max_test: int | None = None
    max_shifted: int = 1000
    start: str = "random"
    precision: str = "float32"

    def __post_init__(self):
        counts = ("epochs", "batch_size", "trials", "samples", "validation_samples", "stream_length")
        least = dict.fromkeys(counts, 1) | {"folds": 2, "max_shifted": 0}
        least |= {name: 1 for name in OPTIONAL if getattr(self, name) is not None}
        for name, smallest in least.items():
            value = getattr(self, name)
            if type(value) is not int or value < smallest:
                raise ValueError(f"{name} is {value}; it must be an integer of at least {smallest}")
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}")

    def changed(self, **changes) -> "Protocol":
        """This protocol with other values for some attributes."""
        return replace(self, **changes)

    def to_json(self) -> str:
        """The attributes, resolved, in a fixed order.

        Those that came later are left out at their defaults, so that the hash of an older protocol stays what it was.
        """
        unsaid = {one.name for one in fields(self) if one.name in LATER and getattr(self, one.name) == one.default}
        return json.dumps({name: value for name, value in asdict(self).items() if name not in unsaid}, sort_keys=True)

    @property
    def weights(self) -> str | None:
        """What `datasets.images.weights` calls the weights that networks start from; None for random ones."""
        return None if self.start == "random" else f"{self.network}-{self.start}"

    @cached_property
    def hash(self) -> str:
        """Eight hexadecimal digits that tell one protocol from another."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:8]

    def rounds(self) -> Iterator[tuple[int, int]]:
        """First and one-past-last trial number of each round, in which the tuner asks for trials and trains them."""
        if self.sampler == "centre":
            return
        if self.sampler == "random":
            yield 0, self.trials
            return
        start, end = 0, min(TPE_STARTUP, self.trials)
        while start < end:
            yield start, end
            start, end = end, min(end + TPE_ROUND, self.trials)
