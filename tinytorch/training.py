"""Training: the Trainer, metrics, checkpoints, and tools that show why a network does not learn.

>>> from tinytorch.training import average_metrics
>>> average_metrics([({"loss": 1.0}, 3), ({"loss": 5.0}, 1)])
{'loss': 2.0}
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "training": "Trainer NonFiniteError CheckpointError accuracy confusion_matrix "
        "average_metrics train_step accumulate_gradients evaluation_mode evaluate predict "
        "epochs_since_best learning_rate_range suggest_learning_rate "
        "overfit_one_batch find_nonfinite save_state load_state",
        "pictures.training": "plot_learning_curve",
    },
)
