"""The exported acceleration lesson: two processes train what one trains, and its demonstrations'
claims.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tinytorch import nn
from tinytorch.core.acceleration import (
    DataParallel,
    GradScaler,
    gradients_of,
    shards,
)
from tinytorch.core.layers import Dense
from tinytorch.core.optimizers import SGD, AdamW, clip_grad_norm_
from tinytorch.core.tensor import Variable
from tinytorch.core.transformers import lm_loss
from tinytorch.pictures.acceleration import large_gpt, token_batch

ROOT = Path(__file__).resolve().parents[2]


def trained(model, backward, steps, rows=3):
    """The losses of some training steps."""
    optimizer, losses = AdamW(model.parameters(), lr=1e-3), []
    for i in range(steps):
        optimizer.zero_grad()
        losses.append(backward(*token_batch(rows, i)))
        optimizer.step()
    return losses


@pytest.mark.slow
def test_two_processes_train_the_model_of_one():
    single = large_gpt()

    def backward(x, y):
        loss = lm_loss(single, x, y)
        loss.backward()
        return float(loss)

    alone = trained(single, backward, 20)
    with DataParallel(large_gpt, lm_loss, workers=2) as parallel:
        together = trained(parallel.model, parallel.backward, 20)
        processes = [worker.process for worker in parallel.workers]
    assert np.abs(np.subtract(alone, together)).max() <= 1e-5 and together[-1] < together[0]
    assert all(process.returncode is not None for process in processes)
    model = parallel.model  # still works, with its own memory
    assert np.isfinite(float(lm_loss(model, *token_batch(1, 0))))
    assert all(p.data.flags.owndata for p in model.parameters())
    with pytest.raises(RuntimeError, match="inside"):
        parallel.backward(*token_batch(2, 0))


def test_workers_see_new_weights_at_once():
    with DataParallel(large_gpt, lm_loss, workers=1) as parallel:
        for p in parallel.model.parameters():
            p.data *= 0
        loss = parallel.backward(*token_batch(1, 0))
    assert np.isclose(loss, np.log(1024), atol=1e-4)


def test_an_error_in_a_worker_reaches_the_caller_and_ends_all():
    with pytest.raises(RuntimeError, match="65 tokens"):
        with DataParallel(large_gpt, lm_loss, workers=2) as parallel:
            processes = [worker.process for worker in parallel.workers]
            parallel.backward(np.zeros((2, 65), int), np.zeros((2, 65), int))
    assert all(process.returncode is not None for process in processes)


def test_functions_of_a_notebook_are_refused_before_anything_starts():
    with pytest.raises(ValueError, match="models.py"):
        with DataParallel(lambda: Dense(2, 2), lm_loss):
            pass


def test_a_script_needs_no_guard(tmp_path):
    (tmp_path / "models.py").write_text(
        "from tinytorch.core.layers import Dense\n"
        "from tinytorch.core.losses import mse_loss\n"
        "from tinytorch.core.tensor import Tensor\n"
        "def build(): return Dense(3, 2, rng=0)\n"
        "def loss(model, x, y): return mse_loss(model(Tensor(x)), y)\n"
    )
    (tmp_path / "train.py").write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import numpy as np\n"
        "from models import build, loss\n"
        "from tinytorch.core.acceleration import DataParallel\n"
        "with DataParallel(build, loss) as parallel:\n"
        "    x = np.ones((4, 3), 'float32')\n"
        "    print('loss', round(parallel.backward(x, np.zeros((4, 2), 'float32')), 3))\n"
    )
    run = subprocess.run(
        [sys.executable, tmp_path / "train.py"],
        cwd="/", capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert run.stdout.startswith("loss") and run.stdout.count("\n") == 1, run.stderr


def test_without_a_block_the_error_says_how_to_write_it():
    with pytest.raises(AttributeError, match="with DataParallel"):
        DataParallel(large_gpt, lm_loss).backward(*token_batch(2, 0))


def test_nn_points_to_data_parallel():
    with pytest.raises(AttributeError, match="tinytorch.core.acceleration"):
        nn.DataParallel


def test_shards_of_a_gpt():
    model, (x, y) = large_gpt(), token_batch(5, 0)
    whole = gradients_of(lm_loss, model, x, y)
    for n in (2, 5, 9):
        for g, wanted in zip(shards(lm_loss, model, x, y, n), whole):
            assert np.allclose(g, wanted, atol=1e-6)


def test_loss_scaling_saves_small_gradients():
    w = Variable(np.ones(1, "float32"))
    assert np.float16(1e-8) == 0
    scaler = GradScaler(1024.0)
    scaler.scale((w * 1e-8).sum()).backward()
    w.grad = w.grad.astype("float16").astype("float32")
    scaler.step(SGD([w], lr=0.0))
    assert np.isclose(w.grad[0], 1e-8, rtol=0.01)


@pytest.mark.slow
def test_the_scaler_of_pytorch_does_the_same(torch):
    rng = np.random.default_rng(0)
    theirs = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
    ours, w, v = GradScaler(2.0**10, 3), Variable(np.zeros(2)), torch.zeros(2, dtype=torch.float64)
    v.requires_grad_()
    mine, other = SGD([w], lr=0.5), torch.optim.SGD([v], lr=0.5)
    for i in range(20):
        g = rng.normal(size=2) * (np.inf if i in (3, 4, 11) else 1)
        w.grad, v.grad = ours.get_scale() * g, theirs.scale(torch.ones(())) * torch.tensor(g)
        if i % 2:  # as the message for `unscale_` says
            with np.errstate(invalid="ignore"):  # inf * 0
                clip_grad_norm_([w], 0.5 * ours.get_scale())
            theirs.unscale_(other)
            torch.nn.utils.clip_grad_norm_([v], 0.5)
        for scaler, optimizer in ((ours, mine), (theirs, other)):
            scaler.step(optimizer)
            scaler.update()
        assert ours.get_scale() == theirs.get_scale()
        assert np.allclose(w.data, v.detach(), atol=1e-5)
