"""The Gaussian process of scikit-learn.

The function has the prior GP(0, c k), where k is the squared-exponential kernel with one lengthscale per input, and a
target is its value plus noise of variance v. c, the lengthscales and v maximise the log marginal likelihood.
"""

from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from lockstep_bench.methods.api import FullBatchMethod, Normals, Paper


class SklearnGP(FullBatchMethod):
    """Exact Gaussian process regression. Its time grows with the cube of the training rows."""

    name = "sklearn-gp"
    title = "Gaussian process (scikit-learn)"
    paper = Paper("Rasmussen and Williams 2006", "Gaussian Processes for Machine Learning")
    idea = "scikit-learn fits an exact Gaussian process, whose kernel maximises the log marginal likelihood."
    objective = r"\max_{c, l, v} \; \log\, N(y;\; 0,\; c K_l + v I)"
    likelihoods = ("gaussian", "heteroscedastic")
    deterministic = True
    suites = ("uci", "own")

    def search_space(self, task):
        return {}

    def fit(self, problem, x, y, seed):
        lengthscales = RBF([1.0] * x.shape[1], length_scale_bounds=(1e-2, 1e6))
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * lengthscales + WhiteKernel(0.1, (1e-6, 10.0))
        return GaussianProcessRegressor(kernel).fit(x.double().cpu().numpy(), y.double().cpu().numpy())

    def predict(self, problem, posterior, x, noise, n_samples):
        mean, sd = posterior.predict(x.double().cpu().numpy(), return_std=True)
        mean, sd = x.new_tensor(mean), x.new_tensor(sd)
        return Normals((problem.y_mean + problem.y_scale * mean)[None], (problem.y_scale * sd).square()[None])
