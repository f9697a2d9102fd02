"""What an earlier lesson needs of a later one is imported when it is needed."""

import importlib
import sys

__all__ = ["autograd_lesson", "generation_lesson"]


def autograd_lesson():
    """The module of the autograd lesson, which has the function `backward`."""
    return later_lesson("autograd", "backward")


def generation_lesson():
    """The module of the generation lesson, which has the function `step` of a GPT."""
    return later_lesson("generation", "step")


def later_lesson(lesson, function):
    """The module of a lesson; ImportError, naming the function, when there is none yet.

    (An import statement would take a microsecond also where the module was imported long ago; a
    small backward pass takes ten.)
    """
    name = f"tinytorch.core.{lesson}"
    try:
        return sys.modules.get(name) or importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # the lesson is there, and something that it needs is not
        raise ImportError(
            f"{function}() is built in the {lesson} lesson; then `tito export {lesson}`"
        ) from None
