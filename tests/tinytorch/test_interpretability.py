"""The exported interpretability lesson: what its demonstrations and its text claim."""

import numpy as np
import pytest

from tinytorch import interpret
from tinytorch.core.interpretability import (
    IGNORED,
    AttentionOnly,
    ablate,
    changed,
    contributions,
    hooks,
    induction_score,
    logit_lens,
    next_token_loss,
    patch,
    patterns,
    probe,
    record,
    repeat_targets,
    repeated,
    toy_superposition,
    without_heads,
)
from tinytorch.core.layers import manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import Adam, clip_grad_norm_
from tinytorch.core.tensor import Tensor
from tinytorch.core.transformers import GPT, lm_loss
from tinytorch.generate import load_small_gpt
from tinytorch.pictures.interpretability import MEASURED, quoted_windows


def trained(lr, steps, layers=2):
    """The chapter's model; and the loss of its last 20 steps."""
    manual_seed(0)
    rng, model, losses = np.random.default_rng(0), AttentionOnly(64, 47, 64, layers, 2), []
    optimizer = Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        loss = next_token_loss(model, *repeat_targets(*repeated(rng, 32, 48, 64, 12, 24)))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return model, np.mean(losses[-20:])


def patch_map(model, position=9):
    """The chapter's patch map, (3, 30), with another token at `position`."""
    rng = np.random.default_rng(3)
    tokens = np.array([rng.permutation(64)[:21] for _ in range(8)])
    clean = np.concatenate([tokens[:, :20], tokens[:, :10]], axis=1)
    corrupt = clean.copy()
    corrupt[:, position] = tokens[:, 20]

    def probability(logits):
        powers = np.exp(logits[:, -1] - logits[:, -1].max(axis=-1, keepdims=True))
        return (powers[range(8), clean[:, 10]] / powers.sum(axis=-1)).mean()

    return np.concatenate(
        [
            patch(model, clean, corrupt, probability, "blocks.{}.input")[:1],
            patch(model, clean, corrupt, probability),
        ]
    )


def sequences(low=12, high=24):
    return repeat_targets(*repeated(np.random.default_rng(1), 64, 48, 64, low, high))


@pytest.fixture(scope="module")
def induction():
    return trained(3e-3, 300)[0]


@pytest.fixture(scope="module")
def riddle():
    return trained(1e-2, 500)[0]


@pytest.mark.slow
def test_two_layers_form_the_circuit_of_the_first_picture(induction):
    x, y = sequences()
    assert next_token_loss(induction, x, y).item() < 0.1
    assert induction_score(patterns(induction, x)[1], x).min() > 0.85
    found = patch_map(induction)
    assert found[MEASURED == 1].min() > 0.95 and abs(found[MEASURED == 0]).max() < 0.3


@pytest.mark.slow
def test_one_layer_does_not_solve_the_task():
    assert trained(3e-3, 300, layers=1)[1] > 2


@pytest.mark.slow
def test_the_heads_of_layer_1_are_backups_of_each_other(induction):
    x, y = sequences()
    intact, losses = next_token_loss(induction, x, y).item(), ablate(induction, x, y)
    assert losses[1].max() - intact < 1 and losses[0].max() - intact > 1
    for layer in (0, 1):
        both = {f"blocks.{layer}.attention.out.input": lambda z: without_heads(z, [0, 1], 2)}
        with changed(induction, both):
            assert next_token_loss(induction, x, y).item() > np.log(64)


@pytest.mark.slow
def test_attribution_sees_only_the_last_layer(induction):
    clean = sequences(20, 20)[0][:, :30]
    parts = contributions(induction, clean)
    std = sum(parts.values())[:, -1].std(axis=-1, keepdims=True)
    weights = induction.head.weights.data[:, clean[:, 10]].T * induction.norm.weight.data
    shares = {}
    for name, part in parts.items():
        centered = part[:, -1] - part[:, -1].mean(axis=-1, keepdims=True)
        shares[name] = (centered / std * weights).sum(axis=-1).mean()
    assert shares["blocks.1.attention"] > 0.9 * sum(shares.values())


@pytest.mark.slow
def test_a_higher_learning_rate_gives_another_circuit_with_the_same_loss(riddle, induction):
    x, y = sequences()
    assert next_token_loss(riddle, x, y).item() < 0.3
    assert max(induction_score(P, x).max() for P in patterns(riddle, x)) < 0.2
    first, second = patch_map(riddle), patch_map(riddle, position=10)
    middle = int(first[1].argmax())
    assert first[0, 9] > 0.95 and first[2, 29] > 0.95 and middle in (20, 21)
    # How much comes back depends on how a processor rounds: 0.88 to 1.00 was measured.
    for found in (first, second):
        assert found[1, middle] > 0.7 and abs(np.delete(found[1], middle)).max() < 0.15
    for period in (8, 10):
        losses = [
            next_token_loss(m, *sequences(period, period)).item() for m in (induction, riddle)
        ]
        assert losses[0] < 0.1 and losses[1] > 0.5
    assert (ablate(riddle, x, y)[0] > 3).all()


def test_next_token_loss_counts_the_targets_that_are_not_ignored():
    model = AttentionOnly(9, 8, 16, 2, 2)
    x, y = np.array([[1, 2, 3, 4]]), np.array([[2, 3, 4, 5]])
    assert np.isclose(next_token_loss(model, x, y).item(), lm_loss(model, x, y).item())
    some = np.where([[True, False, True, False]], y, IGNORED)
    wanted = cross_entropy(model(x)[:, [0, 2]], y[:, [0, 2]]).item()
    assert np.isclose(next_token_loss(model, x, some).item(), wanted)


def test_an_attention_only_model_has_the_attributes_of_a_gpt():
    manual_seed(0)
    model = AttentionOnly(50, 16, 24, 3, 2)
    twin = GPT(50, 16, 24, 3, 2, tie=False)
    assert {name for name, _ in twin.named_children()} == {
        name for name, _ in model.named_children()
    }
    assert model(np.array([[1, 2, 3]])).shape == (1, 3, 50) and model.context == 16
    assert 0.09 < model.embedding.weight.data.std() < 0.11
    with pytest.raises(ValueError, match="17 tokens are more than the context of 16"):
        model(np.zeros((1, 17), int))


def test_hooks_name_a_module_that_does_not_exist():
    model = AttentionOnly(9, 8, 16, 1, 2)
    with pytest.raises(KeyError, match="blocks.7"), hooks(model, {"blocks.7.input": lambda x: x}):
        pass
    assert not any("forward" in vars(part) for _, part in model.named_modules())


def test_a_tied_model_first_guesses_the_token_just_read():
    model, tokenizer = load_small_gpt()
    ids = tokenizer.encode("she was not at all sorry to be obliged to go away")[None]
    lens = logit_lens(model, ids)
    assert (lens[0].argmax(axis=-1) == ids[0]).mean() > 0.9
    assert (lens[-1].argmax(axis=-1) == ids[0]).mean() < 0.3


def test_the_small_gpt_has_no_induction_heads_and_uses_layer_0():
    model, tokenizer = load_small_gpt()
    ids, period = repeated(np.random.default_rng(0), 32, 48, 512, 12, 24)
    x, y = repeat_targets(ids, period)
    assert max(induction_score(P, x).max() for P in patterns(model, x)) < 0.08
    assert next_token_loss(model, x, y).item() > np.log(512)
    text, _ = quoted_windows(tokenizer, "test", 20)
    text_x, text_y = text[:, :-1], text[:, 1:]
    intact = next_token_loss(model, text_x, text_y).item()
    rises = ablate(model, text_x, text_y) - intact
    assert rises[0].min() > 0.03 > abs(rises[1]).max()


@pytest.mark.slow
def test_only_after_layer_2_quotation_marks_are_known_beyond_the_token():
    model, tokenizer = load_small_gpt()
    names, data = ["blocks.0.input", "blocks.0", "blocks.1"], []
    for split, count in [("train", 500), ("test", 250)]:
        ids, inside = quoted_windows(tokenizer, split, count)
        with record(model, *names) as seen:
            model(ids)
        data.append((seen, ids[:, 32:].ravel(), inside[:, 32:].ravel()))
    (train, groups, labels), (test, test_groups, test_labels) = data
    rng, gains = np.random.default_rng(0), []
    for name in names:
        x, z = (part[name][:, 32:].reshape(-1, 64) for part in (train, test))
        results = [probe(x, labels, z, test_labels, rng, (groups, test_groups)) for _ in range(5)]
        accuracy, control = np.mean(results, axis=0)
        assert probe(x, labels, z, test_labels, rng)[1] < 0.55 < accuracy
        gains.append(accuracy - control)
    assert gains[0] < -0.1 and gains[1] < -0.05 and gains[2] > 0.03


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_number_of_features_that_are_kept_grows_with_sparsity(seed):
    kept = [
        int((np.linalg.norm(toy_superposition(5, 2, s, rng=seed), axis=1) > 0.6).sum())
        for s in (0.0, 0.7, 0.97)
    ]
    assert kept == [2, 4, 5]


def test_the_front_module_has_the_tools():
    assert interpret.patch is patch and interpret.record is record
    model = interpret.AttentionOnly(9, 8, 16, 1, 2)
    with interpret.changed(model, {"norm": lambda a: a * 0}):
        assert np.allclose(model(Tensor([[1]])).data, 0)
