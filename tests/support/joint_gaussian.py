"""The joint Gaussian of weights and inducing weights as dense matrices (equation 6 of the inducing-weights paper)."""

import torch
from torch.func import jacrev

from lockstep_bench.methods.maths.matheron import matheron, orthonormal

D_OUT, D_IN = 3, 4


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def vec(matrix: torch.Tensor) -> torch.Tensor:
    """Return the columns of a matrix, concatenated into a vector, as in the paper."""
    return matrix.T.reshape(-1)


def eye(size: int) -> torch.Tensor:
    return torch.eye(size, dtype=torch.float64)


class Joint:
    """The joint Gaussian of equation 6, with the parts of its covariance as dense matrices."""

    def __init__(self, z_r, z_c, d_r, d_c, sigma):
        self.z_r, self.z_c, self.d_r, self.d_c, self.sigma = z_r, z_c, d_r, d_c, sigma
        self.psi_r, self.psi_c = (z @ z.T + torch.diag(d**2) for z, d in ((z_r, d_r), (z_c, d_c)))
        cross = sigma * torch.kron(z_c.T.contiguous(), z_r.T.contiguous())  # Cov(vec W, vec U)
        self.to_mean = cross @ torch.linalg.inv(torch.kron(self.psi_c, self.psi_r))
        self.conditional = sigma**2 * eye(len(cross)) - self.to_mean @ cross.T

    @classmethod
    def random(cls, m_out: int, m_in: int) -> "Joint":
        d_r, d_c = 0.1 + normal(m_out, seed=3).abs(), 0.1 + normal(m_in, seed=4).abs()
        return cls(normal(m_out, D_OUT, seed=1), normal(m_in, D_IN, seed=2), d_r, d_c, 0.7)

    def sample(self, whitened, scale, unit):
        """Return a sample of the weight matrix W (d_out, d_in), computed as the method does."""
        g_r, g_c = orthonormal(self.z_r, self.d_r), orthonormal(self.z_c, self.d_c)
        return self.sigma * matheron(g_r, g_c, whitened[None], scale, unit[None])[0]

    def unwhitened(self, whitened):
        return torch.linalg.cholesky(self.psi_r) @ whitened @ torch.linalg.cholesky(self.psi_c).T

    def jacobian(self, whitened, scale):
        """Return the Jacobian of vec W with respect to the noise; W is an affine function of the noise."""
        noise = torch.zeros(D_OUT + len(self.z_r), D_IN + len(self.z_c), dtype=torch.float64)
        found = jacrev(lambda unit: vec(self.sample(whitened, scale, unit)))(noise)
        return found.reshape(D_OUT * D_IN, -1)
