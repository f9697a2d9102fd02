# %% [markdown]
# # 18. Interpretability
#
# A network with two layers of attention reads random tokens that repeat, and predicts the next
# one. Its attention weights (lesson 14) show where a head *looks*, but not whether the network
# uses what it finds there. To test that, we change one vector inside the running network and
# see what happens.
#
# The picture shows 90 such experiments. The network reads 20 different tokens, numbered from 0
# to 19, and then the first ten of them again. At position 29 it reads token 9 for the second
# time, and predicts token 10. This is the *clean* run. In the *corrupt* run, the token at
# position 9 is another one, and the prediction is wrong. For each cell we repeat the corrupt
# run, but copy one vector from the clean run into it: the vector of one layer (row) at one
# position (column). The number shows how much of the right prediction comes back: 0 for
# nothing, 1 for all of it.

# %% tags=["payoff"]
from tinytorch.pictures.interpretability import MEASURED, draw_patches

figure = draw_patches(MEASURED)
# caption: Three vectors carry all of the information, from the token to the prediction.
# alt: Three rows of 30 cells: the stream before layer 0, after layer 0 and after layer 1; a
# column for each position. Three cells are dark and hold 1.00: position 9 before layer 0,
# position 10 after layer 0, position 29, the last one, after layer 1. All others are white.

# %% [markdown]
# Three of the 90 vectors carry the information, and each carries all of it. Before the first
# layer it is at position 9, where the token is. The first layer moves it to position 10, and
# the second layer moves it to the last position, where the prediction is made. In this chapter
# you train this network in less than a minute, and write the tools that make this picture. At
# the end you use them on a network with the same loss and a different map.
#
# **Interpretability** is the study of how a trained network computes its results. A **circuit**
# is a part of a network, some heads and what they send to each other, that performs one task.
# An **intervention** is a change that we make inside a running network to measure its effect.
#
# **You need** 14 (Attention) and 15 (Transformers). **You build** the task, hooks, scores for
# heads, ablation, activation patching, the logit lens, a probe with its control, and a model of
# superposition.

# %%
#| default_exp core.interpretability
#| export
import contextlib

import numpy as np

from tinytorch.core.attention import MultiHeadAttention
from tinytorch.core.embeddings import Embedding
from tinytorch.core.layers import Dense, Module, Sequential, generator
from tinytorch.core.losses import cross_entropy
from tinytorch.core.normalization import LayerNorm
from tinytorch.core.optimizers import Adam
from tinytorch.core.tensor import Tensor, Variable, operand
from tinytorch.core.training import evaluation_mode
from tinytorch.core.transformers import GPT

# %% [markdown] page="Looking inside a network"
# ## Tokens that repeat
#
# The task should force the network to compare tokens: to find the earlier copy of the token
# just read, and to look at what followed it. If all sequences repeated after 12 tokens, "look
# 11 positions back" would always find the next token. If a token could occur twice within the
# part that repeats, it would have two different followers. As in the last task of lesson 14,
# each sequence therefore gets its own random **period**, the number of tokens after which it
# repeats, and the tokens of one period are all different.
#
# **Task.** Write `repeated`. `np.resize(a, n)` repeats an array until it has `n` elements.

# %% Sequences that repeat exercise="repeated"
#| export
def repeated(rng, batch, length, vocab_size, low, high):
    """Random tokens that repeat, in each row with its own period.

    rng         a NumPy Generator
    batch       int: B, how many rows
    length      int: T, the tokens of a row
    vocab_size  int: tokens are drawn from 0, 1, ..., vocab_size - 1
    low, high   ints: the shortest and the longest period; high <= vocab_size
    returns     (ids, period): int arrays of shapes (B, T) and (B,). Each period is drawn from
                low, low + 1, ..., high, all equally likely. The first period[b] tokens of row b
                are different random tokens. Then they repeat, until the row has T tokens

    >>> ids, period = repeated(np.random.default_rng(0), 1, 8, 9, 3, 3)
    >>> period, bool((ids[0, 3:] == ids[0, :5]).all()), len(set(ids[0].tolist()))
    (array([3]), True, 3)

    Source: Olsson et al., In-context learning and induction heads (2022).
    """
    ### BEGIN SOLUTION
    period = rng.integers(low, high + 1, batch)
    rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
    return np.array(rows), period
    ### END SOLUTION

# %% checks="repeated"
check("repeated")

# %% [markdown]
# Because the first copy is random and cannot be predicted, its loss would never fall, and would
# be most of the total. With period `p`, the first token that has been read before is at
# position `p`; so from position `p` on, the next token is known. At position `p - 1` the next
# token is not known: nothing says that the first copy is over. For 5 7 9 5 7 9 5 with `p = 3`,
# the targets are -100 -100 -100 7 9 5.
#
# Here -100 marks the targets that do not count. PyTorch's `cross_entropy` ignores this value,
# its `ignore_index`; ours does not, so `next_token_loss` removes these targets.
#
# **Task.** Write `repeat_targets`.

# %% The tokens to predict exercise="targets"
#| export
IGNORED = -100  # the target of a position that does not count; PyTorch's ignore_index


def repeat_targets(ids, period):
    """Inputs and targets for next-token prediction on rows of `repeated`.

    ids      int array of shape (B, T); not changed
    period   int array of shape (B,)
    returns  (x, y), int arrays of shape (B, T - 1): y[b, t] is the token after x[b, t] if
             x[b, t] has occurred before in its row, so if t >= period[b]; otherwise IGNORED

    >>> repeat_targets(np.array([[5, 7, 5, 7]]), np.array([2]))
    (array([[5, 7, 5]]), array([[-100, -100,    7]]))
    """
    ### BEGIN SOLUTION
    x, following = ids[:, :-1], ids[:, 1:]
    known = np.arange(x.shape[1]) >= period[:, None]
    return x, np.where(known, following, IGNORED)
    ### END SOLUTION


def next_token_loss(model, x, y):
    """The mean cross-entropy, in nats, of the targets that are not IGNORED: a Tensor ()."""
    counted = y != IGNORED
    return cross_entropy(model(x)[counted], y[counted])

# %% checks="targets"
check("targets")

# %% [markdown]
# The network is a GPT without feed-forward networks. The tools of this chapter work for it and
# for any GPT. In this chapter, *head* always means an attention head. The last layer,
# `model.head`, is the *output layer*.

# %%
#| export
class AttentionBlock(Module):
    """A transformer block without a feed-forward network: attention adds to the stream."""

    def __init__(self, embed_dim, num_heads):
        self.norm1 = LayerNorm(embed_dim)
        self.attention = MultiHeadAttention(embed_dim, num_heads, causal=True)

    def forward(self, x):
        return x + self.attention(self.norm1(x))


class AttentionOnly(GPT):
    """A GPT whose blocks have attention only, with the sizes and attributes of `GPT`. The
    output layer is not tied; both tables start with a standard deviation of 0.1."""

    def __init__(self, vocab_size, context, embed_dim, layers, num_heads):
        self.vocab_size, self.context, self.dropout = vocab_size, context, Sequential()
        self.embedding = Embedding(vocab_size, embed_dim)
        self.positions = Embedding(context, embed_dim)
        for table in (self.embedding, self.positions):
            table.weight.data *= 0.1
        self.blocks = [AttentionBlock(embed_dim, num_heads) for _ in range(layers)]
        self.norm = LayerNorm(embed_dim)
        self.head = Dense(embed_dim, vocab_size, bias=False)

# %% [markdown]
# Train two models, with one layer and with two. There are 64 tokens and periods from 12 to 24.
# Guessing one of the tokens of the period costs about $\ln 18 = 2.9$ nats, guessing one of all
# tokens $\ln 64 = 4.2$. Predict both curves. (`snapshots` keeps every 20th step.)

# %% tags=["answer", "explained"]
from tinytorch.core.layers import manual_seed
from tinytorch.core.optimizers import clip_grad_norm_
from tinytorch.pictures.drawing import plot_lines


def train(layers=2, lr=3e-3, steps=300):
    manual_seed(0)
    rng, model = np.random.default_rng(0), AttentionOnly(64, 47, 64, layers, num_heads=2)
    optimizer, losses, snapshots = Adam(model.parameters(), lr=lr), [], {}
    for step in range(steps):
        if step % 20 == 0:
            snapshots[step] = model.state_dict()
        loss = next_token_loss(model, *repeat_targets(*repeated(rng, 32, 48, 64, 12, 24)))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return model, losses, snapshots


model, losses, snapshots = train()
figure = plot_lines({"one layer": train(layers=1)[1], "two layers": losses}, "step",
                    "loss in nats per token")
# alt: The loss over 300 steps. With one layer it falls slowly from 4.3 to about 3. With two
# layers it is soon a little lower, and between steps 100 and 200 it falls to almost 0.

# %% [markdown]
# One layer learns little more than which tokens are in the sequence. With two, the loss falls
# from 3 nats to almost 0, from about step 100 to step 200. What has formed in this model?
#
# ## Hooks
#
# We must read arrays that the model computes and throws away. A **hook** is a function that is
# called whenever a certain module is called, and receives the module's input or its result.
#
# Python offers a place for a hook. `module(x)` calls `self.forward(x)`, and Python looks for
# `forward` among the attributes of the *object* before it looks in the class. So a function
# stored as `module.forward` is called instead of the method, and after `del module.forward` the
# method is back. Three things can go wrong:
#
# - The hook must also be removed when the block ends with an error.
# - A module may already have a hook. Inside the block, both are called. After the block, the
#   older one is still there.
# - `module.forward` must be read *before* it is replaced. Otherwise the wrapper calls itself.
#
# **Task.** Write `hook`. The module may be called with further arguments, which are passed on
# unchanged. Begin with a block in which nothing goes wrong, then add the cases one by one.

# %% Calling a hook exercise="hook"
#| export
@contextlib.contextmanager
def hook(module, f, is_input=False):
    """A `with` block in which the results of `module`, or its inputs, pass through `f`.

    module    a Module; its `forward` has at least one argument
    f         a function of one argument
    is_input  False: each result of the module is replaced by f(result). True: the first
              argument of each call is replaced by f(argument)

    Blocks nest: inside two blocks with hooks of one module, both hooks are called. After the
    block, also after an error, the module is as it was before: without an attribute `forward`,
    or with the one that it had.

    >>> layer = Dense(2, 3)
    >>> with hook(layer, lambda x: x.shape):
    ...     layer(np.ones((1, 2), "float32"))
    (1, 3)
    >>> "forward" in vars(layer)
    False

    Source: torch.nn.Module.register_forward_hook and register_forward_pre_hook.
    """
    ### BEGIN SOLUTION
    before, forward = vars(module).get("forward"), module.forward

    def wrapper(x, *others, **options):
        if is_input:
            return forward(f(x), *others, **options)
        return f(forward(x, *others, **options))

    module.forward = wrapper
    try:
        yield
    finally:
        del module.forward
        if before is not None:
            module.forward = before
    ### END SOLUTION

# %% checks="hook"
check("hook")

# %% [markdown]
# `named_modules()` gives every module a path, such as `blocks.0.attention`. The given function
# `hooks` sets several hooks by their names. A path names what the module returns; a path with
# `.input` names what it is called with. The residual stream, the vectors to which all layers
# add, is `blocks.0.input` before the first layer, `blocks.0` after it, and then `blocks.1`.

# %%
#| export
@contextlib.contextmanager
def hooks(model, functions):
    """A `with` block with a hook for each {name: f}. A name is the path of a module, for what
    it returns, or the path with ".input", for what it is called with."""
    modules = dict(model.named_modules())
    with contextlib.ExitStack() as stack:
        for name, f in functions.items():
            path = name.removesuffix(".input")
            if path not in modules:
                paths = ", ".join(filter(None, modules))
                raise KeyError(f"there is no module {path}; there are {paths}")
            stack.enter_context(hook(modules[path], f, is_input=name != path))
        yield

# %% [markdown]
# **Task.** Write `record`. Its hooks change nothing and keep a copy of the array, because later
# operations may write into it. A module may be called with a Tensor or with an ndarray, such as
# token ids; `operand(x)` is the array of both.

# %% Recording results exercise="record"
#| export
@contextlib.contextmanager
def record(model, *names):
    """A `with` block in which results or inputs of modules are recorded.

    model   a Module
    names   names as `hooks` takes them, such as "blocks.0" or "blocks.0.attention.input"
    yields  a dict, empty at first. Each call of one of these modules sets {name: ndarray}, a
            copy of what it returned or was called with; a later call replaces it

    The model computes what it would compute without the block, and gradients reach the same
    parameters. An unknown path raises a KeyError that contains it.

    >>> layer = Dense(2, 3)
    >>> with record(layer, "", ".input") as seen:
    ...     out = layer(np.ones((4, 2), "float32"))
    >>> {name: array.shape for name, array in seen.items()}
    {'.input': (4, 2), '': (4, 3)}
    """
    seen = {}
    ### BEGIN SOLUTION
    def keep(name):
        def f(x):
            seen[name] = np.array(operand(x))
            return x
        return f

    with hooks(model, {name: keep(name) for name in names}):
        yield seen
    ### END SOLUTION

# %% checks="record"
check("record")

# %% [markdown]
# Record the stream of the trained model: three arrays, one for each row of the first picture.

# %% tags=["demonstration"]
ids, period = repeated(np.random.default_rng(1), 64, 48, 64, 12, 24)
x, y = repeat_targets(ids, period)
with record(model, "blocks.0.input", "blocks.0", "blocks.1") as seen:
    print("loss on new sequences:", next_token_loss(model, x, y).item())
print({name: stream.shape for name, stream in seen.items()})

# %% [markdown]
# ## Attention patterns
#
# `attention_weights(x)` of lesson 14 computes the weights of an attention layer for its input.
# With `record` you have the inputs of all layers after one forward pass.
#
# **Task.** Write `patterns`. Use `evaluation_mode` (lesson 08) against dropout.

# %% Attention patterns exercise="patterns"
#| export
def patterns(model, ids):
    """The attention weights of every layer.

    model    a GPT or an AttentionOnly
    ids      int array of shape (B, T)
    returns  list with an ndarray of shape (B, H, T, T) for each block, [row, head, query, key]

    The model runs in evaluation mode, and is then in its earlier mode again.

    >>> [P.shape for P in patterns(GPT(9, 8, 16, 3, 4), np.array([[1, 2, 3], [4, 5, 6]]))]
    [(2, 4, 3, 3), (2, 4, 3, 3), (2, 4, 3, 3)]
    """
    ### BEGIN SOLUTION
    names = [f"blocks.{n}.attention.input" for n in range(len(model.blocks))]
    with evaluation_mode(model), record(model, *names) as seen:
        model(ids)
        return [block.attention.attention_weights(Tensor(seen[name]))
                for block, name in zip(model.blocks, names)]
    ### END SOLUTION

# %% checks="patterns"
check("patterns")

# %% [markdown]
# Now look at one sequence of the first picture's kind: 20 different tokens, then the first ten
# again. Predict where the second layer looks in the second copy.

# %% tags=["answer", "explained"]
from tinytorch.pictures.interpretability import draw_stripes

tokens = np.random.default_rng(2).permutation(64)[:20]
one = patterns(model, np.resize(tokens, (1, 30)))
figure = draw_stripes({"layer 0, mean of both heads": one[0][0].mean(axis=0),
                       "layer 1, mean of both heads": one[1][0].mean(axis=0)})
# alt: Two maps of attention weights, 30 queries by 30 keys. In layer 0, dark cells form a line
# one left of the diagonal for the first 20 queries. In layer 1, a dark line of ten cells goes
# from query 20, key 1, to query 29, key 10; the first copy has no pattern.

# %% [markdown]
# In the second copy, layer 1 looks 19 positions back, at the token that followed the earlier
# copy of the current token. Layer 0 looks at the token before, but only up to about position
# 23. No period is longer than 24, so from position 24 on, every token has a copy in the first
# 24 positions. Layer 1 finds its keys there, so layer 0 need not mark later keys.

# %% [markdown] page="Scores and interventions"
# ## A score for previous-token heads
#
# A map shows one sequence. To compare heads, or steps of the training, we need numbers. A
# **previous-token head** is a head whose attention goes to the position directly before. Its
# score is the mean of its weights for that position.
#
# **Task.** Write `previous_token_score`. Query 0 has no previous token and is left out.

# %% The previous-token score exercise="previous-token"
#| export
def previous_token_score(P):
    """How much of its attention each head puts on the position directly before.

    P        array of shape (B, H, T, T), [row, head, query, key], T >= 2
    returns  array of shape (H,): the mean of the weights P[b, h, i, i - 1] over all rows b and
             all queries i >= 1

    >>> P = np.zeros((1, 1, 3, 3))
    >>> P[0, 0, 1, 0], P[0, 0, 2, 1] = 0.5, 1.0
    >>> previous_token_score(P)
    array([0.75])
    """
    ### BEGIN SOLUTION
    return np.diagonal(P, -1, 2, 3).mean(axis=(0, 2))
    ### END SOLUTION

# %% checks="previous-token"
check("previous-token")

# %% [markdown]
# ## A score for induction heads
#
# An *induction head* (lesson 14) is a head whose attention goes to the token after an earlier
# copy of the current token. With a period of 12, a sequence of 48 tokens has up to three
# earlier copies, and a head may spread its weight over all of them. So we do not ask for one
# distance. We add the weights of *all* keys whose previous token equals the query's token. In
# the row 4 6 8 4, query 3 reads 4, and key 1 counts, because the token before it is 4.
#
# **Task.** Write `induction_score`. Compute a mask of shape (B, T, T) that is True for these
# keys. `ids[:, :, None] == ids[:, None, :-1]` says for each query whether its token equals the
# token at position 0, 1, ..., T - 2. Its column j belongs to key j + 1.

# %% The induction score exercise="induction"
#| export
def induction_score(P, ids):
    """How much of its attention each head puts on tokens that once followed the current token.

    P        array of shape (B, H, T, T), [row, head, query, key]
    ids      int array of shape (B, T)
    returns  array of shape (H,). For query i of row b, add up the weights of all keys j with
             1 <= j <= i and ids[b, j - 1] == ids[b, i]. The score is the mean of these sums
             over all queries that have such a key

    >>> P = np.zeros((1, 1, 3, 3))
    >>> P[0, 0, 2] = [0.25, 0.75, 0.0]
    >>> induction_score(P, np.array([[5, 8, 5]]))
    array([0.75])

    Source: Olsson et al. (2022), "prefix matching score".
    """
    ### BEGIN SOLUTION
    follows = np.zeros((len(ids), *P.shape[2:]), bool)
    follows[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]
    follows &= np.tri(ids.shape[1], dtype=bool)
    sums = (P * follows[:, None]).sum(axis=-1)
    row, query = follows.any(axis=-1).nonzero()
    return sums[row, :, query].mean(axis=0)
    ### END SOLUTION

# %% checks="induction"
check("induction")

# %% [markdown]
# Load the snapshots one after the other, and compute both scores. Which of the two heads forms
# first? For comparison, the cell also prints the score of uniform attention, in which each
# query gives all keys the same weight.

# %% tags=["answer", "explained"]
old, steps = AttentionOnly(64, 47, 64, 2, 2), list(snapshots)
previous, induction = [], []
for state in snapshots.values():
    old.load_state_dict(state)
    P = patterns(old, x)
    previous.append(previous_token_score(P[0]).max())
    induction.append(induction_score(P[1], x).max())
uniform = np.tri(47) / np.arange(1, 48)[:, None]
chance = induction_score(np.broadcast_to(uniform, (64, 1, 47, 47)), x)[0]
print(f"induction scores {induction_score(patterns(model, x)[1], x).round(2)}, "
      f"with uniform attention {chance:.3f}")
figure = plot_lines({"loss / ln 64": np.array(losses) / np.log(64),
                     "previous token, layer 0": (steps, previous),
                     "induction, layer 1": (steps, induction)}, "step", "score, relative loss")
# alt: Three curves over 300 steps. The loss, divided by ln 64, falls slowly, and from step 100
# to 200 to almost 0. The score of the best previous-token head in layer 0 and the induction
# score in layer 1 stay near 0 at first, and rise while the loss drops, the latter to about 1.

# %% [markdown]
# Both scores rise while the loss drops. The score of layer 0 stays below one half, because the
# mean also contains the later copies, where this layer does not look at the token before.
# But all of this is correlation: a network could also have these heads without using them.
#
# ## Changing a result
#
# The next tool is almost the same as `record`, except that its hooks return something else.
#
# **Task.** Write `changed`. Each function gets a copy of the array, so it may write into it.

# %% Changing a result exercise="changed"
#| export
@contextlib.contextmanager
def changed(model, functions):
    """A `with` block in which results or inputs of modules are replaced.

    model      a Module
    functions  {name: f}, with names as in `record`. Each result (or input) of that module, a
               Tensor or an ndarray, is replaced by a Tensor of f(array). f gets a copy

    After the block, also after an error, the model is as before. An unknown path raises a
    KeyError that contains it.

    >>> layer = Dense(2, 2)
    >>> with changed(layer, {"": lambda a: a * 0 + 5}):
    ...     layer(np.ones((1, 2), "float32"))
    Tensor([[5., 5.]])
    """
    ### BEGIN SOLUTION
    def on_array(f):
        return lambda x: Tensor(f(np.array(operand(x))))

    with hooks(model, {name: on_array(f) for name, f in functions.items()}):
        yield
    ### END SOLUTION

# %% checks="changed"
check("changed")

# %% [markdown]
# ## Ablation
#
# With `changed`, we can do the first experiment. **Ablation** replaces the result of a part by
# numbers without information, and measures how the loss changes. The results of all heads are
# the input of `attention.out`: D / H columns for head 0, then for head 1, and so on.
#
# What should replace them? Zero seems natural, but zero is not "no information". A head may add
# the same vector at every position, and the layers after it were trained with this vector.
# Without it the loss changes, although the head has told the model nothing. *Mean ablation*
# replaces the results by their mean over all rows and positions, so the constant part stays.
#
# **Task.** Write `without_heads`, and the line in `ablate` that changes the model.

# %% Removing heads exercise="ablate"
#| export
def without_heads(z, heads, num_heads, how="mean"):
    """The results of all heads, with some heads ablated.

    z          array of shape (B, T, D), the input of `attention.out`; may be changed
    heads      list of ints: the heads to ablate. Head h has the columns h * size, ...,
               (h + 1) * size - 1, with size = D / num_heads
    num_heads  int
    how        "mean": these columns are replaced by their means over batch and positions.
               "zero": by 0
    returns    array of shape (B, T, D)

    >>> without_heads(np.array([[[1.0, 2.0], [3.0, 6.0]]]), [1], num_heads=2)
    array([[[1., 4.],
            [3., 4.]]])
    """
    ### BEGIN SOLUTION
    size = z.shape[-1] // num_heads
    for h in heads:
        part = z[..., h * size : (h + 1) * size]
        part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
    return z
    ### END SOLUTION


def ablate(model, x, y, how="mean"):
    """The loss of a model with one head ablated, for each head.

    model    a GPT or an AttentionOnly with L blocks of H heads
    x, y     int arrays of shape (B, T), as for `next_token_loss`
    how      "mean" or "zero", see `without_heads`
    returns  array of shape (L, H): the loss in nats with head h of block l ablated, the others
             not. The model runs in evaluation mode, and afterwards is as before

    >>> model = AttentionOnly(9, 8, 16, layers=3, num_heads=2)
    >>> ablate(model, np.array([[1, 2, 3]]), np.array([[2, 3, 1]])).shape
    (3, 2)

    Source: Wang et al., Interpretability in the wild (2023), section 2, for the mean.
    """
    losses = np.zeros((len(model.blocks), model.blocks[0].attention.num_heads))
    for layer, head in np.ndindex(*losses.shape):
        ### BEGIN SOLUTION
        change = {f"blocks.{layer}.attention.out.input":
                  lambda z: without_heads(z, [head], losses.shape[1], how)}
        with evaluation_mode(model), changed(model, change):
            losses[layer, head] = next_token_loss(model, x, y).item()
        ### END SOLUTION
    return losses

# %% checks="ablate"
check("ablate")

# %% [markdown]
# The trained model has two heads in each layer, and a loss near 0. Both heads of layer 1 have a
# high induction score. Predict the loss without one of them, and without both.

# %% tags=["answer", "explained"]
from tinytorch.pictures.interpretability import draw_ablation


def loss_without(layer, heads):
    change = {f"blocks.{layer}.attention.out.input": lambda z: without_heads(z, heads, 2)}
    with evaluation_mode(model), changed(model, change):
        return next_token_loss(model, x, y).item()


with evaluation_mode(model):
    intact = next_token_loss(model, x, y).item()
print(f"loss: all heads {intact:.2f}, without both heads of layer 1 "
      f"{loss_without(1, [0, 1]):.2f}, of layer 0 {loss_without(0, [0, 1]):.2f}")
draw_ablation(ablate(model, x, y) - intact, "nats")
# alt: Four cells, a row for each layer, with the rise of the loss when that head is ablated. In
# layer 0 one head costs two nats and the other little. In layer 1 each costs about a quarter.

# %% [markdown]
# Without one of the heads of layer 1, the loss rises by some tenths of a nat; without both, by
# almost six, and the model is worse than guessing. Each is a *backup head* for the other:
# alone, it still does most of the work. If you ablate one head at a time, you may conclude that
# layer 1 hardly matters. In layer 0, one of the two heads does most of the work.
#
# ## Activation patching
#
# Ablation shows *that* a head matters. Where does the information go? **Activation patching**
# runs the model on two inputs, a clean and a corrupt one, and puts a vector of the clean run
# into the corrupt run. The two inputs differ in one thing. If the right answer comes back, the
# vector carries this thing. It is a controlled experiment: only this vector changes.
#
# The *score* is a number that we compute from the logits, such as the probability of the right
# token. The result is scaled: 0 means "as in the corrupt run", and 1 "as in the clean run".
#
# **Task.** Write `patch`. Record the clean run once. Then, for each layer and position, run the
# model on the corrupt input, with one position of that layer's result changed.

# %% Activation patching exercise="patch"
#| export
def patch(model, clean, corrupt, score, path="blocks.{}"):
    """Put vectors of the clean run into the corrupt run, one place at a time.

    model    a GPT or an AttentionOnly with L blocks
    clean    int array of shape (B, T)
    corrupt  int array of shape (B, T)
    score    a function of the logits, an ndarray of shape (B, T, V), that returns a float. It
             differs for the two inputs
    path     the name of what is patched, with {} for the number of the block; names as in
             `record`
    returns  array of shape (L, T): (patched - corrupt) / (clean - corrupt), where `clean` and
             `corrupt` are the scores of the two runs, and `patched` is the score of the corrupt
             run in which position t of path.format(l) holds, in all rows, the vectors of the
             clean run. The model runs in evaluation mode

    >>> model, clean = AttentionOnly(9, 8, 16, layers=3, num_heads=2), np.array([[1, 2, 3, 1]])
    >>> patch(model, clean, clean[:, ::-1] + 1, np.max).shape
    (3, 4)

    Source: Meng et al., Locating and editing factual associations in GPT (2022), section 2.1.
    """
    names = [path.format(n) for n in range(len(model.blocks))]
    patched = np.zeros((len(names), clean.shape[1]))
    with evaluation_mode(model):
        ### BEGIN SOLUTION
        with record(model, *names) as seen:
            best = score(model(clean).data)
        worst = score(model(corrupt).data)
        for layer, t in np.ndindex(*patched.shape):
            name = names[layer]

            def put(stream):
                stream[:, t] = seen[name][:, t]
                return stream

            with changed(model, {name: put}):
                patched[layer, t] = score(model(corrupt).data)
        return (patched - worst) / (best - worst)
        ### END SOLUTION

# %% checks="patch"
check("patch")

# %% [markdown]
# Eight sequences of the first picture's kind, each with its own tokens. In the corrupt run, the
# token at position 9 is another one. Is the map the one of the first picture?

# %% tags=["answer", "explained", "payoff"]
def pairs(count, seed=3):
    rng = np.random.default_rng(seed)
    tokens = np.array([rng.permutation(64)[:21] for _ in range(count)])
    clean = np.concatenate([tokens[:, :20], tokens[:, :10]], axis=1)
    corrupt = clean.copy()
    corrupt[:, 9] = tokens[:, 20]
    return clean, corrupt


clean, corrupt = pairs(8)
rows, right = range(8), clean[:, 10]


def probability(logits):  # of the right token, 10, at the last position
    powers = np.exp(logits[:, -1] - logits[:, -1].max(axis=-1, keepdims=True))
    return (powers[rows, right] / powers.sum(axis=-1)).mean()


def patch_map(model, first=clean, second=corrupt, score=probability):
    return np.concatenate([patch(model, first, second, score, "blocks.{}.input")[:1],
                           patch(model, first, second, score)])


found = patch_map(model)
figure = draw_patches(found)
print(f"{(abs(found) < 0.05).sum()} of {found.size} cells are below 0.05")
# alt: The map of the first picture: 1.00 at position 9 before layer 0, at position 10 after
# layer 0, and at the last position after layer 1.

# %% [markdown]
# The path is 9, 10, last. Layer 0 copies the token at 9 into the vector at 10, which now says
# "the token before me was token 9". The last position looks for a key that says this, finds it
# at 10, and reads the token there. The attention weights suggested this circuit. Now we know
# that the model uses it: each of the three vectors is *enough* to bring the whole answer back.
#
# The cells near 0 also matter. After layer 0, the vector at 9 still holds the token, but
# patching it changes nothing. So the second layer does not look at the earlier copy itself.
#
# ## Two directions, two scores
#
# So far, clean vectors went into the corrupt run. This is **denoising**: it shows which vectors
# are *sufficient* for the answer. **Noising** puts corrupt vectors into the clean run. It shows
# which are *necessary*: if others carry the same information, the answer stays. Swap the two
# inputs of `patch` for this; 1 then means that the whole answer is lost.
#
# A probability near 0 or 1 hardly changes with the logits: it *saturates*. The usual score is
# the **logit difference**, the logit of the right token minus the logit of a wrong token, here
# the one that the corrupt run prefers. Predict the three cells of the path, in both directions.

# %% tags=["answer", "explained"]
others = model(corrupt).data[:, -1].copy()
others[rows, right] = -np.inf
wrong = others.argmax(axis=-1)


def difference(logits):
    return (logits[rows, -1, right] - logits[rows, -1, wrong]).mean()


for name, inputs in (("denoising", (clean, corrupt)), ("noising", (corrupt, clean))):
    for score in (probability, difference):
        found = patch_map(model, *inputs, score)
        path = found[[0, 1, 2], [9, 10, 29]]
        found[[0, 1, 2], [9, 10, 29]] = 0
        print(f"{name:9} {score.__name__:11} path {path.round(1)}, any other cell at most "
              f"{abs(found).max():.1f}")

# %% [markdown]
# Each of the three vectors is sufficient, and each is necessary. No vector of this path has a
# backup, although each head of layer 1 has one: both heads write to the same vector.

# %% [markdown] page="The residual stream"
# ## The stream is a sum
#
# The stream starts as the sum of the embedding and the position, and each layer adds something
# to it. So the last stream is a sum, and we can ask what each part of the model has added.
#
# **Task.** Write `contributions`. The positions are no call of a module: they are the first T
# rows of `model.positions.weight`. A block of an `AttentionOnly` has no `mlp`.

# %% What each part adds to the stream exercise="contributions"
#| export
def contributions(model, ids):
    """What each part of a model adds to the residual stream.

    model    a GPT or an AttentionOnly
    ids      int array of shape (B, T)
    returns  {name: ndarray of shape (B, T, D)} in the order of the forward pass: "embedding";
             "positions", unless model.positions is None; then for each block its
             "blocks.0.attention" and, if it has one, its "blocks.0.mlp". The sum of all arrays
             is the input of model.norm. The model runs in evaluation mode

    >>> list(contributions(AttentionOnly(9, 8, 16, layers=1, num_heads=2), np.array([[1, 2]])))
    ['embedding', 'positions', 'blocks.0.attention']

    Source: Elhage et al., A mathematical framework for transformer circuits (2021).
    """
    ### BEGIN SOLUTION
    names = [f"blocks.{n}.{branch}" for n, block in enumerate(model.blocks)
             for branch in ("attention", "mlp") if hasattr(block, branch)]
    with evaluation_mode(model), record(model, "embedding", *names) as seen:
        model(ids)
    parts = {"embedding": seen["embedding"]}
    if model.positions is not None:
        rows = model.positions.weight.data[: ids.shape[1]]
        parts["positions"] = np.broadcast_to(rows, parts["embedding"].shape)
    return parts | {name: seen[name] for name in names}
    ### END SOLUTION

# %% checks="contributions"
check("contributions")

# %% [markdown]
# **Direct logit attribution** multiplies each contribution with the output layer's weights for
# one token, which gives its share of that token's logit. Only the last norm is in between. It
# subtracts a mean and divides by one number; if we keep this number fixed, the rest is linear,
# and the logit is the sum of these shares and a small share of the norm's bias. Which part of
# the model produces the logit of the right token?

# %% tags=["answer", "explained"]
clean, _ = pairs(8)
parts = contributions(model, clean)
std = sum(parts.values())[:, -1].std(axis=-1, keepdims=True)
weights = model.head.weights.data[:, clean[:, 10]].T  # one row for each sequence
for name, part in parts.items():
    normalized = (part[:, -1] - part[:, -1].mean(axis=-1, keepdims=True)) / std
    shares = (normalized * model.norm.weight.data * weights).sum(axis=-1)
    print(f"{name:20} {shares.mean():+6.2f}")
print(f"{'logit':20} {model(clean).data[range(8), -1, clean[:, 10]].mean():+6.2f}")

# %% [markdown]
# The logit comes from layer 1. Layer 0 adds almost nothing to it directly; it acts through
# layer 1, whose keys it changes. Attribution sees direct paths only, while patching also sees
# indirect ones: layer 0, keys of layer 1, logit.
#
# ## The weights of a head
#
# A head can also be read in its weights: its columns of `qkv.weights`, $W_Q$, $W_K$, $W_V$, and
# its rows of `out.weights`, $W_O$. For inputs $x$ and $y$, the score of query $x W_Q$ and key
# $y W_K$ is $x W_Q W_K^T y^T / \sqrt{d}$, and the head adds $y W_V W_O$ times its weight. The
# **QK circuit** $W_{QK} = W_Q W_K^T$ says where it looks, the **OV circuit** $W_{OV} = W_V W_O$
# what it moves. The **composition score** $|W_{QK} W_{OV}^T| / (|W_{QK}| |W_{OV}|)$ says how
# well layer 1 reads what layer 0 writes. ($|W|$ is `np.linalg.norm(W)`; random: about 0.125.)
#
# Does layer 0 prefer the position before? For each of the 64 tokens: does layer 1 give the copy
# that layer 0 made of it the highest score, and raise its logit most? (The cell leaves out all
# biases and the norms' divisions. It subtracts means in the two tables only.)

# %% tags=["answer", "explained"]
def circuits(layer, head):
    attention, columns = model.blocks[layer].attention, slice(32 * head, 32 * head + 32)
    gain = model.blocks[layer].norm1.weight.data[:, None]
    q, k, v = (gain * w[:, columns] for w in np.split(attention.qkv.weights.data, 3, axis=1))
    return q @ k.T, v @ attention.out.weights.data[columns]


def share(scores):  # of rows whose largest number is on the diagonal
    return (scores.argmax(axis=1) == np.arange(len(scores))).mean()


tokens, places = (table.weight.data - table.weight.data.mean(axis=1, keepdims=True)
                  for table in (model.embedding, model.positions))
output = model.norm.weight.data[:, None] * model.head.weights.data
for head in (0, 1):
    scores = places[:24] @ circuits(0, head)[0] @ places[:24].T
    scores[~np.tri(24, dtype=bool)] = -np.inf  # no head looks ahead
    print(f"layer 0, head {head}: {share(scores[1:]):.0%} of positions prefer the one before")
length = np.linalg.norm
for before, after in np.ndindex(2, 2):
    ov, (qk, last) = circuits(0, before)[1], circuits(1, after)
    found = share(tokens @ qk @ (tokens @ ov).T)
    score = length(qk @ ov.T) / length(qk) / length(ov)
    print(f"layer 0, head {before}, layer 1, head {after}: composition {score:.2f}, found "
          f"{found:.0%} of tokens, copied {share(tokens @ last @ output):.0%}")

# %% [markdown]
# In layer 0, one head prefers the position before at all positions from 1 to 23. In layer 1,
# both heads find the copies of nearly all tokens (by chance, 1 of 64), and raise the logit of
# what they read: the two halves of an induction head, by weights alone (Elhage et al., 2021).
# The composition scores, only a little above 0.125, show that the heads are connected; the
# products with tokens show what the connection does.
#
# ## The logit lens
#
# What do we see in a model of text? The package comes with a small GPT that was trained on two
# novels. It has two layers, four heads, 512 tokens, and also feed-forward networks.
#
# The **logit lens** applies the last norm and the output layer to the stream after *every*
# layer, as if the model ended there. It shows how a prediction forms from layer to layer.
#
# **Task.** Write `logit_lens`. Do not forget the norm: the output layer was trained on
# normalized vectors. When it is tied, `model.head` is None, and `model.embedding.weight` takes
# its place, transposed.

# %% The logit lens exercise="logit-lens"
#| export
def logit_lens(model, ids):
    """The logits that the model would give if it ended before its first block, after its first
    block, and so on.

    model    a GPT or an AttentionOnly with L blocks
    ids      int array of shape (1, T)
    returns  ndarray of shape (L + 1, T, V): `model.norm` and the output layer, applied to the
             input of the first block and to the result of every block; the last are the model's
             logits. The model runs in evaluation mode

    >>> logit_lens(GPT(9, 8, 16, layers=3, num_heads=2), np.array([[1, 2, 3, 4]])).shape
    (4, 4, 9)

    Source: nostalgebraist, Interpreting GPT: the logit lens (2020).
    """
    ### BEGIN SOLUTION
    names = ["blocks.0.input"] + [f"blocks.{n}" for n in range(len(model.blocks))]
    with evaluation_mode(model), record(model, *names) as seen:
        model(ids)
        x = model.norm(Tensor(np.concatenate([seen[name] for name in names])))
        logits = x @ model.embedding.weight.T if model.head is None else model.head(x)
    return logits.data
    ### END SOLUTION

# %% checks="logit-lens"
check("logit-lens")

# %% [markdown]
# Each row of the next picture belongs to one token of a sentence: the token that was read, what
# 0, 1 and 2 layers guess as the next token, and the token that follows. The colour of a guess
# is the probability of the token that really follows: dark means probable. Predict the column
# of 0 layers: the output layer is tied to the embedding.

# %% tags=["answer", "explained"]
from tinytorch.data.gpt_files import load_small_gpt
from tinytorch.pictures.interpretability import draw_lens

gpt, tokenizer = load_small_gpt()
SENTENCE = "she was not at all sorry to be obliged to go away"
sentence = tokenizer.encode(SENTENCE)
figure = draw_lens(logit_lens(gpt, sentence[None, :-1]), sentence, tokenizer)
# alt: A table of tokens. Its second column, after 0 layers, repeats the first one, the token
# that was read, in white. The columns after one and two layers hold plausible next tokens and
# are almost equal; some of their cells are dark. The last column holds the tokens that follow.

# %% [markdown]
# Before the first layer, the guess is the token just read: when the output layer is tied, the
# embedding of a token has its largest product with itself. After one layer, most guesses are
# already the same as after both layers.
#
# ## The heads of a language model
#
# Now ablate each head of the small GPT on 50 windows of the test text, and compute its
# induction scores on repeated random tokens. Predict: does it have induction heads, too?

# %% tags=["answer", "explained"]
from tinytorch.data.texts import load_text

test_ids = tokenizer.encode(load_text("test"))
starts = np.random.default_rng(0).integers(0, len(test_ids) - 64, 50)
windows = test_ids[starts[:, None] + np.arange(65)]
text_x, text_y = windows[:, :-1], windows[:, 1:]
with evaluation_mode(gpt):
    before = next_token_loss(gpt, text_x, text_y).item()
    ids512, period512 = repeated(np.random.default_rng(0), 32, 48, 512, 12, 24)
    x512, y512 = repeat_targets(ids512, period512)
    repeats = next_token_loss(gpt, x512, y512).item()
chance = induction_score(np.broadcast_to(uniform, (32, 1, 47, 47)), x512)[0]
for layer, P in enumerate(patterns(gpt, x512)):
    print(f"layer {layer}: induction scores {induction_score(P, x512).round(3)}, "
          f"with uniform attention {chance:.3f}")
print(f"loss on repeated random tokens {repeats:.1f} nats; guessing costs {np.log(512):.1f}")
draw_ablation(ablate(gpt, text_x, text_y) - before, "nats")
# alt: Eight cells, a row for each of two layers. The four heads of layer 0 cost between 0.05
# and 0.6 nats per token, the four heads of layer 1 less than 0.03.

# %% [markdown]
# This model has no induction heads: no score is clearly above uniform attention, and on
# repeated random tokens it is far worse than guessing. Nearly all of the attention that it
# needs is in layer 0. Larger models, trained on more text, do have such heads (Olsson et al.,
# 2022). It is also a result that a circuit is missing.

# %% [markdown] page="Probes and superposition"
# ## Probes
#
# Does the stream encode whether a token is inside quotation marks? A **probe** is a simple
# model that is trained to predict a property from the vectors of a network. If a linear probe
# succeeds, the property is there in a form that a later layer could use with one product.
#
# For a yes-no property, least squares is enough: fit weights so that the result is 1 for yes
# and -1 for no, and predict by the sign. `np.linalg.lstsq(a, b)[0]` is the vector w that makes
# `a @ w` as close to `b` as possible. A column of ones gives the probe a bias.
#
# **Task.** Write `probe_accuracy`. It measures on vectors that the probe was *not* fitted on.

# %% The accuracy of a probe exercise="probe"
#| export
def probe_accuracy(train, labels, test, test_labels):
    """Fit a linear probe by least squares, and measure it on other vectors.

    train, labels      arrays of shapes (n, D) and (n,): the vectors to fit, and bools (or 0, 1)
    test, test_labels  arrays of shapes (m, D) and (m,): the vectors to measure
    returns            float: the share of test vectors for which the probe is right. It
                       predicts True where its result is positive

    The probe has a bias. Its targets are 1 for True and -1 for False.

    >>> train, labels = np.array([[1.0], [2.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
    >>> probe_accuracy(train, labels, np.array([[3.0], [4.0], [9.0]]), np.array([0, 1, 0]))
    0.6666666666666666

    Source: Alain, Bengio, Understanding intermediate layers using linear classifier probes
    (2016).
    """
    ### BEGIN SOLUTION
    a, b = (np.hstack([x, np.ones((len(x), 1))]) for x in (train, test))
    weights = np.linalg.lstsq(a, 2.0 * labels - 1, rcond=None)[0]
    return float(((b @ weights > 0) == test_labels).mean())
    ### END SOLUTION

# %% checks="probe"
check("probe")

# %% [markdown]
# ## A control for probes
#
# Suppose a probe is right in 77 % of the cases. Is the property in the vectors, or did the
# probe find an easier rule? A **control task** is a task with the same vectors, whose labels
# the network cannot know. We compare the accuracy of the same probe on both tasks.
#
# Shuffled labels seem natural, but nothing can predict them: the control is near one half, and
# every probe looks good. A probe may only recognize the *token*. A fairer control gives each
# token one random label, the same at all of its places. A probe can learn these labels from the
# token alone, although they say nothing about what the network has computed.
#
# **Task.** Write `probe`. Draw the labels of the groups with `rng.integers(0, 2, ...)`: one for
# each group from 0 to the largest.

# %% A control for the probe exercise="control"
#| export
def probe(train, labels, test, test_labels, rng, groups=None):
    """The accuracy of a linear probe, and of the same probe on a control task.

    train, labels, test, test_labels   as for `probe_accuracy`
    rng      a NumPy Generator
    groups   (train groups (n,), test groups (m,)), ints from 0: the group of each vector, such
             as its token. The control gives each group one random label, 0 or 1, the same in
             both parts. Without groups, it shuffles the labels of each part
    returns  (accuracy, control accuracy), two floats

    >>> rng = np.random.default_rng(0)
    >>> vectors = np.eye(4)[[0, 1, 2, 3] * 9]
    >>> labels, groups = np.arange(36) % 2, np.arange(36) % 4
    >>> probe(vectors, labels, vectors, labels, rng, (groups, groups))
    (1.0, 1.0)

    Source: Hewitt, Liang, Designing and interpreting probes with control tasks (2019).
    """
    accuracy = probe_accuracy(train, labels, test, test_labels)
    ### BEGIN SOLUTION
    if groups is None:
        control = rng.permutation(labels), rng.permutation(test_labels)
    else:
        table = rng.integers(0, 2, np.concatenate(groups).max() + 1)
        control = table[groups[0]], table[groups[1]]
    return accuracy, probe_accuracy(train, control[0], test, control[1])
    ### END SOLUTION

# %% checks="control"
check("control")

# %% [markdown]
# "Inside quotation marks" for the stream of the small GPT after 0, 1 and 2 layers: 500 windows
# to fit the probe, 250 to measure it. Predict where it is known, and which control is higher.

# %% tags=["answer", "explained"]
from tinytorch.pictures.interpretability import quoted_windows

inputs = [quoted_windows(tokenizer, split, count) for split, count in
          [("train", 500), ("test", 250)]]
names = ["blocks.0.input", "blocks.0", "blocks.1"]
streams = []
for ids, _ in inputs:
    with evaluation_mode(gpt), record(gpt, *names) as seen:
        gpt(ids)
    streams.append({name: array[:, 32:].reshape(-1, 64) for name, array in seen.items()})
(groups, inside), (test_groups, test_inside) = [
    [a[:, 32:].ravel() for a in pair] for pair in inputs]
rng = np.random.default_rng(0)
for layer, name in enumerate(names):
    data = streams[0][name], inside, streams[1][name], test_inside, rng
    accuracy, shuffled = probe(*data)
    by_token = np.mean([probe(*data, (groups, test_groups))[1] for _ in range(5)])
    print(f"layers: {layer}, {accuracy:.1%}, control with shuffled labels {shuffled:.1%}, "
          f"with a label for each token {by_token:.1%}")

# %% [markdown]
# Compared with shuffled labels, every stream seems to encode something. But before the first
# layer and after it, the control by token is *higher* than the accuracy: these vectors say more
# about the token than about quotation marks. Only after the second layer is the accuracy above
# the control. So there is evidence for a computed property only there.
#
# ## Superposition
#
# Does each number of a vector have its own meaning? Usually not. A model may track more
# *features* (properties of the input) than its vectors have numbers.
# **Superposition** is the representation of more features than dimensions, by directions that
# are not orthogonal. Then features disturb each other when several are active. If they are
# rarely active at the same time, that costs little.
#
# A small model shows it. It compresses `n` features to `d` numbers, $h = xW$, and tries to
# restore them with the same matrix: $\hat x = \mathrm{relu}(h W^T + b)$. The *sparsity* is the
# probability that a feature is 0.
#
# **Task.** Write `sparse_features` and `restored`.

# %% A model of superposition exercise="superposition"
#| export
def sparse_features(rng, batch, features, sparsity):
    """Random features, most of them 0.

    rng       a NumPy Generator
    sparsity  float from 0 to 1: the probability that a feature is 0
    returns   float32 array of shape (batch, features): each number is, independently of the
              others, 0 with probability `sparsity`, otherwise uniform between 0 and 1

    >>> sparse_features(np.random.default_rng(0), 2, 3, 1.0)
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    ### BEGIN SOLUTION
    active = rng.random((batch, features)) >= sparsity
    return (active * rng.random((batch, features))).astype(np.float32)
    ### END SOLUTION


def restored(x, w, b):
    """The features that are restored from fewer numbers: relu(x w w^T + b).

    x        array or Tensor of shape (batch, n)
    w, b     Tensors of shapes (n, d) and (n,)
    returns  Tensor of shape (batch, n); recorded

    >>> restored(Tensor([[1.0, 2.0]]), Tensor([[1.0], [-1.0]]), Tensor([0.0, 0.5]))
    Tensor([[0. , 1.5]])

    Source: Elhage et al., Toy models of superposition (2022), section 2.
    """
    ### BEGIN SOLUTION
    return ((x @ w) @ w.T + b).relu()
    ### END SOLUTION


def toy_superposition(features, dims, sparsity, steps=1000, rng=None):
    """Train the model of superposition. Each feature is 0.9 times as important as the one
    before. Returns its matrix w, an ndarray of shape (features, dims)."""
    rng = generator(rng)
    w = Variable(rng.normal(0, 0.3, (features, dims)).astype(np.float32))
    b, importance = Variable(np.zeros(features, np.float32)), 0.9 ** np.arange(features)
    optimizer = Adam([w, b], lr=0.01)
    for _ in range(steps):
        x = Tensor(sparse_features(rng, 256, features, sparsity))
        loss = ((restored(x, w, b) - x) ** 2 * importance.astype(np.float32)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return w.data

# %% checks="superposition"
check("superposition")

# %% [markdown]
# Five features in two dimensions: each row of W is an arrow, with the number of its feature; 0
# is the most important. Predict how many features survive, and at which angles.

# %% tags=["answer", "explained"]
from tinytorch.pictures.interpretability import draw_stars

figure = draw_stars({sparsity: toy_superposition(5, 2, sparsity, rng=0)
                     for sparsity in (0.0, 0.5, 0.7, 0.9, 0.97)})
# alt: Five stars of arrows. At sparsity 0, two long arrows at a right angle. At 0.5 and 0.7,
# four long arrows at right angles; one feature has almost no arrow. At 0.9 and 0.97, five
# arrows, nearly a regular pentagon.

# %% [markdown]
# Without sparsity, the model keeps two features, one for each dimension. At 0.7 it keeps four,
# in two opposite pairs: when one of a pair is active, the number restored for the other is
# negative, and the relu makes it 0. At 0.97 it keeps all five. (In between, the random start
# also matters.) Now no single coordinate has a meaning, but the direction of each feature has.
# In a real network the directions are not known. *Sparse autoencoders* search for them.
#
# ## An open question
#
# Train the same model with a higher learning rate, `lr=1e-2`. It also solves the task.

# %% tags=["demonstration"]
riddle, losses, _ = train(lr=1e-2, steps=500)
with evaluation_mode(riddle):
    print(f"loss on new sequences: {next_token_loss(riddle, x, y).item():.3f}")
for layer, P in enumerate(patterns(riddle, x)):
    print(f"layer {layer}: induction scores {induction_score(P, x).round(3)}, previous-token "
          f"scores {previous_token_score(P).round(3)}")

# %% [markdown]
# The loss is near 0 without an induction head: all scores are below 0.2, and in the first model
# both heads of layer 1 are above 0.9. Begin with `patch_map(riddle)`. Then look at the patterns
# of *one* sequence with period 20, as in that map: a mean over many sequences hides how far a
# head looks back. Then test both models on other periods.

# %% [markdown] question="which-circuit" points=6
# **Question.** Which circuit solves the task in the model that was trained with `lr=1e-2`?
# Describe what each layer does, and support each statement with a measurement. At least one of
# them must be an intervention. Then predict the result of a new experiment from your
# explanation, and do it: for example, which of the two models solves sequences with period 8?
#
# **Your answer:**
#
# ### BEGIN SOLUTION
# The patch map still has three cells near 1.00, but the middle one is at another place: (before
# layer 0, position 9), (after layer 0, position 20 or 21), (after layer 1, last position). So
# the token at 9 goes 11 or 12 positions further. The distance differs from run to run; say 11.
#
# Layer 0: by the patterns, at position 20 one head looks 11 back, at 9, and the other 10 back,
# at 10. So the vector at 20 holds "11 before me was token 9" and "10 before me was token
# 10". Patching also shows the second half: with another token at 10 instead of 9, (after layer
# 0, position 20) is again the only high cell of its row.
#
# Layer 1: the last position looks at 20. It searches for the key "11 before me was the token
# you have just read" and reads the value "10 before me was ...": an induction head whose two
# steps are shifted by 11. Its key is not the token after the earlier copy, so `induction_score`
# does not see it. A score that adds the weights of all keys j with ids[j - 11] == ids[i] is
# higher than with any other distance. Such a key exists, as no period is shorter than 12.
#
# Interventions: mean ablation of either head of layer 0 costs several nats: one carries what is
# searched for, the other what is read. In layer 1 each head alone costs much less than both
# together: backup heads, as in the first model.
#
# A test that could fail: sequences with period 8 or 10. The first model still solves them. Here
# the key that layer 1 needs would lie after the query, and the loss is many times as large.
#
# - 2 points: the three cells of the patch map, with the middle one's distance from position 9
# - 2 points: layer 0 and layer 1, each by patterns or by patching another position
# - 1 point: ablation, with the heads that are needed and the backup heads
# - 1 point: a further test that could fail, with its result
# - -2 points: says that a low loss proves an induction head
# ### END SOLUTION

# %% [markdown]
# ## Look back
#
# In the corrupt run of the patch map, change position 10 instead of 9. Which three cells do you
# expect for the first model?
#
# PyTorch: `handle = module.register_forward_hook(f)` sets a hook, called as f(module, inputs,
# output). A result other than None replaces the output. `handle.remove()` removes it. For other
# models, TransformerLens (`run_with_cache`, `run_with_hooks`) and nnsight offer such hooks.

# %% [markdown] tags=["answer"]
# Position 10 before layer 0, position 10 after it, and the last one after layer 1. Only the
# first row differs from the first map: the token at 10 is the one that is read.
