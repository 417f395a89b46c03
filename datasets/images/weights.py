"""Weights of networks that others trained and published, to start training from.

Networks that start from them get images standardised as all images here are, channel by channel by the training part's
own statistics, and not by ImageNet's: that gives every set's channels the mean and the spread that the weights were
trained at, where ImageNet's numbers would do so for ImageNet alone. Running statistics of batch normalisation in the
file are not used (`methods.networks.normalisation`).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from datasets.records import File

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Weights:
    """One published file of weights; what `datasets.storage.store` and `datasets.storage.download` ask of a
    `Source`, it has too.

    Attributes:
        name: key in `WEIGHTS`: the network's and the training data's.
        title: for people.
        origin: who trained them, and where they were published.
        licence: as stated by the publisher.
        file: pinned, holding a `state_dict`.
        base_url: https address that the file's path continues.
    """

    name: str
    title: str
    origin: str
    licence: str
    file: File
    base_url: str

    folder: ClassVar[str] = "weights"
    by_hand: ClassVar[str] = ""
    listing: ClassVar[None] = None
    needs_download: ClassVar[bool] = True

    @property
    def files(self) -> tuple[File, ...]:
        return (self.file,)


def read(path: str | os.PathLike) -> dict[str, "Tensor"]:
    """The `state_dict` in a file that `torch.save` wrote, name -> tensor on the CPU.

    Only tensors are read: a file that would run code is refused. Raises OSError where there is no file, and ValueError
    where it holds anything else.
    """
    import torch

    wanted = "give a file of a network's state_dict, as torch.save(network.state_dict(), path) writes it"
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # each kind of damage has its own, and torch's advice is to load unsafely
        raise ValueError(f"{path} is not a file of tensors alone ({type(error).__name__}); {wanted}") from error
    if not isinstance(state, Mapping):
        raise ValueError(f"{path} holds a {type(state).__name__}; {wanted}")
    if others := [name for name, value in state.items() if not isinstance(value, torch.Tensor)]:
        kind = type(state[others[0]]).__name__
        raise ValueError(f"{path} holds a {kind} under {others[0]!r}, not a tensor; {wanted}")
    return dict(state)


WEIGHTS: dict[str, Weights] = {
    "resnet18-imagenet": Weights(
        name="resnet18-imagenet",
        title="ResNet-18, trained on ImageNet",
        origin="torchvision, ResNet18_Weights.IMAGENET1K_V1",
        licence="BSD-3-Clause, torchvision's; ImageNet's own terms are for non-commercial research",
        # The file's name carries the first eight digits.
        file=File(
            "resnet18-f37072fd.pth", 46830571, "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec"
        ),
        base_url="https://download.pytorch.org/models/",
    ),
}
