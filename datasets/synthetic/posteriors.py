"""Data sets of the suite `posterior`, each with a Bayesian model whose posterior is known or can be sampled.

A method's posterior given the train part of a split is compared with the reference posterior. Its hyper-parameters are
tuned on the test part, by comparison with the reference posterior given the test part.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from lockstep_bench.datasets.records import Contents, Model, Reader, Source, Split
from lockstep_bench.datasets.splits import fixed_splits
from lockstep_bench.datasets.tabular import uci, uci_classification

SUITE = "posterior"
N_DRAWS = 10  # seeds of the thesis and of the VIFA paper
ALPHA, BETA = 0.01, 0.1
N_LINEAR, N_LOGISTIC = 1000, 3000
DECIMALS = 6  # of every number, so that the digests are the same on every machine
SEED = 2023  # of the half/half splits of the UCI sets; the papers did not publish theirs
THESIS = "Brownlie 2022, Scalable Factor Analysis Algorithms for Neural Network Posterior Estimation"
SAME_ROWS = "Its splits have equal rows. Their fits differ in the seed alone."
VIFA = "Fast and Scalable Factor Analysis Algorithm for Bayesian Deep Learning"

Draw: TypeAlias = Callable[[int], tuple[np.ndarray, np.ndarray]]  # from a seed to x and y

# Thousands of epochs of the VIFA paper's Table 6; the synthetic sets have 5.
LINEAR = {"energy": 25, "boston": 25, "concrete": 20, "yacht": 45}
# Prior precisions of its Table 8, which are SLANG's, and thousands of epochs of its Table 9.
LOGISTIC = {"usps3v5": (25.0, 10), "a1a": (2.8072, 30), "australian": (1e-5, 30), "breast-cancer": (1.0, 23)}
SYNTHETIC_EPOCHS = 5
RELEASED_SEED = 1  # of the authors' split; their code is that of github.com/ayeright/swafa
N_FITS = 5  # splits of equal rows, whose fits differ in their seeds
FACTS = {
    "a1a": (
        "A split trains on 803 of the 1605 rows. The VIFA paper's posterior of a1a is given all of them (Table 8): see "
        "a1a-all-logistic.",
        "Laplace approximations given 803 and 1605 rows differ by 0.13 in the relative distance of the covariance and "
        "by 0.4 in that of the mean.",
    ),
    "usps3v5": (
        "A split trains on 770 of the 1540 rows. The VIFA paper counts 767 (Table 8), the train part of another split "
        "of the same images.",
    ),
}


def draw_linear(seed: int, n_rows: int = N_LINEAR) -> tuple[np.ndarray, np.ndarray]:
    """Draw x (N, 2) of unit variances and covariance 0.5, theta ~ N(0, I / alpha) and y ~ N(x theta, 1 / beta)."""
    x, theta, generator = _inputs_and_weights(seed, n_rows)
    return x, (x @ theta + generator.standard_normal(n_rows) * BETA**-0.5).round(DECIMALS)


def draw_released(seed: int, n_rows: int = N_LINEAR) -> tuple[np.ndarray, np.ndarray]:
    """Draw data as `draw_linear` does, but with torch's generator and in the order of the thesis's code.

    This copies the function `generate_data` in the notebook LinearRegressionSGDIterates (github.com/ayeright/swafa),
    which is called with the seeds 0 to 9.
    """
    import torch
    from torch.distributions import MultivariateNormal

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        x = MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 0.5], [0.5, 1.0]])).sample((n_rows,))
        theta = MultivariateNormal(torch.zeros(2), torch.eye(2) / ALPHA).sample()
        noise = torch.normal(torch.zeros(n_rows), BETA**-0.5 * torch.ones(n_rows))
    y = (x @ theta + noise).double().numpy()
    return x.double().numpy().round(DECIMALS), y.round(DECIMALS)


def draw_logistic(seed: int, n_rows: int = N_LOGISTIC) -> tuple[np.ndarray, np.ndarray]:
    """Draw x and theta as `draw_linear` does, and y in {0, 1}, with probability 1 / (1 + exp(-x theta)) for y = 1."""
    x, theta, generator = _inputs_and_weights(seed, n_rows)
    return x, (generator.uniform(size=n_rows) < 1 / (1 + np.exp(-x @ theta))).astype(float)


def _inputs_and_weights(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    generator = np.random.default_rng(seed)
    first, other = generator.standard_normal((2, n_rows))
    x = np.stack([first, first / 2 + 0.75**0.5 * other], axis=1).round(DECIMALS)
    return x, generator.standard_normal(2) * ALPHA**-0.5, generator


def read_draws(draw: Draw, contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return x, y and splits of 2 N_DRAWS drawn data sets: split k trains on draw k and tests on draw N_DRAWS + k."""
    parts = [draw(seed) for seed in range(2 * N_DRAWS)]
    rows = np.arange(len(parts) * len(parts[0][1])).reshape(len(parts), -1)
    x, y = (np.concatenate(column) for column in zip(*parts, strict=True))
    return x, y, tuple(Split(rows[k], rows[N_DRAWS + k]) for k in range(N_DRAWS))


def read_halves(read: Reader, contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return the rows of another data set, in random splits of half training and half test rows."""
    x, y, *_ = read(contents)
    return x, y, fixed_splits(len(y), N_DRAWS, SEED, 0.5)


def read_released(read: Reader, contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return the rows of another data set, and `N_FITS` copies of the split that the VIFA paper's authors use.

    The authors shuffle rows with pandas.DataFrame.sample(frac=1, random_state=1), whose order is that of numpy's
    `RandomState`. They tune on the first half and report the posterior given the second
    (experiments/linear_regression_vi.py).
    """
    x, y, *_ = read(contents)
    order = np.random.RandomState(RELEASED_SEED).permutation(len(y))
    return x, y, (Split(order[len(y) // 2 :], order[: len(y) // 2]),) * N_FITS


def read_twice(read: Reader, contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return the rows of another data set twice; the one split trains on the first copy and tests on the second."""
    x, y, *_ = read(contents)
    rows = np.arange(2 * len(y)).reshape(2, -1)
    return np.concatenate([x, x]), np.concatenate([y, y]), (Split(*rows),)


def _synthetic(name: str, title: str, draw: Draw, n_rows: int, **fields: Any) -> Source:
    return Source(
        name=name,
        title=title,
        n_rows=2 * N_DRAWS * n_rows,
        n_features=2,
        n_splits=N_DRAWS,
        split_scheme="drawn",
        origin=f"{THESIS} (section 4.4.2.1); {VIFA} (section 4.1)",
        licence="none needed: drawn at random by this project",
        read=partial(read_draws, draw),
        suites=(SUITE,),
        notes=(
            f"Each split is a draw of its own: a true weight vector and {n_rows} rows; hyper-parameters are tuned on "
            "another draw.",
        ),
        **fields,
    )


def _halves(source: Source, ending: str, kind: str, model: Model, *notes: str) -> Source:
    return replace(
        source,
        name=f"{source.name}-{ending}",
        title=f"{source.title}: {kind}",
        n_splits=N_DRAWS,
        read=partial(read_halves, source.read),
        suites=(SUITE,),
        model=model,
        notes=(*notes, "Its half/half splits are this project's own."),
    )


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the data sets of the suite `posterior`, in the order of the papers' tables."""
    regression = {source.name: source for source in uci.sources()}
    classification = {source.name: source for source in uci_classification.sources()}
    return (
        _synthetic(
            "synthetic-linear-2d",
            "Synthetic linear regression, 2 weights",
            draw_linear,
            N_LINEAR,
            model=Model(ALPHA, BETA, standardise=False),
        ),
        _synthetic(
            "synthetic-logistic-2d",
            "Synthetic logistic regression, 2 weights",
            draw_logistic,
            N_LOGISTIC,
            task="binary",
            n_classes=2,
            model=Model(ALPHA, None, standardise=False),
        ),
        *(
            _halves(
                regression[name],
                "linear",
                "linear regression",
                Model(None, None, effort=epochs / SYNTHETIC_EPOCHS),
                "The precisions of prior and noise are those of maximal evidence (scikit-learn's BayesianRidge), for "
                "each part its own.",
            )
            for name, epochs in LINEAR.items()
        ),
        *(
            _halves(
                classification[name],
                "logistic",
                "logistic regression",
                Model(alpha, None, standardise=False, effort=epochs / SYNTHETIC_EPOCHS),
                f"Prior precision {alpha:g}, as in the SLANG and VIFA papers; no bias; features as they are.",
                *FACTS.get(name, ()),
            )
            for name, (alpha, epochs) in LOGISTIC.items()
        ),
        _synthetic(
            "synthetic-linear-2d-released",
            "Synthetic linear regression, 2 weights, as released",
            draw_released,
            N_LINEAR,
            model=Model(ALPHA, BETA, standardise=False),
        ),
        *(
            replace(
                regression[name],
                name=f"{name}-linear-released",
                title=f"{regression[name].title}: linear regression, as released",
                n_splits=N_FITS,
                split_scheme="one test part",
                read=partial(read_released, regression[name].read),
                suites=(SUITE,),
                model=Model(None, None, bias=True),
                notes=(
                    "The posterior of the VIFA paper's Table 7, as its authors' code computes it: BayesianRidge's, "
                    "given their half of the rows. Its precisions are those of the paper's Table 6 to all digits.",
                    "Its prior of the bias is flat, that of the methods is the prior of the other weights. The bias "
                    "counts in the distance of the means alone.",
                    SAME_ROWS,
                ),
            )
            for name in LINEAR
        ),
        replace(
            classification["a1a"],
            name="a1a-all-logistic",
            title="Adult income, all 1605 rows (a1a): logistic regression",
            n_rows=2 * classification["a1a"].n_rows,
            n_splits=1,
            read=partial(read_twice, classification["a1a"].read),
            suites=(SUITE,),
            model=Model(LOGISTIC["a1a"][0], None, standardise=False),
            notes=(
                f"Prior precision {LOGISTIC['a1a'][0]:g}, as in the SLANG and VIFA papers; no bias; features as they "
                "are.",
                "The posterior of the VIFA paper's Table 10, given all 1605 rows of LIBSVM's train part. The test part "
                "is a copy of them: nothing is held out, and nothing should be tuned.",
            ),
        ),
        replace(
            regression["yacht"],
            name="yacht-net",
            title="Yacht hydrodynamics: network of 50 units",
            suites=(SUITE,),
            model=Model(1.0, 1.0, hidden=(50,)),
            notes=(
                "The posterior of the weights has many modes that are one function, so methods are compared by their "
                "predictions alone.",
            ),
        ),
    )
