"""Looking inside trained models: recorded and changed results, scores for heads, patching, probes.

>>> from tinytorch.interpret import previous_token_score
>>> previous_token_score([[[[1.0, 0.0], [0.75, 0.25]]]])
array([0.75])
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "interpretability": "AttentionOnly ablate changed contributions hook hooks induction_score "
        "logit_lens next_token_loss patch patterns previous_token_score probe probe_accuracy "
        "record repeat_targets repeated restored sparse_features toy_superposition without_heads",
    },
    {  # names of TransformerLens, and PyTorch's
        "write `with hook(module, f):`": "register_forward_hook register_forward_pre_hook",
        "write with record(model, *names) as seen": "run_with_cache ActivationCache",
        "write with changed(model, {name: f})": "run_with_hooks",
    },
)
