"""Which line of the user's program called the package."""

import os
import sys
import warnings

__all__ = ["warn_user"]


def warn_user(message, category=UserWarning):
    """Warn, naming the innermost line of the program that is not the package's own."""
    # not __file__: modules have none where learners' work is graded
    package = os.path.dirname(os.path.dirname(warn_user.__code__.co_filename)) + os.sep
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level - (frame is None))
