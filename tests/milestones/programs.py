"""The milestones' programs as modules, and a text and settings with which they take a second."""

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "modules" / "milestones"
TEXT = (
    "Emma was happy, and Mr. Knightley was not sorry at all.\n"
    '"My dear Emma," said Mr. Knightley, "I am very happy."\n'
) * 30
SMALL = {
    "vocab_size": 280,
    "context": 16,
    "embed_dim": 16,
    "layers": 2,
    "num_heads": 2,
    "batch": 4,
    "epochs": 3,
    "steps": 4,
}


def program(name):
    """A program of modules/milestones, and what it imports from beside it."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    spec = importlib.util.spec_from_file_location(f"milestone_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def small(monkeypatch, tmp_path, module):
    """Let a program train on TEXT with SMALL settings, and keep its runs in `tmp_path`."""
    import gpt_training

    settings = gpt_training.Settings
    monkeypatch.setattr(
        gpt_training, "load_text", lambda split: TEXT if split == "train" else TEXT[:300]
    )
    monkeypatch.setattr(module, "Settings", lambda **given: settings(**SMALL | given))
    monkeypatch.setattr(module, "place", lambda name: tmp_path / f"{name}.npz")
    return module
