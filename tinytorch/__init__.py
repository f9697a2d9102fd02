"""The library that the lessons add up to. `import tinytorch` works at every stage of the course."""

import importlib

__all__ = ["Tensor", "Variable"]


def __getattr__(name):
    """Fetch Tensor and Variable when they are first asked for: they exist once lesson 01 is exported."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        tensor = importlib.import_module("tinytorch.core.tensor")
    except ModuleNotFoundError as error:
        if error.name != "tinytorch.core.tensor":
            raise
        raise ImportError(f"{name} is what lesson 01 (tensor) builds; `tito export tensor` puts it here") from None
    globals()[name] = getattr(tensor, name)
    return globals()[name]


def __dir__():
    return sorted([*globals(), *__all__])
