# %% [markdown]
# # 13. Embeddings
#
# A program that knows how probable each next letter is can write: it draws a letter, appends
# it, and repeats. Below are five such programs. While the first knows nothing, the others
# learned from 4,646 first names. Each has invented three names. The bars show how well they
# predict names that they have not seen, in bits for each letter: shorter is better.

# %% tags=["payoff"]
#| default_exp core.embeddings
#| export
import math

import numpy as np

from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Dense, Module, generator, xavier_uniform
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply, concatenate, stack  # noqa: F401
from tinytorch.support.arguments import check_counts, check_number
from tinytorch.support.token_ids import NGramCounts, as_ids, scatter_add

# %% tags=["payoff"]
from tinytorch.pictures.embeddings import MODELS, draw_models

draw_models(MODELS)
# caption: The better a program predicts the next letter, the better are its names.
# alt: Five bars, one for each model, with three invented names each. All letters alike: 4.75
# bits per character, and names such as qjzqxbn. Bigrams 3.41, a window of 4 letters 3.01, a
# recurrent network 2.93 and interpolated 4-grams 2.86, with names such as lorelta and tamina.

# %% [markdown]
# You write all but the first in this chapter: two that count, and two networks that learn a
# vector of numbers for each letter. Large language models also begin with such vectors, and are
# measured in the same bits.
#
# **You need** 04 (Layers), 05 (Losses), 06 (Autograd), 07 (Optimizers) and 12 (Tokenization).
# **You build** bigram counts, sampling, bits per character, windows, the embedding with its
# gradient, a window model, a recurrent model, nearest neighbours and an n-gram model.

# %% [markdown] page="Counting pairs of tokens"
# ## Language models
#
# All five programs of the picture have the same task. A **language model** is a function that
# takes a sequence of tokens and returns a probability for each token that could come next. A
# token may be a letter, a byte or a word. Here the tokens are the 26 letters, and `"\n"`, with
# the id 0, which marks the end of a name.
#
# The names are shuffled, and a tenth of them are held out as the test set:

# %% tags=["demonstration"]
from tinytorch.core.tokenization import CharTokenizer
from tinytorch.data.texts import load_names, load_text

names = np.random.default_rng(0).permutation(load_names()).tolist()
train_names, test_names = names[:4646], names[4646:]
letters = CharTokenizer("\n" + "".join(names))
train_ids = letters.encode("\n" + "\n".join(train_names) + "\n")
test_ids = letters.encode("\n" + "\n".join(test_names) + "\n")
print(train_names[:5], letters.vocab_size, "tokens")
print(train_ids[:20], f"... {len(train_ids):,} ids, {len(test_ids):,} for the test")

# %% [markdown]
# ## Bigrams
#
# The first program that learns looks at one letter. A **bigram** is a pair of neighbouring
# tokens. The simplest model that uses the previous token counts all bigrams of a text: after an
# `a` it expects the letters that have followed `a` before.
#
# **Task.** Write `bigram_counts`. The row is the first token of the bigram, the column the
# second.

# %% Counting bigrams exercise="bigram-counts"
#| export
def bigram_counts(ids, vocab_size):
    """How often each token of a text directly follows each token, itself included.

    ids         ints (n,), each from 0 to vocab_size - 1
    vocab_size  V
    returns     int64 array of shape (V, V): in row `before`, column `after`, how often the
                token `after` comes directly after the token `before`

    >>> bigram_counts([0, 1, 1, 2, 0, 1], 3)
    array([[0, 2, 0],
           [0, 1, 1],
           [1, 0, 0]])

    Source: Jurafsky, Martin, Speech and language processing (3rd edition), section 3.1.
    """
    ids = as_ids(ids, vocab_size)
    ### BEGIN SOLUTION
    counts = np.zeros((vocab_size, vocab_size), np.int64)
    for before, after in zip(ids, ids[1:]):
        counts[before, after] += 1
    return counts
    ### END SOLUTION

# %% checks="bigram-counts"
check("bigram-counts")

# %% [markdown]
# Now we count the bigrams of all names. Predict: with which letters do names begin and end most
# often? Which letters are often doubled (the diagonal)? Which letter is nearly always followed
# by one particular other letter?

# %% tags=["answer", "explained"]
from tinytorch.pictures.embeddings import (COMPRESSORS, draw_bigrams, draw_gradient_norms,
                                           draw_one_hot, draw_orders, draw_plane,
                                           draw_recurrence, draw_sizes, draw_windows)

counts = bigram_counts(train_ids, letters.vocab_size)
figure = draw_bigrams(counts, letters.characters)
# alt: A table of 27 by 27 squares, a row for each letter before and a column for each letter
# after; the darker, the more frequent. Dark are the columns of the vowels, the square a-n, and,
# in the column of the end, the rows a, e and n. Row q has a dark square only at u.

# %% [markdown]
# The row of `·`, the end mark, shows how names begin, because every name follows the end mark
# of the name before it: most often with `m`. Its column shows how names end: most often with
# `a`. The letter `l` is doubled most often, and 52 of 53 letters after `q` are a `u`. White
# pairs, 281 of 729, never occur.
#
# ## From counts to probabilities
#
# We have counts, while a language model needs probabilities. Divide a row of counts by its sum,
# and you have the relative frequency of each next letter. A pair that never occurred would get
# probability 0, although it is not impossible. **Additive smoothing** adds a small number to
# every count, so that no probability is 0. Adding 1 is called *Laplace smoothing*.
#
# Predict: what goes wrong when you divide a (V, V) table by row sums of shape (V,)?
#
# **Task.** Write `probabilities`.

# %% Counts to probabilities exercise="probabilities"
#| export
def probabilities(counts, smoothing=1.0):
    """Turn counts into probabilities of the next token, with additive smoothing.

    counts     array of shape (V, V), numbers >= 0; not changed
    smoothing  float >= 0, added to every count; 0 only when no row is all zeros
    returns    float64 array (V, V); row `before` holds the probability of each token after
               `before`, and sums to 1

    >>> probabilities(np.array([[0, 2], [3, 3]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])

    Source: Chen, Goodman, An empirical study of smoothing techniques for language modeling
    (1998), section 2.1.
    """
    check_number("smoothing", smoothing, 0)
    ### BEGIN SOLUTION
    counts = np.asarray(counts, "float64") + float(smoothing)
    return counts / counts.sum(axis=1, keepdims=True)
    ### END SOLUTION

# %% checks="probabilities"
check("probabilities")

# %% tags=["answer"]
table = np.array([[0, 3, 1], [1, 0, 1], [2, 2, 0]])
print(probabilities(table, smoothing=0))
print("Wrong: column j divided by the sum of row j:")
print(table / table.sum(axis=1))

# %% [markdown]
# ## Sampling
#
# With its probabilities, the model can write. **Sampling** means drawing tokens at random, each
# with the probability that the model gives it. A text is sampled token by token: each drawn
# token selects the row for the next draw. Taking the most probable token instead would give the
# same name every time.
#
# **Task.** Write `sample_bigram`. `rng.choice(n, p=...)` draws one of the numbers below n.
# After this exercise, your program writes for the first time. Most of its names will be bad, as
# they should be for a model that sees one letter.

# %% Sampling a name exercise="sample"
#| export
def sample_bigram(P, start, stop, rng):
    """Draw tokens one after another, each from the row of the token before it.

    P        float array (V, V), rows sum to 1
    start    int: the token before the first one
    stop     int: the token at which to end
    rng      a NumPy Generator
    returns  list of int: the tokens drawn before `stop`, without `start` and `stop`

    >>> P = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    >>> sample_bigram(P, 0, 0, np.random.default_rng(5))
    [1, 2]

    Source: Shannon, A mathematical theory of communication (1948), section 3.
    """
    ### BEGIN SOLUTION
    drawn, token = [], start
    while True:
        token = int(rng.choice(len(P), p=P[token]))
        if token == stop:
            return drawn
        drawn.append(token)
    ### END SOLUTION

# %% checks="sample"
check("sample")

# %% tags=["demonstration", "payoff"]
P = probabilities(counts)
rng = np.random.default_rng(3)
print([letters.decode(sample_bigram(P, start=0, stop=0, rng=rng)) for _ in range(8)])
nothing = np.full((27, 27), 1 / 27)
print([letters.decode(sample_bigram(nothing, start=0, stop=0, rng=rng)) for _ in range(4)])

# %% [markdown]
# The first line was sampled from the bigrams, the second from a table in which all letters are
# equally probable. In the first line every pair of letters is plausible, but most names are
# not, because the model sees only the last letter.
#
# ## Bits per character
#
# How good is a model? Lesson 05 measured it by the cross-entropy: the mean of $-\ln p$, where
# $p$ is the probability that the model gave to the token that really came next. With the
# natural logarithm the unit is the nat; with the logarithm to base 2 it is the bit. A
# compressor that uses the model's probabilities needs about this many bits per token to store
# the text.
#
# A model with longer tokens has a larger loss per token, because each token contains more text.
# **Bits per character** are the sum of a model's losses for a text, in bits, divided by the
# number of characters. They make models with different tokenizers comparable.
#
# Predict: a model has a loss of 3 nats per token, and its tokens have 3.3 characters on
# average. How many bits per character is that?
#
# **Task.** Write `bits_per_character`.

# %% Bits per character exercise="bits"
#| export
def bits_per_character(nats, characters):
    """Bits per character of a text.

    nats        float or scalar Tensor: the sum of -ln(probability) over all tokens of the text
    characters  int: the number of characters of these tokens
    returns     float

    >>> bits_per_character(4 * math.log(2), 8)
    0.5

    Source: Shannon, Prediction and entropy of printed English (1951).
    """
    check_number("characters", characters)
    ### BEGIN SOLUTION
    return float(nats) / math.log(2) / characters
    ### END SOLUTION

# %% checks="bits"
check("bits")

# %% tags=["answer"]
print(f"3 nats for 3.3 characters: {bits_per_character(3.0, 3.3):.2f} bits per character")

# %% [markdown]
# Now we measure the names. The `"\n"` at the end counts as a character, because the model also
# has to predict it. Predict the bits per character if all 27 tokens are equally probable. Do
# the training names need fewer bits than the test names?

# %% tags=["answer", "explained"]
def nats(P, ids):
    """The sum of -ln(probability) over all tokens of a text except the first."""
    return -np.log(P[ids[:-1], ids[1:]]).sum()


print(f"equally probable: {bits_per_character(math.log(27), 1):.2f}")
single = np.tile(probabilities(counts.sum(axis=0, keepdims=True)), (27, 1))  # all rows equal
print(f"letter frequencies alone: "
      f"{bits_per_character(nats(single, test_ids), len(test_ids) - 1):.2f}")
for name, ids in [("training", train_ids), ("test", test_ids)]:
    print(f"bigrams, {name}: {bits_per_character(nats(P, ids), len(ids) - 1):.2f}")
for smoothing in (0, 0.1, 10):
    with np.errstate(divide="ignore", invalid="ignore"):
        value = nats(probabilities(counts, smoothing), test_ids)
    print(f"smoothing {smoothing}: {bits_per_character(value, len(test_ids) - 1):.2f}")

# %% [markdown]
# Without smoothing, a single pair that the training names do not contain costs infinitely many
# bits. With a smoothing of 1, the training names and the test names need about the same number
# of bits: a table of 729 counts hardly overfits 32,461 pairs.

# %% [markdown] page="A table of vectors"
# ## Windows
#
# While a bigram model looks at one letter, the next model looks at several. The **context** of
# a prediction is the part of the text that the model looks at. A table for a context of 4
# letters would have $27^4$ = 531,441 rows, and most of them would stay empty. A network needs
# fewer numbers. It learns from windows: the input is a few tokens, and the target is the token
# after them.

# %%
draw_windows("emma", context=3)
# alt: Five windows of three letters for the name emma, each with an arrow to the next letter:
# three dots before e, then dot dot e before m, dot e m before m, e m m before a, and m m a
# before a dot, the end of the name.

# %% [markdown]
# The targets are the text itself, shifted by one token. A frequent mistake is to take the last
# token *of* the window as the target. Then the network only has to copy it, the loss falls to
# 0, and the network can predict nothing.
#
# **Task.** Write `windows` for one text.

# %% Windows of a text exercise="windows"
#| export
def windows(ids, context):
    """All windows of a text, each with the token that follows it.

    ids      int array (n,)
    context  int, 1 or more: tokens in a window
    returns  x, y: int64 arrays of shape (N, context) and (N,), with N = n - context, or 0 for a
             text that is too short. y[i] is the token directly after the window x[i]

    >>> x, y = windows([5, 6, 7, 8], 2)
    >>> x
    array([[5, 6],
           [6, 7]])
    >>> y
    array([7, 8])

    Source: Bengio et al., A neural probabilistic language model (2003), section 2.
    """
    ids = as_ids(ids)
    check_counts(context=context)
    ### BEGIN SOLUTION
    starts = np.arange(max(0, len(ids) - context))
    return ids[starts[:, None] + np.arange(context)], ids[context:]
    ### END SOLUTION

# %% checks="windows"
check("windows")

# %% [markdown]
# The names are many texts in random order. Because a window with the end of one name and the
# beginning of the next would teach the network a connection that does not exist, each name gets
# separate windows, and before its first letter we put the end mark. A window must not lie half
# in the training set and half in the test set either, so divide a text first, and then make
# windows.
#
# **Task.** Write `name_windows`, with `windows`.

# %% Windows of names exercise="name-windows"
#| export
def name_windows(names, context, end):
    """The windows of many short texts. No window contains parts of two texts.

    names    list of int arrays
    context  int: tokens in a window
    end      int: the id that marks the end; put it `context` times before each text, and once
             after it
    returns  x, y as from `windows`, with len(text) + 1 windows for each text, in order

    >>> x, y = name_windows([[5, 6], [7]], 2, end=0)
    >>> x.tolist(), y.tolist()
    ([[0, 0], [0, 5], [5, 6], [0, 0], [0, 7]], [5, 6, 0, 7, 0])
    """
    ### BEGIN SOLUTION
    pairs = [windows([end] * context + list(name) + [end], context) for name in names]
    return np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])
    ### END SOLUTION

# %% checks="name-windows"
check("name-windows")

# %% tags=["demonstration"]
train_tokens = [letters.encode(name) for name in train_names]
test_tokens = [letters.encode(name) for name in test_names]
x, y = name_windows(train_tokens, context=4, end=0)
x_test, y_test = name_windows(test_tokens, context=4, end=0)
print(x.shape, y.shape, x_test.shape)
for window, target in zip(x[:4], y[:4]):
    print(repr(letters.decode(window)), "->", repr(letters.decode([target])))

# %% [markdown]
# ## Embeddings
#
# How do we give letters to a network? The numbers 0 to 26 would put them on a line, with `b`
# between `a` and `c`, but this order has no meaning. An **embedding** is a table that holds a
# vector of learned numbers for each token. The network receives this vector instead of the
# token. The table is trained with the other weights, and tokens with similar uses get similar
# vectors.
#
# Looking up rows is the same as multiplying one-hot rows by the table:

# %%
draw_one_hot([2, 0, 2], [[1, 5], [2, 6], [3, 7], [4, 8]])
# alt: The ids 2, 0 and 2 as one-hot rows of four numbers, times a table of four rows and two
# columns, gives three rows: row 2 of the table, 3 7; row 0, 1 5; and row 2 again.

# %% [markdown]
# Nearly all of these products are 0. NumPy can fetch the rows directly, by indexing. However,
# it accepts negative indices and counts them from the end: an id of -1, the result of a mistake
# elsewhere, would silently become a `z`. `embedding_forward` is given: it refuses such an id,
# and its last line looks up the rows.

# %%
#| export
def embedding_forward(weight, ids):
    """The rows of a table.

    weight   ndarray (V, D)
    ids      int ndarray of any shape (...); there may be no ids
    returns  ndarray (..., D): the row of `weight` for each id

    Raises IndexError if an id is negative, or V or more; the message contains the first such id
    and V.

    >>> embedding_forward(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0, 1]))
    array([[3., 4.],
           [1., 2.],
           [3., 4.]])

    Source: torch.nn.functional.embedding.
    """
    outside = ids[(ids < 0) | (ids >= len(weight))]
    if outside.size:
        raise IndexError(f"id {outside[0]} has no row in an embedding of {len(weight)} tokens")
    return weight[ids]

# %% [markdown]
# ## The gradient of an embedding
#
# The one-hot product also gives the gradient of the table. Lesson 06 derived it for a matrix
# product: the transposed one-hot rows times the upstream gradient $g$. Predict row 2 of the
# gradient for the ids 2, 0, 2 and $g$ = [[1, 2], [10, 20], [100, 200]].

# %% tags=["answer", "explained"]
draw_one_hot([2, 0, 2], [[1, 2], [10, 20], [100, 200]], gradient=True)
# alt: The transposed one-hot rows of the ids 2, 0 and 2, three rows and columns, times the
# upstream gradient 1 2, 10 20, 100 200 gives 10 20 for row 0, 0 0 for row 1, 101 202 for row 2.

# %% [markdown]
# By the multivariable chain rule, a row that was used twice gets the sum of both gradients,
# while a row that was not used gets zeros.
#
# `gradient[ids] += g` does *not* compute this gradient: NumPy adds `g` to copies of the rows
# and then writes them back, so if a row was copied twice, only the second copy survives.
#
# The code below is given. It combines the lookup with its gradient, `embedding_gradient`, which
# you write next. One-hot rows become large when there are many tokens. In that case
# `scatter_add` sorts the rows of `g` by id and adds up the rows with the same id.

# %%
#| export
ONE_HOT_LIMIT = 20_000  # size of the one-hot matrix; for larger ones, sorting was faster


def embedding_rule(g, out, weight, ids):
    """The gradient of the table: by one-hot rows if they are small, else by `scatter_add`."""
    if ids.size * len(weight) <= ONE_HOT_LIMIT:
        return embedding_gradient(g, out, weight, ids)
    return scatter_add(g.reshape(ids.size, -1), ids.ravel(), len(weight))


derivative(embedding_forward, embedding_rule)


def embedding(ids, weight):
    """The rows of `weight` for `ids`.

    ids      ints: nested lists, an array or a Tensor of any shape (...); TypeError for floats,
             IndexError for ids that have no row
    weight   Tensor (V, D)
    returns  Tensor (..., D)

    >>> embedding([1, 0], Tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[3., 4.],
            [1., 2.]])

    Source: torch.nn.functional.embedding.
    """
    return apply(embedding_forward, as_float_tensor(weight), ids=as_ids(ids))

# %% [markdown]
# **Task.** Write `embedding_gradient`.

# %% The gradient of an embedding exercise="embedding-gradient"
#| export
def embedding_gradient(g, out, weight, ids):
    """The gradient of the table, given the gradient of the rows that were looked up.

    g        ndarray (..., D): the upstream gradient
    out      the rows; not needed
    weight   ndarray (V, D)
    ids      int ndarray (...)
    returns  new ndarray (V, D) of the dtype of `g`: row i is the sum of the vectors g[k] for
             all positions k with ids[k] == i; zeros if there is no such position

    >>> embedding_gradient(np.ones((2, 2)), None, np.zeros((3, 2)), np.array([1, 1]))
    array([[0., 0.],
           [2., 2.],
           [0., 0.]])

    Source: the multivariable chain rule; lesson 06, gradients of matrix products.
    """
    ### BEGIN SOLUTION
    one_hot = (ids.reshape(-1, 1) == np.arange(len(weight))).astype(g.dtype)
    return one_hot.T @ g.reshape(-1, weight.shape[1])
    ### END SOLUTION

# %% checks="embedding-gradient"
check("embedding-gradient")

# %% tags=["demonstration"]
from tinytorch.core.autograd import no_grad, numerical_gradient_check

table = Variable(np.random.default_rng(0).normal(size=(4, 3)))
print(numerical_gradient_check(lambda w: embedding([[2, 0], [2, 3]], w), [table]))
try:
    embedding([3, -1], table)
except IndexError as error:
    print("IndexError:", error)

# %% [markdown]
# NumPy has a function that adds at repeated indices, `np.add.at`. Predict which is fastest for
# 512 ids and vectors of 64 numbers: `embedding_gradient`, `np.add.at`, or the sorting of
# `scatter_add`? Compare a vocabulary of 27 tokens with one of 1,024.

# %% tags=["answer", "explained"]
from timeit import repeat

for tokens in (27, 1024):
    ids, g = rng.integers(0, tokens, 512), rng.normal(size=(512, 64)).astype("float32")
    weight = np.zeros((tokens, 64), "float32")
    for name, method in [("yours", lambda: embedding_gradient(g, None, weight, ids)),
                         ("np.add.at", lambda: np.add.at(weight, ids, g)),
                         ("sorted", lambda: scatter_add(g, ids, tokens))]:
        spent = min(repeat(method, number=3, repeat=5)) / 3
        print(f"{tokens:5} tokens, {name:10} {spent * 1e6:5.0f} microseconds")

# %% [markdown]
# The one-hot product is fastest as long as its matrix is small. Above a size of roughly
# `ONE_HOT_LIMIT`, sorting is faster.
#
# The layer `Embedding` holds the table. As in PyTorch, its initial numbers are random, from the
# standard normal distribution.
#
# **Task.** Write the two methods of `Embedding`.

# %% The Embedding layer exercise="embedding-layer"
#| export
class Embedding(Module):
    """A table with a learned vector for each token.

    num_embeddings  V: how many tokens there are
    embedding_dim   D: the numbers of each vector
    rng             a NumPy Generator, a seed, or None for the shared generator: see `generator`

    .weight         float32 Variable (V, D), initially from the normal distribution with mean
                    0 and variance 1

    >>> Embedding(27, 8)([[3, 1, 4]]).shape
    (1, 3, 8)

    Source: torch.nn.Embedding.
    """

    def __init__(self, num_embeddings, embedding_dim, *, rng=None):
        ### BEGIN SOLUTION
        table = generator(rng).normal(size=(num_embeddings, embedding_dim))
        self.weight = Variable(table.astype(np.float32))
        ### END SOLUTION

    def forward(self, ids):
        """ids: ints of any shape (...). Returns a Tensor (..., D)."""
        ### BEGIN SOLUTION
        return embedding(ids, self.weight)
        ### END SOLUTION

    def __repr__(self):
        return f"Embedding({', '.join(map(str, self.weight.shape))})"

# %% checks="embedding-layer"
check("embedding-layer")

# %% [markdown] page="Networks that predict the next token"
# ## A window model
#
# Windows and embeddings are ready for the first network. The first successful neural language
# model (Bengio et al., 2003) joins the vectors of a window into one vector of `context * D`
# numbers and passes it to a network with one hidden layer. The output is a logit for each
# token. All positions of the window use the same table, so what the model learns about a letter
# at one position also helps at the others.
#
# **Task.** Write `WindowModel`.

# %% A window model exercise="window-model"
#| export
class WindowModel(Module):
    """A language model that sees the last tokens: the vectors of a window, joined, then a
    network with one hidden layer and tanh.

    vocab_size     V
    context        tokens in a window
    embedding_dim  D
    hidden         outputs of the hidden layer

    .embedding     Embedding(V, D)
    .hidden        Dense(context * D, hidden)
    .head          Dense(hidden, V)

    >>> WindowModel(27, 4, 8, 64)(np.zeros((5, 4), int)).shape
    (5, 27)

    Source: Bengio et al., A neural probabilistic language model (2003), section 2.
    """

    def __init__(self, vocab_size, context, embedding_dim, hidden):
        ### BEGIN SOLUTION
        self.embedding = Embedding(vocab_size, embedding_dim)
        self.hidden = Dense(context * embedding_dim, hidden)
        self.head = Dense(hidden, vocab_size)
        ### END SOLUTION

    def forward(self, ids):
        """ids: ints (B, context). Returns logits for the token after each window, (B, V)."""
        ### BEGIN SOLUTION
        x = self.embedding(ids).flatten(1)
        return self.head(self.hidden(x).tanh())
        ### END SOLUTION

# %% checks="window-model"
check("window-model")

# %% [markdown]
# The training loop is a short form of the one in lesson 08. The learning rate falls linearly to
# 0.

# %%
from tinytorch.core.layers import manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import AdamW, clip_grad_norm_


def train(model, batch_loss, steps, lr=0.01):
    """Minimize batch_loss(rng), the loss of the model on a random batch."""
    optimizer, rng = AdamW(model.parameters(), lr), np.random.default_rng(1)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr * (1 - step / steps)
        optimizer.zero_grad()
        batch_loss(rng).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def window_loss(model, rng):
    batch = rng.integers(0, len(y), 256)
    return cross_entropy(model(x[batch]), y[batch])


def window_bits(model):
    """Bits per character of the test names."""
    with no_grad():
        nats = cross_entropy(model(x_test), y_test, reduction="sum")
    return bits_per_character(nats, len(y_test))

# %% [markdown]
# Predict the bits per character before training. What should they be if the model begins with
# about equal probabilities? The training takes about a second:

# %% tags=["answer", "explained", "payoff"]
from tinytorch.pictures.embeddings import padded_batch, sample_name

manual_seed(1)
window_model = WindowModel(27, context=4, embedding_dim=8, hidden=64)
print(f"before: {window_bits(window_model):.2f} bits per character")
train(window_model, lambda rng: window_loss(window_model, rng), steps=1000)
print(f"after:  {window_bits(window_model):.2f}")
with no_grad():
    print([letters.decode(sample_name(lambda ids: window_model([([0] * 4 + ids)[-4:]])[0], rng))
           for _ in range(8)])

# %% [markdown]
# Before training, the model is a little worse than equal probabilities (4.75), as it should be;
# a much larger value would indicate a mistake. With 4,083 parameters, the model uses a context
# of 4 letters; a table of counts for this context would have 14 million numbers.
#
# ## Similar tokens
#
# What has the embedding of this network learned? To find tokens with similar vectors, we need a
# measure. **Cosine similarity** is the cosine of the angle between two vectors: their dot
# product divided by both lengths. It is 1 for vectors of the same direction and -1 for opposite
# ones, while the dot product alone would prefer long vectors.
#
# **Task.** Write `nearest`.

# %% The nearest tokens exercise="nearest"
#| export
def nearest(weight, id, k):
    """The tokens whose vectors have the smallest angle to the vector of one token.

    weight   Tensor or array (V, D); no row is zero; not changed
    id       int
    k        int, at most V - 1
    returns  int array (k,), the most similar first; `id` itself is not among them

    >>> nearest(np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 1.0], [-1.0, 0.0]]), 0, 2)
    array([2, 1])

    Source: Manning, Raghavan, Schütze, Introduction to information retrieval (2008), section
    6.3.1.
    """
    weight = np.asarray(weight)
    as_ids(id, len(weight))  # IndexError if there is no such row
    check_counts(0, k=k)
    ### BEGIN SOLUTION
    unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[id]), kind="stable")
    return order[order != id][:k]
    ### END SOLUTION

# %% checks="nearest"
check("nearest")

# %% [markdown]
# Such vectors need not come from a network. In the next example, the tokens are the 1,000 most
# frequent words of the novels. The vector of a word contains the probabilities of the words
# after it and before it, from `bigram_counts`. (We take the square root of each probability, so
# that frequent neighbours such as *the* do not dominate.) Predict the nearest words of *could*,
# *father* and *Darcy*.

# %% tags=["answer"]
import re
from collections import Counter

words = re.findall(r"[a-z]+|[.,;!?]", load_text().lower())
frequent = [word for word, _ in Counter(words).most_common(1000)]
number = {word: id for id, word in enumerate(frequent)}  # all other words are number 1,000
pairs = bigram_counts([number.get(word, 1000) for word in words], 1001)
vectors = np.sqrt(np.hstack([probabilities(pairs, 0), probabilities(pairs.T, 0)]))
for word in ("could", "father", "darcy", "she", "very"):
    print(f"{word:7}", [frequent[id] for id in nearest(vectors[:1000], number[word], 5)])

# %% [markdown]
# Words with similar neighbours have similar uses; the vectors contain no other knowledge. Now
# we look at the vectors of letters that a window model learns. With D = 2 they can be drawn.
# Predict which letters are close together.

# %% tags=["answer"]
manual_seed(1)
plane_model = WindowModel(27, context=4, embedding_dim=2, hidden=64)
train(plane_model, lambda rng: window_loss(plane_model, rng), steps=1000)
figure = draw_plane(plane_model.embedding.weight, letters.characters)
# caption: No label says which letters are vowels, but the network gave them similar vectors.
# alt: The letters in a plane. The vowels and y are together at the lower right, away from the
# consonants; c, p, s and t are also together, and the end of a name is alone at the top.

# %% [markdown]
# ## Recurrent networks
#
# A window model sees nothing outside its window. A **recurrent neural network** (RNN) is a
# network that reads one token after another, with the same weights in each step. The **hidden
# state** of a recurrent network is a vector that it updates in each step. Everything that the
# network knows about earlier tokens is in this vector. The new state $h_t$ depends on the
# embedding $x_t$ of token $t$ and on the state before it; $w$, $u$ and $b$ are learned:
#
# $$h_t = \tanh(x_t\, w + h_{t-1}\, u + b)$$

# %%
draw_recurrence("emma")
# alt: Five steps from left to right. In each, a letter below enters the hidden state h through
# w, the hidden state before it enters through u, and above is the next letter: a dot predicts
# e, e predicts m, m predicts m, m predicts a, a predicts the final dot.

# %% [markdown]
# **Task.** Write `rnn_step`.

# %% One step of a recurrent network exercise="rnn-step"
#| export
def rnn_step(x, h, w, u, b):
    """One step of a recurrent network: tanh(x w + h u + b).

    x        Tensor (B, D): the input of this step
    h        Tensor (B, N): the hidden state before it
    w        Tensor (D, N)
    u        Tensor (N, N)
    b        Tensor (N,)
    returns  Tensor (B, N): the hidden state after it

    >>> rnn_step(Tensor([[1.0]]), Tensor([[2.0]]), Tensor([[3.0]]), Tensor([[-1.0]]),
    ...          Tensor([-1.0]))
    Tensor([[0.]])

    Source: Elman, Finding structure in time (1990); torch.nn.RNNCell.
    """
    ### BEGIN SOLUTION
    return (x @ w + h @ u + b).tanh()
    ### END SOLUTION

# %% checks="rnn-step"
check("rnn-step")

# %% [markdown]
# The model applies the step to all tokens in order. Because the head computes logits for the
# next token from each state, T tokens give T predictions, and all of them are trained at once.
#
# **Task.** Write `forward` of `RecurrentModel`. Each call begins with a state of zeros, unless
# the caller passes one, because the state after one name must not be used for the next. Do not
# detach any state, so that gradients reach the first token.

# %% A recurrent model exercise="recurrent-model"
#| export
class RecurrentModel(Module):
    """A language model with a hidden state, which depends on all tokens so far.

    vocab_size     V
    embedding_dim  D
    hidden         N: numbers of the hidden state

    .embedding     Embedding(V, D)
    .w .u .b       Variables (D, N), (N, N) and (N,), for `rnn_step`
    .head          Dense(N, V)

    >>> logits, h = RecurrentModel(27, 8, 64)(np.zeros((5, 12), int))
    >>> logits.shape, h.shape
    ((5, 12, 27), (5, 64))

    Source: Elman (1990); Mikolov et al., Recurrent neural network based language model (2010).
    """

    def __init__(self, vocab_size, embedding_dim, hidden):
        self.embedding = Embedding(vocab_size, embedding_dim)
        self.w = Variable(xavier_uniform(embedding_dim, hidden))
        self.u = Variable(xavier_uniform(hidden, hidden))
        self.b = Variable(np.zeros(hidden, np.float32))
        self.head = Dense(hidden, vocab_size)

    def forward(self, ids, h=None):
        """Run over T tokens.

        ids      ints (B, T), T at least 1
        h        Tensor (B, N): the hidden state before the first token, or None for zeros
        returns  logits for the token after each of the T tokens, a Tensor (B, T, V); and the
                 hidden state after the last one, a Tensor (B, N)
        """
        x = self.embedding(ids)
        ### BEGIN SOLUTION
        if h is None:
            h = Tensor(np.zeros((x.shape[0], self.b.shape[0]), np.float32))
        states = []
        for t in range(x.shape[1]):
            h = rnn_step(x[:, t], h, self.w, self.u, self.b)
            states.append(h)
        return self.head(stack(states, axis=1)), h
        ### END SOLUTION

# %% checks="recurrent-model"
check("recurrent-model")

# %% [markdown]
# Names have different lengths. `padded_batch` fills them up to the length of the longest one.
# Its mask is 0 where a prediction must not count:

# %% tags=["demonstration"]
def name_loss(model, names):
    inputs, targets, mask = padded_batch(names)
    losses = cross_entropy(model(inputs)[0], targets, reduction="none")
    return (losses * mask).sum() / mask.sum()


manual_seed(1)
recurrent_model = RecurrentModel(27, embedding_dim=8, hidden=64)
train(recurrent_model, lambda rng: name_loss(
    recurrent_model, [train_tokens[i] for i in rng.integers(0, len(train_tokens), 64)]), 800)
with no_grad():
    recurrent_bits = bits_per_character(name_loss(recurrent_model, test_tokens), 1)
    print(f"{recurrent_bits:.2f} bits per character")
    print([letters.decode(sample_name(lambda ids: recurrent_model([ids])[0][0, -1], rng))
           for _ in range(8)])

# %% [markdown]
# ## Vanishing gradients
#
# The recurrent model needs fewer bits than the window model, because it has seen the whole name
# so far. How far back could it look in a longer text?
#
# **Backpropagation through time** is backpropagation through all steps of a recurrent network.
# Autograd already does it, because in the computation graph the loop is a long chain. From each
# step to the one before, the gradient is multiplied by the derivative of tanh and by $u^\top$
# (lesson 06), the same matrix in every step.
#
# We take the gradient of the last hidden state with respect to the input k steps before.
# Predict its norm for three matrices $u$: one halves the length of every vector, one keeps it,
# one multiplies it by 1.5. The fourth curve belongs to the trained model, which reads 30
# letters of the training names.

# %% tags=["answer"]
def gradient_norms(vectors, w, u, b):
    """Norms of the gradient of the last state for each input vector, the last one first."""
    inputs = [Variable(vector[None]) for vector in vectors]
    h = Tensor(np.zeros((1, len(b)), vectors.dtype))
    for vector in inputs:
        h = rnn_step(vector, h, w, u, b)
    h.sum().backward()
    return [float(np.linalg.norm(vector.grad)) for vector in reversed(inputs)]


rng = np.random.default_rng(0)
rotation = np.linalg.qr(rng.normal(size=(32, 32)))[0]
vectors = rng.normal(0, 0.1, (30, 32))
norms = {f"u times {k}": gradient_norms(vectors, np.eye(32), k * rotation, np.zeros(32))
         for k in (0.5, 1, 1.5)}
read = recurrent_model.embedding.weight.data[train_ids[:30]]
norms["trained"] = gradient_norms(
    read, *(p.data for p in (recurrent_model.w, recurrent_model.u, recurrent_model.b)))
figure = draw_gradient_norms(norms)
print("trained:", [f"{k} steps: {norms['trained'][k]:.2f}" for k in (0, 10, 20, 29)])
# caption: A factor that is repeated in each step makes the gradient vanish or explode.
# alt: Four curves over the number of steps into the past, on a logarithmic axis. With a factor
# of 0.5 the norm falls in a straight line to 1e-8; with 1 it falls slowly; with 1.5 it grows.
# For the trained model it falls to about a thirtieth.

# %% [markdown]
# A **vanishing gradient** is a gradient that is multiplied by a factor below 1 in each step or
# layer, so that it becomes almost 0. Distant inputs then have hardly any influence on training
# (Bengio, Simard, Frasconi, 1994). With a factor above 1 the gradient *explodes* instead, and
# `clip_grad_norm_` limits the damage. In lesson 14, *attention* connects each token directly
# with every earlier one.

# %% [markdown] page="N-grams, and the level to beat"
# ## N-grams
#
# Are the networks better than counting? An **n-gram** is a sequence of n neighbouring tokens.
# An n-gram model of order n predicts a token from the n - 1 tokens before it, by counts. Long
# contexts are informative but rare, while short ones are frequent but less informative.
# **Interpolation** in a language model means to mix the predictions of several context lengths.
#
# How much weight should the longer context get? **Witten-Bell smoothing** is an interpolation
# that gives a context less weight when many different tokens have followed it. Let `count` be
# how often a token followed the context, `total` how often any token did, `distinct` how many
# different tokens did, and $p_{\text{shorter}}$ the probability from the shorter contexts. Then
#
# $$p = \frac{\text{count} + \text{distinct} \cdot p_{\text{shorter}}}
# {\text{total} + \text{distinct}}$$
#
# Predict: a context occurred 10 times, and the same letter followed each time. What share of
# the weight do the shorter contexts get? What share if 10 different letters followed?
#
# **Task.** Write `witten_bell`.

# %% Witten-Bell smoothing exercise="witten-bell"
#| export
def witten_bell(lower, count, total, distinct):
    """Witten-Bell smoothing: combine how often a token followed its context with the
    probability that shorter contexts give it.

    lower     float array: the probability from the shorter contexts (of lower order)
    count     int array: how often the token followed its context in the training text
    total     int or array: how often anything followed this context
    distinct  int or array: how many different tokens followed it
    returns   float array: (count + distinct * lower) / (total + distinct); `lower` where the
              context never occurred (total and distinct are 0)

    >>> witten_bell(np.array([0.5, 0.5]), np.array([3, 1]), 4, 2)
    array([0.66666667, 0.33333333])

    Source: Witten, Bell, The zero-frequency problem (1991), method C; Chen, Goodman (1998),
    section 2.5.
    """
    ### BEGIN SOLUTION
    mixed = (count + distinct * lower) / np.maximum(total + distinct, 1)
    return np.where(np.asarray(total) > 0, mixed, lower)
    ### END SOLUTION

# %% checks="witten-bell"
check("witten-bell")

# %% tags=["answer"]
for distinct in (1, 10):
    print(f"{distinct} of 10 different: {distinct / (10 + distinct):.0%} for shorter contexts")

# %% [markdown]
# The model begins with 1/V for every token. It then goes through the contexts, from the empty
# one to the longest, and passes each result to `witten_bell` as the next `lower`. The counting
# is given: an `NGramCounts` object `counts` holds the counts for one context length. It has
#
# - `counts.length`, the number of tokens in a context;
# - `counts.look_up(ids)`, the arrays count, total and distinct for the tokens `ids[length:]`,
#   which have a whole context before them;
# - `counts.following(context)`, for one context: the count of every token of the vocabulary,
#   total and distinct.
#
# **Task.** Write the two loops of `NGram`.

# %% An n-gram model exercise="ngram"
#| export
class NGram:
    """A language model that counts n-grams and interpolates between contexts of all lengths.

    order    int, 1 or more: it looks at the last order - 1 tokens

    .counts  after `fit`, a list of NGramCounts for the context lengths 0 to order - 1

    >>> model = NGram(2).fit([0, 1, 0, 1, 0, 1], 2)
    >>> model.next([0])
    array([0.125, 0.875])

    Source: Chen, Goodman (1998), sections 2.3 and 2.5.
    """

    def __init__(self, order):
        check_counts(order=order)
        self.order = order

    def fit(self, ids, vocab_size):
        """Count the n-grams of a text of ids below vocab_size. Returns the model itself."""
        self.vocab_size = vocab_size
        self.counts = [NGramCounts(ids, length, vocab_size) for length in range(self.order)]
        return self

    def log_probability(self, ids):
        """The logarithm (base e) of the probability of each token, given the tokens before it.

        ids      ints (n,), below vocab_size; n may be 0
        returns  float64 array (n,). The first tokens have shorter contexts, the very first one
                 has none
        """
        ids = as_ids(ids, self.vocab_size)
        p = np.full(len(ids), 1 / self.vocab_size)
        ### BEGIN SOLUTION
        for counts in self.counts:
            k = counts.length
            p[k:] = witten_bell(p[k:], *counts.look_up(ids))
        ### END SOLUTION
        return np.log(p)

    def next(self, ids):
        """The probabilities of the token that follows `ids`.

        ids      ints (n,), below vocab_size; n may be 0
        returns  float64 array (V,)
        """
        ids = as_ids(ids, self.vocab_size)
        p = np.full(self.vocab_size, 1 / self.vocab_size)
        ### BEGIN SOLUTION
        for counts in self.counts:
            if counts.length <= len(ids):
                context = ids[len(ids) - counts.length:]
                p = witten_bell(p, *counts.following(context))
        ### END SOLUTION
        return p

# %% checks="ngram"
check("ngram")

# %% [markdown]
# Predict which order is best for the names, and whether it beats the networks (3.01 and 2.93).

# %% tags=["answer", "explained"]
def size_of(model):
    return sum(p.size for p in model.parameters())


counted, networks = [], [("window", size_of(window_model), window_bits(window_model)),
                         ("recurrent", size_of(recurrent_model), recurrent_bits)]
for order in range(1, 7):
    model = NGram(order).fit(train_ids, 27)
    size = sum(map(len, model.counts))
    bits = bits_per_character(-model.log_probability(test_ids)[1:].sum(), len(test_ids) - 1)
    print(f"order {order}: {size:6,} counts, {bits:.2f} bits per character")
    counted.append((order, size, bits))
figure = draw_sizes(counted, networks)
# caption: The networks need fewer numbers than the n-grams for nearly the same bits.
# alt: Bits per character over the numbers that a model stores, for n-grams of order 1 to 6 and
# the two networks. From order 1 to 4 the bits fall from 4.0 to 2.9, then rise again. The two
# networks store fewer numbers than order 4, and need hardly more bits: 3.0 and 2.9.

# %% [markdown]
# Counting wins on these names. An n-gram model is a good test for any network: a network that
# does not beat it needs more data, more parameters or a better design. However, our networks
# store fewer numbers, and because `a` and `e` have similar vectors, what they learn about one
# also helps with the other.
#
# ## The level to beat
#
# Now we take the novels, character by character: 1.5 million for training, 78,000 for the test.
# Three compressors serve as a comparison. Each compresses the training text, and then the
# training text followed by the test text. The difference of the two sizes, divided by the
# number of characters of the test text, is what the compressor needs per character. Predict
# which order is best now, and whether it needs fewer bits than the compressors.

# %% tags=["answer", "explained"]
characters = CharTokenizer(load_text("train") + load_text("test"))
novel_ids, novel_test = (characters.encode(load_text(split)) for split in ("train", "test"))
seven = NGram(7).fit(novel_ids, characters.vocab_size)  # also counts for lower orders
curves = {"test": [], "training": []}
for order in range(1, 8):
    model = NGram(order)
    model.vocab_size, model.counts = characters.vocab_size, seven.counts[:order]
    for name, ids in [("test", novel_test), ("training", novel_ids[:78_000])]:
        curves[name].append(bits_per_character(-model.log_probability(ids).sum(), len(ids)))
print("test text:", np.round(curves["test"], 2))
figure = draw_orders(range(1, 8), curves, COMPRESSORS)
# alt: Bits per character over the order, for the test text and the training text. On the test
# text they fall from 4.5 to 1.73 for order 6, below three dashed lines of compressors at 2.84,
# 2.10 and 1.85, and rise a little for order 7. On the training text they go on falling.

# %% [markdown]
# Order 6 needs 1.73 bits per character of the test text, fewer than the compressors. The
# transformer of lesson 15 has to beat this level. Order 7, however, overfits: it is better only
# on the training text.
#
# Here is a text by the best of these models:

# %% tags=["demonstration"]
model.order, model.counts = 6, seven.counts[:6]
ids, rng = characters.encode("It is a truth "), np.random.default_rng(0)
for _ in range(250):
    ids = np.append(ids, rng.choice(characters.vocab_size, p=model.next(ids)))
print(characters.decode(ids))

# %% [markdown]
# ## Look back
#
# 1. Train a `WindowModel` with a context of 8 on the names. Do the bits fall? How many
#    parameters does it gain? How many more would the recurrent model need for a longer context?
# 2. Sample 1,000 names from each model. How many of them are in the training set? Is a model
#    that repeats more of them better or worse?
# 3. Swap two ids everywhere: the two rows of a trained embedding, the two outputs of the head
#    (columns of the weights, and biases), and the ids in the texts. Which predictions change?
#    What does that tell you about ids?
# 4. In PyTorch: `torch.nn.Embedding(num_embeddings, embedding_dim)`; its argument `padding_idx`
#    names a row that gets no gradient. `torch.nn.RNNCell` is `rnn_step`, with transposed
#    weights and two biases; `torch.nn.RNN` applies it to all tokens. There is no n-gram model.

# %% [markdown] tags=["answer"]
# 3. None: all three follow the same change of names, so every product stays as it was. An id is
#    a name, and its size means nothing.
