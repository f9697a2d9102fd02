"""A power law with a constant: the fit, its predictions, and their intervals."""

from dataclasses import dataclass

import numpy as np

from tinytorch.core.differentiation import jacfwd
from tinytorch.core.tensor import Tensor

STEPS = 300
# An interval with these numbers of measurements beyond the three of the law has this many
# standard errors on each side, to contain 95 % (Student's t).
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31}


def curve(theta, logarithms):
    """E + exp(a - alpha * logarithms), for theta = (E, a, alpha); Tensors."""
    return theta[0] + (theta[1] - theta[2] * logarithms).exp()


@dataclass(frozen=True)
class PowerLaw:
    """bits = E + (reducible bits at `unit`) * (size / unit) ** -alpha.

    theta       Tensor (3,): E, the logarithm of the reducible bits at `unit`, and alpha
    unit        the geometric mean of the sizes of the fit
    covariance  of theta, as far as the residuals of the fit tell it: array (3, 3)
    noise       the standard deviation of one measurement
    free        the number of measurements of the fit, minus 3
    """

    theta: Tensor
    unit: float
    covariance: np.ndarray
    noise: float
    free: int

    @property
    def irreducible(self):
        return self.theta[0].item()

    @property
    def alpha(self):
        return self.theta[2].item()

    def logarithms(self, sizes):
        return Tensor(np.log(np.atleast_1d(sizes) / self.unit))

    def __call__(self, sizes):
        """The predicted bits for these sizes: an array."""
        return curve(self.theta, self.logarithms(sizes)).data

    def margin(self, sizes):
        """Half the width of the interval that contains a new measurement with 95 %: an array.

        It has two causes: theta is not known exactly, and the new measurement has noise too.
        """
        logarithms = self.logarithms(sizes)
        jacobian = jacfwd(lambda theta: curve(theta, logarithms))(self.theta).data
        variances = np.einsum("ni,ij,nj->n", jacobian, self.covariance, jacobian)
        return STUDENT[self.free] * np.sqrt(variances + self.noise**2)


def fit(sizes, bits):
    """The PowerLaw with the least sum of squared residuals, by the Levenberg-Marquardt method.

    Gauss-Newton replaces the residuals by their linear approximation, with the Jacobian of
    `jacfwd`, and solves for the step. The damping shortens a step that makes the sum larger.
    """
    sizes, bits = np.asarray(sizes, "float64"), np.asarray(bits, "float64")
    unit = np.exp(np.log(sizes).mean())
    logarithms = Tensor(np.log(sizes / unit))

    def residuals(theta):
        return curve(theta, logarithms) - bits

    start = 0.8 * bits.min()
    theta, damping = Tensor(np.array([start, np.log(bits.mean() - start), 0.5])), 1e-3
    for _ in range(STEPS):
        if damping > 1e12:  # no step makes the sum smaller
            break
        J, r = jacfwd(residuals)(theta).data, residuals(theta).data
        H = J.T @ J
        new = theta - np.linalg.solve(H + damping * np.diag(np.diag(H)), J.T @ r)
        better = np.sum(residuals(new).data ** 2) < np.sum(r**2)
        theta, damping = (new, damping / 10) if better else (theta, damping * 10)
    free = len(bits) - 3
    variance = np.sum(r**2) / free
    return PowerLaw(theta, unit, variance * np.linalg.inv(H), np.sqrt(variance), free)


def straight_line(sizes, bits, size):
    """The prediction for `size` of a power law without a constant.

    On logarithmic axes it is a straight line.
    """
    slope, height = np.polyfit(np.log(sizes), np.log(bits), 1)
    return float(np.exp(height + slope * np.log(size)))
