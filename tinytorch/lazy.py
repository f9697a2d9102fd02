"""Late imports: a name of a public module, and a function that an earlier lesson needs of a later
one, are imported when they are first needed.

So `import tinytorch` works at every stage of the course, and the error for a name that is not built
yet says which lesson builds it. `from tinytorch.nn import *` imports the names that are built.
"""

import importlib.util
import sys
from types import ModuleType

from tinytorch.support.missing_names import advised, missing_name, texts_by_name

PUBLIC = {}  # {name of a public module: a function; what to write for a name that it has not}


def public_module(module, homes, instead=None):
    """The `__getattr__` and `__dir__` of a public module.

    module   its name
    homes    {a lesson, or another module, such as "nn.additions": the names that come from it};
             two lessons with a space between: the first of them, once it is there, and before that
             the second
    instead  {what to write here, with {name} for the name: the names that PyTorch has for it}
    """
    home = {name: place for place, names in homes.items() for name in names.split()}
    texts = texts_by_name(instead or {})
    vars(sys.modules[module]).setdefault("__path__", [])  # so that ImportAdvice is asked, too

    def fetch(name):
        if name == "__all__":
            return [name for name in home if is_built(name)]
        if name not in home:
            raise missing_name(f"module {module!r}", name, advice(name))
        place, *earlier = home[name].split()
        if earlier and not is_exported(place):
            (place,) = earlier
        full = f"tinytorch.{place}" if "." in place else f"tinytorch.core.{place}"
        try:
            value = advised(getattr(importlib.import_module(full), name))
        except ModuleNotFoundError as error:
            lesson = str(error.name).removeprefix("tinytorch.core.")
            if lesson == error.name or full != error.name and "." not in place:
                raise  # the lesson is there, and something that it needs is not
            raise ImportError(how_to_build(name, lesson)) from None
        except AttributeError:
            raise ImportError(
                f"{how_to_build(name, place)} ({full} is there, without it)"
            ) from None
        setattr(sys.modules[module], name, value)
        return value

    def advice(name):
        if name in texts or name in home or name.startswith("__"):
            return texts.get(name, "")
        import difflib  # late: `import tinytorch` is to be quick

        close = difflib.get_close_matches(name.lower(), [here.lower() for here in home])
        close = [here for here in home if here.lower() in close]
        return f"did you mean {' or '.join(close)}?" if close else ""

    PUBLIC[module] = advice

    def is_built(name):
        try:
            fetch(name)
        except ImportError:
            return False
        return True

    def names():
        attributes = vars(sys.modules[module]).items()
        public = [
            name
            for name, value in attributes
            if name[:2] == "__" or isinstance(value, ModuleType) and value.__name__ in PUBLIC
        ]
        return sorted({*public, *home})

    return fetch, names


class ImportAdvice:
    """A finder that Python asks last: `import tinytorch.utils` and `from tinytorch.nn import LSTM`
    fail with the text that says what to write."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        module, _, last = name.rpartition(".")
        if module == "tinytorch.core":
            raise ModuleNotFoundError(
                f"No module named {name!r}. Its lesson is not exported: `tito start {last}`, then"
                f" `tito export {last}`",
                name=name,
            )
        if text := PUBLIC.get(module, "".format)(last):
            raise ImportError(f"{module} has no {last!r}: {text}", path=name)


sys.meta_path.append(ImportAdvice)


def is_exported(lesson):
    """Whether the package has the module of a lesson."""
    try:
        return importlib.util.find_spec(f"tinytorch.core.{lesson}") is not None
    except ModuleNotFoundError:
        return False


def how_to_build(name, lesson):
    """What to do about a name whose lesson has not been exported yet."""
    return (
        f"{name} is what the lesson {lesson} builds:"
        f" `tito start {lesson}`, then `tito export {lesson}`"
    )


def generation_lesson():
    """The module of the generation lesson, which has the function `step` of a GPT."""
    return sys.modules.get("tinytorch.core.generation") or later_lesson("generation", "step")


def later_lesson(lesson, function):
    """The module of a lesson; ImportError, naming the function, when there is none yet.

    Its callers look first whether it is imported already: an import statement would take a
    microsecond, and a small backward pass takes ten.
    """
    name = f"tinytorch.core.{lesson}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # the lesson is there, and something that it needs is not
        raise ImportError(how_to_build(f"{function}()", lesson)) from None
