"""The conformance suite passes good adapters and fails broken ones, each by the right check."""

import random
import re

import numpy as np
import pytest
import torch
from each_once import one_of_each_kind
from torch.func import grad

from lockstep_bench import methods
from lockstep_bench.bench.conformance import RULES, Finding, check
from lockstep_bench.bench.conformance.examined import TASKS
from lockstep_bench.bench.reference.conjugate import orthogonal
from lockstep_bench.methods.base import FullBatchMethod, Method, Paper
from lockstep_bench.methods.map import MAP, MAPState
from lockstep_bench.methods.maths.predictive import Normals, Quantiles
from lockstep_bench.methods.mfvi import MeanFieldVI

SEARCH_SPACES = {"finite over its search spaces"}
# Each of these samples a posterior more than once; `pytest -m slow` has them.
HMC_ALONE = SEARCH_SPACES | {"deterministic", "stack equals alone", "keeps the units", "keeps nothing in itself"}
QUICK = [title for title in RULES if title not in ("cost", "trains natively", "conjugate posterior")]


def findings(method: Method, rules=QUICK, tasks=TASKS) -> dict[str, Finding]:
    """Return the findings of checks of a method by title."""
    return {finding.check: finding for finding in check(method, rules, tasks)}


def failures(method: Method, rules=QUICK, tasks=TASKS) -> dict[str, str]:
    """Return the details of failed checks by title."""
    return {title: finding.detail for title, finding in findings(method, rules, tasks).items() if not finding.passed}


def installed(name: str) -> Method:
    """Return the method called `name`; skips the test where the libraries that it wraps are missing."""
    method = methods.get(name)
    supported = [task for task in TASKS if task.likelihood.kind in method.likelihoods]
    if all("pip install" in (method.excludes(task) or "") for task in supported):
        pytest.skip("its library is not installed")
    return method


@pytest.mark.parametrize("name", one_of_each_kind(methods.names()))
def test_every_method_passes_quick_checks_on_one_task(name):
    method, number = installed(name), methods.names().index(name)
    usable = [task for task in TASKS if not method.excludes(task)]
    rules = [title for title in QUICK if title not in (HMC_ALONE if name == "hmc" else SEARCH_SPACES)]
    assert failures(method, rules, tasks=(usable[number % len(usable)],)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", methods.names())
def test_every_method_passes_every_conformance_check(name):
    assert failures(installed(name), rules=tuple(RULES)) == {}


def test_every_supported_task_is_checked():
    details = findings(MAP())["predictive is a density"].detail
    assert [details.find(task.name) for task in TASKS] == sorted(details.find(task.name) for task in TASKS)
    assert "densities integrate to 1" in details
    assert "probabilities sum to 1" in details


class ForTwoClasses(MAP):
    likelihoods = ("bernoulli",)


def test_tasks_that_a_method_excludes_are_not_checked():
    outcomes = findings(ForTwoClasses(), rules=tuple(RULES))
    assert all(finding.passed for finding in outcomes.values())
    assert "not applicable: no gaussian likelihood" in outcomes["conjugate posterior"].detail


def test_method_that_excludes_every_task_fails():
    class ForNothing(MAP):
        likelihoods = ()

    assert "excludes every task" in failures(ForNothing(), rules=["declares itself"])["declares itself"]


class NewPhaseEachUpdate(MAP):
    def phase(self, update, plan):
        return update


def test_check_warns_of_many_training_phases():
    (finding,) = findings(NewPhaseEachUpdate(), rules=["few phases"]).values()
    assert (finding.passed, finding.warned) == (True, True)
    assert "`phase` has 1,000 values in 1,000 updates" in finding.detail


def test_check_does_not_compile_many_phases():
    fits = orthogonal(0).fit(NewPhaseEachUpdate(), 200, 30, lr=0.01)
    assert fits.execution == "eager"


def test_method_without_weight_posterior_skips_conjugate_check():
    class NoWeightPosterior(MAP):
        weight_posterior = False

    (finding,) = findings(NoWeightPosterior(), rules=["conjugate posterior"]).values()
    assert (
        finding.detail
        == "not applicable: the method has no posterior of the weights under the prior N(0, I / prior_precision)"
    )


def test_wrapper_of_another_library_passes_the_checks(foreign_library):
    assert failures(foreign_library) == {}


class TwiceTheNoise(MeanFieldVI):
    """Samples with twice the standard deviation of the posterior."""

    def sample(self, problem, posterior, noise, n_samples):
        mean, log_sd = posterior
        return mean + 2 * log_sd.exp() * noise.normal(n_samples, problem.dim)


class GlobalDraw(MeanFieldVI):
    """Adds numbers of torch's global generator to the initial weights."""

    def init(self, problem, noise):
        state = super().init(problem, noise)
        return state._replace(params=state.params + torch.randn(problem.dim, dtype=state.params.dtype))


class ForeignDraw(MAP):
    """Adds a number of another library's global generator to the initial weights."""

    def __init__(self, draw):
        super().__init__()
        self.draw = draw

    def init(self, problem, noise):
        state = super().init(problem, noise)
        return state._replace(weights=state.weights + self.draw())


class OverTheStack(torch.autograd.Function):
    """Subtracts the mean over the stack, which a function with its own `vmap` rule can see."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient

    @staticmethod
    def vmap(info, in_dims, x):
        return x - x.mean(in_dims[0], keepdim=True), in_dims[0]


class NormalisesOverTheStack(MAP):
    """Centres each fit's gradient by the gradients of all fits of the stack."""

    def update(self, problem, state, batch, noise, step):
        gradient = grad(lambda weights: problem.nll(weights, batch))(state.weights)
        weights, optim = state.optim.step(state.weights, OverTheStack.apply(gradient), problem.hparams.lr, step)
        return MAPState(weights, optim)


class CountsItsFits(MAP):
    """Scales initial weights by the number of fits that were started before, a leak through `self`."""

    def __init__(self):
        super().__init__()
        self.fits = 0

    def init(self, problem, noise):
        self.fits += 1
        state = super().init(problem, noise)
        return state._replace(weights=state.weights / self.fits)


class KeepsTheLastFit(MAP):
    """Starts each fit from the weights of the one before, a leak through `self` between sequential fits."""

    stackable = False

    def __init__(self):
        super().__init__()
        self.last = {}

    def init(self, problem, noise):
        state = super().init(problem, noise)
        return state._replace(weights=self.last.get((problem.dim, state.weights.dtype), state.weights))

    def finish(self, problem, state):
        self.last[problem.dim, state.weights.dtype] = state.weights
        return state.weights


class StartsInDouble(MAP):
    def init(self, problem, noise):
        state = super().init(problem, noise)
        return state._replace(weights=state.weights.double())


class FinishesInDouble(MAP):
    def finish(self, problem, state):
        return state.weights.double()


class DropsAWeight(MAP):
    def update(self, problem, state, batch, noise, step):
        return state._replace(weights=state.weights[1:])


class OneSample(MAP):
    def sample(self, problem, posterior, noise, n_samples):
        return posterior


class Misspelt(MAP):
    likelihoods = ("guassian",)


class ForLargeNetworks(MAP):
    def excludes(self, task):
        return "too few weights" if task.network.dim < 1000 else None


class AddsFromTheCPU(MAP):
    def sample(self, problem, posterior, noise, n_samples):
        return super().sample(problem, posterior, noise, n_samples) + torch.zeros(problem.dim)


class StartsOnTheCPU(MAP):
    def finish(self, problem, state):
        return torch.zeros(problem.dim, dtype=torch.float64)


class NegativeVariance(MAP):
    likelihoods = ("gaussian",)

    def predict(self, problem, posterior, x, noise, n_samples):
        normals = super().predict(problem, posterior, x, noise, n_samples)
        return normals._replace(variance=-normals.variance)


class NegativeVarianceOfSomeFits(MAP):
    """Fails for the fit with fewer rows, the second of the three that are checked."""

    likelihoods = ("gaussian",)

    def predict(self, problem, posterior, x, noise, n_samples):
        normals = super().predict(problem, posterior, x, noise, n_samples)
        return normals._replace(variance=torch.where(problem.n_train < 30, -1, 1) * normals.variance)


class Unnormalised(MAP):
    likelihoods = ("categorical",)

    def predict(self, problem, posterior, x, noise, n_samples):
        classes = super().predict(problem, posterior, x, noise, n_samples)
        return classes._replace(log_probs=classes.log_probs + 0.1)


class Explodes(MAP):
    def update(self, problem, state, batch, noise, step):
        state, _ = super().update(problem, state, batch, noise, step)
        return state._replace(weights=state.weights / (problem.hparams.lr < 0.02))


class LosesItsWeights(MAP):
    def finish(self, problem, state):
        return state.weights * torch.nan


class ExplodesBeyondItsUsualSpace(MAP):
    def update(self, problem, state, batch, noise, step):
        state, _ = super().update(problem, state, batch, noise, step)
        return state._replace(weights=state.weights / (problem.hparams.lr < 0.05))


@pytest.mark.parametrize(
    ("method", "check_title", "complaint"),
    [
        (GlobalDraw(), "deterministic", "draws from torch's global generator"),
        (ForeignDraw(np.random.standard_normal), "deterministic", "one seed gave two results"),
        (ForeignDraw(random.random), "deterministic", "one seed gave two results"),
        (NormalisesOverTheStack(), "stack equals alone", r"fit \d of 3 in a stack differs .* mixes the fits"),
        (CountsItsFits(), "stack equals alone", "`init` changes `self.fits`, from .* keep nothing in `self`"),
        (KeepsTheLastFit(), "stack equals alone", "`finish` changes `self.last`, from .* keep nothing in `self`"),
        (StartsInDouble(), "state keeps its shape", "`init`: state.weights is of double precision"),
        (FinishesInDouble(), "state keeps its shape", "`finish`: posterior is of double precision"),
        (DropsAWeight(), "state keeps its shape", r"state.weights was torch.float64 .41,. and is torch.float64 .40,."),
        (
            OneSample(),
            "state keeps its shape",
            r"map.sample must return weights of the shape .S, 41.; it returned .41,.$",
        ),
        (AddsFromTheCPU(), "keeps to its device", "it mixes tensors of two devices"),
        (StartsOnTheCPU(), "keeps to its device", "`finish` returns a tensor on another device"),
        (NegativeVariance(), "predictive is a density", "not positive"),
        (NegativeVarianceOfSomeFits(), "predictive is a density", "not positive"),
        (Unnormalised(), "predictive is a density", "on the task '3 classes': .* sum to 1 only within"),
        (Explodes(), "finite over its search spaces", "all with lr of 0.0[23].* or more. Narrow `search_space`"),
        (
            ExplodesBeyondItsUsualSpace(),
            "finite over its search spaces",
            "All are in `wide_space`, .* by `wide_ranges`",
        ),
        (
            LosesItsWeights(),
            "stack equals alone",
            "predictions are NaN after 24 updates at lr = 0.00548,",
        ),
        (Misspelt(), "declares itself", "`likelihoods` has 'guassian'; allowed are gaussian,"),
        (ForLargeNetworks(), "declares itself", "nothing can be checked, because .* regression .too few weights."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Method) else "",
)
def test_each_broken_method_fails_its_own_check(method, check_title, complaint):
    assert re.search(complaint, failures(method, rules=[check_title])[check_title])


@pytest.mark.parametrize("leak", [NormalisesOverTheStack, CountsItsFits])
def test_shared_state_between_fits_fails_only_its_checks(leak):
    leaks = ("stack equals alone", "deterministic", "keeps nothing in itself", "keeps the units")
    rules = [title for title in QUICK if title not in leaks]
    assert failures(leak(), rules=rules, tasks=TASKS[:1]) == {}


def test_wrong_noise_scale_fails_only_conjugate_posterior():
    complaints = failures(TwiceTheNoise(), rules=[*QUICK, "conjugate posterior"], tasks=TASKS[:1])
    assert list(complaints) == ["conjugate posterior"]
    assert "x that of the best Gaussian with independent weights" in complaints["conjugate posterior"]


class CountsItsUpdates(MAP):
    """Decays its step by a counter in `self`, which a traced update does not count."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def update(self, problem, state, batch, noise, step):
        self.count += 1
        state, diagnostics = super().update(problem, state, batch, noise, step)
        return state._replace(weights=state.weights * (1 - 1 / (1 + self.count))), diagnostics


class CountsAnew(CountsItsUpdates):
    def init(self, problem, noise):
        self.count = 0
        return super().init(problem, noise)


class CountsInItsClass(MAP):
    calls = 0

    def sample(self, problem, posterior, noise, n_samples):
        type(self).calls += 1
        return super().sample(problem, posterior, noise, n_samples)


class KeepsAList(MAP):
    def __init__(self):
        super().__init__()
        self.history = []

    def finish(self, problem, state):
        self.history.append(len(self.history))
        return state.weights


class KeepsItInAPart(MAP):
    def __init__(self):
        super().__init__()
        self.part = {"counter": {"n": 0}}

    def finish(self, problem, state):
        self.part["counter"]["n"] += 1
        return state.weights


class KeepsItsLastWeights(MAP):
    last = None

    def finish(self, problem, state):
        self.last = state.weights
        return state.weights


@pytest.mark.parametrize(
    ("method", "attribute"),
    [
        (CountsItsUpdates(), "`update` changes `self.count`, from 0 to 1."),
        (CountsAnew(), "`update` changes `self.count`, from 0 to 1."),
        (CountsInItsClass(), "`sample` changes `CountsInItsClass.calls`, from "),
        (KeepsAList(), "`finish` changes `self.history`, from [] to [0]."),
        (KeepsItInAPart(), "`finish` changes `self.part`, from {'counter': {'n': 0}} to {'counter': {'n': 1}}."),
        (KeepsItsLastWeights(), "`finish` changes `self.last`, from tensor("),
        (CountsItsFits(), "`init` changes `self.fits`, from "),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, Method) else "",
)
def test_check_names_the_attribute_that_training_changed(method, attribute):
    assert attribute in failures(method, rules=["keeps nothing in itself"])["keeps nothing in itself"]


def test_update_counter_is_not_blamed_on_native_loops():
    complaint = failures(CountsItsUpdates(), rules=["trains natively"], tasks=TASKS[:1])["trains natively"]
    assert re.search("differs from the same fit alone .*`update` changes `self.count`, from", complaint)
    assert "bench.native" not in complaint


def test_one_task_is_compiled_and_others_are_translated():
    (finding,) = findings(MAP(), rules=["trains natively"]).values()
    assert finding.detail == (
        "yes: updates are compiled to loops, and a fit equals the same fit alone (regression); updates can be "
        "translated to loops too (heteroscedastic, student-t, binary, 3 classes)"
    )


class SortsForClasses(MAP):
    """Has an operator without translation in its updates for classification."""

    def update(self, problem, state, batch, noise, step):
        state, diagnostics = super().update(problem, state, batch, noise, step)
        if problem.likelihood.kind == "bernoulli":
            state = state._replace(weights=state.weights + 0 * state.weights.sort().values)
        return state, diagnostics


def test_untranslatable_operator_of_one_task_is_named():
    (finding,) = findings(SortsForClasses(), rules=["trains natively"], tasks=TASKS[2:4]).values()
    assert finding.passed
    assert "a fit equals the same fit alone (student-t); no: " in finding.detail
    assert re.search(r"no: .*sort.* Captured graphs are replayed, several times slower \(binary\)", finding.detail)


class CachesAConstant(MAP):
    def finish(self, problem, state):
        self.log_2pi = getattr(self, "log_2pi", 1.8378770664093453)
        return state.weights


def test_caching_a_constant_passes_the_state_check():
    assert failures(CachesAConstant(), rules=["keeps nothing in itself"]) == {}


class OfStandardisedTargets(MAP):
    """Predicts in standardised units, with the given parts in original ones."""

    likelihoods = ("gaussian", "heteroscedastic")

    def __init__(self, scales_mean=False, shifts_mean=False, scales_variance=False):
        super().__init__()
        self.parts = scales_mean, shifts_mean, scales_variance

    def predict(self, problem, posterior, x, noise, n_samples):
        mean, variance = super().predict(problem, posterior, x, noise, n_samples)
        mean, variance = (mean - problem.y_mean) / problem.y_scale, variance / problem.y_scale**2
        scales_mean, shifts_mean, scales_variance = self.parts
        mean = mean * problem.y_scale if scales_mean else mean
        return Normals(
            mean + problem.y_mean if shifts_mean else mean,
            variance * problem.y_scale**2 if scales_variance else variance,
        )


@pytest.mark.parametrize(
    "parts", [(), (True,), (False, True), (True, True), (True, False, True), (False, True, True), (False, False, True)]
)
def test_predictions_in_wrong_units_fail_the_check(parts):
    complaint = failures(OfStandardisedTargets(*parts), rules=["keeps the units"])["keeps the units"]
    assert "with targets 64 times as large plus 1024" in complaint
    assert ("they are of standardised targets" in complaint) == (not any(parts[:2]))


def test_predictions_in_original_units_pass_the_check():
    assert failures(OfStandardisedTargets(True, True, True), rules=["keeps the units"]) == {}


class FullBatch(FullBatchMethod):
    """Predicts the standard deviation of its training targets everywhere."""

    name, title, paper = "full", "Full", Paper("Somebody 2000", "A Library")
    likelihoods = ("gaussian",)
    deterministic = True

    def search_space(self, task):
        return {}

    def fit(self, problem, x, y, seed):
        return y.std()

    def predict(self, problem, posterior, x, noise, n_samples):
        variance = (problem.y_scale * posterior).square()
        return Normals(problem.y_mean.expand(1, len(x)), variance.expand(1, len(x)))


class UsesItsSeed(FullBatch):
    def fit(self, problem, x, y, seed):
        return y.std() * (1 + seed / 2**32)


class IgnoresItsSeed(FullBatch):
    deterministic = False


class PredictsInfinity(FullBatch):
    def predict(self, problem, posterior, x, noise, n_samples):
        normals = super().predict(problem, posterior, x, noise, n_samples)
        return normals._replace(mean=normals.mean + torch.inf)


class KeepsAFunction(FullBatch):
    def fit(self, problem, x, y, seed):
        return lambda: y.std()

    def predict(self, problem, posterior, x, noise, n_samples):
        return super().predict(problem, posterior(), x, noise, n_samples)


class QuantilesCross(FullBatch):
    def predict(self, problem, posterior, x, noise, n_samples):
        return Quantiles.of(torch.tensor([0.1, 0.9]), x.new_tensor([[1.0, 0.0]]).expand(len(x), 2))


def test_full_batch_method_passes_every_check():
    assert [finding for finding in check(FullBatch()) if not finding.passed or finding.warned] == []


@pytest.mark.parametrize(
    ("method", "rule", "message"),
    [
        (UsesItsSeed(), "deterministic", "declares `deterministic = True`, and two seeds gave two results"),
        (IgnoresItsSeed(), "deterministic", "from `seed`, or declare `deterministic = True`"),
        (PredictsInfinity(), "finite over its search spaces", "predictions are not finite"),
        (KeepsAFunction(), "posterior can be saved", "`torch.save` cannot store the posterior: Can't pickle"),
        (QuantilesCross(), "predictive is a density", "`values` of Quantiles must increase strictly"),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, FullBatch) else "",
)
def test_each_broken_full_batch_method_fails_its_check(method, rule, message):
    (finding,) = check(method, (rule,))
    assert not finding.passed
    assert message in finding.detail
