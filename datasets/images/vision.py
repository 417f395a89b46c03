"""Import of torchvision, made safe against versions that do not fit the installed torch.

All other modules get torchvision from here. A torchvision that was compiled for another build of torch (say, the usual
wheel beside a CPU-only torch) cannot load its compiled operators. Its import then fails with "operator torchvision::nms
does not exist", because it registers output shapes for `nms` and `qnms`, whose schemas torch does not know. The data
sets, transforms and networks call neither operator, so declaring both schemas is enough.
"""

import importlib
import sys
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.library import Library

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
SYMPTOM = "operator torchvision::nms does not exist"


@cache
def torchvision() -> ModuleType:
    """Import torchvision, even if its compiled operators do not fit the installed torch.

    Raises:
        ImportError: torchvision is not installed. Other errors of the import are raised unchanged.
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
        # A second import must not find the modules of this failed one.
        for name in [*sys.modules]:
            if name.startswith("torchvision."):
                del sys.modules[name]
        raise


@cache
def _declare_operators() -> "Library":
    """Declare both schemas; the cache keeps the library alive, since torch forgets schemas with their library."""
    from torch.library import Library

    library = Library("torchvision", "FRAGMENT")
    for schema in SCHEMAS:
        library.define(schema)
    return library
