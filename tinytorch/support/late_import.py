"""What an earlier lesson needs of a later one is imported when it is needed."""

import importlib
import sys

__all__ = ["autograd_lesson"]


def autograd_lesson():
    """The module of the autograd lesson, which has the function `backward`.

    ImportError when there is none yet. (An import statement would take a microsecond also where
    the module was imported long ago; a small backward pass takes ten.)
    """
    name = "tinytorch.core.autograd"
    try:
        return sys.modules.get(name) or importlib.import_module(name)
    except ModuleNotFoundError:
        raise ImportError(
            "backward() is built in the autograd lesson; then `tito export autograd`"
        ) from None
