# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% bigram-counts mistake table-transposed: Exchanges rows and columns: P(before | after).
#> The row is the token before
#- counts[before, after] += 1
counts[after, before] += 1

# %% bigram-counts mistake fancy-plus-equals-counts: Adds 1 at arrays of indices, which counts a
# repeated pair once.
#> Every occurrence counts
counts = np.zeros((vocab_size, vocab_size), np.int64)
counts[ids[:-1], ids[1:]] += 1
return counts

# %% bigram-counts mistake last-before-first: Pairs the last token with the first one.
#> the counts of
counts = np.zeros((vocab_size, vocab_size), np.int64)
for before, after in zip(ids, np.roll(ids, -1)):
    counts[before, after] += 1
return counts

# %% bigram-counts mistake pairs-without-overlap: Cuts the text into pairs that do not overlap.
#> the counts of
counts = np.zeros((vocab_size, vocab_size), np.int64)
for before, after in zip(ids[::2], ids[1::2]):
    counts[before, after] += 1
return counts

# %% bigram-counts mistake counts-as-floats: Counts in floating-point numbers.
#> the counts should be int64
#- counts = np.zeros((vocab_size, vocab_size), np.int64)
counts = np.zeros((vocab_size, vocab_size))

# %% probabilities mistake divided-without-keepdims: Divides without keepdims, so that each
# column is divided by the sum of another row.
#> keepdims=True keeps the sums as a column
counts = np.asarray(counts) + float(smoothing)
return counts / counts.sum(axis=1)

# %% probabilities mistake smoothing-after-dividing: Adds the smoothing to the probabilities.
#> The smoothing is added to every count
return np.nan_to_num(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)) + smoothing

# %% probabilities mistake columns-normalized: Divides each column by its sum.
#> Each row is divided by its own sum
counts = np.asarray(counts) + float(smoothing)
return counts / counts.sum(axis=0, keepdims=True)

# %% probabilities mistake whole-table-normalized: Divides by the sum of the whole table.
#> Each row is divided by its own sum
counts = np.asarray(counts) + float(smoothing)
return counts / counts.sum()

# %% probabilities mistake smoothing-always-1: Adds 1, whatever the smoothing is.
#> without smoothing
counts = np.asarray(counts) + 1.0
return counts / counts.sum(axis=1, keepdims=True)

# %% probabilities mistake smoothing-only-for-zeros: Smooths only the counts that are 0.
#> The smoothing is added to every count
counts = np.where(np.asarray(counts) == 0, float(smoothing), counts)
return counts / counts.sum(axis=1, keepdims=True)

# %% probabilities mistake counts-changed-in-place: Adds the smoothing to the caller's array.
#> make a new array
counts += smoothing
return counts / counts.sum(axis=1, keepdims=True)

# %% probabilities mistake float32-probabilities: Computes in float32.
#> should be float64
counts = np.asarray(counts) + float(smoothing)
return (counts / counts.sum(axis=1, keepdims=True)).astype(np.float32)

# %% probabilities mistake float32-counts-stay-float32: Keeps the dtype of float32 counts.
#> should be float64
counts = np.asarray(counts) + float(smoothing)
return counts / counts.sum(axis=1, keepdims=True)

# %% sample mistake argmax-called-sampling: Takes the most probable token instead of drawing
# one.
#> instead of taking the most probable one
#- token = int(rng.choice(len(P), p=P[token]))
token = int(np.argmax(P[token]))

# %% sample mistake stop-included: Returns the stop token with the text.
#> The result contains neither the start nor the stop
#- return drawn
return drawn + [token]

# %% sample mistake start-included: Returns the start token with the text.
#> The result contains neither the start nor the stop
#- drawn, token = [], start
drawn, token = [start], start

# %% sample mistake own-randomness: Draws from NumPy's global generator, so that a seed decides
# nothing.
#> use the given `rng`
#- token = int(rng.choice(len(P), p=P[token]))
token = int(np.random.choice(len(P), p=P[token]))

# %% sample mistake sampled-uniformly: Draws among the possible tokens with equal probability.
#> draw with p=P[token]
#- token = int(rng.choice(len(P), p=P[token]))
token = int(rng.choice(len(P), p=(P[token] > 0) / (P[token] > 0).sum()))

# %% bits mistake nats-called-bits: Calls nats bits.
#> One bit is ln 2
return float(nats) / characters

# %% bits mistake times-ln-2: Multiplies by ln 2 instead of dividing.
#> One bit is ln 2
return float(nats) * math.log(2) / characters

# %% bits mistake bits-of-the-whole-text: Forgets to divide by the characters.
#> the sum is divided by characters
return float(nats) / math.log(2)

# %% bits mistake logarithm-of-nats: Takes the logarithm to the base 2 of the nats.
#> One bit is ln 2
return math.log2(float(nats) + 1) / characters

# %% bits mistake bits-as-a-tensor: Returns a Tensor for a Tensor.
#> should be a float
return nats / math.log(2) / characters

# %% windows mistake target-is-the-input: Takes the last token of the window as its target.
#> The network would only have to copy it
starts = np.arange(max(0, len(ids) - context))
return ids[starts[:, None] + np.arange(context)], ids[context - 1:-1]

# %% windows mistake windows-without-overlap: Cuts the text into windows that do not overlap.
#> the windows of 5 6 7 8 9
starts = np.arange(0, max(0, len(ids) - context), context)
return ids[starts[:, None] + np.arange(context)], ids[starts + context]

# %% windows mistake window-without-target: Returns a last window that has no token after it.
#> the windows of 5 6 7 8 9
starts = np.arange(max(0, len(ids) - context + 1))
return ids[starts[:, None] + np.arange(context)], ids[context:]

# %% windows mistake windows-backwards: Turns the windows round, the newest token first.
#> the windows of 5 6 7 8 9
starts = np.arange(max(0, len(ids) - context))
return ids[starts[:, None] + np.arange(context)[::-1]], ids[context:]

# %% windows mistake last-window-lost: Loses the last window and its target.
#> the windows of 5 6 7 8 9
starts = np.arange(max(0, len(ids) - context))
return ids[starts[:-1, None] + np.arange(context)], ids[context:-1]

# %% windows mistake short-text-crashes: Does not think of a text that is shorter than a window.
#> There is no window: N is 0
view = np.lib.stride_tricks.sliding_window_view(ids, context)[:-1]
return view.copy(), ids[context:]

# %% name-windows mistake windows-across-names: Joins the names first, so that windows hold
# parts of two names.
#> Make the windows of each name separately
stream = [end] * context
for name in names:
    stream += [*name, end]
return windows(stream, context)

# %% name-windows mistake one-mark-before: Puts one mark before a name, so that its first tokens
# are never predicted.
#> Put the mark `context` times before a name
pairs = [windows([end] + list(name) + [end], context) for name in names]
return np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])

# %% name-windows mistake end-never-predicted: Leaves out the mark after a name, so that the
# model never learns to stop.
#> the windows of the name 5 6
pairs = [windows([end] * context + list(name), context) for name in names]
return np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])

# %% name-windows mistake mark-always-0: Takes 0 for the mark.
#> The mark is the argument `end`
pairs = [windows([0] * context + list(name) + [0], context) for name in names]
return np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])

# %% name-windows mistake marks-behind: Puts as many marks after a name as before it.
#> the windows of the name 5 6
pairs = [windows([end] * context + list(name) + [end] * context, context) for name in names]
return np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])

# %% embedding-gradient mistake repeated-ids-lose-gradient: Uses += with repeated indices, so
# that the last gradient wins (#80).
#> A token that occurs twice collects both gradients
gradient = np.zeros(weight.shape, g.dtype)
gradient[ids] += g
return gradient

# %% embedding-gradient mistake gradient-assigned: Assigns rows instead of adding them.
#> keep only one of them
gradient = np.zeros(weight.shape, g.dtype)
for id, row in zip(ids.ravel(), g.reshape(ids.size, -1)):
    gradient[id] = row
return gradient

# %% embedding-gradient mistake gradients-averaged: Averages the gradients of a token that
# occurs several times.
#> A token that occurs twice collects both gradients
one_hot = (ids.reshape(-1, 1) == np.arange(len(weight))).astype(g.dtype)
counts = np.maximum(one_hot.sum(axis=0), 1)[:, None].astype(g.dtype)
return one_hot.T @ g.reshape(-1, weight.shape[1]) / counts

# %% embedding-gradient mistake gradient-is-looked-up: Looks the gradients up, as the forward
# pass does with rows.
#> ids [1, 1]
return g[ids]

# %% embedding-gradient mistake rows-up-to-the-largest-id: Makes a row for each id that occurs,
# not for each token.
#> should have shape (3, 2)
one_hot = (ids.reshape(-1, 1) == np.arange(ids.max() + 1)).astype(g.dtype)
return one_hot.T @ g.reshape(-1, weight.shape[1])

# %% embedding-gradient mistake only-flat-ids: Forgets that ids may have several axes.
#> Flatten the ids
one_hot = (ids[:, None] == np.arange(len(weight))).astype(g.dtype)
return one_hot.T @ g

# %% embedding-gradient mistake gradient-in-float64: Sums in float64.
#> the gradient should be float32
gradient = np.zeros(weight.shape)
np.add.at(gradient, ids, g)
return gradient

# %% embedding-gradient mistake gradient-written-into-the-weights: Adds the gradients to the
# table itself.
#> changed weight
weight *= 0
np.add.at(weight, ids, g)
return weight.astype(g.dtype)

# %% embedding-layer mistake table-never-trained: Looks rows up in .data, so that no gradient
# reaches the table (#83).
#> the table gets no gradient
#- return embedding(ids, self.weight)
return Tensor(self.weight.data[np.asarray(ids)])

# %% embedding-layer mistake table-is-no-variable: Stores the table as a Tensor that requires no
# gradient.
#> the table gets no gradient
#- self.weight = Variable(table.astype(np.float32))
self.weight = Tensor(table.astype(np.float32))

# %% embedding-layer mistake table-uniform: Draws the table from a uniform distribution.
#> draw from a normal distribution
#- table = generator(rng).normal(size=(num_embeddings, embedding_dim))
table = generator(rng).uniform(-3 ** 0.5, 3 ** 0.5, (num_embeddings, embedding_dim))

# %% embedding-layer mistake table-small: Draws small numbers, as for the weights of a layer.
#> with mean 0 and variance 1
#- table = generator(rng).normal(size=(num_embeddings, embedding_dim))
table = generator(rng).normal(0, 0.02, size=(num_embeddings, embedding_dim))

# %% embedding-layer mistake table-in-float64: Leaves the table in float64.
#> should be float32
#- self.weight = Variable(table.astype(np.float32))
self.weight = Variable(table)

# %% embedding-layer mistake embedding-transposed: Exchanges rows and columns of the table.
#> should have a table of shape (300, 40)
#- table = generator(rng).normal(size=(num_embeddings, embedding_dim))
table = generator(rng).normal(size=(embedding_dim, num_embeddings))

# %% embedding-layer mistake table-ignores-the-seed: Draws from a new generator.
#> draw from generator(rng)
#- table = generator(rng).normal(size=(num_embeddings, embedding_dim))
table = np.random.default_rng().normal(size=(num_embeddings, embedding_dim))

# %% embedding-layer mistake table-always-the-same: Draws every table from the same seed.
#> manual_seed(2) another one
#- table = generator(rng).normal(size=(num_embeddings, embedding_dim))
table = np.random.default_rng(0 if rng is None else rng).normal(size=(num_embeddings, embedding_dim))

# %% embedding-layer mistake given-generator-ignored: Does not pass rng to generator.
#> pass rng to generator
#- table = generator(rng).normal(size=(num_embeddings, embedding_dim))
table = generator().normal(size=(num_embeddings, embedding_dim))

# %% window-model mistake window-reversed: Joins the vectors with the newest token first.
#> the first token first
#- x = self.embedding(ids).flatten(1)
x = self.embedding(np.asarray(ids)[:, ::-1]).flatten(1)

# %% window-model mistake window-averaged: Averages the vectors of the window, so that their
# order is lost.
#> gets the vectors of all positions of the window
#- self.hidden = Dense(context * embedding_dim, hidden)
self.hidden = Dense(embedding_dim, hidden)

# %% window-model mistake vectors-interleaved: Joins the first numbers of all vectors, then the
# second ones.
#> the vectors of the window
#- x = self.embedding(ids).flatten(1)
x = self.embedding(ids).swapaxes(1, 2).flatten(1)

# %% window-model mistake window-without-tanh: Forgets the tanh: two linear layers are one.
#> hidden layer; tanh; head
#- return self.head(self.hidden(x).tanh())
return self.head(self.hidden(x))

# %% window-model mistake window-with-relu: Uses relu instead of tanh.
#> hidden layer; tanh; head
#- return self.head(self.hidden(x).tanh())
return self.head(self.hidden(x).relu())

# %% window-model mistake window-not-flattened: Gives the hidden layer the vectors one by one.
#> should have shape (B, context * D)
#- x = self.embedding(ids).flatten(1)
x = self.embedding(ids)

# %% window-model mistake window-tanh-after-the-head: Squeezes the logits with tanh.
#> hidden layer; tanh; head
#- return self.head(self.hidden(x).tanh())
return self.head(self.hidden(x)).tanh()

# %% window-model mistake window-detached: Computes with .data, so that the embedding is not
# trained.
#> no gradient reaches ['embedding.weight']
#- x = self.embedding(ids).flatten(1)
x = Tensor(self.embedding(ids).data.reshape(len(ids), -1))

# %% window-model mistake window-softmax: Returns probabilities instead of logits.
#> No softmax: the loss takes logits
#- return self.head(self.hidden(x).tanh())
e = self.head(self.hidden(x).tanh()).exp()
return e / e.sum(axis=1, keepdims=True)

# %% nearest mistake nearest-is-itself: Returns the token itself as its nearest neighbour.
#> the token itself is not its neighbour
#- return order[order != id][:k]
return order[:k]

# %% nearest mistake nearest-by-product: Compares dot products, so that long vectors win.
#> Divide all vectors by their lengths
#- unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
unit = weight

# %% nearest mistake nearest-by-distance: Compares distances instead of angles.
#> degrees
order = np.argsort(((weight - weight[id]) ** 2).sum(axis=1), kind="stable")
return order[order != id][:k]

# %% nearest mistake farthest-first: Sorts from the smallest cosine to the largest.
#> nearest(table, 0, 4) should be [2, 4, 1, 3]
#- order = np.argsort(-(unit @ unit[id]), kind="stable")
order = np.argsort(unit @ unit[id], kind="stable")

# %% nearest mistake first-of-the-list-dropped: Drops the first of the list, which another token
# with the same vector may be.
#> Leave out the id itself
#- return order[order != id][:k]
return order[1:k + 1]

# %% nearest mistake opposite-is-near: Takes the absolute value of the cosine.
#> [9, 1], [-1, 0.1]
#- order = np.argsort(-(unit @ unit[id]), kind="stable")
order = np.argsort(-abs(unit @ unit[id]), kind="stable")

# %% rnn-step mistake step-without-tanh: Forgets the tanh.
#> tanh(x @ w + h @ u + b)
return (x @ w + h @ u + b)

# %% rnn-step mistake u-transposed: Multiplies by the transposed u.
#> u is multiplied from the right
return (x @ w + h @ u.T + b).tanh()

# %% rnn-step mistake w-and-u-exchanged: Exchanges w and u.
#> tanh(x @ w + h @ u + b)
return (x @ u + h @ w + b).tanh()

# %% rnn-step mistake step-without-bias: Forgets the bias.
#> tanh(x @ w + h @ u + b)
return (x @ w + h @ u).tanh()

# %% rnn-step mistake old-state-outside-of-tanh: Adds the state after tanh.
#> tanh(x @ w + h @ u + b)
return (x @ w + b).tanh() + h @ u

# %% rnn-step mistake step-by-sigmoid: Uses sigmoid instead of tanh.
#> tanh(x @ w + h @ u + b)
return (x @ w + h @ u + b).sigmoid()

# %% rnn-step mistake step-detached: Computes with the state's .data, so that the gradient stops
# after one step.
#> the gradient of h
return (x @ w + Tensor(h.data) @ u + b).tanh()

# %% recurrent-model mistake state-carried-on: Keeps the state from one call to the next, and
# from one name to the next.
#> the state of the last call was used again
#- if h is None:
#-     h = Tensor(np.zeros((x.shape[0], self.b.shape[0]), np.float32))
#- states = []
if h is None:
    h = getattr(self, "memory", [Tensor(np.zeros((1, self.b.shape[0]), np.float32))])[0]
    if h.shape[0] != x.shape[0]:
        h = Tensor(np.zeros((x.shape[0], self.b.shape[0]), np.float32))
states = self.memory = []

# %% recurrent-model mistake state-detached: Detaches the state in each step, so that the
# gradient sees one step only.
#> do not detach the state between steps
#- states.append(h)
states.append(h)
h = h.detach()

# %% recurrent-model mistake states-along-the-wrong-axis: Stacks the states along the first
# axis: (T, B, V).
#> stack the states along axis 1
#- return self.head(stack(states, axis=1)), h
return self.head(stack(states)), h

# %% recurrent-model mistake only-the-last-logits: Returns logits of the last step only.
#> logits from the state after each token
#- return self.head(stack(states, axis=1)), h
return self.head(h), h

# %% recurrent-model mistake given-state-ignored: Begins with zeros, whatever state is given.
#> Begin with the given state
#- if h is None:
#-     h = Tensor(np.zeros((x.shape[0], self.b.shape[0]), np.float32))
if True:
    h = Tensor(np.zeros((x.shape[0], self.b.shape[0]), np.float32))

# %% recurrent-model mistake states-before-the-token: Predicts from the state before a token was
# read.
#> logits from the state after each token
#- h = rnn_step(x[:, t], h, self.w, self.u, self.b)
#- states.append(h)
states.append(h)
h = rnn_step(x[:, t], h, self.w, self.u, self.b)

# %% recurrent-model mistake loop-over-the-batch: Takes the first axis for the time.
#> ids of shape (2, 4)
#- for t in range(x.shape[1]):
#-     h = rnn_step(x[:, t], h, self.w, self.u, self.b)
for t in range(x.shape[0]):
    h = rnn_step(x[t], h, self.w, self.u, self.b)

# %% recurrent-model mistake state-never-updated: Gives each step the state of the beginning.
#> logits from the state after each token
#- for t in range(x.shape[1]):
#-     h = rnn_step(x[:, t], h, self.w, self.u, self.b)
#-     states.append(h)
for t in range(x.shape[1]):
    states.append(rnn_step(x[:, t], h, self.w, self.u, self.b))
h = states[-1]

# %% recurrent-model mistake first-state-returned: Returns the state after the first token.
#> Return the newest state
#- return self.head(stack(states, axis=1)), h
return self.head(stack(states, axis=1)), states[0]

# %% recurrent-model mistake state-not-returned: Returns the logits only.
#> the model should return two things
#- return self.head(stack(states, axis=1)), h
return self.head(stack(states, axis=1))

# %% witten-bell mistake share-only: Takes only the share after the context, which is 0 for
# unseen tokens.
#> (count + distinct * lower) / (total + distinct)
return np.where(np.asarray(total) > 0, count / np.maximum(total, 1), lower)

# %% witten-bell mistake unseen-context-is-nan: Divides 0 by 0 for a context that never
# occurred.
#> 0 / 0 is nan
with np.errstate(invalid="ignore", divide="ignore"):
    return (count + distinct * lower) / np.asarray(total + distinct)

# %% witten-bell mistake trust-exchanged: Gives shorter contexts the weight of the longer one.
#> (count + distinct * lower) / (total + distinct)
share = np.where(np.asarray(total) > 0, count / np.maximum(total, 1), lower)
weight = total / np.maximum(total + distinct, 1)
return np.where(np.asarray(total) > 0, (1 - weight) * share + weight * lower, lower)

# %% witten-bell mistake distinct-not-in-the-sum: Divides by the total only, so that the sum is
# above 1.
#> (count + distinct * lower) / (total + distinct)
mixed = (count + distinct * lower) / np.maximum(total, 1)
return np.where(np.asarray(total) > 0, mixed, lower)

# %% witten-bell mistake shorter-only-for-zeros: Uses shorter contexts only where the count is
# 0.
#> (count + distinct * lower) / (total + distinct)
share = count / np.maximum(total + distinct, 1)
return np.where(np.asarray(count) > 0, share, lower)

# %% witten-bell mistake half-and-half: Mixes both with equal weight.
#> (count + distinct * lower) / (total + distinct)
return np.where(np.asarray(total) > 0, (count / np.maximum(total, 1) + lower) / 2, lower)

# %% witten-bell mistake unseen-context-is-zero: Returns 0 for a context that never occurred.
#> Where total is 0
mixed = (count + distinct * lower) / np.maximum(total + distinct, 1)
return np.where(np.asarray(total) > 0, mixed, 0.0)

# %% ngram mistake highest-order-only: Uses the longest context only, so that an unseen n-gram
# has the probability 0.
#> Mix in the shorter contexts
#- p[k:] = witten_bell(p[k:], *counts.look_up(ids))
count, total, _ = counts.look_up(ids)
with np.errstate(divide="ignore"):
    p[k:] = count / np.maximum(total, 1)

# %% ngram mistake positions-from-the-front: Takes the first positions instead of the positions
# that have a context.
#> p[k:] are the tokens that have k tokens before them
#- p[k:] = witten_bell(p[k:], *counts.look_up(ids))
n = max(0, len(ids) - k)
p[:n] = witten_bell(p[:n], *counts.look_up(ids))

# %% ngram mistake offset-forgotten: Forgets that the first tokens have no whole context.
#> should have the same length
#- p[k:] = witten_bell(p[k:], *counts.look_up(ids))
p = witten_bell(p, *counts.look_up(ids))

# %% ngram mistake context-from-the-front: Takes the first tokens as the context instead of the
# last ones.
#> the context is the last tokens
#- context = ids[len(ids) - counts.length:]
context = ids[:counts.length]

# %% ngram mistake context-by-negative-index: Takes ids[-0:], which is everything, for the empty
# context.
#> ids[-0:] is all of ids
#- context = ids[len(ids) - counts.length:]
context = ids[-counts.length:]

# %% ngram mistake short-text-ignored: Does not think of a text that is shorter than the
# context.
#> order 2, next([])
#- if counts.length <= len(ids):
#-     context = ids[len(ids) - counts.length:]
if True:
    context = ids[len(ids) - counts.length:]

# %% ngram mistake no-interpolation-in-next: Mixes each context with the uniform distribution
# instead of the shorter context.
#> each mixture is the `lower` of the next
#- p = witten_bell(p, *counts.following(context))
p = witten_bell(np.full(len(p), 1 / len(p)), *counts.following(context))

# %% ngram mistake longest-context-first: Goes from the longest context to the empty one.
#> From the empty context to the longest
#- for counts in self.counts:
#-     if counts.length <= len(ids):
#-         context = ids[len(ids) - counts.length:]
for counts in self.counts[::-1]:
    if counts.length <= len(ids):
        context = ids[len(ids) - counts.length:]

# %% nearest mistake table-normalised-in-place: Divides the caller's table in place.
#> writes into the caller's array
#- unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
unit = weight
unit /= np.linalg.norm(weight, axis=1, keepdims=True)

# %% recurrent-model mistake softmax-of-each-step: Returns probabilities instead of logits.
#> No softmax: the loss takes logits
#- return self.head(stack(states, axis=1)), h
p = self.head(stack(states, axis=1)).exp()
return p / p.sum(axis=-1, keepdims=True), h

# %% sample mistake sample-as-an-array: Returns an array instead of a list.
#> sample_bigram should return a list
#- return drawn
return np.array(drawn)

# %% bigram-counts right: np.add.at
counts = np.zeros((vocab_size, vocab_size), dtype=np.int64)
np.add.at(counts, (ids[:-1], ids[1:]), 1)
return counts

# %% bigram-counts right: bincount of pair numbers
numbers = vocab_size * ids[:-1] + ids[1:]
return np.bincount(numbers, minlength=vocab_size ** 2).reshape(vocab_size, vocab_size)

# %% bigram-counts right: one-hot rows
one_hot = np.eye(vocab_size, dtype=np.float32)[ids]
return (one_hot[:-1].T @ one_hot[1:]).astype(np.int64)

# %% probabilities right: a loop over rows
out = np.zeros(np.shape(counts))
for i, row in enumerate(counts):
    total = sum(row) + smoothing * len(row)
    out[i] = [(n + smoothing) / total for n in row]
return out

# %% probabilities right: transposed
smooth = np.add(counts, smoothing, dtype=np.float64)
return (smooth.T / smooth.sum(axis=-1)).T

# %% sample right: the inverse of the cumulative sum
ids = [start]
while len(ids) == 1 or ids[-1] != stop:
    edges = np.cumsum(P[ids[-1]])
    ids.append(min(int(np.searchsorted(edges, rng.random() * edges[-1], side="right")), len(P) - 1))
return ids[1:-1]

# %% sample right: a recursion
token = rng.choice(np.arange(len(P)), p=P[start])
return [] if token == stop else [int(token)] + sample_bigram(P, int(token), stop, rng)

# %% sample right: a multinomial draw
drawn = []
token = np.flatnonzero(rng.multinomial(1, P[start]))[0]
while token != stop:
    drawn.append(token)
    token = np.flatnonzero(rng.multinomial(1, P[token]))[0]
return drawn

# %% bits right: log2 of e
return float(nats) * math.log2(math.e) / characters

# %% bits right: item of an array
per_character = np.asarray(nats, dtype=np.float64).item() / characters
return per_character / float(np.log(2))

# %% windows right: a loop
x, y = [], []
for i in range(context, len(ids)):
    x.append(ids[i - context:i])
    y.append(ids[i])
return np.array(x, dtype=np.int64).reshape(len(y), context), np.array(y, dtype=np.int64)

# %% windows right: a sliding view
if len(ids) <= context:
    return np.zeros((0, context), np.int64), np.zeros(0, np.int64)
view = np.lib.stride_tricks.sliding_window_view(ids, context + 1)
return view[:, :-1].copy(), view[:, -1].copy()

# %% windows right: columns, shifted
n = max(0, len(ids) - context)
return np.stack([ids[k:k + n] for k in range(context)], axis=1), ids[context:context + n]

# %% name-windows right: lists that grow
x, y = [], []
for name in names:
    past = [end] * context
    for id in [*name, end]:
        x.append(past[-context:])
        y.append(id)
        past.append(id)
return np.array(x), np.array(y)

# %% name-windows right: arrays and zip
padded = [np.concatenate([np.full(context, end), name, [end]]).astype(int) for name in names]
x, y = zip(*(windows(one, context) for one in padded))
return np.vstack(x), np.hstack(y)

# %% embedding-gradient right: np.add.at on a table of zeros
gradient = np.zeros(weight.shape, g.dtype)
np.add.at(gradient, ids, g)
return gradient

# %% embedding-gradient right: a loop over ids
gradient = np.zeros_like(weight, dtype=g.dtype)
for at in np.ndindex(*ids.shape):
    gradient[ids[at]] += g[at]
return gradient

# %% embedding-gradient right: a sum for each token
rows = g.reshape(-1, g.shape[-1])
return np.array([rows[ids.ravel() == id].sum(axis=0) for id in range(len(weight))], g.dtype)

# %% embedding-layer right: standard_normal in float32
#- table = generator(rng).normal(size=(num_embeddings, embedding_dim))
#- self.weight = Variable(table.astype(np.float32))
draw = generator(rng).standard_normal
self.weight = Variable(np.float32(draw((num_embeddings, embedding_dim))))

# %% embedding-layer right: apply, and a Tensor that requires a gradient
#- table = generator(rng).normal(size=(num_embeddings, embedding_dim))
#- self.weight = Variable(table.astype(np.float32))
table = generator(rng).normal(0.0, 1.0, (num_embeddings, embedding_dim))
self.weight = Tensor(table.astype("float32"), requires_grad=True)
#- return embedding(ids, self.weight)
return apply(embedding_forward, self.weight, ids=as_ids(ids))

# %% window-model right: reshape with the batch
#- x = self.embedding(ids).flatten(1)
#- return self.head(self.hidden(x).tanh())
vectors = self.embedding(ids)
batch, context, size = vectors.shape
state = self.hidden(vectors.reshape(batch, context * size))
return self.head(Tensor.tanh(state))

# %% window-model right: one place after the other
#- x = self.embedding(ids).flatten(1)
#- return self.head(self.hidden(x).tanh())
x, size = self.embedding(ids), self.embedding.weight.shape[1]
total = self.hidden.bias
for k in range(x.shape[1]):
    total = total + x[:, k] @ self.hidden.weights[k * size:(k + 1) * size]
return self.head(total.tanh())

# %% nearest right: sorted by a key
def cosine(other):
    return weight[id] @ weight[other] / math.sqrt((weight[id] @ weight[id])
                                                  * (weight[other] @ weight[other]))


others = [other for other in range(len(weight)) if other != id]
return np.array(sorted(others, key=cosine, reverse=True)[:k])

# %% nearest right: itself pushed to the end
lengths = np.sqrt((weight * weight).sum(axis=1))
cosines = (weight @ weight[id]) / lengths
cosines[id] = -np.inf
return np.argsort(cosines)[::-1][:k]

# %% rnn-step right: another order
state = b + h @ u
return Tensor.tanh(state + x @ w)

# %% rnn-step right: by sigmoid
z = x @ w + h @ u + b
return 2 * (2 * z).sigmoid() - 1

# %% recurrent-model right: logits of each step
if h is None:
    h = Tensor(np.zeros((x.shape[0], self.b.shape[0]), np.float32))
logits = []
for t in range(x.shape[1]):
    h = rnn_step(x[:, t], h, self.w, self.u, self.b)
    logits.append(self.head(h))
return stack(logits, 1), h

# %% recurrent-model right: time first, then exchanged
if h is None:
    h = Tensor(np.zeros((x.shape[0], self.b.shape[0]), np.float32))
states = [h]
for step in range(x.shape[1]):
    vectors = self.embedding(np.asarray(ids)[:, step])
    states.append(rnn_step(vectors, states[-1], self.w, self.u, self.b))
return self.head(stack(states[1:]).swapaxes(0, 1)), states[-1]

# %% witten-bell right: by shares
total, distinct = np.asarray(total, float), np.asarray(distinct, float)
safe = np.maximum(total, 1)
weight = total / np.maximum(total + distinct, 1)
return np.where(total > 0, weight * (count / safe) + (1 - weight) * lower, lower)

# %% witten-bell right: a loop over tokens
out = np.array(lower, float)
total, distinct = np.broadcast_to(total, out.shape), np.broadcast_to(distinct, out.shape)
for i in range(len(out)):
    if total[i]:
        out[i] = (count[i] + distinct[i] * lower[i]) / (total[i] + distinct[i])
return out

# %% ngram right: the probabilities of next, one token after the other
#- for counts in self.counts:
#-     k = counts.length
#-     p[k:] = witten_bell(p[k:], *counts.look_up(ids))
for i, id in enumerate(ids):
    p[i] = self.next(ids[:i])[id]

# %% ngram right: a loop over lengths, and break
#- for counts in self.counts:
#-     if counts.length <= len(ids):
#-         context = ids[len(ids) - counts.length:]
#-         p = witten_bell(p, *counts.following(context))
for k in range(self.order):
    if k > len(ids):
        break
    p = witten_bell(p, *self.counts[k].following(ids[-k:] if k else []))

# %% ngram right: stops when a context was never seen
#- k = counts.length
#- p[k:] = witten_bell(p[k:], *counts.look_up(ids))
count, total, distinct = counts.look_up(ids)
start = len(ids) - len(count)
p[start:] = witten_bell(p[start:], count, total, distinct)

# %% windows equivalent: The order of two arguments of max.
#= `0, len(ids) - context` -> `len(ids) - context, 0`

# %% windows equivalent: np.arange of a negative number is also empty.
#= `0` -> `(-1)`

# %% embedding-gradient equivalent: A product of bools and floats has the dtype of the floats.
#= `(ids.reshape(-1, 1) == np.arange(len(weight))).astype(g.dtype)` -> `(ids.reshape(-1, 1) == np.arange(len(weight)))`

# %% embedding-gradient equivalent: NumPy takes any negative length for the one to be computed.
#= `1` -> `2`

# %% nearest equivalent: The order of equal cosines is not part of the contract.
#= `np.argsort(-(unit @ unit[id]), kind="stable")` -> `np.argsort(-(unit @ unit[id]))`

# %% recurrent-model equivalent: A shape of one axis has one length, first and last.
#= `0` -> `(-1)`

# %% witten-bell equivalent: The order of two arguments of maximum.
#= `total + distinct, 1` -> `1, total + distinct`

# %% witten-bell equivalent: A context that occurred has a total and a distinct of at least 1,
# together 2.
#= `1` -> `2`

# %% witten-bell equivalent: 0 / 0 warns and gives nan, and np.where takes `lower` there.
#= `1` -> `0`
