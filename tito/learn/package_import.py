"""Import the package of one root and no other, from the text that the caller has read: in the
processes that run checks and milestones.
"""

import functools
import importlib.machinery
import importlib.util
import os
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, FrameType, ModuleType


class FreshFinder:
    """Finds the package under one root, compiled from source now, never from cached bytecode.

    `texts` ({path: text}) are the modules as the caller has read them: what is tested is what was
    read.
    """

    def __init__(self, root: str, package: str, texts: Mapping[str, str]) -> None:
        self.folder, self.package, self.texts = os.path.join(root, package), package, texts

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        first, *rest = name.split(".")
        if first != self.package:
            return None
        stem = os.path.join(self.folder, *rest)
        package = stem + ".py" not in self.texts and os.path.isfile(
            os.path.join(stem, "__init__.py")
        )
        file = os.path.join(stem, "__init__.py") if package else stem + ".py"
        if not os.path.isfile(file):
            raise ModuleNotFoundError(f"there is no {name} yet (no file {file})", name=name)
        return importlib.util.spec_from_file_location(
            name,
            file,
            loader=_FreshLoader(name, file, self.texts),
            submodule_search_locations=[stem] if package else None,
        )

    def is_learners(self, frame: FrameType) -> bool:
        """Whether a frame runs code of the package."""
        return self.holds(frame.f_code.co_filename)

    def holds(self, file: str | None) -> bool:
        """Whether a file is one of the package's."""
        return (file or "").startswith(self.folder + os.sep)


class _FreshLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, file: str, texts: Mapping[str, str]) -> None:
        super().__init__(name, file)
        self.texts = texts

    def get_code(self, name: str) -> CodeType:
        text = self.texts.get(self.path)
        if text is None:
            text = importlib.util.decode_source(self.get_data(self.path))
        return compiled(text, self.path)


@functools.lru_cache(maxsize=256)
def compiled(text: str, path: str) -> CodeType:
    """The code of a module. The forks of a process have what it has compiled."""
    code: CodeType = compile(text, path, "exec", dont_inherit=True)
    return code
