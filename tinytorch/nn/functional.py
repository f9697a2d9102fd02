"""The functions behind the layers, for who writes `import tinytorch.nn.functional as F`.

>>> import tinytorch.nn.functional as F
>>> from tinytorch import Tensor
>>> F.relu(Tensor([-1.0, 2.0]))
Tensor([0., 2.])
"""

from tinytorch.lazy import door

__getattr__, __dir__ = door(
    __name__,
    {
        "activations": "relu sigmoid tanh gelu softmax log_softmax",
        "layers": "linear",
        "losses": "mse_loss binary_cross_entropy_with_logits cross_entropy",
        "convolutions": "conv2d max_pool2d avg_pool2d",
        "data": "one_hot",
    },
)
