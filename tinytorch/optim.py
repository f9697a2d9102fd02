"""Optimizers, schedules of their learning rates, and clipping.

>>> from tinytorch import Variable
>>> from tinytorch.optim import AdamW
>>> AdamW([Variable([1.0])], lr=0.01).param_groups[0]["lr"]
0.01
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "optimizers": "Optimizer SGD Adam AdamW clip_grad_norm_ "
        "LRScheduler StepLR CosineAnnealingLR LinearLR LambdaLR SequentialLR warmup_cosine",
    },
    {
        "schedules are in tinytorch.optim itself, as optim.StepLR": "lr_scheduler",
        "write LambdaLR(optimizer, lambda n: gamma**n)": "ExponentialLR",
        "write LambdaLR(optimizer, lambda n: gamma ** sum(n >= m for m in milestones))": ""
        "MultiStepLR",
        "write SequentialLR of LinearLR and CosineAnnealingLR, or LambdaLR": "OneCycleLR CyclicLR "
        "PolynomialLR ConstantLR CosineAnnealingWarmRestarts",
        "write `for group in optimizer.param_groups: group['lr'] *= 0.1` when the loss stays": ""
        "ReduceLROnPlateau",
        "write clip_grad_norm_, or np.clip(p.grad, -c, c, out=p.grad)": "clip_grad_value_",
        "write Adam or AdamW": "RMSprop Adagrad Adadelta Adamax NAdam RAdam Adafactor Muon LBFGS",
    },
)
