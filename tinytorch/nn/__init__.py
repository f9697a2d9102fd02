"""Parts of networks: layers, activations and losses.

>>> from tinytorch.nn import Dense, ReLU, Sequential
>>> model = Sequential(Dense(2, 8), ReLU(), Dense(8, 1))
>>> sum(p.size for p in model.parameters())
33
"""

from tinytorch.lazy import public_module
from tinytorch.nn import functional, init  # noqa: F401  as in nn.functional.relu

__getattr__, __dir__ = public_module(
    __name__,
    {
        "activations": "relu sigmoid tanh gelu softmax log_softmax "
        "ReLU Sigmoid Tanh Softmax LogSoftmax",
        "layers": "Module Layer Dense Linear Sequential Flatten Dropout summary manual_seed "
        "xavier_uniform he_normal fan_in_uniform",
        "losses": "mse_loss binary_cross_entropy_with_logits cross_entropy "
        "MSELoss BCEWithLogitsLoss CrossEntropyLoss",
        "convolutions": "conv2d max_pool2d avg_pool2d MaxPool2d AvgPool2d",
        "nn.convolution": "Conv2d",
        "normalization": "layer_norm rms_norm batch_norm LayerNorm RMSNorm BatchNorm1d BatchNorm2d",
        "embeddings": "embedding Embedding",
        "attention": "scaled_dot_product_attention MultiHeadAttention LearnedPositions",
        "transformers": "GPT TransformerBlock",
        "transformers activations": "GELU",
        "nn.additions": "ModuleDict ModuleList Parameter",
        "nn.l1_loss": "L1Loss l1_loss",
    },
    {
        "write BCEWithLogitsLoss, on logits instead of probabilities": "BCELoss",
        "write CrossEntropyLoss, on logits instead of log-probabilities": "NLLLoss KLDivLoss",
        "write MSELoss or L1Loss": "HuberLoss SmoothL1Loss",
        "write ReLU or GELU": "LeakyReLU PReLU ELU SELU SiLU Mish ReLU6 Softplus Hardswish",
        "write Sequential(), which returns its input": "Identity",
        "write Dropout": "Dropout1d Dropout2d Dropout3d AlphaDropout",
        "write x.mean(axis=(2, 3))": "AdaptiveAvgPool2d",
        "write x.pad(...)": "ZeroPad2d ConstantPad2d",
        "write Linear(in_features, out_features)": "LazyLinear Bilinear",
        "write self.register_buffer(name, tensor)": "Buffer",
        "write ModuleList, or a list of Parameters as an attribute": "ParameterList ParameterDict",
        "write MultiHeadAttention(embed_dim, num_heads), self-attention, batch first": ""
        "MultiheadAttention",
        "clip_grad_norm_ is in tinytorch.optim": "utils",
        "write (a * b).sum(-1) / ((a * a).sum(-1) * (b * b).sum(-1)).clip(1e-16).sqrt()": ""
        "CosineSimilarity",
        "DataParallel is in tinytorch.core.acceleration: several processes train one model": ""
        "DataParallel DistributedDataParallel parallel",
        "write TransformerBlock, which is pre-norm and causal": "TransformerEncoderLayer",
        "rnn_step and RecurrentModel are in tinytorch.text": "RNN RNNCell",
        "this library has no such layer": "LSTM GRU LSTMCell GRUCell EmbeddingBag "
        "GroupNorm BatchNorm3d InstanceNorm2d "
        "Transformer TransformerEncoder TransformerDecoder TransformerDecoderLayer Conv1d Conv3d "
        "ConvTranspose2d MaxPool1d AvgPool1d Upsample PixelShuffle Unfold Fold Unflatten",
    },
)
