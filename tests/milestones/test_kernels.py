"""Milestone 12: a GPT in kernels, on a small model."""

import numpy as np
import pytest
from programs import program

from tinytorch.core.kernels import TILE, matmul
from tinytorch.core.transformers import GPT, init_gpt
from tinytorch.gpu import launch, webgpu

milestone = program("12_2022_kernels")


class Letters:
    """A tokenizer of a few letters."""

    def encode(self, text):
        return np.arange(3)

    def decode(self, ids):
        return "".join("abcdefghijklmnopqrstuvwxyz"[i % 26] for i in ids)


@pytest.fixture
def small(monkeypatch):
    model = GPT(30, 20, embed_dim=32, layers=1, num_heads=2)
    init_gpt(model, rng=0)
    monkeypatch.setattr(milestone, "load_small_gpt", lambda: (model.eval(), Letters()))
    return model


def test_a_run_compares_the_kernels_with_generate(small, monkeypatch, capsys):
    def no_gpu():
        raise webgpu.NoGPU("no GPU\ninstall one")

    monkeypatch.setattr(webgpu, "adapter", no_gpu)
    measured, figure = milestone.run(0)
    assert measured["share of tokens equal to generate"] == 1
    assert measured["largest difference of a logit"] < 1e-4
    assert 0.05 < measured["transactions of matrix products, divided by naive ones"] < 0.2
    said = capsys.readouterr().out
    assert "install one" in said and "without tiles" in said
    assert len(figure.axes[0].patches) == 10


def test_naive_products_are_counted_without_running_them():
    def naive(block, thread, a, b, out):
        i, j = TILE * block.y + thread.y, TILE * block.x + thread.x
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        out[i, j] = total

    for rows, inner, columns in ((16, 32, 32), (32, 64, 32)):
        a, b = np.ones((rows, inner), "float32"), np.ones((inner, columns), "float32")
        out, grid = np.zeros((rows, columns), "float32"), (columns // TILE, rows // TILE)
        report = launch(naive, grid, (TILE, TILE), a, b, out)
        assert report.transactions == milestone.naive_transactions(rows, inner, columns)
        assert launch(matmul, grid, (TILE, TILE), a, b, out).transactions < report.transactions / 6


def test_a_gpu_writes_the_tokens_of_generate(small, monkeypatch, capsys):
    """With the simulator in the place of the GPU."""
    monkeypatch.setattr(milestone, "WRITTEN", 2)
    monkeypatch.setattr(milestone, "OnGPU", milestone.Simulated)
    monkeypatch.setattr(webgpu, "device_name", lambda: ("a device", True))
    equal, difference = milestone.write_on_gpu(small, Letters())
    assert equal == 1 and difference < 1e-4
    assert "a device writes 2 tokens" in capsys.readouterr().out
