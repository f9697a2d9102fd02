"""Training: the Trainer, what it measures, its checkpoints,
and tools that find out why a network does not learn.

>>> from tinytorch.training import means
>>> means([({"loss": 1.0}, 3), ({"loss": 5.0}, 1)])
{'loss': 2.0}
"""

from tinytorch.lazy import door

__getattr__, __dir__ = door(
    __name__,
    {
        "training": "Trainer NotFinite CheckpointError accuracy means train_step evaluating "
        "evaluate predict plot_history learning_rate_range suggested_rate "
        "overfit_one_batch save_state load_state",
    },
)
