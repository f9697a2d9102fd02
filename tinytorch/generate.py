"""Generation: from the probabilities of a language model to a text.

>>> from tinytorch.generate import top_k
>>> top_k([[1.0, 3.0, 2.0]], 2).data.tolist()
[[-inf, 3.0, 2.0]]
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "generation": "KVCache accept attend_cached beam cache_bytes cached_logits filtered "
        "generate next_logits sample slide speculative step top_k top_p verified "
        "with_temperature",
        "data.gpt_files": "load_small_gpt",
    },
)
