"""Check whether a predictive describes a probability distribution; the reason if not is stored with the result."""

from lockstep_bench.bench.metrics import checks
from lockstep_bench.bench.metrics.distributions import distribution_of
from lockstep_bench.methods.maths.predictive import Classes, Normals, Predictive


def flaw(predictive: Predictive, points: str = "test points") -> str | None:
    """Return the reason why a predictive cannot be scored, or None if it can.

    An example is "variance is negative at 3 of 50 test points".

    Args:
        predictive: samples at n points.
        points: name of the points in the sentence.

    Raises:
        TypeError, ValueError: the argument is not a predictive, or has wrong shapes.
    """
    problem = None
    try:
        checks.predictive(predictive)
        if not isinstance(predictive, Normals | Classes):
            distribution_of(predictive)
    except checks.NoDistribution as error:
        problem = str(error)
    for name, part in predictive._asdict().items():
        wrong = {"NaN": part.isnan(), "infinite": part.isinf()}
        if isinstance(predictive, Normals) and name == "variance":
            wrong |= {"negative": part < 0, "0": part == 0}
        for word, where in wrong.items():
            if count := int(where.transpose(0, 1).flatten(1).any(1).sum()):
                return f"{name} is {word} at {count} of {part.shape[1]} {points}"
    return problem
