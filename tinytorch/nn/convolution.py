"""The convolutional layer with PyTorch's initial values. What it computes is built in lesson 10."""

import math

from tinytorch.core import convolutions
from tinytorch.core.layers import fan_in_uniform, generator


class Conv2d(convolutions.Conv2d):
    """A convolutional layer that starts as in PyTorch: weights and bias come from `fan_in_uniform`.

    All arguments are those of `Conv2d` of lesson 10, which draws the weights with `xavier_uniform`
    and starts with a bias of 0.

    >>> layer = Conv2d(1, 2, 5, rng=0)
    >>> bool(abs(layer.weights.data).max() <= 0.2), bool(abs(layer.bias.data).min() > 0)
    (True, True)

    Source: torch.nn.Conv2d.
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        *,
        bias=True,
        init=fan_in_uniform,
        rng=None,
    ):
        rng = generator(rng)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, bias=bias, init=init, rng=rng
        )
        if bias:
            fan_in = in_channels * math.prod(self.kernel_size)
            self.bias.data[...] = fan_in_uniform(fan_in, 1, rng, (out_channels,))
