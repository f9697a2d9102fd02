"""What an earlier lesson needs of a later one is imported when it is needed."""

import sys

__all__ = ["autograd_lesson"]


def autograd_lesson():
    """The module of the autograd lesson, which has the function `backward`.

    ImportError when there is none yet. An import statement takes a microsecond even where the
    module was imported long ago; a small backward pass takes ten.
    """
    name = "tinytorch.core.autograd"
    module = sys.modules.get(name)
    if hasattr(module, "backward"):
        return module
    try:
        from tinytorch.core import autograd
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    except ImportError:  # `from package import name` says so when there is no such module
        pass
    else:
        return autograd
    raise ImportError("backward() is built in the autograd lesson; then `tito export autograd`")
