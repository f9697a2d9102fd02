# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% feed-forward mistake ff-no-activation: Leaves the activation out.
#> should be Dense, GELU, Dense
hidden = 4 * embed_dim if hidden is None else hidden
return Sequential(Dense(embed_dim, hidden), Dense(hidden, embed_dim))

# %% feed-forward mistake ff-not-widened: Does not widen the vector.
#> should widen 6 numbers
#- hidden = 4 * embed_dim if hidden is None else hidden
hidden = embed_dim if hidden is None else hidden

# %% feed-forward mistake ff-hidden-ignored: Ignores hidden.
#> layers of 4 to 5 and 5 to 4
#- hidden = 4 * embed_dim if hidden is None else hidden
hidden = 4 * embed_dim

# %% feed-forward mistake ff-hidden-times-four: Also multiplies a given hidden by 4.
#> layers of 4 to 5 and 5 to 4
#- hidden = 4 * embed_dim if hidden is None else hidden
hidden = 4 * (hidden or embed_dim)

# %% feed-forward mistake ff-dropout-always: Adds a dropout layer for dropout=0.
#> with dropout=0 nothing more
#- return Sequential(*layers, *([Dropout(dropout)] if dropout else []))
return Sequential(*layers, Dropout(dropout))

# %% feed-forward mistake ff-dropout-forgotten: Forgets dropout.
#> should end with Dropout(0.25)
#- return Sequential(*layers, *([Dropout(dropout)] if dropout else []))
return Sequential(*layers)

# %% feed-forward mistake ff-dropout-inside: Puts dropout before the second layer.
#> should end with Dropout(0.25)
hidden = 4 * embed_dim if hidden is None else hidden
inside = [Dropout(dropout)] if dropout else []
return Sequential(Dense(embed_dim, hidden), GELU(), *inside, Dense(hidden, embed_dim))

# %% feed-forward right: two returns
if hidden is None:
    hidden = embed_dim * 4
first, second = Dense(embed_dim, hidden), Dense(hidden, embed_dim)
if dropout > 0:
    return Sequential(first, GELU(), second, Dropout(dropout))
return Sequential(first, GELU(), second)

# %% feed-forward right: a list that grows
width = 4 * embed_dim
if hidden is not None:
    width = hidden
parts = []
parts.append(Dense(embed_dim, width))
parts.append(GELU())
parts.append(Dense(width, embed_dim))
if dropout:
    parts.append(Dropout(p=dropout))
return Sequential(*parts)

# %% block mistake block-no-residual: Adds nothing to the stream.
#> Nothing is added to the stream
x = self.dropout(self.attention(self.norm1(x)))
return self.mlp(self.norm2(x))

# %% block mistake block-attention-replaces: The attention replaces the stream.
#> The result of the attention replaces the stream
x = (self.attention(self.norm1(x)))
return x + self.mlp(self.norm2(x))

# %% block mistake block-mlp-replaces: The mlp replaces the stream.
#> The result of the mlp replaces the stream
x = x + self.dropout(self.attention(self.norm1(x)))
return self.mlp(self.norm2(x))

# %% block mistake block-post-norm: Normalizes after the sum.
#> That is post-norm
x = self.norm1(x + self.dropout(self.attention(x)))
return self.norm2(x + self.mlp(x))

# %% block mistake block-normalizes-the-results: Normalizes what the branches return.
#> Normalize the inputs of the branches, not their results
x = x + self.norm1(self.dropout(self.attention(x)))
return x + self.norm2(self.mlp(x))

# %% block mistake block-without-norm2: Forgets the second norm.
#> The input of the mlp is not normalized
x = x + self.dropout(self.attention(self.norm1(x)))
return x + self.mlp(x)

# %% block mistake block-same-input: Feeds attention and mlp with the same input.
#> Both branches read the same stream
a = self.dropout(self.attention(self.norm1(x)))
return x + a + self.mlp(self.norm2(x))

# %% block mistake block-same-norm: Uses the first norm twice.
#> Both branches use the same norm
x = x + self.dropout(self.attention(self.norm1(x)))
return x + self.mlp(self.norm1(x))

# %% block mistake block-no-norm: Normalizes nothing.
#> Nothing is normalized
x = x + self.dropout(self.attention(x))
return x + self.mlp(x)

# %% block mistake block-norm-on-stream: Normalizes the stream itself before the attention.
#> norm1 is applied to the stream itself
x = self.norm1(x)
x = x + self.dropout(self.attention(x))
return x + self.mlp(self.norm2(x))

# %% block mistake block-mlp-first: Puts the mlp first.
#> The mlp comes before the attention
x = x + self.mlp(self.norm2(x))
return x + self.dropout(self.attention(self.norm1(x)))

# %% block mistake block-no-dropout: Forgets dropout.
#> Apply self.dropout to the attention's
x = x + self.attention(self.norm1(x))
return x + self.mlp(self.norm2(x))

# %% block mistake block-dropout-twice: Applies a second dropout to the result of the mlp.
#> self.mlp ends with its own dropout
x = x + self.dropout(self.attention(self.norm1(x)))
return x + self.dropout(self.mlp(self.norm2(x)))

# %% block mistake block-dropout-on-stream: Drops out the stream itself.
#> should be 0 in training mode
x = self.dropout(x + self.attention(self.norm1(x)))
return x + self.mlp(self.norm2(x))

# %% block mistake block-data: Computes with .data, so that nothing is recorded.
#> the gradient of the input x
x = x + self.dropout(self.attention(self.norm1(x)))
return x + self.mlp(self.norm2(Tensor(x.data)))

# %% block right: one name per step
before = self.norm1(x)
mixed = self.attention(before)
stream = self.dropout(mixed) + x
thought = self.mlp(self.norm2(stream))
return thought + stream

# %% block right: a loop over the branches
attention = Sequential(self.norm1, self.attention, self.dropout)
for branch in (attention, Sequential(self.norm2, self.mlp)):
    x = x + branch(x)
return x

# %% init mistake init-blocks-of-a-gpt: Takes the number of blocks from an attribute that only a
# GPT has.
#> A model need not have `blocks`
#- blocks = sum(isinstance(part, TransformerBlock) for part in model.modules())
blocks = len(model.blocks)

# %% init mistake init-all-the-same: Does not scale the branches.
#> They are initialized like all others
#- p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
p.data[...] = rng.normal(0, 0.02, p.shape)

# %% init mistake init-sqrt-l: Divides by the root of L.
#> divide by sqrt(2 L)
#- p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
p.data[...] = rng.normal(0, 0.02 / math.sqrt(blocks) if ends else 0.02, p.shape)

# %% init mistake init-no-root: Divides by 2 L.
#> Divide by the root of 2 L
#- p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
p.data[...] = rng.normal(0, 0.02 / (2 * blocks) if ends else 0.02, p.shape)

# %% init mistake init-one-block: Does not count the blocks of the whole model.
#> number of blocks in the whole model
#- p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
p.data[...] = rng.normal(0, 0.02 / math.sqrt(2) if ends else 0.02, p.shape)

# %% init mistake init-scale-everything: Scales all matrices.
#> applied to all matrices
#- p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks), p.shape)

# %% init mistake init-attention-only: Forgets the branch of the mlp.
#> mlp.2.weights should have standard deviation
#- ends = name.endswith(("attention.out.weights", "mlp.2.weights"))
ends = name.endswith("attention.out.weights")

# %% init mistake init-mlp-only: Forgets the branch of the attention.
#> attention.out.weights should have standard deviation
#- ends = name.endswith(("attention.out.weights", "mlp.2.weights"))
ends = name.endswith("mlp.2.weights")

# %% init mistake init-biases-random: Also draws biases.
#> should be all 0
#- p.data[...] = 0
p.data[...] = rng.normal(0, 0.02, p.shape)

# %% init mistake init-biases-forgotten: Leaves biases as they are.
#> should be all 0
#- p.data[...] = 0
pass

# %% init mistake init-gains-zero: Sets all vectors to 0, gains included.
#> is the gain of a norm
rng, parameters = generator(rng), model.named_parameters()
blocks = sum(isinstance(part, TransformerBlock) for part in model.modules())
for name, p in parameters:
    if p.ndim == 2:
        ends = name.endswith(("attention.out.weights", "mlp.2.weights"))
        p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
    else:
        p.data[...] = 0

# %% init mistake init-gains-drawn: Draws all parameters.
#> should be all 0
#- if p.ndim == 2:
#-     ends = name.endswith(("attention.out.weights", "mlp.2.weights"))
if True:
    ends = name.endswith(("attention.out.weights", "mlp.2.weights"))

# %% init mistake init-new-arrays: Replaces the arrays instead of writing into them.
#> should write into the arrays that are there
#- p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
p.data = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape).astype('float32')

# %% init mistake init-own-generator: Ignores rng.
#> rng=5) twice should give the same weights
#- rng, parameters = generator(rng), model.named_parameters()
rng, parameters = np.random.default_rng(), model.named_parameters()

# %% init mistake init-name-after-a-dot: Looks for a dot before the names of the last layers.
#> In a single block nothing comes before this name
#- ends = name.endswith(("attention.out.weights", "mlp.2.weights"))
ends = name.endswith((".attention.out.weights", ".mlp.2.weights"))

# %% init mistake init-fixed-seed: Always draws with the same seed.
#> rng=5 and with rng=6
#- rng, parameters = generator(rng), model.named_parameters()
rng, parameters = np.random.default_rng(0), model.named_parameters()

# %% init mistake init-generator-in-loop: Starts the generator again for each matrix.
#> two matrices hold the same numbers
blocks = sum(isinstance(part, TransformerBlock) for part in model.modules())
for name, p in model.named_parameters():
    if p.ndim == 2:
        ends = name.endswith(("attention.out.weights", "mlp.2.weights"))
        std = 0.02 / math.sqrt(2 * blocks) if ends else 0.02
        p.data[...] = generator(rng).normal(0, std, p.shape)
    elif name.endswith("bias"):
        p.data[...] = 0

# %% init mistake init-variance: Takes 0.02 for the variance.
#> should have standard deviation 0.02
#- p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
p.data[...] = rng.normal(0, math.sqrt(0.02 / (2 * blocks if ends else 1)), p.shape)

# %% init mistake init-uniform: Draws from a uniform distribution with the same standard
# deviation.
#> draw from a normal distribution
#- p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
end = math.sqrt(3) * (0.02 / math.sqrt(2 * blocks) if ends else 0.02)
p.data[...] = rng.uniform(-end, end, p.shape)

# %% init mistake init-returns-model: Returns the model.
#> init_gpt should return None
#- ### END SOLUTION
return model
### END SOLUTION

# %% init right: all matrices first, then the branches are scaled down
draw = generator(rng)
for name, p in model.named_parameters():
    if len(p.shape) == 2:
        p.data[:] = 0.02 * draw.standard_normal(p.shape)
    elif "bias" in name:
        p.data[:] = 0.0
found = [part for part in model.modules() if isinstance(part, TransformerBlock)]
for block in found:
    block.attention.out.weights.data *= (2 * len(found)) ** -0.5
    block.mlp[2].weights.data *= (2 * len(found)) ** -0.5

# %% init right: by the layers of the blocks
rng = generator(rng)
found = [part for part in model.modules() if type(part) is TransformerBlock]
last = {id(layer.weights) for b in found for layer in (b.attention.out, b.mlp[2])}
for name, p in model.named_parameters():
    if p.ndim > 1:
        std = 0.02
        if id(p) in last:
            std = std / math.sqrt(2 * len(found))
        p.data[...] = rng.normal(scale=std, size=p.shape)
    if name.split(".")[-1] == "bias":
        p.data.fill(0)

# %% gpt mistake gpt-head-copied: Copies the weight for the head.
#> The head uses a copy of the weight
#- return x @ self.embedding.weight.T if self.head is None else self.head(x)
return x @ Tensor(self.embedding.weight.data.T) if self.head is None else self.head(x)

# %% gpt mistake gpt-head-own-weights: Makes a separate head although it should be tied.
#> should be a LayerNorm and, when tied, head None
#- self.head = None if tie else Dense(embed_dim, vocab_size, bias=False)
self.head = Dense(embed_dim, vocab_size, bias=False)
if tie:
    self.head.weights.data[...] = self.embedding.weight.data.T

# %% gpt mistake gpt-head-bias: Gives the head a bias.
#> the head should have no bias
#- self.head = None if tie else Dense(embed_dim, vocab_size, bias=False)
self.head = None if tie else Dense(embed_dim, vocab_size)

# %% gpt mistake gpt-last-norm-missing: Forgets the last norm.
#> The last norm is missing
#- x = self.norm(x)
pass

# %% gpt mistake gpt-positions-missing: Forgets the positions in forward.
#> The positions are missing
#- x = x + self.positions.weight[:tokens]
pass

# %% gpt mistake gpt-all-positions: Adds all positions, however many tokens there are.
#> broadcast
#- x = x + self.positions.weight[:tokens]
x = x + self.positions.weight

# %% gpt mistake gpt-last-positions: Takes the last positions.
#> numbers are wrong
#- x = x + self.positions.weight[:tokens]
x = x + self.positions.weight[-tokens:]

# %% gpt mistake gpt-one-block: Uses one block for all layers.
#> should have 3 blocks
#- self.blocks = [TransformerBlock(embed_dim, num_heads, dropout, rotary)
#-                for _ in range(layers)]
self.blocks = [TransformerBlock(embed_dim, num_heads, dropout, rotary)
               for _ in range(1)]

# %% gpt mistake gpt-same-block: Puts the same block several times into the list.
#> one block in three places
#- self.blocks = [TransformerBlock(embed_dim, num_heads, dropout, rotary)
#-                for _ in range(layers)]
self.blocks = [TransformerBlock(embed_dim, num_heads, dropout, rotary)] * layers

# %% gpt mistake gpt-first-block-only: Applies the first block to the embeddings each time.
#> numbers are wrong
#- for block in self.blocks:
#-     x = block(x)
for block in self.blocks:
    y = block(x)
x = y

# %% gpt mistake gpt-positions-for-rotary: Keeps learned positions with rotary.
#> positions should be None
#- self.positions = None if rotary else Embedding(context, embed_dim)
self.positions = Embedding(context, embed_dim)

# %% gpt mistake gpt-rotary-forgotten: Does not pass rotary on.
#> rotary must reach the blocks
#- self.blocks = [TransformerBlock(embed_dim, num_heads, dropout, rotary)
#-                for _ in range(layers)]
self.blocks = [TransformerBlock(embed_dim, num_heads, dropout)
               for _ in range(layers)]

# %% gpt mistake gpt-blocks-without-dropout: Does not pass dropout on to the blocks.
#> give dropout to TransformerBlock
#- self.blocks = [TransformerBlock(embed_dim, num_heads, dropout, rotary)
#-                for _ in range(layers)]
self.blocks = [TransformerBlock(embed_dim, num_heads, rotary=rotary)
               for _ in range(layers)]

# %% gpt mistake gpt-dropout-forgotten: Forgets dropout after the embeddings.
#> apply self.dropout to the embeddings
#- x = self.dropout(x)
pass

# %% gpt mistake gpt-embedding-swapped: Swaps the two sizes of the table.
#> should have embedding.weight of shape
#- self.embedding = Embedding(vocab_size, embed_dim)
self.embedding = Embedding(embed_dim, vocab_size)

# %% gpt mistake gpt-positions-of-vocabulary: Makes one position per token of the vocabulary.
#> should have positions.weight of shape
#- self.positions = None if rotary else Embedding(context, embed_dim)
self.positions = None if rotary else Embedding(vocab_size, embed_dim)

# %% gpt mistake gpt-tie-by-transposing: Ties by a Dense whose weights are a transposed copy.
#> should be a LayerNorm and, when tied, head None
#- self.head = None if tie else Dense(embed_dim, vocab_size, bias=False)
self.head = Dense(embed_dim, vocab_size, bias=False)
if tie:
    self.head.weights = self.embedding.weight.T

# %% gpt right: a Sequential of blocks and an if
#- self.blocks = [TransformerBlock(embed_dim, num_heads, dropout, rotary)
#-                for _ in range(layers)]
self.blocks = []
while len(self.blocks) < layers:
    self.blocks.append(
        TransformerBlock(embed_dim, num_heads, dropout=dropout, rotary=rotary))

# %% gpt right: positions looked up, and an early return
#- if self.positions is not None:
#-     x = x + self.positions.weight[:tokens]
#- x = self.dropout(x)
#- for block in self.blocks:
#-     x = block(x)
#- x = self.norm(x)
#- return x @ self.embedding.weight.T if self.head is None else self.head(x)
if self.positions is not None:
    x = self.positions(np.arange(tokens)) + x
x = self.norm(Sequential(self.dropout, *self.blocks)(x))
if self.head is not None:
    return self.head(x)
return x @ self.embedding.weight.swapaxes(0, 1)

# %% text-batch mistake batch-target-is-input: Does not shift the targets.
#> y equals x
#- return ids[at], ids[at + 1]
return ids[at], ids[at]

# %% text-batch mistake batch-target-two-on: Shifts the targets twice.
#> the token after each token
starts = rng.integers(0, len(ids) - context - 1, batch) if len(ids) > context + 1 else 0
at = np.reshape(starts, (-1, 1)) + np.arange(context)
return ids[at], ids[at + 2]

# %% text-batch mistake batch-last-window-never: Never draws the last window.
#> never draws `high`
#- starts = rng.integers(0, len(ids) - context, batch)
starts = rng.integers(0, max(1, len(ids) - context - 1), batch)

# %% text-batch mistake batch-one-too-far: Draws starts that are too late.
#> out of bounds
#- starts = rng.integers(0, len(ids) - context, batch)
starts = rng.integers(0, len(ids) - context + 1, batch)

# %% text-batch mistake batch-same-start: Takes the same window for all rows.
#> each row should have its own start
#- starts = rng.integers(0, len(ids) - context, batch)
starts = np.full(batch, rng.integers(0, len(ids) - context))

# %% text-batch mistake batch-side-by-side: Takes only windows side by side.
#> can start at 0, 1, 2, 3 or 4
#- starts = rng.integers(0, len(ids) - context, batch)
starts = context * rng.integers(0, (len(ids) - 1) // context, batch)

# %% text-batch mistake batch-own-generator: Ignores rng.
#> with the same seed should give the same windows
#- starts = rng.integers(0, len(ids) - context, batch)
starts = np.random.default_rng().integers(0, len(ids) - context, batch)

# %% text-batch mistake batch-fixed-seed: Starts a generator in each call.
#> two calls with one generator
#- starts = rng.integers(0, len(ids) - context, batch)
starts = np.random.default_rng(0).integers(0, len(ids) - context, batch)

# %% text-batch mistake batch-transposed: Returns (context, batch).
#> should have shape (4, 6)
#- return ids[at], ids[at + 1]
return ids[at].T, ids[at + 1].T

# %% text-batch mistake batch-shuffled: Draws single tokens, not windows.
#> should be consecutive tokens
#- starts = rng.integers(0, len(ids) - context, batch)
#- at = starts[:, None] + np.arange(context)
at = rng.integers(0, len(ids) - 1, (batch, context))

# %% text-batch right: slices in a loop
last = len(ids) - context
x, y = [], []
for start in rng.integers(0, last, batch):
    x.append(ids[start : start + context])
    y.append(ids[start + 1 : start + context + 1])
return np.stack(x), np.stack(y)

# %% text-batch right: all windows as a view
windows = np.lib.stride_tricks.sliding_window_view(ids, context + 1)
chosen = windows[rng.choice(len(windows), size=batch)]
return chosen[:, :-1].copy(), chosen[:, 1:].copy()

# %% lm-loss mistake loss-shifted-twice: Shifts the targets again.
#> yours shifts it again
return cross_entropy(model(x)[:, :-1], y[:, 1:])

# %% lm-loss mistake loss-of-inputs: Compares with the inputs.
#> The targets are y, not x
return cross_entropy(model(x), x)

# %% lm-loss mistake loss-summed: Returns the sum instead of the mean.
#> yours is the sum
return cross_entropy(model(x), y, reduction="sum")

# %% lm-loss mistake loss-in-bits: Returns bits.
#> The loss is in nats
return cross_entropy(model(x), y) / math.log(2)

# %% lm-loss mistake loss-of-probabilities: Applies softmax before the cross-entropy.
#> cross_entropy takes logits, and yours are probabilities
return cross_entropy((e := model(x).exp()) / e.sum(axis=-1, keepdims=True), y)

# %% lm-loss mistake loss-axes-swapped: Swaps the axes, as PyTorch wants it.
#> labels
return cross_entropy(model(x).swapaxes(1, 2), y)

# %% lm-loss mistake loss-not-recorded: Returns a number that is not recorded.
#> backward
return Tensor(cross_entropy(model(x), y).data)

# %% lm-loss right: reshaped first
logits = model(x)
return cross_entropy(logits.reshape(-1, logits.shape[-1]), np.reshape(y, -1))

# %% lm-loss right: the mean taken afterwards
losses = cross_entropy(model(x), y, reduction="none")
return losses.sum() / losses.size

# %% decay-groups mistake decay-everything: Decays everything.
#> should not decay
#- (matrices if p.ndim >= 2 and id(p) not in tables else others).append(p)
matrices.append(p)

# %% decay-groups mistake decay-embeddings: Decays embeddings.
#> weight of an Embedding
#- (matrices if p.ndim >= 2 and id(p) not in tables else others).append(p)
(matrices if p.ndim >= 2 else others).append(p)

# %% decay-groups mistake decay-gains: Decays gains: everything but biases and embeddings.
#> the gain of a norm has one axis
#- for p in model.parameters():
#-     (matrices if p.ndim >= 2 and id(p) not in tables else others).append(p)
for name, p in model.named_parameters():
    (others if name.endswith("bias") or id(p) in tables else matrices).append(p)

# %% decay-groups mistake decay-biases: Decays biases: everything but norms and embeddings.
#> a bias has one axis
matrices, others = [], []
for name, p in model.named_parameters():
    quiet = "norm" in name or "embedding" in name or "positions" in name
    (others if quiet else matrices).append(p)
return [{"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0}]

# %% decay-groups mistake decay-turned: Exchanges the two groups.
#> should not decay
#- return [{"params": matrices, "weight_decay": weight_decay},
#-         {"params": others, "weight_decay": 0.0}]
return [{"params": others, "weight_decay": weight_decay},
        {"params": matrices, "weight_decay": 0.0}]

# %% decay-groups mistake decay-both: Gives both groups the weight decay.
#> should have weight_decay 0.25 and 0.0
#- return [{"params": matrices, "weight_decay": weight_decay},
#-         {"params": others, "weight_decay": 0.0}]
return [{"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": weight_decay}]

# %% decay-groups mistake decay-others-lost: Leaves out the parameters that do not decay.
#> should hold the 12 other parameters
#- return [{"params": matrices, "weight_decay": weight_decay},
#-         {"params": others, "weight_decay": 0.0}]
return [{"params": matrices, "weight_decay": weight_decay},
        {"params": others[:0], "weight_decay": 0.0}]

# %% decay-groups mistake decay-head-spared: Spares the untied head.
#> head.weights is a matrix
matrices, others = [], []
for name, p in model.named_parameters():
    quiet = p.ndim < 2 or name.startswith(("embedding", "positions", "head"))
    (others if quiet else matrices).append(p)
return [{"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0}]

# %% decay-groups mistake decay-by-name: Recognizes embeddings by the names that they have in a
# GPT.
#> the class Embedding, not for a name
matrices, others = [], []
for name, p in model.named_parameters():
    table = name.startswith(("embedding.", "positions."))
    (matrices if p.ndim >= 2 and not table else others).append(p)
return [{"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0}]

# %% decay-groups mistake decay-two-axes-only: Takes only parameters with exactly two axes.
#> Ask for two axes or more
#- (matrices if p.ndim >= 2 and id(p) not in tables else others).append(p)
(matrices if p.ndim == 2 and id(p) not in tables else others).append(p)

# %% decay-groups right: two comprehensions
kinds = [part for part in model.modules() if isinstance(part, Embedding)]
def decays(p):
    return len(p.shape) > 1 and not any(p is kind.weight for kind in kinds)
return [
    {"params": [p for p in model.parameters() if decays(p)], "weight_decay": weight_decay},
    {"params": [p for p in model.parameters() if not decays(p)], "weight_decay": 0.0},
]

# %% decay-groups right: a dict of booleans
skip = set()
for part in model.modules():
    if isinstance(part, Embedding):
        skip.add(id(part.weight))
groups = {True: [], False: []}
for p in model.parameters():
    groups[p.ndim != 1 and p.ndim != 0 and id(p) not in skip].append(p)
return [dict(params=groups[True], weight_decay=weight_decay),
        dict(params=groups[False], weight_decay=0.0)]

# %% gelu mistake gelu-tanh-of-x: Applies tanh to x itself.
#> tanh is applied to x alone
#- c = math.sqrt(2 / math.pi)
#- t = x * x
#- t *= 0.044715 * c  # in place: no new array for each step
#- t += c
#- t *= x
#- t = saved["tanh"] = np.tanh(t)
#- out = t + 1
#- out *= x
#- out *= 0.5
#- return out
saved["tanh"] = np.tanh(x)
return 0.5 * x * (1 + saved["tanh"])

# %% gelu mistake gelu-square: Takes the square for the cube.
#> yours takes the square
#- t *= 0.044715 * c  # in place: no new array for each step
#- t += c
#- t *= x
t *= 0.044715 * c
t += c * x

# %% gelu mistake gelu-power: Computes the cube with the slow np.power.
#> x ** 3 calls np.power
#- t = x * x
#- t *= 0.044715 * c  # in place: no new array for each step
#- t += c
#- t *= x
#- t = saved["tanh"] = np.tanh(t)
t = saved["tanh"] = np.tanh(c * (x + 0.044715 * x ** 3))

# %% gelu mistake gelu-no-half: Forgets the factor 0.5.
#> The factor 0.5 is missing
#- out *= 0.5

# %% gelu mistake gelu-no-root: Takes 2 / pi for its root.
#> The constant is sqrt(2 / pi)
#- c = math.sqrt(2 / math.pi)
c = 2 / math.pi

# %% gelu mistake gelu-nothing-saved: Saves nothing for the rule.
#> gelu_forward should keep t
#- t = saved["tanh"] = np.tanh(t)
t = np.tanh(t)

# %% gelu mistake gelu-saves-inside: Saves the argument of tanh.
#> saved["tanh"] for x
#- t = saved["tanh"] = np.tanh(t)
saved["tanh"] = t
t = np.tanh(t)

# %% gelu mistake gelu-in-place: Overwrites its input.
#> gelu_forward changed its input
#- c = math.sqrt(2 / math.pi)
#- t = x * x
#- t *= 0.044715 * c  # in place: no new array for each step
#- t += c
#- t *= x
#- t = saved["tanh"] = np.tanh(t)
#- out = t + 1
#- out *= x
#- out *= 0.5
#- return out
saved["tanh"] = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x)))
x *= 0.5 * (1 + saved["tanh"])
return x

# %% gelu mistake gelu-saved-changed: Builds the result in the array that was saved.
#> saved["tanh"] for x
#- out = t + 1
out = t
out += 1

# %% gelu mistake gelu-no-upstream: Forgets the upstream gradient.
#> The upstream gradient g is missing
#- factor *= g
factor *= 1

# %% gelu mistake gelu-first-term-only: Differentiates the first factor only.
#> x also changes the second factor
#- factor = 1 - t * t
#- factor *= inner
#- factor += t
factor = t.copy()

# %% gelu mistake gelu-second-term-only: Differentiates the second factor only.
#> the derivative of 0.5 x is 0.5
#- factor += t
#- factor += 1
factor += 0

# %% gelu mistake gelu-inner-missing: Forgets the derivative of the argument of tanh.
#> the derivative of its argument is missing
#- inner *= 3 * 0.044715 * c
#- inner += c
#- inner *= x
inner = x

# %% gelu mistake gelu-factor-three: Forgets the factor 3 of the cube.
#> has a factor 3
#- inner *= 3 * 0.044715 * c
inner *= 0.044715 * c

# %% gelu mistake gelu-tanh-derivative: Takes 1 - t for the derivative of tanh.
#> 1 - t^2, not 1 - t
#- factor = 1 - t * t
factor = 1 - t

# %% gelu mistake gelu-rule-writes-saved: The rule overwrites what was saved.
#> after the rule
#- factor += t
#- factor += 1
t += 1
factor += t

# %% gelu mistake gelu-numpy-root: Multiplies with a float64 scalar of NumPy.
#> use math.sqrt
#- c = math.sqrt(2 / math.pi)
#- t = x * x
#- t *= 0.044715 * c  # in place: no new array for each step
#- t += c
#- t *= x
#- t = saved["tanh"] = np.tanh(t)
#- out = t + 1
#- out *= x
#- out *= 0.5
#- return out
c = np.sqrt(2 / np.pi)
t = saved["tanh"] = np.tanh(c * (x + 0.044715 * (x * x * x)))
return 0.5 * x * (1 + t)

# %% gelu mistake gelu-float64: Computes in float64.
#> makes the whole array float64
#- factor *= g
#- return factor
return factor * np.float64(g)

# %% gelu right: formulas without in-place steps
#- c = math.sqrt(2 / math.pi)
#- t = x * x
#- t *= 0.044715 * c  # in place: no new array for each step
#- t += c
#- t *= x
#- t = saved["tanh"] = np.tanh(t)
#- out = t + 1
#- out *= x
#- out *= 0.5
#- return out
saved["tanh"] = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x)))
return 0.5 * x * (1 + saved["tanh"])

# %% gelu right: with powers, and a rule by terms
#- inner = x * x  # becomes x times the derivative of what tanh was applied to
#- inner *= 3 * 0.044715 * c
#- inner += c
#- inner *= x
#- factor = 1 - t * t
#- factor *= inner
#- factor += t
#- factor += 1
#- factor *= 0.5
#- factor *= g
#- return factor
first = (1 + t) / 2
second = x / 2 * (1 - t**2) * c * (1 + 0.134145 * x**2)
return g * first + g * second

# %% held-out-bits mistake bits-all-targets: Scores every target of every window.
#> Yours scores every target of each window
#- scored = min(stride, context - context // 2)
scored = context

# %% held-out-bits mistake bits-side-by-side: Cuts the text side by side and scores everything.
#> Your windows do not overlap
#- scored = min(stride, context - context // 2)
stride = scored = context

# %% held-out-bits mistake bits-first-half: Scores the first targets of each window, not the
# last.
#> Yours scores the first targets of each window
#- losses = cross_entropy(model(x), y, reduction="none").data[:, -scored:]
losses = cross_entropy(model(x), y, reduction="none").data[:, :scored]
#- total += characters[y[:, -scored:]].sum()
total += characters[y[:, :scored]].sum()

# %% held-out-bits mistake bits-per-token: Divides by tokens.
#> That is bits per token
#- total += characters[y[:, -scored:]].sum()
total += y[:, -scored:].size

# %% held-out-bits mistake bits-characters-of-inputs: Counts the characters of the inputs.
#> Count the characters of the targets
#- total += characters[y[:, -scored:]].sum()
total += characters[x[:, -scored:]].sum()

# %% held-out-bits mistake bits-characters-of-all: Counts the characters of all targets.
#> should be
#- total += characters[y[:, -scored:]].sum()
total += characters[y].sum()

# %% held-out-bits mistake bits-twice: Divides by ln 2 before bits_per_character does.
#> should be
#- nats += losses.sum(dtype="float64")
nats += losses.sum(dtype="float64") / math.log(2)

# %% held-out-bits mistake bits-stride-ignored: Ignores a smaller stride when it scores.
#> the last min(stride
#- scored = min(stride, context - context // 2)
scored = context - context // 2

# %% held-out-bits mistake bits-half-ignored: Scores `stride` targets, however large it is.
#> the last min(stride
#- scored = min(stride, context - context // 2)
scored = min(stride, context)

# %% held-out-bits mistake bits-half-rounded-down: Rounds half of an odd context down.
#> the last min(stride
#- scored = min(stride, context - context // 2)
scored = min(stride, max(1, context // 2))

# %% held-out-bits mistake bits-last-window-lost: Leaves out the last window that fits.
#> still has all its targets
#- starts = np.arange(0, len(ids) - context, stride)
starts = np.arange(0, max(1, len(ids) - context - 1), stride)

# %% held-out-bits mistake bits-window-too-many: Takes a window without its last target.
#> out of bounds
#- starts = np.arange(0, len(ids) - context, stride)
starts = np.arange(0, len(ids) - context + 1, stride)

# %% held-out-bits mistake bits-training-mode: Leaves the model in training mode.
#> Use evaluation_mode(model)
scored = min(stride, context - context // 2)
starts = np.arange(0, len(ids) - context, stride)
windows = ids[starts[:, None] + np.arange(context + 1)]
for i in range(0, len(windows), 32):
    x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]
    losses = cross_entropy(model(x), y, reduction="none").data[:, -scored:]
    nats += losses.sum(dtype="float64")
    total += characters[y[:, -scored:]].sum()

# %% held-out-bits mistake bits-recorded: Records a graph of each window.
#> a graph is recorded while
#- with evaluation_mode(model):
#-     for i in range(0, len(windows), 32):
#-         x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]
model.eval()
for _ in range(1):
    for i in range(0, len(windows), 32):
        x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]

# %% held-out-bits mistake bits-all-at-once: Gives the model all windows at once.
#> at most 64 at a time
#- for i in range(0, len(windows), 32):
#-     x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]
for _ in range(1):
    x, y = windows[:, :-1], windows[:, 1:]

# %% held-out-bits mistake bits-losses-of-first-half: Adds the losses of the first targets, and
# the characters of the last.
#> Yours adds the losses of the first targets
#- losses = cross_entropy(model(x), y, reduction="none").data[:, -scored:]
losses = cross_entropy(model(x), y, reduction="none").data[:, :scored]

# %% held-out-bits mistake bits-stays-in-eval: Calls eval() and leaves the model in that mode.
#> afterwards it is
#- with evaluation_mode(model):
#-     for i in range(0, len(windows), 32):
#-         x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]
from tinytorch.core.autograd import no_grad
model.eval()
with no_grad():
    for i in range(0, len(windows), 32):
        x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]

# %% held-out-bits mistake bits-always-train: Calls eval(), and then train(), whatever the mode
# was before.
#> a graph is recorded while
scored = min(stride, context - context // 2)
starts = np.arange(0, len(ids) - context, stride)
windows = ids[starts[:, None] + np.arange(context + 1)]
model.eval()
for i in range(0, len(windows), 32):
    x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]
    losses = cross_entropy(model(x), y, reduction="none").data[:, -scored:]
    nats += losses.sum(dtype="float64")
    total += characters[y[:, -scored:]].sum()
model.train()

# %% held-out-bits mistake bits-mean-of-means: Averages the means of batches.
#> the mean of the means of batches
#- nats += losses.sum(dtype="float64")
#- total += characters[y[:, -scored:]].sum()
nats += losses.sum(dtype="float64") / characters[y[:, -scored:]].sum()
total += 1

# %% held-out-bits mistake bits-first-batch-only: Scores the first 32 windows only.
#> should be
#- for i in range(0, len(windows), 32):
#-     x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]
for i in range(0, 32, 32):
    x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]

# %% held-out-bits mistake bits-last-batch-lost: Leaves out the last, smaller batch.
#> should be
#- for i in range(0, len(windows), 32):
#-     x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]
for i in range(0, len(windows) - 31 if len(windows) > 32 else 1, 32):
    x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]

# %% held-out-bits right: one window at a time
nats, total, first = 0.0, 0, context - min(stride, context - context // 2)
with evaluation_mode(model):
    for start in range(0, len(ids) - context, stride):
        x = ids[start : start + context]
        y = ids[start + 1 : start + context + 1]
        losses = cross_entropy(model(x[None])[0], y, reduction="none").data
        nats += float(losses[first:].astype("float64").sum())
        total += int(characters[y[first:]].sum())

# %% held-out-bits right: only the scored logits, in lists
k = min(stride, context - context // 2)
windows = np.lib.stride_tricks.sliding_window_view(ids, context + 1)[::stride]
sums, counts = [0.0], [0]
with evaluation_mode(model):
    for part in np.array_split(windows, len(windows) // 20 + 1):
        targets = part[:, context + 1 - k :]
        logits = model(part[:, :context])[:, context - k :]
        sums.append(cross_entropy(logits, targets, reduction="sum").item())
        counts.append(characters[targets].sum())
nats, total = sum(sums), sum(counts)

# %% causality-leak mistake leak-unknown-ids: Adds 1 to the ids and leaves out the remainder by
# V.
#> An id is replaced by (id + 1) % V
#- changed = np.where(later, (ids + 1) % logits.shape[-1], ids)
changed = np.where(later, ids + 1, ids)

# %% causality-leak mistake leak-last-token-only: Changes the last token only.
#> change all tokens after k
ids = np.asarray(ids)
with evaluation_mode(model):
    logits = model(ids[None]).data[0]
    changed = ids.copy()
    changed[-1] = (changed[-1] + 1) % logits.shape[-1]
    return float(abs(model(changed[None]).data[0] - logits)[:-1].max(initial=0.0))

# %% causality-leak mistake leak-first-only: Looks at position 0 only.
#> look at all positions up to k
#- changes.append(abs(others - logits)[: k + 1].max())
changes.append(abs(others - logits)[:1].max())

# %% causality-leak mistake leak-position-k-only: Looks at position k only.
#> look at all positions up to k
#- changes.append(abs(others - logits)[: k + 1].max())
changes.append(abs(others - logits)[k].max())

# %% causality-leak mistake leak-k-left-out: Leaves position k out.
#> look at all positions up to k
#- changes.append(abs(others - logits)[: k + 1].max())
changes.append(abs(others - logits)[:k].max(initial=0.0))

# %% causality-leak mistake leak-all-positions: Looks at all positions.
#> Compare positions up to k only
#- changes.append(abs(others - logits)[: k + 1].max())
changes.append(abs(others - logits).max())

# %% causality-leak mistake leak-changes-k: Also changes the token at k.
#> Compare positions up to k only
#- later = np.arange(len(ids)) > k
later = np.arange(len(ids)) >= k

# %% causality-leak mistake leak-changes-next-only: Changes only the token after k.
#> should be
#- later = np.arange(len(ids)) > k
later = np.arange(len(ids)) == k + 1

# %% causality-leak mistake leak-first-half-of-k: Stops before the last k.
#> This leak was not found
#- for k in range(len(ids) - 1):
#-     later = np.arange(len(ids)) > k
for k in range(len(ids) - 2):
    later = np.arange(len(ids)) > k

# %% causality-leak mistake leak-training-mode: Leaves the model in training mode.
#> calls the model in training mode
#- with evaluation_mode(model):
#-     logits = model(ids[None]).data[0]
for _ in range(1):
    logits = model(ids[None]).data[0]

# %% causality-leak mistake leak-stays-in-eval: Calls eval() and leaves the model in that mode.
#> afterwards it is
#- with evaluation_mode(model):
#-     logits = model(ids[None]).data[0]
model.eval()
for _ in range(1):
    logits = model(ids[None]).data[0]

# %% causality-leak mistake leak-mean: Takes the mean change.
#> should be
#- changes.append(abs(others - logits)[: k + 1].max())
changes.append(abs(others - logits)[: k + 1].mean())

# %% causality-leak mistake leak-of-one-token: Takes the largest of no changes when there is one
# token.
#> there is no k: the result is 0.0
#- changes = [0.0]
changes = []

# %% causality-leak mistake leak-signed: Takes the largest increase, not the largest change.
#> should be
#- changes.append(abs(others - logits)[: k + 1].max())
changes.append((others - logits)[: k + 1].max())

# %% causality-leak mistake leak-writes-ids: Changes the ids in place.
#> has changed the ids
#- later = np.arange(len(ids)) > k
#- changed = np.where(later, (ids + 1) % logits.shape[-1], ids)
changed = ids
changed[k + 1 :] = (changed[k + 1 :] + 1) % logits.shape[-1]

# %% causality-leak mistake leak-nan-lost: Loses nan, because Python's max compares.
#> np.max keeps nan
#- return float(np.max(changes))
return max(map(float, changes))

# %% causality-leak right: one batch of all changes
ids = np.asarray(ids)
T = len(ids)
if T == 1:
    return 0.0
with evaluation_mode(model):
    V = model(ids[None]).shape[-1]
    rows = np.tile(ids, (T - 1, 1))
    later = np.arange(T) > np.arange(T - 1)[:, None]
    before = model(rows).data
    after = model(np.where(later, (rows + 1) % V, rows)).data
return float(abs(after - before)[~later].max())

# %% causality-leak right: slices, from the end
ids, leak = np.array(ids), np.float64(0.0)
with evaluation_mode(model):
    base = model(ids.reshape(1, -1)).numpy()[0]
    other = ids.copy()
    for place in range(len(ids) - 1, 0, -1):
        other[place] = (other[place] + 1) % base.shape[1]
        now = model(other.reshape(1, -1)).numpy()[0]
        leak = np.maximum(leak, np.abs(now[:place] - base[:place]).max())
return float(leak)

# %% parameters mistake params-no-positions: Forgets the positions.
#> The vectors of the positions are missing
#- tables = (vocab_size * (1 if tie else 2) + context) * embed_dim
tables = (vocab_size * (1 if tie else 2)) * embed_dim

# %% parameters mistake params-head-always: Counts a tied head.
#> the head adds no weights
#- tables = (vocab_size * (1 if tie else 2) + context) * embed_dim
tables = (vocab_size * 2 + context) * embed_dim

# %% parameters mistake params-tie-ignored: Never counts a head.
#> weights of the head are missing
#- tables = (vocab_size * (1 if tie else 2) + context) * embed_dim
tables = (vocab_size * 1 + context) * embed_dim

# %% parameters mistake params-last-norm: Forgets the last norm.
#> The last norm is missing
#- return tables + layers * block + 2 * embed_dim
return tables + layers * block

# %% parameters mistake params-no-biases: Forgets biases.
#> Biases are missing
#- block = 12 * embed_dim**2 + 13 * embed_dim
block = 12 * embed_dim**2 + 4 * embed_dim

# %% parameters mistake params-no-qkv-biases: Forgets the biases of qkv.
#> The biases of qkv are missing
#- block = 12 * embed_dim**2 + 13 * embed_dim
block = 12 * embed_dim**2 + 10 * embed_dim

# %% parameters mistake params-no-norms: Forgets the norms of the blocks.
#> two norms of each block
#- block = 12 * embed_dim**2 + 13 * embed_dim
block = 12 * embed_dim**2 + 9 * embed_dim

# %% parameters mistake params-matrices-only: Counts matrices only.
#> Biases and norms are missing
#- return tables + layers * block + 2 * embed_dim
return tables + layers * 12 * embed_dim**2

# %% parameters mistake params-head-bias: Counts a bias of the head.
#> the head has no bias
#- return tables + layers * block + 2 * embed_dim
tables += 0 if tie else vocab_size
return tables + layers * block + 2 * embed_dim

# %% parameters right: layer by layer
D = embed_dim
def dense(n, m):
    return (n + 1) * m
norm = 2 * D
block = dense(D, 3 * D) + dense(D, D) + dense(D, 4 * D) + dense(4 * D, D) + 2 * norm
total = vocab_size * D + context * D + norm
for _ in range(layers):
    total += block
return total if tie else total + D * vocab_size

# %% parameters right: everything in one formula
heads = 1 if tie else 2
return embed_dim * (heads * vocab_size + context + 2 + layers * (12 * embed_dim + 13))

# %% flops mistake flops-no-head: Forgets the head.
#> The head also multiplies each vector
weights = 12 * layers * embed_dim**2 + 0
return 2 * weights + 4 * layers * context * embed_dim

# %% flops mistake flops-no-scores: Forgets the products of attention.
#> are missing
weights = 12 * layers * embed_dim**2 + vocab_size * embed_dim
return 2 * weights

# %% flops mistake flops-one-product: Counts one of the two products of attention.
#> Attention has two products
weights = 12 * layers * embed_dim**2 + vocab_size * embed_dim
return 2 * weights + 2 * layers * context * embed_dim

# %% flops mistake flops-attention-of-one-layer: Counts the products of attention for one layer
# only.
#> Each layer has its own attention
weights = 12 * layers * embed_dim**2 + vocab_size * embed_dim
return 2 * weights + 4 * context * embed_dim

# %% flops mistake flops-macs: Counts a multiplication and an addition as one.
#> are two operations
weights = 12 * layers * embed_dim**2 + vocab_size * embed_dim
return weights + 2 * layers * context * embed_dim

# %% flops mistake flops-training: Also counts the backward pass.
#> That is training
weights = 12 * layers * embed_dim**2 + vocab_size * embed_dim
return 6 * weights + 12 * layers * context * embed_dim

# %% flops mistake flops-embedding: Counts the embedding as a product.
#> looked up, not multiplied
weights = 12 * layers * embed_dim**2 + 2 * vocab_size * embed_dim
return 2 * weights + 4 * layers * context * embed_dim

# %% flops mistake flops-positions: Counts the positions as a product.
#> Positions are added
weights = 12 * layers * embed_dim**2 + (vocab_size + context) * embed_dim
return 2 * weights + 4 * layers * context * embed_dim

# %% flops mistake flops-six-n: Multiplies all parameters by 2.
#> FLOPs per token, yours says
return 2 * parameters_of(vocab_size, context, embed_dim, layers)

# %% flops right: product by product
D = embed_dim
total = 2 * D * vocab_size
for _ in range(layers):
    for n, m in [(D, 3 * D), (D, D), (D, 4 * D), (4 * D, D), (D, context), (context, D)]:
        total += 2 * n * m
return total

# %% flops right: one formula
per_layer = 24 * embed_dim * embed_dim + 4 * context * embed_dim
return layers * per_layer + 2 * vocab_size * embed_dim

# %% held-out-bits equivalent: The smaller of two.
#= `stride, context - context // 2` -> `context - context // 2, stride`

# %% held-out-bits equivalent: The sum of 32 windows is exact enough in float32.
#= `losses.sum(dtype="float64")` -> `losses.sum()`

# %% causality-leak equivalent: A batch of one row: the first is the last.
#= `0` -> `(-1)`

# %% causality-leak equivalent: There is nothing to change after the last position.
#= `len(ids) - 1` -> `(len(ids)) + (1)`
#= `len(ids) - 1` -> `(len(ids))`

# %% causality-leak equivalent: The logits of one row have two axes.
#= `-1` -> `(1)`

# %% causality-leak equivalent: Its absolute value is the same.
#= `others - logits` -> `((logits) - (others))`

# %% gpt mistake init-gpt-removed: Writes the layers over the given last line of __init__.
#> The given line `init_gpt(self)` is gone
#- init_gpt(self)
