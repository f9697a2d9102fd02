# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% repeated mistake repeated-one-period: Draws one period for the whole batch: positions solve
# the task.
#> each row should draw its own period
#- period = rng.integers(low, high + 1, batch)
period = np.full(batch, rng.integers(low, high + 1))

# %% repeated mistake repeated-high-exclusive: Forgets that rng.integers never draws its upper
# bound.
#> never draws `high`
#- period = rng.integers(low, high + 1, batch)
period = rng.integers(low, max(high, low + 1), batch)

# %% repeated mistake repeated-with-replacement: Draws tokens with replacement.
#> draw them without replacement
#- rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
rows = [np.resize(rng.integers(0, vocab_size, p), length) for p in period]

# %% repeated mistake repeated-same-tokens: Uses the same tokens in all rows.
#> each row should have its own tokens
#- rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
order = rng.permutation(vocab_size)
rows = [np.resize(order[:p], length) for p in period]

# %% repeated mistake repeated-permutation-of-period: Permutes only the first tokens of the
# vocabulary.
#> each token from 0 to 6 should occur
#- rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
rows = [np.resize(rng.permutation(int(p)), length) for p in period]

# %% repeated mistake repeated-not-random: Uses the first tokens in order.
#> each token from 0 to 6 should occur
#- rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
rows = [np.resize(np.arange(p), length) for p in period]

# %% repeated mistake repeated-global-generator: Draws from NumPy's global generator.
#> draw from rng
#- rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
rows = [np.resize(np.random.permutation(vocab_size)[:p], length) for p in period]

# %% repeated mistake repeated-one-too-many: Repeats after one token more than the period.
#> which differs at t
#- rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
rows = [np.resize(rng.permutation(vocab_size)[: p + 1], length) for p in period]

# %% repeated mistake repeated-new-order-each-copy: Shuffles each copy anew.
#> which differs at t
#- rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
rows = []
for p in period:
    tokens = rng.permutation(vocab_size)[:p]
    row = np.concatenate([rng.permutation(tokens) for _ in range(length // p + 1)])
    rows.append(row[:length])

# %% repeated mistake repeated-period-missing: Returns only the ids.
#> repeated returns (ids, period)
#- return np.array(rows), period
return np.array(rows)

# %% repeated mistake repeated-order-of-results: Returns the period first.
#> ids should have shape
#- return np.array(rows), period
return period, np.array(rows)

# %% repeated mistake repeated-two-copies: Repeats once only, and cuts: short rows.
#> for batch=40 and length=30
#- rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
rows = [np.tile(rng.permutation(vocab_size)[:low], 2)[:length] for p in period]

# %% targets mistake targets-one-too-early: Counts the target after the first copy.
#> nothing says that the copy is over
#- known = np.arange(x.shape[1]) >= period[:, None]
known = np.arange(x.shape[1]) >= period[:, None] - 1

# %% targets mistake targets-one-too-late: Leaves out the first known target.
#> so the 7 after it is known
#- known = np.arange(x.shape[1]) >= period[:, None]
known = np.arange(x.shape[1]) > period[:, None]

# %% targets mistake targets-not-shifted: Uses the input as the target.
#> y is the token *after* x
#- return x, np.where(known, following, IGNORED)
return x, np.where(known, x, IGNORED)

# %% targets mistake targets-first-copy: Counts all targets, the unpredictable ones as well.
#> The first copy cannot be predicted
#- return x, np.where(known, following, IGNORED)
return x, following

# %% targets mistake targets-zero-ignored: Marks targets that do not count by 0, which is a
# token.
#> IGNORED is -100
#- return x, np.where(known, following, IGNORED)
return x, np.where(known, following, 0)

# %% targets mistake targets-inverted: Keeps the first copy.
#> The mask is inverted
#- return x, np.where(known, following, IGNORED)
return x, np.where(known, IGNORED, following)

# %% targets mistake targets-not-broadcast: Compares positions and periods without a new axis.
#> period[:, None] broadcasts
#- known = np.arange(x.shape[1]) >= period[:, None]
known = np.arange(x.shape[1]) >= (period if len(period) > 1 else period[:, None])

# %% targets mistake targets-first-period: Uses the period of the first row for all.
#> Every row has its own period
#- known = np.arange(x.shape[1]) >= period[:, None]
known = np.arange(x.shape[1]) >= period[0]

# %% targets mistake targets-in-place: Writes into a view of ids.
#> is a view
x, y = ids[:, :-1].copy(), ids[:, 1:]
y[np.arange(x.shape[1]) < period[:, None]] = IGNORED
out = y.copy()
return x, out

# %% targets mistake targets-full-input: Keeps the last token in x, though nothing follows it.
#> all tokens but the last
#- return x, np.where(known, following, IGNORED)
return ids, np.where(known, following, IGNORED)

# %% hook mistake hook-calls-itself: Reads module.forward inside the wrapper: endless recursion.
#> keep the old one in a variable first
#- return f(forward(x, *others, **options))
return f(module.forward(x, *others, **options))

# %% hook mistake hook-left-behind: Never removes the wrapper.
#> Remove the hook at the end
#- del module.forward
#- if before is not None:
#-     module.forward = before
pass

# %% hook mistake hook-no-finally: Removes the hook only when there was no error.
#> remove the hook in its `finally`
#- try:
#-     yield
#- finally:
#-     del module.forward
#-     if before is not None:
#-         module.forward = before
yield
del module.forward
if before is not None:
    module.forward = before

# %% hook mistake hook-error-swallowed: Catches the error of the block.
#> does not catch an error
#- try:
#-     yield
try:
    yield
except Exception:
    pass

# %% hook mistake hook-method-stored: Stores the bound method instead of deleting the attribute.
#> Delete it
#- del module.forward
#- if before is not None:
#-     module.forward = before
module.forward = forward

# %% hook mistake hook-outer-lost: Deletes the attribute even when there was one before.
#> The inner block removes its own hook only
#- if before is not None:
#-     module.forward = before
pass

# %% hook mistake hook-outer-lost-safely: Removes every hook of the module at the end of the
# inner block.
#> the outer hook should be back
#- del module.forward
#- if before is not None:
#-     module.forward = before
vars(module).pop('forward', None)

# %% hook mistake hook-method-of-the-class: Calls the method of the class, past an outer hook.
#> The inner hook replaced the outer one
#- before, forward = vars(module).get("forward"), module.forward
before, forward = vars(module).get("forward"), type(module).forward.__get__(module)

# %% hook mistake hook-in-the-class: Stores the wrapper in the class: all modules of the class
# have the hook.
#> store the wrapper in the object, not in its class
before = type(module).forward

def wrapper(self, x, *others, **options):
    if is_input:
        return before(self, f(x), *others, **options)
    return f(before(self, x, *others, **options))

type(module).forward = wrapper
try:
    yield
finally:
    type(module).forward = before

# %% hook mistake hook-input-and-result: Applies f to the input and to the result.
#> f changes both
#- return forward(f(x), *others, **options)
return f(forward(f(x), *others, **options))

# %% hook mistake hook-always-result: Ignores is_input.
#> f changes the input and not the result
#- if is_input:
#-     return forward(f(x), *others, **options)
if False:
    return forward(f(x), *others, **options)

# %% hook mistake hook-inverted: Exchanges the two cases.
#> with is_input=False it gets the result
#- if is_input:
#-     return forward(f(x), *others, **options)
if not is_input:
    return forward(f(x), *others, **options)

# %% hook mistake hook-without-forward: Never calls the module.
#> The wrapper returns the result of f(x) alone
#- return f(forward(x, *others, **options))
return f(x)

# %% hook mistake hook-no-return: Calls f and forgets to return its result.
#> is its result returned?
#- return f(forward(x, *others, **options))
f(forward(x, *others, **options))

# %% hook mistake hook-not-installed: Defines the wrapper and does not store it.
#> The hook was not called
forward = module.forward

def wrapper(x, *others, **options):
    return forward(f(x), *others, **options) if is_input else f(forward(x, *others, **options))

yield

# %% hook mistake hook-one-argument: Passes on the first argument only.
#> The wrapper takes x, *others and **options
#- return f(forward(x, *others, **options))
return f(forward(x))

# %% hook mistake hook-no-keywords: Takes no keyword arguments.
#> The wrapper takes x, *others and **options
#- def wrapper(x, *others, **options):
#-     if is_input:
#-         return forward(f(x), *others, **options)
def wrapper(x, *others, options={}):
    if is_input:
        return forward(f(x), *others, **options)

# %% record mistake record-no-copy: Keeps the live array.
#> copy it, np.array(...)
#- seen[name] = np.array(operand(x))
seen[name] = operand(x)

# %% record mistake record-yield-outside: Yields after the block of hooks.
#> Is `yield` inside the block
#- with hooks(model, {name: keep(name) for name in names}):
#-     yield seen
with hooks(model, {name: keep(name) for name in names}):
    pass
yield seen

# %% record mistake record-no-return: Records and returns nothing.
#> The hook has to return what it got
#- return x
pass

# %% record mistake record-late-binding: Makes all hooks in one loop, and they share its
# variable.
#> does each of them have its own name
def store(name, x):
    seen[name] = np.array(operand(x))
    return x

functions = {}
for name in names:
    functions[name] = lambda x: store(name, x)
with hooks(model, functions):
    yield seen

# %% record mistake record-first-call: Keeps the first call.
#> of the latest call
#- seen[name] = np.array(operand(x))
seen.setdefault(name, np.array(operand(x)))

# %% record mistake record-tensor: Records the Tensor.
#> should be an ndarray
#- seen[name] = np.array(operand(x))
seen[name] = x.clone()

# %% record mistake record-detached: Returns a new Tensor, which cuts the graph.
#> no gradient reaches the first layer
#- return x
return Tensor(operand(x))

# %% record mistake record-copy-of-dict: Yields a copy of the dict.
#> does it yield `seen` itself?
#- yield seen
yield dict(seen)

# %% record mistake record-list: Collects all calls in a list.
#> should be an ndarray
#- seen[name] = np.array(operand(x))
seen.setdefault(name, []).append(np.array(operand(x)))

# %% record mistake record-error-swallowed: Catches the error of the block.
#> an error inside the block should leave it
#- yield seen
try:
    yield seen
except ArithmeticError:
    pass

# %% record mistake record-only-known: Leaves out names that do not exist.
#> should raise the KeyError of `hooks`
#- with hooks(model, {name: keep(name) for name in names}):
#-     yield seen
with hooks(model, {name: keep(name) for name in names if name.removesuffix('.input') in dict(model.named_modules())}):
    yield seen

# %% patterns mistake patterns-raw-stream: Passes the stream without its norm to the attention.
#> attention reads the normalized stream
#- names = [f"blocks.{n}.attention.input" for n in range(len(model.blocks))]
names = [f"blocks.{n}.input" for n in range(len(model.blocks))]

# %% patterns mistake patterns-training-mode: Runs the model in training mode.
#> evaluation mode
#- with evaluation_mode(model), record(model, *names) as seen:
#-     model(ids)
with record(model, *names) as seen:
    model(ids)

# %% patterns mistake patterns-first-layer: Uses the input of the first layer for all layers.
#> the weights of layer 1
#- return [block.attention.attention_weights(Tensor(seen[name]))
#-         for block, name in zip(model.blocks, names)]
return [block.attention.attention_weights(Tensor(seen[names[0]]))
        for block, name in zip(model.blocks, names)]

# %% patterns mistake patterns-first-block: Uses the weights of the first block for all layers.
#> the weights of layer 1
#- return [block.attention.attention_weights(Tensor(seen[name]))
#-         for block, name in zip(model.blocks, names)]
return [model.blocks[0].attention.attention_weights(Tensor(seen[name]))
        for block, name in zip(model.blocks, names)]

# %% patterns mistake patterns-eval-left-on: Leaves the model in evaluation mode.
#> in the mode it was in before
#- with evaluation_mode(model), record(model, *names) as seen:
#-     model(ids)
model.eval()
with record(model, *names) as seen:
    model(ids)

# %% patterns mistake patterns-mean-over-heads: Averages over the heads.
#> the weights of layer 0
#- return [block.attention.attention_weights(Tensor(seen[name]))
#-         for block, name in zip(model.blocks, names)]
return [block.attention.attention_weights(Tensor(seen[name])).mean(axis=1)
        for block, name in zip(model.blocks, names)]

# %% previous-token mistake previous-key-query: Reads P as (key, query).
#> query and key exchanged
return np.diagonal(P, 1, 2, 3).mean(axis=(0, 2))

# %% previous-token mistake previous-own-position: Takes the main diagonal.
#> weight of each query on itself
return np.diagonal(P, 0, 2, 3).mean(axis=(0, 2))

# %% previous-token mistake previous-wraps-around: Uses index -1 for the query 0.
#> Query 0 has no previous token
return np.mean([P[:, :, i, i - 1] for i in range(P.shape[2])], axis=(0, 1))

# %% previous-token mistake previous-divides-by-T: Divides by T.
#> leave it out of the mean
return np.diagonal(P, -1, 2, 3).sum(axis=2).mean(axis=0) / P.shape[2]

# %% previous-token mistake previous-one-number: Averages over the heads as well.
#> one score for each head
return np.diagonal(P, -1, 2, 3).mean()

# %% previous-token mistake previous-sum: Adds up instead of averaging over the queries.
#> take the mean
return np.diagonal(P, -1, 2, 3).sum(axis=2).mean(axis=0)

# %% previous-token mistake previous-first-row: Looks at the first row of the batch only.
#> the score of the first row only
return np.diagonal(P, -1, 2, 3)[0].mean(axis=1)

# %% previous-token mistake previous-axes-of-diagonal: Takes the diagonal of the first two axes,
# np.diagonal's default.
#> the score of two heads
return np.diagonal(P, -1).mean(axis=(0, 1))

# %% induction mistake induction-on-the-copy: Measures the weight on the earlier copy itself.
#> weight on the earlier copy itself
#- follows[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]
follows[...] = ids[:, :, None] == ids[:, None, :]
follows &= np.tri(ids.shape[1], k=-1, dtype=bool)

# %% induction mistake induction-all-queries: Takes the mean over all queries.
#> Only queries that have such a key
#- return sums[row, :, query].mean(axis=0)
return sums.mean(axis=(0, 2))

# %% induction mistake induction-key-query: Reads P as (key, query).
#> axes are [row, head, query, key]
#- sums = (P * follows[:, None]).sum(axis=-1)
sums = (P.swapaxes(2, 3) * follows[:, None]).sum(axis=-1)

# %% induction mistake induction-not-causal: Counts keys after the query.
#> keys after the query do not count
#- follows &= np.tri(ids.shape[1], dtype=bool)
# every key

# %% induction mistake induction-strictly-before: Leaves out the key at the query's own
# position.
#> Key j = i counts
#- follows &= np.tri(ids.shape[1], dtype=bool)
follows &= np.tri(ids.shape[1], k=-1, dtype=bool)

# %% induction mistake induction-mean-of-row-means: Takes the mean of each row, and then the
# mean over rows.
#> mean over rows of each row's mean
#- return sums[row, :, query].mean(axis=0)
return np.mean([sums[r, :, query[row == r]].mean(axis=0) for r in set(row)], axis=0)

# %% induction mistake induction-mean-over-keys: Averages over pairs of query and key.
#> add the weights of each query first
follows = np.zeros((len(ids), *P.shape[2:]), bool)
follows[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]
follows &= np.tri(ids.shape[1], dtype=bool)
row, query, key = follows.nonzero()
return P[row, :, query, key].mean(axis=0)

# %% induction mistake induction-latest-only: Finds the latest copy only.
#> Only the latest copy counts
weights = []
for b, row in enumerate(ids):
    for i in range(1, len(row)):
        keys = [j for j in range(1, i + 1) if row[j - 1] == row[i]]
        if keys:
            weights.append(P[b, :, i, keys[-1]])
return np.mean(weights, axis=0)

# %% induction mistake induction-first-only: Finds the first copy only.
#> Only the first copy counts
weights = []
for b, row in enumerate(ids):
    for i in range(1, len(row)):
        keys = [j for j in range(1, i + 1) if row[j - 1] == row[i]]
        if keys:
            weights.append(P[b, :, i, keys[0]])
return np.mean(weights, axis=0)

# %% induction mistake induction-no-head-axis: Multiplies weights and mask without a head axis.
#> P has a head axis in second place
#- sums = (P * follows[:, None]).sum(axis=-1)
sums = (P * follows).sum(axis=-1)

# %% induction mistake induction-mean-of-rows: Averages each row first; a row without repeats
# counts as 0.
#> do not belong to the mean
#- row, query = follows.any(axis=-1).nonzero()
#- return sums[row, :, query].mean(axis=0)
has = follows.any(axis=-1)
counts = np.maximum(has.sum(axis=1), 1)
return ((sums * has[:, None]).sum(axis=2) / counts[:, None]).mean(axis=0)

# %% induction mistake induction-one-number: Averages over the heads as well.
#> one score for each head
#- return sums[row, :, query].mean(axis=0)
return sums[row, :, query].mean()

# %% changed mistake changed-no-tensor: Returns an array instead of a Tensor.
#> the hook has to return Tensor
#- return lambda x: Tensor(f(np.array(operand(x))))
return lambda x: f(np.array(operand(x)))

# %% changed mistake changed-no-copy: Gives the function the live array.
#> Give the function a copy
#- return lambda x: Tensor(f(np.array(operand(x))))
return lambda x: Tensor(f(operand(x)))

# %% changed mistake changed-gives-tensor: Gives the function a Tensor.
#> should get an ndarray
#- return lambda x: Tensor(f(np.array(operand(x))))
return lambda x: f(x)

# %% changed mistake changed-result-thrown-away: Calls the function and returns what came in.
#> Nothing was replaced
#- return lambda x: Tensor(f(np.array(operand(x))))
return lambda x: (f(np.array(operand(x))), x)[1]

# %% changed mistake changed-late-binding: Makes all hooks in one loop, and they share its
# variable.
#> does each of them have its own function
wrapped = {}
for name, f in functions.items():
    wrapped[name] = lambda x: Tensor(f(np.array(operand(x))))
with hooks(model, wrapped):
    yield

# %% changed mistake changed-error-swallowed: Catches the error of the block.
#> an error inside the block should leave it
#- yield
try:
    yield
except ArithmeticError:
    pass

# %% changed mistake changed-only-known: Leaves out names that do not exist.
#> should raise the KeyError of `hooks`
#- with hooks(model, {name: on_array(f) for name, f in functions.items()}):
#-     yield
with hooks(model, {name: on_array(f) for name, f in functions.items() if name in dict(model.named_modules())}):
    yield

# %% changed mistake changed-adds: Adds the function's result to what was there.
#> is multiplied by 100
#- return lambda x: Tensor(f(np.array(operand(x))))
return lambda x: x + Tensor(f(np.array(operand(x))))

# %% ablate mistake ablate-interleaved: Takes every H-th column for a head.
#> next to each other
#- part = z[..., h * size : (h + 1) * size]
part = z[..., h::num_heads]

# %% ablate mistake ablate-mean-over-rows: Averages over rows only: each position keeps its own
# mean.
#> yours is over rows
#- part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
part[...] = part.mean(axis=0) if how == "mean" else 0

# %% ablate mistake ablate-mean-over-positions: Averages over positions only: each row keeps its
# own mean.
#> yours is over positions
#- part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
part[...] = part.mean(axis=1, keepdims=True) if how == "mean" else 0

# %% ablate mistake ablate-one-mean: Uses one mean for all columns.
#> Each column has its own mean
#- part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
part[...] = part.mean() if how == "mean" else 0

# %% ablate mistake ablate-not-in-place: Replaces the name instead of the numbers.
#> Nothing was replaced
#- part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
part = part.mean(axis=(0, 1)) if how == "mean" else 0

# %% ablate mistake ablate-how-inverted: Exchanges the two ways of ablation.
#> the columns become 0
#- part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
part[...] = part.mean(axis=(0, 1)) if how != "mean" else 0

# %% ablate mistake ablate-first-head-only: Returns after the first head.
#> heads [0, 2] of 3
#- part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
return z

# %% ablate mistake ablate-others: Ablates all heads but the given ones.
#> yours ablates the others
#- for h in heads:
#-     part = z[..., h * size : (h + 1) * size]
for h in set(range(num_heads)) - set(heads):
    part = z[..., h * size : (h + 1) * size]

# %% ablate mistake ablate-after-out: Changes the result of the attention, where heads are mixed
# already.
#> the heads are already mixed
#- change = {f"blocks.{layer}.attention.out.input":
#-           lambda z: without_heads(z, [head], losses.shape[1], how)}
change = {f"blocks.{layer}.attention":
          lambda z: without_heads(z, [head], losses.shape[1], how)}

# %% ablate mistake ablate-after-out-layer: Changes the result of attention.out instead of its
# input.
#> the heads are already mixed
#- change = {f"blocks.{layer}.attention.out.input":
#-           lambda z: without_heads(z, [head], losses.shape[1], how)}
change = {f"blocks.{layer}.attention.out":
          lambda z: without_heads(z, [head], losses.shape[1], how)}

# %% ablate mistake ablate-whole-layer: Ablates all heads of the layer.
#> All heads of a layer were ablated
#- change = {f"blocks.{layer}.attention.out.input":
#-           lambda z: without_heads(z, [head], losses.shape[1], how)}
change = {f"blocks.{layer}.attention.out.input":
          lambda z: without_heads(z, range(losses.shape[1]), losses.shape[1], how)}

# %% ablate mistake ablate-how-lost: Does not pass `how` on.
#> `how` does not reach without_heads
#- change = {f"blocks.{layer}.attention.out.input":
#-           lambda z: without_heads(z, [head], losses.shape[1], how)}
change = {f"blocks.{layer}.attention.out.input":
          lambda z: without_heads(z, [head], losses.shape[1])}

# %% ablate mistake ablate-outside-the-block: Computes the loss after the block.
#> No head was ablated
#- with evaluation_mode(model), changed(model, change):
#-     losses[layer, head] = next_token_loss(model, x, y).item()
with evaluation_mode(model), changed(model, change):
    pass
with evaluation_mode(model):
    losses[layer, head] = next_token_loss(model, x, y).item()

# %% ablate mistake ablate-training-mode: Runs the model in training mode.
#> Run it in evaluation mode
#- with evaluation_mode(model), changed(model, change):
#-     losses[layer, head] = next_token_loss(model, x, y).item()
with changed(model, change):
    losses[layer, head] = next_token_loss(model, x, y).item()

# %% ablate mistake ablate-rise: Returns the rise of the loss.
#> return the loss itself
#- with evaluation_mode(model), changed(model, change):
#-     losses[layer, head] = next_token_loss(model, x, y).item()
with evaluation_mode(model), changed(model, change):
    losses[layer, head] = next_token_loss(model, x, y).item()
with evaluation_mode(model):
    losses[layer, head] -= next_token_loss(model, x, y).item()

# %% patch mistake patch-reversed: Puts corrupt vectors into the clean run.
#> yours puts corrupt vectors into the clean run
with record(model, *names) as seen:
    worst = score(model(corrupt).data)
best = score(model(clean).data)
for layer, t in np.ndindex(*patched.shape):
    name = names[layer]

    def put(stream):
        stream[:, t] = seen[name][:, t]
        return stream

    with changed(model, {name: put}):
        patched[layer, t] = score(model(clean).data)
return (patched - best) / (worst - best)

# %% patch mistake patch-denoising-scale: Puts corrupt vectors into the clean run, with 0 for
# corrupt.
#> Those are corrupt vectors in the clean run
#- with record(model, *names) as seen:
#-     best = score(model(clean).data)
#- worst = score(model(corrupt).data)
with record(model, *names) as seen:
    worst = score(model(corrupt).data)
best = score(model(clean).data)
#- patched[layer, t] = score(model(corrupt).data)
patched[layer, t] = score(model(clean).data)

# %% patch mistake patch-one-minus: Scales so that 1 is the corrupt run.
#> 0 is the corrupt run, 1 the clean run
#- return (patched - worst) / (best - worst)
return (best - patched) / (best - worst)

# %% patch mistake patch-not-scaled: Returns the scores.
#> The scores are not scaled
#- return (patched - worst) / (best - worst)
return patched

# %% patch mistake patch-not-divided: Does not divide by the difference of the runs.
#> Divide by clean - corrupt
#- return (patched - worst) / (best - worst)
return patched - worst

# %% patch mistake patch-divided-by-clean: Divides by the clean score.
#> Divide by clean - corrupt, not by clean
#- return (patched - worst) / (best - worst)
return (patched - worst) / best

# %% patch mistake patch-divided-without-subtracting: Divides and forgets to subtract the
# corrupt score.
#> Subtract the corrupt score
#- return (patched - worst) / (best - worst)
return patched / (best - worst)

# %% patch mistake patch-whole-array: Replaces the whole layer.
#> replace one position
#- stream[:, t] = seen[name][:, t]
stream[...] = seen[name]

# %% patch mistake patch-first-row: Patches the row with the number of the position.
#> the patch map of
#- stream[:, t] = seen[name][:, t]
stream[t % len(stream)] = seen[name][t % len(stream)]

# %% patch mistake patch-only-row-0: Patches the first row only.
#> the patch map of
#- stream[:, t] = seen[name][:, t]
stream[0, t] = seen[name][0, t]

# %% patch mistake patch-all-before: Patches all positions up to t.
#> also changes the positions before t
#- stream[:, t] = seen[name][:, t]
stream[:, : t + 1] = seen[name][:, : t + 1]

# %% patch mistake patch-all-after: Patches all positions from t on.
#> also changes the positions after t
#- stream[:, t] = seen[name][:, t]
stream[:, t:] = seen[name][:, t:]

# %% patch mistake patch-seen-overwritten: Keeps recording, so that the clean vectors are
# overwritten by the corrupt run.
#> overwrites the clean vectors
#- with record(model, *names) as seen:
#-     best = score(model(clean).data)
#- worst = score(model(corrupt).data)
with record(model, *names) as seen:
    best = score(model(clean).data)
    worst = score(model(corrupt).data)

# %% patch mistake patch-clean-input: Runs the clean input in the loop.
#> replace one position
#- patched[layer, t] = score(model(corrupt).data)
patched[layer, t] = score(model(clean).data)

# %% patch mistake patch-put-returns-nothing: Changes the array and returns nothing.
#> the patch map of
#- return stream
pass

# %% patch mistake patch-tensor-logits: Gives the score a Tensor.
#> the patch map of
#- worst = score(model(corrupt).data)
worst = score(model(corrupt))

# %% patch mistake patch-default-path: Always patches the result of the block.
#> path='blocks.{}.attention'
#- name = names[layer]
name = f"blocks.{layer}"; seen.setdefault(name, seen[names[layer]])

# %% patch mistake patch-first-layer: Takes the vectors of the first layer for all layers.
#> the patch map of
#- stream[:, t] = seen[name][:, t]
stream[:, t] = seen[names[0]][:, t]

# %% contributions mistake contributions-stream: Records the stream after each block instead of
# what is added.
#> That is the stream after the block
#- return parts | {name: seen[name] for name in names}
blocks = [n.rsplit(".", 1)[0] for n in names]
with evaluation_mode(model), record(model, *blocks) as streams:
    model(ids)
return parts | {name: streams[name.rsplit(".", 1)[0]] for name in names}

# %% contributions mistake contributions-inputs: Records the stream before the block.
#> That is the stream before the block
#- return parts | {name: seen[name] for name in names}
paths = {n: n.rsplit(".", 1)[0] + ".input" for n in names}
with evaluation_mode(model), record(model, *paths.values()) as streams:
    model(ids)
return parts | {name: streams[paths[name]] for name in names}

# %% contributions mistake contributions-no-positions: Leaves the positions out of the sum.
#> The positions are added to the stream as well
#- if model.positions is not None:
#-     rows = model.positions.weight.data[: ids.shape[1]]
if False:
    rows = model.positions.weight.data[: ids.shape[1]]

# %% contributions mistake contributions-positions-recorded: Expects the positions to be called.
#> the names of the contributions
names = ["embedding", "positions"] + [
    f"blocks.{n}.{branch}" for n, block in enumerate(model.blocks)
    for branch in ("attention", "mlp") if hasattr(block, branch)]
with evaluation_mode(model), record(model, *names) as seen:
    model(ids)
return dict(seen)

# %% contributions mistake contributions-always-mlp: Expects an mlp in every block.
#> A block of an AttentionOnly has no mlp
#- names = [f"blocks.{n}.{branch}" for n, block in enumerate(model.blocks)
#-          for branch in ("attention", "mlp") if hasattr(block, branch)]
names = [f"blocks.{n}.{branch}" for n, block in enumerate(model.blocks)
         for branch in ("attention", "mlp")]

# %% contributions mistake contributions-attention-only: Forgets the feed-forward networks.
#> A block of a GPT also has an mlp
#- names = [f"blocks.{n}.{branch}" for n, block in enumerate(model.blocks)
#-          for branch in ("attention", "mlp") if hasattr(block, branch)]
names = [f"blocks.{n}.{branch}" for n, block in enumerate(model.blocks)
         for branch in ("attention",) if hasattr(block, branch)]

# %% contributions mistake contributions-all-positions: Takes all rows of the positions, not the
# first T.
#> contributions of a
#- rows = model.positions.weight.data[: ids.shape[1]]
rows = model.positions.weight.data

# %% contributions mistake contributions-training-mode: Runs the model in training mode.
#> evaluation mode
#- with evaluation_mode(model), record(model, "embedding", *names) as seen:
#-     model(ids)
with record(model, "embedding", *names) as seen:
    model(ids)

# %% contributions mistake contributions-positions-not-broadcast: Gives the positions without an
# axis for the batch.
#> the contribution 'positions' should have shape
#- parts["positions"] = np.broadcast_to(rows, parts["embedding"].shape)
parts["positions"] = rows

# %% contributions mistake contributions-other-order: Lists all attentions first.
#> The order is the order of the forward pass
#- names = [f"blocks.{n}.{branch}" for n, block in enumerate(model.blocks)
#-          for branch in ("attention", "mlp") if hasattr(block, branch)]
names = [f"blocks.{n}.{branch}" for branch in ("attention", "mlp")
         for n, block in enumerate(model.blocks) if hasattr(block, branch)]

# %% contributions mistake contributions-assumes-positions: Assumes that every model has learned
# positions.
#> With rotary=True, model.positions is None
#- if model.positions is not None:
#-     rows = model.positions.weight.data[: ids.shape[1]]
if True:
    rows = model.positions.weight.data[: ids.shape[1]]

# %% logit-lens mistake lens-no-norm: Forgets the last norm.
#> The last norm is missing
#- x = model.norm(Tensor(np.concatenate([seen[name] for name in names])))
x = Tensor(np.concatenate([seen[name] for name in names]))

# %% logit-lens mistake lens-embedding-only: Uses the embedding without positions as the first
# stream.
#> with the positions
#- names = ["blocks.0.input"] + [f"blocks.{n}" for n in range(len(model.blocks))]
names = ["embedding"] + [f"blocks.{n}" for n in range(len(model.blocks))]

# %% logit-lens mistake lens-without-start: Leaves out the stream before the first block.
#> The input of the first block is missing
#- names = ["blocks.0.input"] + [f"blocks.{n}" for n in range(len(model.blocks))]
names = [f"blocks.{n}" for n in range(len(model.blocks))]

# %% logit-lens mistake lens-inputs-only: Records the inputs of the blocks, so the last result
# is missing.
#> The result of the last block is missing
#- names = ["blocks.0.input"] + [f"blocks.{n}" for n in range(len(model.blocks))]
names = [f"blocks.{n}.input" for n in range(len(model.blocks))]

# %% logit-lens mistake lens-always-head: Calls model.head, which is None when tied.
#> With tied weights, model.head is None
#- logits = x @ model.embedding.weight.T if model.head is None else model.head(x)
logits = model.head(x)

# %% logit-lens mistake lens-always-tied: Always uses the embedding as the output layer.
#> it is model.head
#- logits = x @ model.embedding.weight.T if model.head is None else model.head(x)
logits = x @ model.embedding.weight.T

# %% logit-lens mistake lens-probabilities: Returns probabilities.
#> Return logits, not probabilities
#- return logits.data
powers = np.exp(logits.data)
return powers / powers.sum(axis=-1, keepdims=True)

# %% logit-lens mistake lens-batch-axis: Stacks the streams, and keeps the axis of the batch.
#> Remove the axis of the batch
#- x = model.norm(Tensor(np.concatenate([seen[name] for name in names])))
x = model.norm(Tensor(np.stack([seen[name] for name in names])))

# %% logit-lens mistake lens-training-mode: Runs the model in training mode.
#> evaluation mode
#- with evaluation_mode(model), record(model, *names) as seen:
#-     model(ids)
with record(model, *names) as seen:
    model(ids)

# %% logit-lens mistake lens-norm-of-block: Uses the norm of the first block.
#> the logit lens of
#- x = model.norm(Tensor(np.concatenate([seen[name] for name in names])))
x = model.blocks[0].norm1(Tensor(np.concatenate([seen[name] for name in names])))

# %% probe mistake probe-on-training-rows: Measures the probe on the vectors it was fitted on.
#> the accuracy on the vectors that were fitted
#- return float(((b @ weights > 0) == test_labels).mean())
return float(((a @ weights > 0) == labels).mean())

# %% probe mistake probe-fitted-on-test: Fits the probe on the test vectors.
#> fitted on the test vectors
a = np.hstack([test, np.ones((len(test), 1))])
weights = np.linalg.lstsq(a, 2.0 * test_labels - 1, rcond=None)[0]
return float(((a @ weights > 0) == test_labels).mean())

# %% probe mistake probe-no-bias: Forgets the bias.
#> so that the probe has a bias
weights = np.linalg.lstsq(train, 2.0 * labels - 1, rcond=None)[0]
return float(((test @ weights > 0) == test_labels).mean())

# %% probe mistake probe-targets-0-1: Fits 1 and 0, and cuts at 0.
#> yours are 1 and 0
#- weights = np.linalg.lstsq(a, 2.0 * labels - 1, rcond=None)[0]
weights = np.linalg.lstsq(a, 1.0 * labels, rcond=None)[0]

# %% probe mistake probe-errors: Returns the share of errors.
#> the share of wrong answers
#- return float(((b @ weights > 0) == test_labels).mean())
return float(((b @ weights > 0) != test_labels).mean())

# %% probe mistake probe-bools-subtracted: Multiplies and subtracts bools as they are.
#> works for bools as well
#- weights = np.linalg.lstsq(a, 2.0 * labels - 1, rcond=None)[0]
weights = np.linalg.lstsq(a, labels - (~labels if labels.dtype == bool else 1 - labels), rcond=None)[0]

# %% probe mistake probe-sign-inverted: Predicts True where the result is negative.
#> the share of wrong answers
#- return float(((b @ weights > 0) == test_labels).mean())
return float(((b @ weights < 0) == test_labels).mean())

# %% probe mistake probe-mean-prediction: Returns the share of True predictions.
#> the accuracy on 40 test vectors
#- return float(((b @ weights > 0) == test_labels).mean())
return float((b @ weights > 0).mean())

# %% control mistake control-shuffled-only: Shuffles the labels, groups or not.
#> a random label for each group should be learned
#- if groups is None:
#-     control = rng.permutation(labels), rng.permutation(test_labels)
if True:
    control = rng.permutation(labels), rng.permutation(test_labels)

# %% control mistake control-label-per-row: Draws a random label for each vector.
#> a random label for each group should be learned
#- control = table[groups[0]], table[groups[1]]
control = rng.integers(0, 2, len(labels)), rng.integers(0, 2, len(test_labels))

# %% control mistake control-two-tables: Draws other labels for the groups of the test part.
#> the same in train and test
#- control = table[groups[0]], table[groups[1]]
other = rng.integers(0, 2, len(table)); control = table[groups[0]], other[groups[1]]

# %% control mistake control-table-too-short: Makes a table for the groups of the training part
# only.
#> The table needs a label for the largest group of both parts
#- table = rng.integers(0, 2, np.concatenate(groups).max() + 1)
table = rng.integers(0, 2, groups[0].max() + 1)

# %% control mistake control-shuffled-in-place: Shuffles the caller's labels in place.
#> shuffled in place
#- control = rng.permutation(labels), rng.permutation(test_labels)
rng.shuffle(labels); rng.shuffle(test_labels); control = labels, test_labels

# %% control mistake control-all-ones: Draws labels with an upper bound of 1: all are 0.
#> each group gets a random label
#- table = rng.integers(0, 2, np.concatenate(groups).max() + 1)
table = rng.integers(0, 1, np.concatenate(groups).max() + 1)

# %% control mistake control-train-shuffled-only: Shuffles the training labels, but measures on
# the true ones of the same order.
#> the accuracy
#- accuracy = probe_accuracy(train, labels, test, test_labels)
accuracy = probe_accuracy(train, rng.permutation(labels), test, test_labels)

# %% control mistake control-not-shuffled: Uses the real labels as the control.
#> Are the labels shuffled
#- control = rng.permutation(labels), rng.permutation(test_labels)
control = labels, test_labels

# %% control mistake control-new-labels: Draws new labels instead of shuffling: the base rate is
# lost.
#> keep the labels, change their order
#- control = rng.permutation(labels), rng.permutation(test_labels)
control = rng.integers(0, 2, len(labels)), rng.integers(0, 2, len(test_labels))

# %% control mistake control-one-number: Returns the difference of the two.
#> probe returns two floats
#- return accuracy, probe_accuracy(train, control[0], test, control[1])
return [accuracy - probe_accuracy(train, control[0], test, control[1])]

# %% control mistake control-seed-fixed: Ignores rng.
#> drawn from rng
#- table = rng.integers(0, 2, np.concatenate(groups).max() + 1)
table = np.random.default_rng(0).integers(0, 2, np.concatenate(groups).max() + 1)

# %% superposition mistake superposition-sparsity-inverted: Takes the sparsity for the
# probability of being active.
#> the probability of 0, not of being active
#- active = rng.random((batch, features)) >= sparsity
active = rng.random((batch, features)) < sparsity

# %% superposition mistake superposition-thresholded: Uses one random number for both: active
# features are large.
#> Are the zeros drawn from other random numbers
#- active = rng.random((batch, features)) >= sparsity
#- return (active * rng.random((batch, features))).astype(np.float32)
x = rng.random((batch, features))
return np.where(x >= sparsity, x, 0).astype(np.float32)

# %% superposition mistake superposition-rows-active: Decides for a whole row whether it is
# active.
#> draw for each number, not for each row
#- active = rng.random((batch, features)) >= sparsity
active = rng.random((batch, 1)) >= sparsity

# %% superposition mistake superposition-columns-active: Decides for a whole feature whether it
# is active.
#> should be 0, yours has
#- active = rng.random((batch, features)) >= sparsity
active = rng.random((1, features)) >= sparsity

# %% superposition mistake superposition-float64: Returns float64.
#> the features should be float32
#- return (active * rng.random((batch, features))).astype(np.float32)
return (active * rng.random((batch, features)))

# %% superposition mistake superposition-normal: Draws normal numbers.
#> features are from 0 to 1
#- return (active * rng.random((batch, features))).astype(np.float32)
return (active * rng.normal(size=(batch, features))).astype(np.float32)

# %% superposition mistake superposition-ones: Makes active features 1.
#> uniform between 0 and 1
#- return (active * rng.random((batch, features))).astype(np.float32)
return (active * 1.0).astype(np.float32)

# %% superposition mistake superposition-global-generator: Draws from NumPy's global generator.
#> draw from rng
#- return (active * rng.random((batch, features))).astype(np.float32)
return (active * np.random.random((batch, features))).astype(np.float32)

# %% superposition mistake superposition-no-relu: Forgets the relu.
#> The relu is missing
#- return ((x @ w) @ w.T + b).relu()
return ((x @ w) @ w.T + b)

# %% superposition mistake superposition-no-bias: Forgets the bias.
#> The bias is missing
#- return ((x @ w) @ w.T + b).relu()
return ((x @ w) @ w.T).relu()

# %% superposition mistake superposition-bias-outside: Adds the bias after the relu.
#> The bias belongs inside the relu
#- return ((x @ w) @ w.T + b).relu()
return ((x @ w) @ w.T).relu() + b

# %% superposition mistake superposition-not-transposed: Multiplies with w twice.
#> w transposed is (d, n)
#- return ((x @ w) @ w.T + b).relu()
return ((x @ w) @ w + b).relu()

# %% superposition mistake superposition-relu-twice: Also applies the relu to the compressed
# numbers.
#> There is no relu between the two products
#- return ((x @ w) @ w.T + b).relu()
return ((x @ w).relu() @ w.T + b).relu()

# %% record mistake record-data-copied: Takes x.data of an input that is an ndarray.
#> operand(x) is the array of both
#- seen[name] = np.array(operand(x))
seen[name] = x.data.copy()

# %% changed mistake changed-data-copied: Takes x.data of an input that is an ndarray.
#> operand(x) is the array of both
#- return lambda x: Tensor(f(np.array(operand(x))))
return lambda x: Tensor(f(x.data.copy()))

# %% induction mistake induction-no-shift: Forgets the shift: marks keys with the query's token.
#> the query itself included
#- follows[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]
follows[:] = ids[:, :, None] == ids[:, None, :]

# %% induction mistake induction-wrong-side: Shifts to the wrong side: marks the token before a
# copy.
#> keys whose *next* token
#- follows[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]
follows[:, :, :-1] = ids[:, :, None] == ids[:, None, 1:]

# %% superposition mistake superposition-not-recorded: Computes with w.data and b.data, so
# nothing is recorded.
#> not with w.data
#- return ((x @ w) @ w.T + b).relu()
return Tensor(np.maximum(operand(x) @ w.data @ w.data.T + b.data, 0))

# %% superposition mistake superposition-bias-not-recorded: Adds b.data, so the bias is never
# trained.
#> no gradient reaches b
#- return ((x @ w) @ w.T + b).relu()
return ((x @ w) @ w.T + Tensor(b.data)).relu()

# %% control mistake control-only-train-labels: Without groups, shuffles the labels of the
# training part only.
#> shuffle the labels of both parts
#- control = rng.permutation(labels), rng.permutation(test_labels)
control = rng.permutation(labels), test_labels

# %% control mistake control-only-test-labels: Without groups, shuffles the labels of the test
# part only.
#> shuffle the labels of both parts
#- control = rng.permutation(labels), rng.permutation(test_labels)
control = labels, rng.permutation(test_labels)

# %% control mistake control-unseeded: Draws the labels of the groups from a new generator.
#> draw from rng
#- table = rng.integers(0, 2, np.concatenate(groups).max() + 1)
table = np.random.default_rng().integers(0, 2, np.concatenate(groups).max() + 1)

# %% probe mistake probe-sign-compared: Compares np.sign, which is 1 or -1, with labels 0 and 1.
#> compare `> 0` with the labels
#- return float(((b @ weights > 0) == test_labels).mean())
return float((np.sign(b @ weights) == test_labels).mean())

# %% hook mistake hook-forward-restored: Always stores the old forward, also after an error.
#> Delete it. The method
#- del module.forward
#- if before is not None:
#-     module.forward = before
module.forward = before or forward

# %% hook mistake hook-without-yield: Forgets the yield.
#> a context manager needs `yield`
#- try:
#-     yield
#- finally:
#-     del module.forward
#-     if before is not None:
#-         module.forward = before
pass

# %% patch mistake patch-function-returns-nothing: The function for changed returns nothing.
#> has to return the array
#- return stream
pass

# %% patch mistake patch-ratio: Divides the patched score by the clean one.
#> That is patched / clean
#- return (patched - worst) / (best - worst)
return patched / best

# %% ablate mistake ablate-first-head-of-list: Ablates only the first head of the list.
#> Only the first of the heads
#- for h in heads:
#-     part = z[..., h * size : (h + 1) * size]
for h in heads[:1]:
    part = z[..., h * size : (h + 1) * size]

# %% previous-token mistake previous-score-per-row: Averages over the queries only: a score for
# each row.
#> not for each row
return np.diagonal(P, -1, 2, 3).mean(axis=2)

# %% record mistake record-yields-nothing: Yields nothing.
#> `yield seen` gives
#- yield seen
yield

# %% repeated right: a loop with rng.choice without replacement
ids, period = np.zeros((batch, length), int), np.zeros(batch, int)
for b in range(batch):
    period[b] = rng.integers(low, high, endpoint=True)
    tokens = rng.choice(vocab_size, period[b], replace=False)
    for t in range(length):
        ids[b, t] = tokens[t % period[b]]
return ids, period

# %% repeated right: ranks of random numbers, and an index
period = low + rng.integers(0, high - low + 1, batch)
order = rng.random((batch, vocab_size)).argsort(axis=1)
at = np.arange(length) % period[:, None]
return np.take_along_axis(order, at, axis=1), period

# %% targets right: a copy and a mask
x, y = ids[:, :-1], ids[:, 1:].copy()
y[np.arange(y.shape[1])[None] < period[:, None]] = IGNORED
return x, y

# %% targets right: a loop over the rows
y = np.full((len(ids), ids.shape[1] - 1), IGNORED)
for b, p in enumerate(period):
    y[b, p:] = ids[b, p + 1 :]
return ids[:, :-1].copy(), y

# %% hook right: restores the object's dict
old = dict(vars(module))
inner = module.forward

def run(x, *args, **kwargs):
    out = inner(f(x) if is_input else x, *args, **kwargs)
    return out if is_input else f(out)

object.__setattr__(module, "forward", run)
try:
    yield module
finally:
    vars(module).pop("forward")
    if "forward" in old:
        vars(module)["forward"] = old["forward"]

# %% hook right: an ExitStack with callbacks
had, inner = "forward" in vars(module), module.forward
if is_input:
    def run(x, *args, **kwargs):
        return inner(f(x), *args, **kwargs)
else:
    def run(*args, **kwargs):
        return f(inner(*args, **kwargs))
with contextlib.ExitStack() as stack:
    if had:
        stack.callback(setattr, module, "forward", inner)
    else:
        stack.callback(delattr, module, "forward")
    module.forward = run
    yield

# %% record right: default arguments instead of a closure
functions = {}
for name in names:
    def f(x, name=name):
        seen[name] = operand(x).copy()
        return x
    functions[name] = f
with hooks(model, functions):
    yield seen

# %% record right: one block for each name
with contextlib.ExitStack() as stack:
    for name in names:
        def keep(x, name=name):
            seen.update({name: np.array(x.data if isinstance(x, Tensor) else x)})
            return x
        stack.enter_context(hooks(model, {name: keep}))
    yield seen

# %% patterns right: the norm applied to the recorded stream
with evaluation_mode(model):
    with record(model, *[f"blocks.{n}.input" for n in range(len(model.blocks))]) as seen:
        model(ids)
    found = []
    for n, block in enumerate(model.blocks):
        x = block.norm1(Tensor(seen[f"blocks.{n}.input"]))
        found.append(block.attention.attention_weights(x))
return found

# %% patterns right: the result of norm1
out = []
with evaluation_mode(model):
    for n, block in enumerate(model.blocks):
        with record(model, f"blocks.{n}.norm1") as seen:
            model(ids)
        (x,) = seen.values()
        out += [np.asarray(block.attention.attention_weights(Tensor(x)))]
return out

# %% patterns right: arrays, which attention_weights also takes
#- return [block.attention.attention_weights(Tensor(seen[name]))
#-         for block, name in zip(model.blocks, names)]
return [block.attention.attention_weights(seen[name])
        for block, name in zip(model.blocks, names)]

# %% previous-token right: index arrays
i = np.arange(1, P.shape[-1])
return P[:, :, i, i - 1].mean(axis=2).mean(axis=0)

# %% previous-token right: a mask
mask = np.eye(P.shape[-1], k=-1)
return (P * mask).sum(axis=(0, 2, 3)) / (len(P) * mask.sum())

# %% previous-token right: einsum without the first query
return np.einsum("bhii->h", P[:, :, 1:, :-1]) / (P.shape[0] * (P.shape[2] - 1))

# %% induction right: loops
sums = []
for b in range(len(ids)):
    for i in range(ids.shape[1]):
        keys = [j for j in range(1, i + 1) if ids[b, j - 1] == ids[b, i]]
        if keys:
            sums.append(P[b][:, i, keys].sum(axis=1))
return np.mean(sums, axis=0)

# %% induction right: padded ids and einsum
before = np.pad(ids[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
mask = (before[:, None, :] == ids[:, :, None]) & (np.arange(ids.shape[1])[:, None]
                                                  >= np.arange(ids.shape[1]))
return np.einsum("bhqk,bqk->h", P, mask.astype(float)) / mask.any(axis=2).sum()

# %% changed right: default arguments instead of a closure, in changed
wrapped = {}
for name, f in functions.items():
    wrapped[name] = lambda x, f=f: Tensor(f(operand(x).copy()))
with hooks(model, wrapped):
    yield

# %% changed right: one block for each name, in changed
def wrap(f):
    def g(x):
        return Tensor(np.asarray(f(np.copy(x.data))))
    return g

with contextlib.ExitStack() as stack:
    for name in functions:
        stack.enter_context(hooks(model, {name: wrap(functions[name])}))
    yield

# %% ablate right: a reshaped array
#- size = z.shape[-1] // num_heads
#- for h in heads:
#-     part = z[..., h * size : (h + 1) * size]
#-     part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
#- return z
split = np.array(z).reshape(*z.shape[:2], num_heads, -1)
for h in heads:
    split[:, :, h] = split[:, :, h].mean(axis=0).mean(axis=0) if how == "mean" else 0.0
return split.reshape(z.shape)

# %% ablate right: np.where with a mask of columns
#- size = z.shape[-1] // num_heads
#- for h in heads:
#-     part = z[..., h * size : (h + 1) * size]
#-     part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
#- return z
owner = np.repeat(np.arange(num_heads), z.shape[2] // num_heads)
other = z.mean(axis=(0, 1)) if how == "mean" else 0 * z[0, 0]
return np.where(np.isin(owner, list(heads)), other, z)

# %% ablate right: a function instead of a lambda, and one block in the other
#- change = {f"blocks.{layer}.attention.out.input":
#-           lambda z: without_heads(z, [head], losses.shape[1], how)}
#- with evaluation_mode(model), changed(model, change):
#-     losses[layer, head] = next_token_loss(model, x, y).item()
def f(z):
    return without_heads(z, [head], model.blocks[layer].attention.num_heads, how=how)
with changed(model, {"blocks.%d.attention.out.input" % layer: f}):
    with evaluation_mode(model):
        loss = next_token_loss(model, x, y)
losses[layer, head] = float(loss.data)

# %% patch right: np.where instead of writing
with record(model, *names) as seen:
    clean_score = score(model(clean).data)
corrupt_score = score(model(corrupt).data)
for layer, name in enumerate(names):
    for t in range(clean.shape[1]):
        here = (np.arange(clean.shape[1]) == t)[:, None]
        change = {name: lambda a, here=here, name=name: np.where(here, seen[name], a)}
        with changed(model, change):
            patched[layer, t] = score(model(corrupt).data)
patched -= corrupt_score
patched /= clean_score - corrupt_score
return patched

# %% patch right: one clean run for each layer
low, high = score(model(corrupt).data), score(model(clean).data)
for layer, name in enumerate(names):
    with record(model, name) as seen:
        model(clean)
    for t in range(clean.shape[1]):
        def put(stream):
            out = stream.copy()
            out[:, t, :] = seen[name][:, t, :]
            return out
        with changed(model, {name: put}):
            patched[layer, t] = (score(model(corrupt).data) - low) / (high - low)
return patched

# %% contributions right: a loop over the blocks
parts, T = {}, ids.shape[1]
with evaluation_mode(model):
    parts["embedding"] = np.array(model.embedding(ids).data)
    if model.positions is not None:
        parts["positions"] = np.stack([model.positions.weight.data[:T]] * len(ids))
    for n, block in enumerate(model.blocks):
        for branch in ["attention"] + ["mlp"] * hasattr(block, "mlp"):
            with record(model, f"blocks.{n}.{branch}") as seen:
                model(ids)
            parts.update(seen)
return parts

# %% contributions right: positions as the difference of two recordings
names = [f"blocks.{n}.attention" for n in range(len(model.blocks))]
if hasattr(model.blocks[0], "mlp"):
    names = [x for n in names for x in (n, n.replace("attention", "mlp"))]
with evaluation_mode(model), record(model, "embedding", "blocks.0.input", *names) as seen:
    model(ids)
parts = {"embedding": seen["embedding"]}
if model.positions is not None:
    parts["positions"] = seen["blocks.0.input"] - seen["embedding"]
for name in names:
    parts[name] = seen[name]
return parts

# %% logit-lens right: one stream at a time
L = len(model.blocks)
names = [f"blocks.{n}.input" for n in range(L)] + [f"blocks.{L - 1}"]
rows = []
with evaluation_mode(model):
    with record(model, *names) as seen:
        model(ids)
    for name in names:
        x = model.norm(Tensor(seen[name]))
        out = model.head(x) if model.head is not None else x @ model.embedding.weight.T
        rows.append(out.data[0])
return np.array(rows)

# %% logit-lens right: sums of contributions
parts, stream, rows = contributions(model, ids), 0, []
for name, part in parts.items():
    if name.endswith("attention"):
        rows.append(stream)
    stream = stream + part
rows.append(stream)
with evaluation_mode(model):
    x = model.norm(Tensor(np.concatenate(rows).astype("float32")))
    if model.head is None:
        return np.array((x @ model.embedding.weight.T).data)
    return np.array(model.head(x).data)

# %% probe right: the pseudoinverse
def with_bias(a):
    return np.column_stack([np.ones(len(a)), a])

target = np.where(np.asarray(labels, bool), 1.0, -1.0)
w = np.linalg.pinv(with_bias(train)) @ target
return np.mean((with_bias(test) @ w > 0) == np.asarray(test_labels, bool))

# %% probe right: centered vectors instead of a column of ones
target = 2 * np.asarray(labels, float) - 1
mean, middle = train.mean(axis=0), target.mean()
w = np.linalg.lstsq(train - mean, target - middle, rcond=None)[0]
right = [(x @ w + middle > 0) == bool(y) for x, y in zip(test - mean, test_labels)]
return sum(right) / len(right)

# %% control right: a dict of labels
if groups is None:
    first = labels[rng.permutation(len(labels))]
    second = test_labels[rng.permutation(len(test_labels))]
else:
    names = sorted(set(groups[0].tolist()) | set(groups[1].tolist()))
    label = {name: int(rng.integers(0, 2)) for name in names}
    first = np.array([label[g] for g in groups[0].tolist()])
    second = np.array([label[g] for g in groups[1].tolist()])
return accuracy, probe_accuracy(train, first, test, second)

# %% control right: random bools, one array of all groups
if groups is not None:
    both = np.concatenate(groups)
    table = rng.random(both.max() + 1) < 0.5
    a, b = (table[g] for g in groups)
else:
    a, b = np.array(labels), np.array(test_labels)
    rng.shuffle(a)
    rng.shuffle(b)
return accuracy, probe_accuracy(train, a, test, b)

# %% superposition right: np.where and uniform
#- active = rng.random((batch, features)) >= sparsity
#- return (active * rng.random((batch, features))).astype(np.float32)
values = rng.uniform(0, 1, size=(batch, features))
zero = rng.uniform(size=values.shape) < sparsity
return np.where(zero, 0, values).astype("float32")

# %% superposition right: the square matrix first
#- return ((x @ w) @ w.T + b).relu()
return (Tensor(operand(x)) @ (w @ w.swapaxes(0, 1)) + b).maximum(0)

# %% probe equivalent: A result of least squares is hardly ever exactly 0.
#= `>` -> `>=`

# %% probe equivalent: The default of rcond is the same value in NumPy 2; NumPy 1 also warns.
#= `np.linalg.lstsq(a, 2.0 * labels - 1, rcond=None)` -> `np.linalg.lstsq(a, 2.0 * labels - 1)`

# %% control equivalent: The table has one label more, which is never looked up.
#= `1` -> `2`

# %% superposition equivalent: A random number is hardly ever exactly the sparsity.
#= `>=` -> `>`
