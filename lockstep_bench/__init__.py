"""Lockstep Bench: a benchmark of approximate Bayesian inference for neural networks.

The packages are `lockstep_bench.bench`, `.methods`, `.datasets` and `.leaderboards`; a third-party method imports from
`lockstep_bench.methods.api`. In a checkout, the folders of these four packages lie beside this one, which has symbolic
links to them. Where links become plain files, as in a clone on Windows, Python finds the packages through `__path__`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lockstep_bench.bench.arrays.estimators import PosteriorClassifier, PosteriorRegressor

__all__ = ["PosteriorClassifier", "PosteriorRegressor"]

if not (Path(__file__).parent / "bench").is_dir():
    __path__.append(str(Path(__file__).resolve().parents[1]))


def __getattr__(name: str) -> Any:
    """Return the version, or an estimator, which is imported when it is asked for: torch takes seconds."""
    if name in __all__:
        from lockstep_bench.bench.arrays import estimators

        return getattr(estimators, name)
    if name == "__version__":
        from importlib.metadata import version

        return version("lockstep-bench")
    raise AttributeError(f"module 'lockstep_bench' has no attribute {name!r}")
