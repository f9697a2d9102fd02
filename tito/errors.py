"""The errors that users see: two lines, what is wrong and what to do.

Each class says whose fault it is, and so which exit code the command ends with. `cli.run` catches
them, once.
"""

import difflib
from collections.abc import Iterable, Sequence


class TitoError(Exception):
    """Something the user can mend: raise one of the subclasses.

    what    what is wrong, with the values
    remedy  what to do about it
    code    exit code of the command
    excerpt the line of code that it is about with a mark under the place, or ""
    """

    code: int
    excerpt = ""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy


class WorkError(TitoError):
    """The learner's or author's work is wrong: a lesson that cannot be read, a check that fails."""

    code = 1


class UsageError(TitoError):
    """The command was used in a wrong way: an unknown name, a file that is not there."""

    code = 2


class MachineError(TitoError):
    """The machine, another program or tito itself failed."""

    code = 3


class Notice(UserWarning):
    """Something that the user should know and that stops nothing, issued with `warnings.warn`."""


def suggest(
    name: str, names: Iterable[str], otherwise: str, most: int = 1, first: Sequence[str] = ()
) -> str:
    """What to do about an unknown name: a question about those that are like it.

    otherwise  the remedy where no name is like it
    most       so many names are asked about
    first      names that are meant for another reason; then likeness does not count
    """
    close = list(first[:most]) or difflib.get_close_matches(name, list(names), n=most)
    return f"Did you mean {' or '.join(map(repr, close))}?" if close else otherwise
