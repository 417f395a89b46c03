"""Published weights of trained networks, as starting points of training.

Images for networks that start from these weights are standardised like all images in this package: per channel, by the
statistics of the training part. Each data set's channels thereby have mean 0 and variance 1, as in the training of the
weights. ImageNet's constants would achieve this for ImageNet alone. Running statistics of batch normalisation in the
file are not used (`methods.networks.normalisation`).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from lockstep_bench.datasets.records import File

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Weights:
    """Description of one published file of weights, with the attributes of a `Source` that a download needs.

    Attributes:
        name: key in `WEIGHTS`: network and training data.
        title: display name.
        origin: who trained the network, and where the weights were published.
        licence: licence as stated by the publisher.
        file: pinned file with a `state_dict`.
        base_url: https address to which the file's path is appended.
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
        """The pinned file, as a tuple."""
        return (self.file,)


def read(path: str | os.PathLike[str]) -> dict[str, "Tensor"]:
    """Read the `state_dict` in a file that `torch.save` wrote, as tensors on the CPU by name.

    Only tensors are unpickled, so the file cannot run code.

    Args:
        path: path of the file.

    Raises:
        OSError: the file cannot be opened.
        ValueError: the file holds anything but a mapping of tensors.
    """
    import torch

    remedy = "give a file of a network's state_dict, as torch.save(network.state_dict(), path) writes it"
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # each kind of damage has its own, and torch's advice is to load unsafely
        raise ValueError(f"{path} is not a file of tensors alone ({type(error).__name__}); {remedy}") from error
    if not isinstance(state, Mapping):
        raise ValueError(f"{path} holds a {type(state).__name__}; {remedy}")
    if others := [name for name, value in state.items() if not isinstance(value, torch.Tensor)]:
        kind = type(state[others[0]]).__name__
        raise ValueError(f"{path} holds a {kind} under {others[0]!r}, not a tensor; {remedy}")
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
