"""The functions behind the layers, for who writes `import tinytorch.nn.functional as F`.

>>> import tinytorch.nn.functional as F
>>> from tinytorch import Tensor
>>> F.relu(Tensor([-1.0, 2.0]))
Tensor([0., 2.])
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "activations": "relu sigmoid tanh gelu softmax log_softmax",
        "layers": "linear",
        "losses": "mse_loss binary_cross_entropy_with_logits cross_entropy",
        "convolutions": "conv2d max_pool2d avg_pool2d",
        "normalization": "layer_norm rms_norm batch_norm",
        "attention": "scaled_dot_product_attention",
        "data": "one_hot",
        "embeddings": "embedding",
        "nn.additions": "dropout",
        "nn.l1_loss": "l1_loss",
    },
    {
        "write binary_cross_entropy_with_logits, on logits": "binary_cross_entropy",
        "write cross_entropy, on logits": "nll_loss kl_div",
        "write mse_loss or l1_loss": "huber_loss smooth_l1_loss",
        "write where(x > 0, x, slope * x)": "leaky_relu prelu",
        "write relu or gelu": "elu selu silu mish relu6 hardswish",
        "write (1 + x.exp()).log()": "softplus",
        "write -binary_cross_entropy_with_logits(x, ones(x.shape), 'none')": "logsigmoid",
        "write x.pad(...), with NumPy's widths: one pair for each axis, the last axis last": "pad",
        "write (a * b).sum(-1) / ((a * a).sum(-1) * (b * b).sum(-1)).clip(1e-16).sqrt()": ""
        "cosine_similarity",
        "write x / (x * x).sum(axis=-1, keepdims=True).maximum(1e-24).sqrt()": "normalize",
        "write x.mean(axis=(2, 3))": "adaptive_avg_pool2d",
        "this library has no such function": "group_norm "
        "conv1d conv3d conv_transpose2d interpolate unfold fold",
    },
)
