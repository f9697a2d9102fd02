"""Which line of the user's program called the package."""

import sys
import warnings
from pathlib import Path

__all__ = ["warn_user"]

PACKAGE = str(Path(__file__).resolve().parents[1])


def warn_user(message, category=UserWarning):
    """Warn, naming the innermost line of the program that is not the package's own."""
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level - (frame is None))
