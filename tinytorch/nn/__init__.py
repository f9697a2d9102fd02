"""Parts of networks: layers, activations and losses.

>>> from tinytorch.nn import Dense, ReLU, Sequential
>>> model = Sequential(Dense(2, 8), ReLU(), Dense(8, 1))
>>> sum(p.size for p in model.parameters())
33
"""

from tinytorch.lazy import door
from tinytorch.nn import functional, init  # noqa: F401  as in nn.functional.relu

__getattr__, __dir__ = door(
    __name__,
    {
        "activations": "relu sigmoid tanh gelu softmax log_softmax "
        "ReLU Sigmoid Tanh GELU Softmax LogSoftmax",
        "layers": "Module Layer Dense Linear Sequential Flatten Dropout summary manual_seed "
        "xavier_uniform he_normal",
        "losses": "mse_loss binary_cross_entropy_with_logits cross_entropy "
        "MSELoss BCEWithLogitsLoss CrossEntropyLoss",
        "convolutions": "conv2d max_pool2d avg_pool2d Conv2d MaxPool2d AvgPool2d",
        "support.containers": "ModuleDict ModuleList Parameter",
    },
)
