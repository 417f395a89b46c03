"""The one place where torchvision is imported.

A torchvision whose compiled operators do not fit the torch beside it (the usual wheel beside a CPU-only torch, say)
cannot load them. It carries on without, until it describes the shapes that `nms` and `qnms` return: torch refuses to
describe operators whose schemas it never saw, and the import ends with "operator torchvision::nms does not exist". The
data sets, transforms and networks need neither operator, so declaring both is enough.
"""

import importlib
import sys
from functools import cache
from types import ModuleType

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
SYMPTOM = "operator torchvision::nms does not exist"


@cache
def torchvision() -> ModuleType:
    """The module torchvision; its compiled operators can only be called where they were compiled for this torch.

    Raises whatever else the import may raise, ImportError where torchvision is not installed.
    """
    try:
        return _imported()
    except RuntimeError as error:
        if SYMPTOM not in str(error):
            raise
    _declare_operators()
    return _imported()


def _imported() -> ModuleType:
    try:
        return importlib.import_module("torchvision")
    except BaseException:
        # The next import must not find half of this one's modules.
        for name in [*sys.modules]:
            if name.startswith("torchvision."):
                del sys.modules[name]
        raise


@cache
def _declare_operators():
    """The library of both schemas, kept for as long as the process lives: torch forgets them with it."""
    from torch.library import Library

    library = Library("torchvision", "FRAGMENT")
    for schema in SCHEMAS:
        library.define(schema)
    return library
