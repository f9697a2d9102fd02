"""What the front doors are made of:
each name is fetched from its lesson when it is first asked for.

So `import tinytorch` works at every stage of the course,
and what is not built yet says which lesson builds it.
"""

import importlib
import sys


def door(module, homes):
    """The `__getattr__` and `__dir__` of a front door.

    module  its name
    homes   {lesson: the names that come from it}
    """
    lessons = {name: lesson for lesson, names in homes.items() for name in names.split()}

    def fetch(name):
        if name not in lessons:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        lesson = f"tinytorch.core.{lessons[name]}"
        how = (
            f"{name} is what the lesson {lessons[name]} builds:"
            f" `tito start {lessons[name]}`, then `tito export {lessons[name]}`"
        )
        try:
            found = getattr(importlib.import_module(lesson), name)
        except ModuleNotFoundError as error:
            if error.name != lesson:
                raise  # the lesson is there, and something that it needs is not
            raise ImportError(how) from None
        except AttributeError:
            raise ImportError(f"{how} ({lesson} is there, without it)") from None
        setattr(sys.modules[module], name, found)
        return found

    return fetch, lambda: sorted([*vars(sys.modules[module]), *lessons])
