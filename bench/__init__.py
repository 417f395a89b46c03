"""The benchmark itself, in rooms: what is run, how it is trained, judged, executed and stored.

Imports point down (pyproject.toml). The two scikit-learn estimators of `bench.arrays` can be imported from here.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.arrays.estimators import PosteriorClassifier, PosteriorRegressor

__all__ = ["PosteriorClassifier", "PosteriorRegressor"]


def __getattr__(name: str) -> Any:
    """Import an estimator when it is asked for: torch and scikit-learn take seconds."""
    if name in __all__:
        from bench.arrays import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'bench' has no attribute {name!r}")
