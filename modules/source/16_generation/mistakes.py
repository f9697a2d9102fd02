# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% sample mistake one-number-for-all-rows: Draws one random number for all rows.
#> draw a random number for each row
#- u = rng.random((len(p), 1)) * ends[:, -1:]  # rounding: the last end is not exactly 1
u = rng.random() * ends[:, -1:]  # rounding: the last end is not exactly 1

# %% sample mistake argmax-is-no-sampling: Takes the most probable token and calls it sampling.
#> all 20,000 rows have the same token
return wrap(p.argmax(axis=-1))

# %% sample mistake a-generator-in-each-call: Makes a new generator with a fixed seed in each
# call.
#> do not make a new generator in each call
#- u = rng.random((len(p), 1)) * ends[:, -1:]  # rounding: the last end is not exactly 1
u = np.random.default_rng(0).random((len(p), 1)) * ends[:, -1:]  # rounding: the last end is not exactly 1

# %% sample mistake uniform-tokens: Draws each token with the same probability.
#> only the tokens 2, 0 and 3 are possible
return wrap(rng.integers(0, p.shape[-1], len(p)))

# %% sample mistake numpys-global-generator: Draws from NumPy's global generator.
#> draw from `rng`
#- u = rng.random((len(p), 1)) * ends[:, -1:]  # rounding: the last end is not exactly 1
u = np.random.rand(len(p), 1) * ends[:, -1:]  # rounding: the last end is not exactly 1

# %% sample mistake one-token-too-far: Also counts the end above u.
#> only the tokens 2, 0 and 3 are possible
#- return wrap((ends <= u).sum(axis=1))
return wrap(np.minimum((ends <= u).sum(axis=1) + 1, p.shape[-1] - 1))

# %% sample mistake a-column-of-tokens: Returns the tokens as a column.
#> one token for each row, shape (3,)
#- return wrap((ends <= u).sum(axis=1))
return wrap((ends <= u).sum(axis=1, keepdims=True))

# %% temperature mistake multiplied-by-temperature: Multiplies by the temperature.
#> divide by t, do not multiply
#- return logits / t
return logits * t

# %% temperature mistake temperature-twice: Applies the temperature twice.
#> t was applied twice
#- return logits / t
return logits / t / t

# %% temperature mistake temperature-0-divides: Divides by a temperature of 0.
#> is kept, of equal ones the first
#- if t > 0:
#-     return logits / t
if t >= 0:
    with np.errstate(all="ignore"):
        return wrap(np.nan_to_num(logits.data / np.float32(t), nan=0.0, posinf=1e30, neginf=-1e30))

# %% temperature mistake temperature-0-is-tiny: Takes a tiny number for the temperature 0, so
# that equal logits stay equal.
#> is kept, of equal ones the first
return logits / max(t, 1e-6)

# %% temperature mistake temperature-0-keeps-ties: Keeps all of the equal largest logits at
# temperature 0.
#> of equal ones the first
#- largest = np.arange(x.shape[-1]) == x.argmax(axis=-1, keepdims=True)
largest = x == x.max(axis=-1, keepdims=True)

# %% temperature mistake temperature-of-the-batch: Looks for the largest logit of the whole
# batch.
#> the largest logit of each row
#- largest = np.arange(x.shape[-1]) == x.argmax(axis=-1, keepdims=True)
largest = np.arange(x.shape[-1]) == np.unravel_index(x.argmax(), x.shape)[-1]

# %% temperature mistake temperature-returns-probabilities: Returns probabilities.
#> return logits, not probabilities
#- return logits / t
return softmax(logits / t)

# %% top-k mistake top-k-by-threshold: Compares with the k-th largest logit, so that equal ones
# are all kept.
#> keeps every logit equal to it
x = logits.data
limit = np.sort(x, axis=-1)[..., -min(k, x.shape[-1])][..., None]
return wrap(np.where(x >= limit, x, -np.inf).astype(x.dtype))

# %% top-k mistake removed-logits-are-0: Replaces removed logits by 0.
#> a logit of 0 would still get a probability
#- np.put_along_axis(out, order[..., k:], -np.inf, axis=-1)
np.put_along_axis(out, order[..., k:], 0.0, axis=-1)

# %% top-k mistake the-k-smallest: Sorts in ascending order and keeps the smallest.
#> In each row the k largest are kept
#- order = np.argsort(-logits.data)
order = np.argsort(logits.data)

# %% top-k mistake top-k-removes-k: Removes the k largest instead of the others.
#> In each row the k largest are kept
#- np.put_along_axis(out, order[..., k:], -np.inf, axis=-1)
np.put_along_axis(out, order[..., :k], -np.inf, axis=-1)

# %% top-k mistake top-k-in-place: Writes into the logits that it was given.
#> top_k changes its argument logits
#- out = logits.data.copy()
out = logits.data

# %% top-k mistake top-k-of-probabilities: Returns probabilities with 0 for the removed tokens.
#> the others become -inf
p = softmax(logits).data
order = np.argsort(-p, axis=-1, kind="stable")
np.put_along_axis(p, order[..., k:], 0.0, axis=-1)
return wrap(p)

# %% top-p mistake crossing-token-dropped: Keeps tokens while the sum is at most p, without the
# token that crosses it.
#> contains the token that crosses p
#- before = ordered.cumsum(axis=-1) - ordered
before = ordered.cumsum(axis=-1)

# %% top-p mistake nothing-left: Keeps tokens more probable than p.
#> should keep [1, 1, 0]
q = softmax(logits).data
return wrap(np.where((q >= p) | (q == q.max(axis=-1, keepdims=True)), logits.data, -np.inf))

# %% top-p mistake top-p-unsorted: Adds up the probabilities in the order of the vocabulary.
#> Sort each row by itself
q = softmax(logits).data.astype(np.float64)
return wrap(np.where((q.cumsum(axis=-1) - q < p) | (q == q.max(axis=-1, keepdims=True)), logits.data, -np.inf))

# %% top-p mistake top-p-not-put-back: Leaves the decisions in sorted order.
#> put the result back in the order of the vocabulary
#- np.put_along_axis(kept, order, before < p, axis=-1)
kept = before < p

# %% top-p mistake top-p-ascending: Begins with the least probable token.
#> should keep [1, 1, 0]
#- order = np.argsort(-logits.data)
order = np.argsort(logits.data)

# %% top-p mistake top-p-kept-probabilities: Returns probabilities in the place of logits.
#> the logits that are kept do not change
#- return wrap(np.where(kept, logits.data, -np.inf))
return wrap(np.where(kept, softmax(logits).data, -np.inf))

# %% top-p mistake top-p-without-softmax: Adds up logits without softmax.
#> (1: kept, 0: removed), yours keeps
#- ordered = np.take_along_axis(softmax(logits).data, order, axis=-1)
ordered = np.take_along_axis(logits.data, order, axis=-1)

# %% generate mistake context-not-cropped: Gives the model all ids, however many.
#> with 6 ids and a context of 4
#- return model(ids[:, -model.context :])[:, -1]
return model(ids)[:, -1]

# %% generate mistake first-ids-kept: Gives the model the first ids of a long text.
#> should be given the last four
#- return model(ids[:, -model.context :])[:, -1]
return model(ids[:, : model.context])[:, -1]

# %% generate mistake first-position: Takes the logits of the first position.
#> the model's logits after the last tokens
#- return model(ids[:, -model.context :])[:, -1]
return model(ids[:, -model.context :])[:, 0]

# %% generate mistake filter-before-temperature: Filters before the temperature.
#> the temperature comes first
#- logits = with_temperature(logits, temperature)

#- return logits if p is None else top_p(logits, p)
if p is not None:
    logits = top_p(logits, p)
return with_temperature(logits, temperature)

# %% generate mistake top-p-before-top-k: Applies top-p before top-k.
#> top-k comes before top-p
#- if k is not None:
#-     logits = top_k(logits, k)
#- return logits if p is None else top_p(logits, p)
if p is not None:
    logits = top_p(logits, p)
return logits if k is None else top_k(logits, k)

# %% generate mistake temperature-in-two-places: Applies the temperature in `filtered` and again
# in `generate`.
#> the shares of tokens with the probabilities [0.5, 0.3, 0.15, 0.05]
#- token = sample(filtered(logits, temperature, top_k, top_p), rng).data
token = sample(filtered(with_temperature(logits, temperature), temperature, top_k, top_p), rng).data

# %% generate mistake stop-token-included: Appends the stop token before it ends.
#> which is not part of it
#- if token[0] in stops:
#-     break
#- ids = np.concatenate([ids, token[:, None]], axis=1)
ids = np.concatenate([ids, token[:, None]], axis=1)
if token[0] in stops:
    break

# %% generate mistake stop-in-the-prompt: Stops at a stop token in the prompt.
#> the text ends before the first new token 3
#- if token[0] in stops:
#-     break
if {*stops} & {*ids[0], token[0]}:
    break

# %% generate mistake prompt-lost: Keeps only the newest token.
#> prompt first, then one token after the other
#- ids = np.concatenate([ids, token[:, None]], axis=1)
ids = token[:, None]

# %% generate mistake filters-forgotten: Samples from the logits without the filters.
#> sample from the filtered logits
#- token = sample(filtered(logits, temperature, top_k, top_p), rng).data
token = sample(logits, rng).data

# %% generate mistake always-greedy: Takes the most probable token after filtering.
#> sample from the filtered logits
#- token = sample(filtered(logits, temperature, top_k, top_p), rng).data
token = filtered(logits, temperature, top_k, top_p).data.argmax(axis=-1)

# %% kv-cache mistake one-cache-for-all-layers: Keeps all layers in the memory of the first one.
#> do the layers share one memory?
#- self.keys[layer, :, :, start:end] = k
#- self.values[layer, :, :, start:end] = v
self.keys[0, :, :, start:end] = k
self.values[0, :, :, start:end] = v

# %% kv-cache mistake layers-overwrite-each-other: Reads and writes the first layer for every
# layer.
#> appending to layer 1 changed the keys of layer 0
#- self.keys[layer, :, :, start:end] = k
#- self.values[layer, :, :, start:end] = v
self.keys[0, :, :, start:end] = k
self.values[0, :, :, start:end] = v
#- return wrap(self.keys[layer, :, :, :end]), wrap(self.values[layer, :, :, :end])
return wrap(self.keys[0, :, :, :end]), wrap(self.values[0, :, :, :end])

# %% kv-cache mistake one-length-for-all-layers: Counts the tokens of all layers together.
#> each layer counts its own tokens
#- self.lengths[layer] = end
self.lengths = [end] * len(self.lengths)

# %% kv-cache mistake only-new-keys-returned: Returns the new keys and values only.
#> return the keys and values of all tokens
#- return wrap(self.keys[layer, :, :, :end]), wrap(self.values[layer, :, :, :end])
return wrap(self.keys[layer, :, :, start:end]), wrap(self.values[layer, :, :, start:end])

# %% kv-cache mistake history-without-the-new: Returns only the tokens before the new ones.
#> including the new ones
#- return wrap(self.keys[layer, :, :, :end]), wrap(self.values[layer, :, :, :end])
return wrap(self.keys[layer, :, :, :start]), wrap(self.values[layer, :, :, :start])

# %% kv-cache mistake empty-places-returned: Returns the whole memory, including the empty
# places.
#> without the empty places after them
#- return wrap(self.keys[layer, :, :, :end]), wrap(self.values[layer, :, :, :end])
return wrap(self.keys[layer]), wrap(self.values[layer])

# %% kv-cache mistake length-not-advanced: Forgets to count the new tokens, so that the next
# ones overwrite them.
#> after 4 tokens, keys and values should have shape
#- self.lengths[layer] = end
pass

# %% kv-cache mistake keys-and-values-exchanged: Exchanges keys and values.
#> keys and values are exchanged
#- self.keys[layer, :, :, start:end] = k
#- self.values[layer, :, :, start:end] = v
self.keys[layer, :, :, start:end] = v
self.values[layer, :, :, start:end] = k

# %% attend-cached mistake mask-without-the-past: Aligns the causal mask at the beginning, so
# that a new token sees only the first one.
#> align the causal mask at the end
k, v = cache.append(layer, k, v)
mask = np.tri(q.shape[2], k.shape[2], dtype=bool)
return scaled_dot_product_attention(q, k, v, attn_mask=mask)

# %% attend-cached mistake prefill-unmasked: Leaves the mask out because there is a cache.
#> A prefill needs the causal mask
#- weights = weights_forward(q.data, k.data, causal=not one)
weights = weights_forward(q.data, k.data, causal=False)

# %% attend-cached mistake own-key-missing: Reads the cache before the new tokens are in it.
#> Append the new key and value before
new, held = q.shape[2], cache.lengths[layer]
cache.append(layer, k, v)
if held:
    k, v = (wrap(x[layer, :, :, :held]) for x in (cache.keys, cache.values))
elif new == 1:
    raise ValueError("the cache is empty")
mask = causal_mask(new, k.shape[2]) if new > 1 else None
return scaled_dot_product_attention(q, k, v, attn_mask=mask)

# %% attend-cached mistake only-new-keys-attended: Appends, and then uses the new keys and
# values only.
#> it sees itself only
#- k, v = cache.append(layer, k, v)
cache.append(layer, k, v)

# %% attend-cached mistake mask-only-for-an-empty-cache: Masks the prompt and no later group of
# tokens.
#> 2, then 3, then 1 tokens
#- weights = weights_forward(q.data, k.data, causal=not one)
weights = weights_forward(q.data, k.data, causal=q.shape[2] == k.shape[2])

# %% attend-cached mistake always-layer-0: Uses layer 0 of the cache for every layer.
#> 2, then 3, then 1 tokens
#- k, v = cache.append(layer, k, v)
k, v = cache.append(0, k, v)

# %% step mistake position-0-for-new-tokens: Counts the positions of new tokens from 0.
#> Does the token have the position 4
#- x = x + model.positions(positions)
x = x + model.positions(np.arange(ids.shape[1]))

# %% step mistake positions-forgotten: Forgets the learned positions.
#> a prompt of 5 tokens in an empty cache
#- if model.positions is not None:
#-     x = x + model.positions(positions)
pass

# %% step mistake rotary-without-positions: Gives `project` no positions, so that every key is
# rotated as if it were the first.
#> With rotary=True `positions` go to attention.project
#- q, k, v = block.attention.project(block.norm1(x), positions)
q, k, v = block.attention.project(block.norm1(x))

# %% step mistake one-layer-of-the-cache: Lets all blocks use layer 0 of the cache.
#> do not fit into
#- heads = attend_cached(q, k, v, cache, layer).data.swapaxes(1, 2)  # (B, t, H, d)
heads = attend_cached(q, k, v, cache, 0).data.swapaxes(1, 2)  # (B, t, H, d)

# %% step mistake no-residual-around-attention: Forgets the residual connection around
# attention.
#> residual connections, both norms, the last norm
#- x = x + block.attention.out(wrap(heads.reshape(x.shape)))
x = block.attention.out(wrap(heads.reshape(x.shape)))

# %% step mistake mlp-without-norm: Gives the feed-forward network x without its norm.
#> residual connections, both norms, the last norm
#- x = x + block.mlp(block.norm2(x))
x = x + block.mlp(x)

# %% step mistake last-norm-forgotten: Forgets the norm before the head.
#> residual connections, both norms, the last norm
#- x = model.norm(x)
pass

# %% step mistake head-always-tied: Always multiplies by the embedding, also when the model has
# a head.
#> with tie=False the logits are model.head(x)
#- return x @ model.embedding.weight.T if model.head is None else model.head(x)
return x @ model.embedding.weight.T

# %% step mistake heads-not-merged: Merges the heads by reshape alone, without exchanging two
# axes.
#> a prompt of 5 tokens in an empty cache
#- heads = attend_cached(q, k, v, cache, layer).data.swapaxes(1, 2)  # (B, t, H, d)
heads = attend_cached(q, k, v, cache, layer).data  # (B, t, H, d)

# %% cached-logits mistake all-ids-in-each-step: Gives `step` all ids each time.
#> should compute 3, 1 and 2 tokens
#- return step(model, ids[:, cache.length :], cache)[:, -1]
return (cache.reset(), step(model, ids, cache))[1][:, -1]

# %% cached-logits mistake last-id-only: Gives `step` the last id only, also for a prompt.
#> some are never computed
#- return step(model, ids[:, cache.length :], cache)[:, -1]
return step(model, ids[:, -1:], cache)[:, -1]

# %% cached-logits mistake full-cache-not-handled: Does not think of texts that are longer than
# the context.
#> Ids that are longer than the context need next_logits
pass
return step(model, ids[:, cache.length :], cache)[:, -1]

# %% cached-logits mistake starts-anew-when-full: Empties the full cache and goes on with the
# last token alone.
#> a text longer than the context: yours raises
if cache.length == cache.context:
    cache.reset()
    return step(model, ids[:, -1:], cache)[:, -1]
return step(model, ids[:, cache.length :][:, : cache.context], cache)[:, -1]

# %% cached-logits mistake window-too-early: Gives the cache up when the last token would still
# fit.
#> 8 tokens fit into a context of 8
if ids.shape[1] >= cache.context:
    return next_logits(model, ids)
return step(model, ids[:, cache.length :], cache)[:, -1]

# %% cached-logits mistake logits-of-the-first-new-token: Takes the logits of the first new
# token.
#> the logits after 3 tokens differ
#- return step(model, ids[:, cache.length :], cache)[:, -1]
return step(model, ids[:, cache.length :], cache)[:, 0]

# %% cache-bytes mistake keys-only-counted: Counts the keys and forgets the values.
#> count the keys and the values
return layers * batch * heads * context * size * np.dtype(dtype).itemsize

# %% cache-bytes mistake numbers-not-bytes: Counts numbers, not bytes.
#> has 65536 bytes, yours says 16384
return 2 * layers * batch * heads * context * size * 1

# %% cache-bytes mistake always-four-bytes: Takes four bytes for a number of any dtype.
#> of float64 has 13440 bytes
return 2 * layers * batch * heads * context * size * 4

# %% cache-bytes mistake heads-forgotten: Takes the size of one head for all heads.
#> has 65536 bytes
return 2 * layers * batch * context * size * np.dtype(dtype).itemsize

# %% slide mistake newest-dropped: Drops the newest tokens.
#> moved to the front
#- array[:, :, : held - n] = array[:, :, n:held]
pass

# %% slide mistake slides-keys-only: Moves the keys and forgets the values.
#> layer 0 should hold the values
#- for array in (cache.keys[layer], cache.values[layer]):
#-     array[:, :, : held - n] = array[:, :, n:held]
for array in (cache.keys[layer],):
    array[:, :, : held - n] = array[:, :, n:held]

# %% slide mistake lengths-not-reduced: Moves the tokens and leaves the lengths as they were.
#> yours hold [5]
#- cache.lengths[layer] = held - n
pass

# %% slide mistake dropped-not-counted: Forgets to count the dropped tokens, so that new ones
# get old positions.
#> `dropped` should be 2, yours is 0
#- cache.dropped += n
pass

# %% slide mistake dropped-replaced: Sets `dropped` instead of adding to it.
#> `dropped` grows with each slide
#- cache.dropped += n
cache.dropped = n

# %% slide mistake first-layer-slides: Slides one layer only.
#> hold [5, 5], yours hold [5, 6]
#- for layer, held in enumerate(cache.lengths):
#-     for array in (cache.keys[layer], cache.values[layer]):
#-         array[:, :, : held - n] = array[:, :, n:held]
for layer, held in enumerate(cache.lengths[:1]):
    for array in (cache.keys[layer], cache.values[layer]):
        array[:, :, : held - n] = array[:, :, n:held]

# %% accept mistake replaced-from-p: Replaces a rejected token by a draw from p.
#> these are the shares of p; draw from max(p - q, 0)
#- rest = np.maximum(p - q, 0)
rest = p

# %% accept mistake ratio-turned: Accepts with the probability q / p.
#> should always be accepted
if rng.random() * p[token] < q[token]:
    return True, int(token)
rest = np.maximum(p - q, 0)
return False, int(rng.choice(len(p), p=rest / rest.sum()))

# %% accept mistake accepted-with-p: Accepts with the probability p, without dividing by q.
#> should always be accepted
if rng.random() < p[token]:
    return True, int(token)
rest = np.maximum(p - q, 0)
return False, int(rng.choice(len(p), p=rest / rest.sum()))

# %% accept mistake accepted-when-larger: Accepts exactly the tokens whose p is not smaller than
# q.
#> should be accepted with the probability
if q[token] <= p[token]:
    return True, int(token)
rest = np.maximum(p - q, 0)
return False, int(rng.choice(len(p), p=rest / rest.sum()))

# %% accept mistake absolute-difference: Takes the absolute difference |p - q| instead of max(p
# - q, 0).
#> the tokens 0, 1, 2 should be drawn
#- rest = np.maximum(p - q, 0)
rest = np.abs(p - q)

# %% accept mistake always-accepted: Accepts everything: the draft model writes the text.
#> yours accepts 1.00
return True, int(token)

# %% accept mistake missing-not-normalized: Forgets to divide max(p - q, 0) by its sum.
#> do not sum to 1
#- return False, int(rng.choice(len(p), p=rest / rest.sum()))
return False, int(rng.choice(len(p), p=rest))

# %% accept mistake most-missing-token: Replaces by the token that is missing most, instead of
# drawing one.
#> the tokens 0, 1, 2 should be drawn
#- return False, int(rng.choice(len(p), p=rest / rest.sum()))
return False, int(rest.argmax())

# %% verified mistake goes-on-after-rejection: Goes on after a rejected token.
#> It ends with the replacement of the first rejected token
#- if not accepted:
#-     return out
pass

# %% verified mistake replacement-lost: Forgets the replacement of a rejected token.
#> It ends with the replacement of the first rejected token
for i, token in enumerate(tokens):
    accepted, token = accept(p[i], q[i], token, rng)
    if not accepted:
        return out
    out.append(token)
return [*out, int(rng.choice(len(p[-1]), p=p[-1]))]

# %% verified mistake no-token-more: Forgets the token that the large model gives for free.
#> and then 3: the result should be
#- return [*out, int(rng.choice(len(p[-1]), p=p[-1]))]
return out

# %% verified mistake rows-shifted: Compares each token with the distribution after it.
#> the result should be
#- accepted, token = accept(p[i], q[i], token, rng)
accepted, token = accept(p[i + 1], q[i], token, rng)

# %% verified mistake last-row-of-the-draft: Draws the last token from the last drafted token's
# row.
#> and then 3: the result should be
#- return [*out, int(rng.choice(len(p[-1]), p=p[-1]))]
return [*out, int(rng.choice(len(p[-1]), p=p[max(0, len(tokens) - 1)]))]

# %% verified mistake last-token-greedy: Takes the most probable token at the end instead of
# drawing one.
#> the last token is drawn with the last row of p
#- return [*out, int(rng.choice(len(p[-1]), p=p[-1]))]
return [*out, int(np.argmax(p[-1]))]

# %% verified mistake rejected-token-kept: Appends the drafted token, not the one that `accept`
# returns.
#> It ends with the replacement of the first rejected token
#- accepted, token = accept(p[i], q[i], token, rng)
accepted, _ = accept(p[i], q[i], token, rng)

# %% speculative mistake cache-not-truncated: Leaves the keys of rejected tokens in the cache.
#> rejected tokens have to leave the cache
#- cache.truncate(len(ids) - 1)
pass

# %% speculative mistake all-ids-beside-the-cache: Gives `step` all ids each time, also those
# that the cache holds.
#> Give `step` only what the cache does not hold
#- unseen = np.append(ids[cache.length :], tokens).astype(np.int64)
unseen = np.append(ids, tokens).astype(np.int64)

# %% speculative mistake truncated-to-the-end: Keeps the key of a rejected token at the place of
# the last id, which is never computed.
#> The cache must not hold the last id
#- cache.truncate(len(ids) - 1)
cache.truncate(len(ids))

# %% speculative mistake last-token-twice: Gives the model the last id again, which the cache
# holds.
#> rejected tokens must leave the cache
#- unseen = np.append(ids[cache.length :], tokens).astype(np.int64)
unseen = np.append(ids[max(0, cache.length - 1) :], tokens).astype(np.int64)

# %% speculative mistake cache-begins-anew: Computes the whole text in each step.
#> the ids that the cache does not hold
#- cache.truncate(len(ids) - 1)
cache.reset()

# %% speculative mistake rows-one-too-late: Takes the rows after the drafted tokens instead of
# the rows at them.
#> Each row of p belongs to one drafted token
#- new = verified(as_probabilities(logits[-len(tokens) - 1 :]), q, tokens, rng)
new = verified(as_probabilities(logits[[*range(-len(tokens), 0), -1]]), q, tokens, rng)

# %% speculative mistake rows-from-the-front: Takes the first rows, which belong to the prompt.
#> Each row of p belongs to one drafted token
#- new = verified(as_probabilities(logits[-len(tokens) - 1 :]), q, tokens, rng)
new = verified(as_probabilities(logits[: len(tokens) + 1]), q, tokens, rng)

# %% speculative mistake one-step-for-each-token: Lets the model compute the draft token by
# token.
#> one step for each draft
#- logits = step(model, unseen[None], cache)[0]
#- new = verified(as_probabilities(logits[-len(tokens) - 1 :]), q, tokens, rng)
rows = [step(model, unseen[None, i : i + 1], cache).data[0, 0] for i in range(len(unseen))]
new = verified(as_probabilities(as_float_tensor(np.array(rows[-len(tokens) - 1 :]))), q, tokens, rng)

# %% beam mistake scores-not-added: Forgets the log probabilities of the tokens before.
#> add the log probabilities of the new tokens
#- totals = scores[:, None] + log_softmax(next_logits(model, rows)).data
totals = 0 * scores[:, None] + log_softmax(next_logits(model, rows)).data

# %% beam mistake logits-not-logarithms: Adds logits without log_softmax.
#> yours are [0.051
#- totals = scores[:, None] + log_softmax(next_logits(model, rows)).data
totals = scores[:, None] + (next_logits(model, rows).data + np.arange(len(rows))[:, None])

# %% beam mistake probabilities-added: Adds probabilities instead of their logarithms.
#> add the log probabilities of the new tokens
#- totals = scores[:, None] + log_softmax(next_logits(model, rows)).data
totals = scores[:, None] + softmax(next_logits(model, rows)).data

# %% beam mistake each-beam-alone: Keeps the best continuation of each beginning.
#> are the most probable
#- best = np.argsort(-totals, axis=None)[:width]
#- row, token = np.unravel_index(best, totals.shape)
row, token = np.arange(len(rows)), totals.argmax(axis=-1)

# %% beam mistake beam-ascending: Keeps the least probable continuations.
#> takes the most probable token each time
#- best = np.argsort(-totals, axis=None)[:width]
best = np.argsort(totals, axis=None)[:width]

# %% beam mistake rows-not-chosen: Appends the best tokens to the beginnings in their old order.
#> are the most probable
#- rows = np.concatenate([rows[row], token[:, None]], axis=1)
rows = np.concatenate([rows[np.arange(len(row)) % len(rows)], token[:, None]], axis=1)

# %% beam mistake mean-of-logarithms: Averages the log probabilities.
#> add the log probabilities of the new tokens
#- scores = totals[row, token]
scores = totals[row, token] / 2

# %% kv-cache mistake copies-of-the-cache: Returns copies of the keys and values, and so copies
# the whole cache in each step.
#> should return a view of `self.keys`
#- return wrap(self.keys[layer, :, :, :end]), wrap(self.values[layer, :, :, :end])
return wrap(self.keys[layer, :, :, :end].copy()), wrap(self.values[layer, :, :, :end])

# %% top-p mistake exp-of-the-logits: Writes softmax as exp divided by its sum, which overflows.
#> softmax of lesson 03 does not overflow
#- ordered = np.take_along_axis(softmax(logits).data, order, axis=-1)
ordered = np.take_along_axis(np.exp(logits.data), order, axis=-1)
ordered = ordered / ordered.sum(axis=-1, keepdims=True)

# %% generate mistake generator-not-passed-to-sample: Does not give the generator to `sample`.
#> two calls with rng=5 should give the same tokens
#- token = sample(filtered(logits, temperature, top_k, top_p), rng).data
token = sample(filtered(logits, temperature, top_k, top_p)).data

# %% cached-logits mistake full-cache-reset-beyond-the-context: Empties the cache when the text
# is longer than the context.
#> beyond the context the cache is not changed
#- return next_logits(model, ids)
cache.reset()
return next_logits(model, ids)

# %% cache-bytes mistake an-array-to-count-bytes: Makes the arrays and asks for their size.
#> compute with the sizes, without an array
return 2 * np.zeros((layers, batch, heads, context, size), dtype).nbytes

# %% slide mistake minus-zero-tokens: Takes [:-n] for the places of the other tokens, which is
# nothing for n = 0.
#> yours raises
#- array[:, :, : held - n] = array[:, :, n:held]
array[:, :, :held][:, :, :-n] = array[:, :, n:held]

# %% accept mistake accept-draws-anywhere: Draws from NumPy's global generator.
#> draw from `rng`
if np.random.random() * q[token] < p[token]:
    return True, int(token)
rest = np.maximum(p - q, 0)
return False, int(rng.choice(len(p), p=rest / rest.sum()))

# %% verified mistake one-number-for-the-whole-draft: Uses one random number for all decisions.
#> Each decision needs a new random number
#- accepted, token = accept(p[i], q[i], token, rng)
u = u if i else rng.random()
accepted = u * q[i][token] < p[i][token]
rest = np.maximum(np.subtract(p[i], q[i]), 0)
token = int(token if accepted else rng.choice(len(rest), p=rest / rest.sum()))

# %% verified mistake generator-not-passed-to-accept: Does not give the generator to `accept`.
#> draw from `rng`
#- accepted, token = accept(p[i], q[i], token, rng)
accepted, token = accept(p[i], q[i], token)

# %% speculative mistake generator-not-passed-to-verified: Does not give the generator to
# `verified`.
#> give `rng` to `verified`
#- new = verified(as_probabilities(logits[-len(tokens) - 1 :]), q, tokens, rng)
new = verified(as_probabilities(logits[-len(tokens) - 1 :]), q, tokens)

# %% beam mistake log-of-softmax: Takes the logarithm of softmax, which is -inf for a very
# improbable token.
#> use log_softmax
#- totals = scores[:, None] + log_softmax(next_logits(model, rows)).data
totals = scores[:, None] + np.log(softmax(next_logits(model, rows)).data)

# %% sample right: rng.choice for each row
tokens = []
for row in p:
    tokens.append(rng.choice(len(row), p=row / row.sum()))
return wrap(np.array(tokens, dtype=np.int64))

# %% sample right: the largest of logits with Gumbel noise
with np.errstate(divide="ignore"):
    noisy = np.log(p) + rng.gumbel(size=p.shape)
return wrap(noisy.argmax(axis=1))

# %% sample right: searchsorted
out = np.zeros(p.shape[0], dtype=np.int64)
for i, row in enumerate(p):
    ends = np.cumsum(row) / np.sum(row)
    out[i] = min(np.searchsorted(ends, rng.uniform(), side="right"), len(row) - 1)
return wrap(out)

# %% temperature right: put_along_axis
x = logits.data
if t == 0:
    out = np.full_like(x, -np.inf)
    top = np.expand_dims(np.argmax(x, axis=-1), -1)
    np.put_along_axis(out, top, 1.0, axis=-1)
else:
    out = x * (1 / t)
return wrap(out)

# %% temperature right: rows one by one
if t:
    return wrap(logits.data / t)
out = np.where(np.zeros(logits.shape, bool), 0.0, -np.inf)
for index in np.ndindex(*logits.shape[:-1]):
    best = int(np.argmax(logits.data[index]))
    out[(*index, best)] = logits.data[(*index, best)]
return wrap(out)

# %% top-k right: argpartition
x = logits.data
if k >= x.shape[-1]:
    return wrap(x.copy())
largest = np.argpartition(-x, k - 1, axis=-1)[..., :k]
out = np.full_like(x, -np.inf)
np.put_along_axis(out, largest, np.take_along_axis(x, largest, -1), -1)
return wrap(out)

# %% top-k right: ranks
x = logits.data
ranks = np.argsort(np.argsort(x, axis=-1), axis=-1)
return wrap(np.where(ranks >= x.shape[-1] - k, x, -np.inf))

# %% top-p right: a loop over rows and tokens
x, q = logits.data, softmax(logits).data
out = np.full_like(x, -np.inf)
for row in np.ndindex(*x.shape[:-1]):
    total = 0.0
    for token in np.argsort(q[row])[::-1]:
        if total >= p:
            break
        out[(*row, token)] = x[(*row, token)]
        total += float(q[(*row, token)])
return wrap(out)

# %% top-p right: the crossing token by shifting
x = logits.data
order = (-x).argsort(axis=-1)
ends = np.cumsum(np.take_along_axis(softmax(logits).data.astype("float64"), order, -1), axis=-1)
removed = ends >= p
removed[..., 1:] = removed[..., :-1].copy()
removed[..., 0] = False
back = np.argsort(order, axis=-1)
return wrap(np.where(np.take_along_axis(removed, back, -1), -np.inf, x))

# %% generate right: other slices, and a column that is filled
#- return model(ids[:, -model.context :])[:, -1]
start = max(0, ids.shape[1] - model.context)
logits = model(ids[:, start:])
return logits[:, logits.shape[1] - 1]

# %% generate right: ids as an array with one column more
#- if temperature == 0:  # greedy: nothing is drawn
#-     token = logits.data.argmax(axis=-1)
#- else:
#-     token = sample(filtered(logits, temperature, top_k, top_p), rng).data
#- if token[0] in stops:
#-     break
#- ids = np.concatenate([ids, token[:, None]], axis=1)
tokens = sample(filtered(logits, temperature, top_k, top_p), rng=rng).numpy()
if int(tokens[0]) in stops:
    return ids
longer = np.empty((ids.shape[0], ids.shape[1] + 1), dtype=np.int64)
longer[:, :-1], longer[:, -1] = ids, tokens
ids = longer

# %% generate right: filters in one expression
#- logits = with_temperature(logits, temperature)
#- if k is not None:
#-     logits = top_k(logits, k)
#- return logits if p is None else top_p(logits, p)
steps = [(with_temperature, temperature), (top_k, k), (top_p, p)]
for function, setting in steps:
    if setting is not None:
        logits = function(logits, setting)
return logits

# %% kv-cache right: both arrays in a loop
results = []
for memory, new in ((self.keys, k), (self.values, v)):
    memory[layer][:, :, start:end, :] = new
    results.append(wrap(memory[layer][:, :, :end, :]))
self.lengths[layer] += k.shape[-2]
return tuple(results)

# %% kv-cache right: writes token by token
new = k.shape[2]
for i in range(new):
    self.keys[layer, :, :, self.lengths[layer]] = k[:, :, i]
    self.values[layer, :, :, self.lengths[layer]] = v[:, :, i]
    self.lengths[layer] += 1
held = self.lengths[layer]
return wrap(self.keys[layer, :, :, :held]), wrap(self.values[layer, :, :, :held])

# %% attend-cached right: attention of Tensors
keys, values = cache.append(layer, k, v)
new = q.shape[2]
mask = causal_mask(new, keys.shape[2]) if new > 1 else None
return scaled_dot_product_attention(q, keys, values, attn_mask=mask)

# %% attend-cached right: always a mask
keys, values = cache.append(layer, k, v)
mask = causal_mask(q.shape[-2], keys.shape[-2])
return scaled_dot_product_attention(q, keys, values, mask)

# %% attend-cached right: softmax by hand
keys, values = cache.append(layer, k, v)
t, held = q.shape[2], cache.lengths[layer]
scores = q.data @ keys.data.swapaxes(-1, -2) / np.sqrt(q.shape[3])
for i in range(t):
    scores[:, :, i, held - t + i + 1 :] = -np.inf
weights = softmax(wrap(scores.astype(q.dtype)))
return weights @ values

# %% step right: rows of the position weights, and zip
stream = model.embedding(ids)
if model.positions:
    stream = stream + model.positions.weight[positions]
for layer in range(len(model.blocks)):
    block = model.blocks[layer]
    attention = block.attention
    parts = attention.project(block.norm1(stream), positions=positions)
    heads = merge_heads(attend_cached(*parts, cache, layer))
    stream = stream + attention.out(heads)
    stream = stream + block.mlp(block.norm2(stream))
stream = model.norm(stream)
if model.head is not None:
    return model.head(stream)
return stream @ model.embedding.weight.swapaxes(0, 1)

# %% step right: token by token
rows = []
for i in range(ids.shape[1]):
    x = model.embedding(ids[:, i : i + 1])
    if model.positions is not None:
        x = x + model.positions(positions[i : i + 1])
    for n, block in enumerate(model.blocks):
        qkv = block.attention.project(block.norm1(x), positions[i : i + 1])
        x = x + block.attention.out(merge_heads(attend_cached(*qkv, cache, n)))
        x = x + block.mlp(block.norm2(x))
    head = model.head or (lambda x: x @ model.embedding.weight.T)
    rows.append(head(model.norm(x)).data)
return wrap(np.concatenate(rows, axis=1))

# %% cached-logits right: the other case first
T = ids.shape[1]
if T <= model.context:
    new = ids[:, cache.length : T]
    logits = step(model, new, cache)
    return logits[:, new.shape[1] - 1]
return next_logits(model, ids)

# %% cached-logits right: counts the new ids
held, total = cache.length, np.shape(ids)[1]
if total > cache.context:
    return model(ids[:, total - cache.context :])[:, -1]
return step(model, ids[:, held - total :], cache)[:, -1, :]

# %% cache-bytes right: the product of a list
numbers = 1
for factor in (layers, batch, heads, context, size):
    numbers *= factor
return numbers * np.dtype(dtype).itemsize + numbers * np.zeros(1, dtype).nbytes

# %% cache-bytes right: np.prod
return int(np.prod([2, layers, batch, heads, context, size, np.empty((), dtype).itemsize]))

# %% slide right: np.roll
cache.keys[...] = np.roll(cache.keys, -n, axis=3)
cache.values[...] = np.roll(cache.values, -n, axis=3)
cache.lengths = [held - n for held in cache.lengths]
cache.dropped = cache.dropped + n

# %% slide right: appended again
for layer in range(len(cache.lengths)):
    held = cache.lengths[layer]
    k, v = (x[layer, :, :, n:held].copy() for x in (cache.keys, cache.values))
    cache.lengths[layer] = 0
    cache.append(layer, k, v)
cache.dropped += n

# %% accept right: the ratio first
probability = min(1.0, p[token] / q[token])
if rng.uniform() < probability:
    return (True, int(token))
missing = np.where(p > q, p - q, 0.0)
missing /= np.sum(missing)
return (False, int(np.minimum(np.searchsorted(missing.cumsum(), rng.random(), "right"), len(p) - 1)))

# %% accept right: two draws at once
u, w = rng.random(2)
if u <= p[token] / q[token] and p[token] > 0:
    return True, int(token)
rest = (p - q).clip(0)
ends = rest.cumsum()
return False, int((ends <= w * ends[-1]).sum())

# %% verified right: for and else
for i in range(len(tokens)):
    ok, token = accept(p[i], q[i], tokens[i], rng=rng)
    out += [token]
    if not ok:
        break
else:
    ends = np.cumsum(p[len(tokens)])
    out += [int((ends <= rng.random() * ends[-1]).sum())]
return out

# %% verified right: zip and sample
for row, draft_row, token in zip(p, q, tokens):
    result = accept(row, draft_row, token, rng)
    out.append(int(result[1]))
    if result[0] is False:
        return out
with np.errstate(divide="ignore"):
    last = sample(np.log(np.asarray(p, float)[-1:]), rng)
out.append(int(last.data[0]))
return out

# %% speculative right: the last m + 1 rows by their first index
held, m = cache.length, len(tokens)
whole = np.concatenate([ids, np.array(tokens, dtype=np.int64)])
p = as_probabilities(step(model, whole[None, held:], cache))[0]
new = verified(p[len(ids) - 1 - held :], q, tokens, rng)
ids = np.concatenate([ids, np.array(new, dtype=np.int64)])
cache.truncate(ids.size - 1)

# %% speculative right: truncate before the next step
cache.truncate(len(ids) - 1)
unseen = [*ids.tolist()[cache.length :], *tokens]
p = as_probabilities(step(model, [unseen], cache))[0, len(unseen) - len(tokens) - 1 :]
new = verified(p, q, tokens, rng)
ids = np.array(ids.tolist() + new)

# %% beam right: lists of candidates
logp = log_softmax(next_logits(model, rows)).data
candidates = []
for ids, score, line in zip(rows.tolist(), scores.tolist(), logp.tolist()):
    for token, value in enumerate(line):
        candidates.append((score + value, ids + [token]))
candidates.sort(key=lambda pair: pair[0], reverse=True)
rows = np.array([ids for _, ids in candidates[:width]])
scores = np.array([score for score, _ in candidates[:width]])

# %% beam right: argpartition and divmod
logp = log_softmax(next_logits(model, rows)).data
V = logp.shape[1]
flat = (np.asarray(scores)[:, None] + logp).reshape(-1)
best = flat.argsort()[::-1][: min(width, flat.size)]
rows = np.column_stack([rows[best // V], best % V])
scores = flat[best]

# %% sample equivalent: The last end is 1 up to rounding.
#= `rng.random((len(p), 1)) * ends[:, -1:]` -> `(rng.random((len(p), 1))) / (ends[:, -1:])`
#= `rng.random((len(p), 1)) * ends[:, -1:]` -> `(rng.random((len(p), 1)))`

# %% sample equivalent: A random number equals an end with the probability 0.
#= `<=` -> `<`

# %% top-p equivalent: The default axis is the last one in new versions of NumPy.
#= `np.take_along_axis(softmax(logits).data, order, axis=-1)` -> `np.take_along_axis(softmax(logits).data, order)`

# %% top-p equivalent: np.where takes 1.0 and 0.0 for True and False.
#= `np.empty(order.shape, dtype=bool)` -> `np.empty(order.shape)`

# %% top-p equivalent: `usable_p` has made p a little smaller than any sum that equals it.
#= `<` -> `<=`

# %% generate equivalent: With a stop token there is one row only.
#= `0` -> `(-1)`

# %% step equivalent: Exchanging two axes is the same both ways round.
#= `1, 2` -> `2, 1`

# %% attend-cached equivalent: A causal mask of one row allows everything.
#= `1` -> `0`

# %% accept equivalent: A random number equals the ratio with the probability 0.
#= `<` -> `<=`

# %% accept equivalent: The larger of two numbers does not depend on their order.
#= `p - q, 0` -> `0, p - q`

# %% speculative equivalent: Given code: the ids have one row only.
#= `0` -> `(-1)`

# %% verified equivalent: All rows of p have the same length.
#= `1` -> `0`
