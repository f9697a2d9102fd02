# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% scores mistake root-of-the-number-of-keys: Divides by the root of the number of keys.
#> the root of the width
scale = 1 / math.sqrt(key.shape[-2]) if scale is None else scale
return query @ key.swapaxes(-1, -2) * scale

# %% scores mistake no-root: Does not scale the scores.
#> the root of the width
scale = 1.0 if scale is None else scale
return query @ key.swapaxes(-1, -2) * scale

# %% scores mistake d-for-its-root: Divides by d instead of its root.
#> the root of the width
scale = 1 / query.shape[-1] if scale is None else scale
return query @ key.swapaxes(-1, -2) * scale

# %% scores mistake times-the-root: Multiplies by the root.
#> the root of the width
scale = math.sqrt(query.shape[-1]) if scale is None else scale
return query @ key.swapaxes(-1, -2) * scale

# %% scores mistake all-axes-reversed: Transposes all axes of the keys, including the batch.
#> Exchange the last two axes only
scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
return query @ key.T * scale

# %% scores mistake keys-times-queries: A row for each key instead of each query.
#> Row i holds the scores of query i
scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
return key @ query.swapaxes(-1, -2) * scale

# %% scores mistake scores-of-data: Computes with .data, so that nothing is recorded.
#> the result does not
scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
return Tensor(query.data @ key.data.swapaxes(-1, -2) * scale)

# %% scores mistake scale-ignored: Ignores a scale that is given.
#> A given scale is the factor
return query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])

# %% scores mistake scale-divides: Divides by a scale that is given.
#> A given scale is the factor
scale = math.sqrt(query.shape[-1]) if scale is None else scale
return query @ key.swapaxes(-1, -2) / scale

# %% scores mistake scale-0-is-none: Writes `scale or ...`, which takes 0.0 for None.
#> 0.0 is a given scale
scale = scale or 1 / math.sqrt(query.shape[-1])
return query @ key.swapaxes(-1, -2) * scale

# %% causal-mask mistake mask-says-hidden: True means hidden.
#> may look at itself
return ~np.tri(queries, keys, keys - queries, dtype=bool)

# %% causal-mask mistake future-instead-of-past: The upper triangle: each position sees itself
# and the future.
#> here position 0 sees the future
return np.triu(np.ones((queries, keys), bool), keys - queries)

# %% causal-mask mistake diagonal-hidden: Hides each position from itself, so that the first one
# sees nothing.
#> the diagonal of causal_mask(3, 3) should be True
return np.tri(queries, keys, keys - queries - 1, dtype=bool)

# %% causal-mask mistake aligned-at-the-start: Aligns the mask at the first key.
#> aligned at the end
return np.tri(queries, keys, 0, dtype=bool)

# %% causal-mask mistake mask-of-numbers: Returns numbers instead of bool.
#> should be an array of bool
return np.tri(queries, keys, keys - queries )

# %% causal-mask mistake mask-transposed: A row for each key.
#> has a row for each query
offset = min(0, queries - keys)
return np.tri(keys, queries, offset, dtype=bool)

# %% masked-softmax mistake mask-after-the-softmax: Sets weights to 0 after the softmax.
#> before the softmax
powers = (scores - scores.max(-1, keepdims=True)).exp()
weights = powers / powers.sum(-1, keepdims=True)
return weights if mask is None else weights * operand(mask)

# %% masked-softmax mistake mask-multiplied: Multiplies the scores by the mask.
#> If you multiply it by the mask
scores = scores if mask is None else scores * operand(mask)
powers = (scores - scores.max(-1, keepdims=True)).exp()
return powers / powers.sum(-1, keepdims=True)

# %% masked-softmax mistake true-hides: Hides where the mask is True.
#> equal scores with a causal mask
#- scores = where(mask, scores, -np.inf) if is_bool else scores + mask
scores = where(mask, -np.inf, scores) if is_bool else scores + mask

# %% masked-softmax mistake bool-mask-added: Adds a bool mask to the scores like numbers.
#> or add the mask, it stays finite
#- scores = where(mask, scores, -np.inf) if is_bool else scores + mask
scores = scores + mask

# %% masked-softmax mistake array-of-the-mask-added: Adds the array of a float mask, which then
# gets no gradient.
#> use operand(mask) only to ask for its dtype
#- scores = where(mask, scores, -np.inf) if is_bool else scores + mask
scores = where(mask, scores, -np.inf) if is_bool else scores + operand(mask)

# %% masked-softmax mistake softmax-over-queries: Softmax along the axis of the queries.
#> the sum is over the keys
if mask is not None:
    is_bool = operand(mask).dtype == bool
    scores = where(mask, scores, -np.inf) if is_bool else scores + mask
powers = (scores - np.maximum(scores.data.max(-2, keepdims=True), -1e30)).exp()
total = powers.sum(-2, keepdims=True)
return powers / where(total.data == 0, 1, total)

# %% masked-softmax mistake empty-rows-are-nan: Leaves rows without a key to the softmax, which
# gives nan.
#> gives nan there
if mask is not None:
    is_bool = operand(mask).dtype == bool
    scores = where(mask, scores, -np.inf) if is_bool else scores + mask
powers = (scores - scores.max(-1, keepdims=True)).exp()
return powers / powers.sum(-1, keepdims=True)

# %% masked-softmax mistake nan-removed-after-the-softmax: Replaces nan after the softmax: the
# gradient of a float mask stays nan.
#> give such a row finite scores before the softmax
if mask is None:
    return softmax(scores)
scores = where(mask, scores, -np.inf) if operand(mask).dtype == bool else scores + mask
seen = (scores.data > -np.inf).any(axis=-1, keepdims=True)
return where(seen, softmax(scores), 0.0)

# %% masked-softmax mistake a-billion-for-infinity: Uses -1e9 for hidden keys: a row without a
# key becomes a mean.
#> softmax then gives each hidden key the same weight
#- scores = where(mask, scores, -np.inf) if is_bool else scores + mask
scores = where(mask, scores, -1e9) if is_bool else scores + mask

# %% masked-softmax mistake no-largest-subtracted: Does not subtract the largest score.
#> subtract the largest score of the keys that the mask allows
if mask is not None:
    is_bool = operand(mask).dtype == bool
    scores = where(mask, scores, -np.inf) if is_bool else scores + mask
powers = scores.exp()
total = powers.sum(-1, keepdims=True)
return powers / where(total.data == 0, 1, total)

# %% masked-softmax mistake powers-multiplied-by-the-mask: Multiplies exponentials of hidden
# scores by 0, which is nan for inf.
#> and inf and nan where the mask is False
allowed = 1.0
if mask is not None and operand(mask).dtype == bool:
    allowed = operand(mask).astype(scores.dtype)
elif mask is not None:
    scores = scores + mask
powers = (scores - np.maximum(scores.data.max(-1, keepdims=True), -1e30)).exp() * allowed
total = powers.sum(-1, keepdims=True)
return powers / where(total.data == 0, 1, total)

# %% masked-softmax mistake finite-means-allowed: Treats a float mask as bool: finite numbers
# allow a key, but are not added.
#> only a bool mask selects keys
#- scores = where(mask, scores, -np.inf) if is_bool else scores + mask
scores = where(mask, scores, -np.inf) if is_bool else where(np.isfinite(operand(mask)), scores, -np.inf)

# %% attention mistake weights-transposed: Transposes the weights before the product with the
# values.
#> Weights of shape (Tq, Tk) times values
#- return weights @ value
return weights.swapaxes(-1, -2) @ value

# %% attention mistake is-causal-ignored: Ignores is_causal.
#> is_causal=True with 4 positions
#- ### BEGIN SOLUTION
#- if is_causal:
#-     attn_mask = causal_mask(query.shape[-2], key.shape[-2])
#- weights = masked_softmax(attention_scores(query, key, scale), attn_mask)
### BEGIN SOLUTION

weights = masked_softmax(attention_scores(query, key, scale), attn_mask)

# %% attention mistake attn-mask-ignored: Ignores attn_mask.
#> a bool attn_mask
mask = causal_mask(query.shape[-2], key.shape[-2]) if is_causal else None
weights = masked_softmax(attention_scores(query, key, scale), mask)
return (dropout(weights, dropout_p) if dropout_p else weights) @ value

# %% attention mistake scale-not-passed: Does not pass the scale on.
#> the factor of the scores
#- weights = masked_softmax(attention_scores(query, key, scale), attn_mask)
weights = masked_softmax(attention_scores(query, key), attn_mask)

# %% attention mistake dropout-on-scores: Applies dropout to the scores: a score of 0 is not a
# weight of 0.
#> or it acts on the scores
if is_causal:
    attn_mask = causal_mask(query.shape[-2], key.shape[-2])
scores = attention_scores(query, key, scale)
if dropout_p:
    scores = dropout(scores, dropout_p)
return masked_softmax(scores, attn_mask) @ value

# %% attention mistake dropout-on-the-result: Applies dropout to the result.
#> apply dropout to the weights
if is_causal:
    attn_mask = causal_mask(query.shape[-2], key.shape[-2])
weights = masked_softmax(attention_scores(query, key, scale), attn_mask)
out = weights @ value
return dropout(out, dropout_p) if dropout_p else out

# %% attention mistake dropout-forgotten: Has no dropout.
#> there is no dropout
#- if dropout_p:
#-     weights = dropout(weights, dropout_p)
if False:
    weights = dropout(weights, dropout_p)

# %% attention mistake values-by-data: Multiplies with value.data, so that values get no
# gradient.
#> input 2 gets no gradient
#- return weights @ value
return weights @ value.data

# %% by-hand mistake lookup-without-a-large-scale: Leaves the scale at 1 / sqrt(d), so that the
# lookup is a mixture.
#> the scale is too small
#- return scaled_dot_product_attention(query.unsqueeze(0), keys, values, scale=1000.0)[0]
return scaled_dot_product_attention(query.unsqueeze(0), keys, values)[0]

# %% by-hand mistake lookup-keeps-an-axis: Returns a row of shape (1, e).
#> return one value, of shape (e,)
#- return scaled_dot_product_attention(query.unsqueeze(0), keys, values, scale=1000.0)[0]
return scaled_dot_product_attention(query.unsqueeze(0), keys, values, scale=1000.0)

# %% by-hand mistake lookup-of-a-vector: Passes the query as a vector, without an axis for
# queries.
#> Attention takes rows of queries
#- return scaled_dot_product_attention(query.unsqueeze(0), keys, values, scale=1000.0)[0]
return scaled_dot_product_attention(query, keys, values, scale=1000.0)[0]

# %% by-hand mistake mean-of-everything: Forgets is_causal: every row is the mean of all.
#> is_causal=True, and the rows as values
#- return scaled_dot_product_attention(same, same, values, is_causal=True)
return scaled_dot_product_attention(same, same, values)

# %% by-hand mistake values-as-queries: Uses the rows as queries and keys, so that the scores
# differ.
#> All scores equal
#- return scaled_dot_product_attention(same, same, values, is_causal=True)
return scaled_dot_product_attention(values, values, values, is_causal=True)

# %% by-hand mistake shares-for-counts: Returns shares instead of counts.
#> to get the count
#- return running_mean(one_hot) * np.arange(1, len(ids) + 1)[:, None]
return running_mean(one_hot) 

# %% by-hand mistake counts-of-earlier-rows: Multiplies by 0, 1, 2, ... instead of 1, 2, 3, ...
#> Multiply it by the number of rows so far
#- return running_mean(one_hot) * np.arange(1, len(ids) + 1)[:, None]
return running_mean(one_hot) * np.arange(len(ids))[:, None]

# %% by-hand mistake counts-times-the-length: Multiplies every share by the length of the whole
# sequence.
#> Multiply it by the number of rows so far
#- return running_mean(one_hot) * np.arange(1, len(ids) + 1)[:, None]
return running_mean(one_hot) * len(ids)

# %% heads mistake heads-by-reshape: Reshapes straight to (B, heads, T, d), which mixes
# positions.
#> head 0 should have the first half of each
#- return x.reshape(B, T, heads, D // heads).swapaxes(1, 2)
return x.reshape(B, heads, T, D // heads)

# %% heads mistake heads-not-swapped: Leaves the heads behind the positions.
#> should become (1, 2, 3, 2)
#- return x.reshape(B, T, heads, D // heads).swapaxes(1, 2)
return x.reshape(B, T, heads, D // heads)

# %% heads mistake every-second-number: Gives each head every second number instead of a half.
#> head 0 should have the first half of each
#- return x.reshape(B, T, heads, D // heads).swapaxes(1, 2)
return x.reshape(B, T, D // heads, heads).transpose(0, 3, 1, 2)

# %% heads mistake merged-without-swapping: Merges by a reshape alone.
#> Exchange the axes back
#- return x.swapaxes(1, 2).reshape(B, T, H * d)
return x.reshape(B, T, H * d)

# %% heads mistake heads-of-data: Reshapes the data, so that nothing is recorded.
#> the result does not
#- return x.reshape(B, T, heads, D // heads).swapaxes(1, 2)
return Tensor(x.data).reshape(B, T, heads, D // heads).swapaxes(1, 2)

# %% forward mistake root-of-the-whole-width: Divides by the root of D instead of D / heads.
#> The scale is that of one head
#- weights = saved["weights"] = weights_forward(q, k, causal)
weights = saved["weights"] = weights_forward(q / math.sqrt(heads), k, causal)

# %% forward mistake forward-without-scale: Does not scale.
#> The scores are not divided by sqrt(4)
#- weights = q @ k.swapaxes(-1, -2)
#- weights *= 1 / math.sqrt(q.shape[-1])
#- if causal:
#-     weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)
weights = q @ k.swapaxes(-1, -2)

if causal:
    weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)

# %% forward mistake forward-without-mask: Ignores causal.
#> The mask is missing
#- if causal:
#-     weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)
if False:
    weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)

# %% forward mistake forward-overflows: Does not subtract the largest score.
#> Subtract the largest score of the row
#- if causal:
#-     weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)
#- weights -= weights.max(-1, keepdims=True)
#- np.exp(weights, out=weights)
if causal:
    weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)

np.exp(weights, out=weights)

# %% forward mistake forward-softmax-over-queries: Sums over the queries.
#> The softmax is over the keys
#- weights /= weights.sum(-1, keepdims=True)
weights /= weights.sum(-2, keepdims=True)

# %% forward mistake queries-scaled-in-place: Scales q in place, and q is a view of qkv.
#> attention_forward changed qkv
#- weights = q @ k.swapaxes(-1, -2)
#- weights *= 1 / math.sqrt(q.shape[-1])
q *= 1 / math.sqrt(q.shape[-1])
weights = q @ k.swapaxes(-1, -2)

# %% forward mistake nothing-saved: Saves nothing for the rule.
#> saved["weights"] is missing
#- weights = saved["weights"] = weights_forward(q, k, causal)
weights = weights_forward(q, k, causal)

# %% forward mistake scores-saved: Saves the scores instead of the weights.
#> saved["weights"] should be
#- weights = saved["weights"] = weights_forward(q, k, causal)
weights = weights_forward(q, k, causal)
saved["weights"] = q @ k.swapaxes(-1, -2)

# %% forward mistake square-mask: Makes a square mask, of queries only.
#> causal=True:
#- weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)
weights += np.where(causal_mask(q.shape[-2], q.shape[-2]), 0, -np.inf)

# %% forward mistake forward-heads-not-swapped: Merges the heads by a reshape alone.
#> Exchange the axes of heads and positions
#- return (weights @ v).swapaxes(1, 2).reshape(B, T, width // 3)
return (weights @ v).reshape(B, T, width // 3)

# %% rule mistake no-row-term: Leaves out the row term of the softmax.
#> also changes the sum that all weights of its row are divided by
#- out = weights * g
#- out -= weights * out.sum(-1, keepdims=True)
#- return out
out = weights * g

return out

# %% rule mistake row-term-of-g: Subtracts the sum of g instead of g times weights.
#> not its sum
#- out -= weights * out.sum(-1, keepdims=True)
out -= weights * g.sum(-1, keepdims=True)

# %% rule mistake plain-mean-of-g: Subtracts the plain mean of g.
#> The mean of g is weighted
#- out -= weights * out.sum(-1, keepdims=True)
out -= weights * g.mean(-1, keepdims=True)

# %% rule mistake row-term-over-queries: Sums the row term over the wrong axis.
#> a sum over the last axis
#- out -= weights * out.sum(-1, keepdims=True)
out -= weights * out.sum(0 if out.ndim == 1 else -2, keepdims=True)

# %% rule mistake sigmoid-rule: Uses the derivative of the sigmoid, weights * (1 - weights).
#> the rule of the sigmoid
#- out = weights * g
#- out -= weights * out.sum(-1, keepdims=True)
#- return out
return g * weights * (1 - weights)

# %% rule mistake gradient-without-scale: Forgets the factor 1 / sqrt(d) in the gradients of q
# and k.
#> dq also needs the factor 1 / sqrt(d)
#- scores = softmax_rule(g @ v.swapaxes(-1, -2), weights)
#- scores *= 1 / math.sqrt(q.shape[-1])
#- dq[...] = scores @ k
scores = softmax_rule(g @ v.swapaxes(-1, -2), weights)

dq[...] = scores @ k

# %% rule mistake name-of-a-view-rebound: Assigns to the name dq instead of writing into the
# view.
#> `dq = ...` makes another array
#- dq[...] = scores @ k
dq = scores @ k

# %% rule mistake values-without-transpose: Does not transpose the weights for the gradient of
# v.
#> dv is the transposed weights times g
#- dv[...] = weights.swapaxes(-1, -2) @ g
dv[...] = weights @ g

# %% rule mistake keys-without-transpose: Does not transpose the gradient of the scores for k.
#> dk is the transposed gradient of the scores
#- dk[...] = scores.swapaxes(-1, -2) @ q
dk[...] = scores @ q

# %% rule mistake weights-changed-by-the-rule: Computes in place in the saved weights.
#> attention_rule changed the weights
#- scores *= 1 / math.sqrt(q.shape[-1])
weights *= 0
scores *= 1 / math.sqrt(q.shape[-1])

# %% rule mistake g-changed-by-softmax-rule: Multiplies g in place.
#> softmax_rule changed its arguments
#- out = weights * g
out = g
out *= weights

# %% multi-head mistake keys-before-queries: Takes the columns of qkv in the order k, q, v.
#> The first D columns of qkv are q
#- q, k, v = head_views(self.qkv(x), self.num_heads)
k, q, v = head_views(self.qkv(x), self.num_heads)

# %% multi-head mistake columns-interleaved: Takes every third column.
#> The first D columns of qkv are q
#- q, k, v = head_views(self.qkv(x), self.num_heads)
q, k, v = (split_heads(self.qkv(x)[..., i::3], self.num_heads) for i in range(3))

# %% multi-head mistake no-output-layer: Forgets the output layer.
#> then self.out
#- return self.out(merge_heads(heads))
return merge_heads(heads)

# %% multi-head mistake layer-heads-not-merged: Merges heads by a reshape alone.
#> Attention with both masks, merge_heads
#- return self.out(merge_heads(heads))
return self.out(heads.reshape(*x.shape))

# %% multi-head mistake causal-forgotten-with-a-mask: Uses only the given mask when the layer is
# causal.
#> causal=True) with a bool mask
#- mask = self.combined_mask(x.shape[1], attn_mask)
mask = attn_mask if attn_mask is not None else self.combined_mask(x.shape[1])

# %% multi-head mistake causal-forgotten-without-a-mask: Uses no mask at all when none is given.
#> causal=True) without an attn_mask
#- mask = self.combined_mask(x.shape[1], attn_mask)
mask = None if attn_mask is None else self.combined_mask(x.shape[1], attn_mask)

# %% multi-head mistake is-causal-beside-a-mask: Passes is_causal together with a mask.
#> combines both masks
#- heads = scaled_dot_product_attention(*self.project(x), mask, dropout_p)
heads = scaled_dot_product_attention(*self.project(x), attn_mask, dropout_p, self.causal)

# %% multi-head mistake positions-left-to-rope: Passes positions=None on to rope.
#> When positions is None, they are 0, 1
#- positions = np.arange(x.shape[1]) if positions is None else positions
positions = positions

# %% multi-head mistake mask-of-the-layer-ignored: Ignores the given mask.
#> with a bool mask of shape
#- mask = self.combined_mask(x.shape[1], attn_mask)
mask = self.combined_mask(x.shape[1])

# %% multi-head mistake layer-without-dropout: Does not pass the dropout probability.
#> two calls should differ
#- heads = scaled_dot_product_attention(*self.project(x), mask, dropout_p)
heads = scaled_dot_product_attention(*self.project(x), mask)

# %% multi-head mistake dropout-in-evaluation: Uses self.dropout also in evaluation mode.
#> in evaluation mode is no dropout
#- heads = scaled_dot_product_attention(*self.project(x), mask, dropout_p)
heads = scaled_dot_product_attention(*self.project(x), mask, self.dropout)

# %% multi-head mistake values-rotated: Also rotates the values.
#> on q and k only
#- q, k = rope(q, positions), rope(k, positions)
q, k, v = (rope(part, positions) for part in (q, k, v))

# %% multi-head mistake keys-not-rotated: Rotates the queries only.
#> on q and k only
#- q, k = rope(q, positions), rope(k, positions)
q = rope(q, positions)

# %% multi-head mistake rotated-before-splitting: Rotates before dividing among heads, so that
# each head has other speeds.
#> rope after split_heads
#- q, k, v = head_views(self.qkv(x), self.num_heads)
qkv, D = self.qkv(x), self.embed_dim
q, k, v = (qkv[..., i * D:(i + 1) * D] for i in range(3))
#- return q, k, v
return tuple(split_heads(part, self.num_heads) for part in (q, k, v))

# %% multi-head mistake given-positions-ignored: Counts positions from 0 although others are
# given.
#> at the given positions
#- positions = np.arange(x.shape[1]) if positions is None else positions
positions = np.arange(x.shape[1])

# %% padding mistake padding-repeated-per-head: Returns (B, keys), which broadcasts against the
# queries.
#> would not be aligned
return np.arange(keys) < np.reshape(lengths, (-1, 1))

# %% padding mistake padding-inverted: True for padding.
#> True means that the key belongs to the sequence
return np.arange(keys) >= np.asarray(lengths)[:, None, None, None]

# %% padding mistake padding-one-too-many: Allows one key too many.
#> the mask should be
return np.arange(keys) <= np.asarray(lengths)[:, None, None, None]

# %% padding mistake padding-in-the-wrong-axis: Has the sequences in the axis of the heads.
#> should have shape (3, 1, 1, 4)
return np.arange(keys) < np.asarray(lengths)[None, :, None, None]

# %% sinusoidal mistake base-1000: Uses the base 1000.
#> position 1 with D = 4
#- angles = np.arange(T)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / D)
angles = np.arange(T)[:, None] * 1000.0 ** (-np.arange(0, D, 2) / D)

# %% sinusoidal mistake odd-width: Has one frequency too many for the cosines of an odd width.
#> there is one cosine fewer than sines
#- out[:, 1::2] = np.cos(angles)[:, : D // 2]
out[:, 1::2] = np.cos(angles)

# %% sinusoidal mistake power-of-an-int: Computes negative powers of the integer 10000.
#> Write 10000.0, a float
#- angles = np.arange(T)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / D)
angles = np.arange(T)[:, None] * 10000 ** (-np.arange(0, D, 2) // D)

# %% sinusoidal mistake sines-then-cosines: Puts all sines before all cosines.
#> Sines and cosines alternate
angles = np.arange(T)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / D)
return np.concatenate([np.sin(angles), np.cos(angles)[:, : D // 2]], axis=1).astype(np.float32)

# %% sinusoidal mistake a-frequency-for-each-column: Gives each column its own frequency.
#> The frequencies are 10000 ** (-2 i / D)
angles = np.arange(T)[:, None] * 10000.0 ** (-np.arange(D) / D)
out = np.empty((T, D), np.float32)
out[:, 0::2], out[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
return out

# %% sinusoidal mistake float64-encodings: Returns float64, which makes every later array
# float64.
#> sinusoidal should give float32
#- out = np.empty((T, D), np.float32)
out = np.empty((T, D))

# %% sinusoidal mistake cosines-first: Begins with the cosine.
#> Sines and cosines alternate
#- out[:, 0::2] = np.sin(angles)
#- out[:, 1::2] = np.cos(angles)[:, : D // 2]
out[:, 0::2], out[:, 1::2] = np.cos(angles), np.sin(angles)[:, : D // 2]

# %% learned mistake rows-from-data: Takes rows of .data: the table is never trained.
#> the table gets no gradient
#- return x + self.weight[:T]
return x + self.weight.data[:T]

# %% learned mistake last-rows: Adds the last rows instead of the first.
#> row t of the weight is added
#- return x + self.weight[:T]
return x + self.weight[-T:]

# %% learned mistake the-whole-table: Adds the whole table, which works only for a full context.
#> 4 positions of a context of 5
#- return x + self.weight[:T]
return x + self.weight

# %% rope mistake halves-not-pairs: Rotates the first half with the second half.
#> Pairs are neighbours
#- a, b = x[..., 0::2], x[..., 1::2]
#- return stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)
a, b = x[..., : d // 2], x[..., d // 2 :]
return stack([a * cos - b * sin, a * sin + b * cos], axis=-2).reshape(x.shape)

# %% rope mistake turned-back: Rotates in the other direction.
#> turn from the first axis toward the second
#- return stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)
return stack([a * cos + b * sin, b * cos - a * sin], axis=-1).reshape(x.shape)

# %% rope mistake base-of-rope-1000: Ignores the base that is given.
#> base=100.0 at the positions
#- angles = np.asarray(positions)[:, None] * base ** (-np.arange(0, d, 2) / d)
angles = np.asarray(positions)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)

# %% rope mistake speeds-half-as-fast: Uses -i / d instead of -2 i / d.
#> The second pair of 4 numbers turns by
#- angles = np.asarray(positions)[:, None] * base ** (-np.arange(0, d, 2) / d)
angles = np.asarray(positions)[:, None] * base ** (-np.arange(d // 2) / d)

# %% rope mistake rope-float64: Multiplies float32 by float64 cosines.
#> NumPy's sines and cosines of positions are float64
#- cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
cos, sin = np.cos(angles), np.sin(angles)

# %% rope mistake own-positions: Counts the rows instead of using the given positions.
#> [1, 0, 0, 0] at position 1
#- angles = np.asarray(positions)[:, None] * base ** (-np.arange(0, d, 2) / d)
angles = np.arange(x.shape[-2])[:, None] * base ** (-np.arange(0, d, 2) / d)

# %% rope mistake pairs-not-interleaved-again: Puts all first numbers before all second numbers.
#> Pairs are neighbours
#- return stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)
return stack([a * cos - b * sin, a * sin + b * cos], axis=-2).reshape(x.shape)

# %% rope mistake rope-of-data: Rotates the data, so that nothing is recorded.
#> the result does not
#- a, b = x[..., 0::2], x[..., 1::2]
a, b = Tensor(x.data[..., 0::2]), Tensor(x.data[..., 1::2])

# %% chunked mistake blocks-not-rescaled: Does not rescale the earlier sums when the maximum
# rises.
#> multiplied by exp(m - n)
#- shrink, powers = np.exp(before - highest), np.exp(scores - highest)
shrink, powers = 1.0, np.exp(scores - highest)

# %% chunked mistake blocks-averaged: Adds the separate attention of each block.
#> divide once, at the end
#- return Tensor(out / np.where(total == 0, 1, total))
return Tensor(out / total * 0.5)

# %% chunked mistake last-block-lost: Leaves out the last block when it is shorter.
#> the last block may be shorter
#- for start in range(0, Tk, block):
#-     keys = np.arange(start, min(start + block, Tk))
for start in range(0, Tk - Tk % block or Tk, block):
    keys = np.arange(start, min(start + block, Tk))

# %% chunked mistake sum-not-rescaled: Rescales the weighted values, and forgets the sum.
#> multiplied by exp(m - n)
#- total = total * shrink + powers.sum(-1, keepdims=True)
total = total + powers.sum(-1, keepdims=True)

# %% chunked mistake chunks-not-causal: Ignores is_causal.
#> is_causal=True
#- if is_causal:
#-     scores[..., keys > np.arange(Tk - Tq, Tk)[:, None]] = -np.inf
if False:
    scores[..., keys > np.arange(Tk - Tq, Tk)[:, None]] = -np.inf

# %% chunked mistake chunks-aligned-at-the-start: Aligns the causal mask at the first key.
#> The queries are the last positions
#- scores[..., keys > np.arange(Tk - Tq, Tk)[:, None]] = -np.inf
scores[..., keys > np.arange(Tq)[:, None]] = -np.inf

# %% chunked mistake chunks-start-at-minus-infinity: Starts the maximum at -inf: a block with
# nothing to see gives nan.
#> must not give nan
#- highest = np.full_like(q[..., :1], np.finfo(q.dtype).min)
highest = np.full_like(q[..., :1], -np.inf)
#- for start in range(0, Tk, block):
#-     keys = np.arange(start, min(start + block, Tk))
for start in reversed(range(0, Tk, block)):
    keys = np.arange(start, min(start + block, Tk))

# %% chunked mistake no-chunks: Computes plain attention.
#> compute scores, and the part of the mask
mask = causal_mask(Tq, Tk) if is_causal else None
return Tensor(scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), mask).data)

# %% chunked mistake whole-mask-in-chunks: Makes the whole causal mask, and takes a part of it
# for each block.
#> compute scores, and the part of the mask
#- total, out = np.zeros_like(highest), 0
total, out = np.zeros_like(highest), 0
allowed = causal_mask(Tq, Tk)

# %% chunked mistake float64-in-chunks: Starts the sums in float64, so that the result is
# float64.
#> Which array was made without a dtype?
#- highest = np.full_like(q[..., :1], np.finfo(q.dtype).min)
highest = np.full(q[..., :1].shape, -1e30)

# %% chunked mistake chunks-overflow: Subtracts no maximum.
#> Subtract the running maximum
#- before, highest = highest, np.maximum(highest, scores.max(-1, keepdims=True))
before, highest = highest, np.zeros_like(highest)

# %% chunked mistake chunks-scale-in-place: Divides the caller's queries in place.
#> after chunked_attention, the input should be
#- q = q / math.sqrt(q.shape[-1])
q /= math.sqrt(q.shape[-1])

# %% scores right: the queries scaled first
factor = query.shape[-1] ** -0.5 if scale is None else scale
return (query * factor) @ key.swapaxes(-2, -1)

# %% scores right: a broadcast product and a sum
dots = (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(axis=-1)
return dots / math.sqrt(query.shape[-1]) if scale is None else dots * scale

# %% causal-mask right: two ranges compared
return np.arange(keys) <= np.arange(keys - queries, keys)[:, None]

# %% causal-mask right: the last rows of a square mask
return np.tril(np.ones((keys, keys), dtype=bool))[keys - queries:]

# %% causal-mask right: a loop over queries
mask = np.zeros((queries, keys), bool)
for i in range(queries):
    mask[i, : keys - queries + i + 1] = True
return mask

# %% masked-softmax right: a separate softmax, with a finite number below all scores
if mask is not None:
    is_bool = operand(mask).dtype == bool
    scores = where(mask, scores, -np.inf) if is_bool else scores + mask
lowest = np.finfo(scores.dtype).min
powers = (scores - np.maximum(scores.data.max(-1, keepdims=True), lowest)).exp()
total = powers.sum(-1, keepdims=True)
return powers / where(total.data == 0, 1, total)

# %% masked-softmax right: hidden powers replaced by 0
allowed = np.ones(scores.shape, bool)
if mask is not None and operand(mask).dtype == bool:
    allowed = np.broadcast_to(operand(mask), scores.shape)
elif mask is not None:
    scores = scores + mask
    allowed = scores.data > -np.inf
scores = where(allowed, scores, 0)
highest = np.where(allowed, scores.data, np.finfo(scores.dtype).min).max(-1, keepdims=True)
powers = where(allowed, scores - highest, -np.inf).exp()
total = powers.sum(-1, keepdims=True)
return where(total.data > 0, powers / (total + (total.data == 0)), 0)

# %% masked-softmax right: the maximum recorded, and a sum of at least a tiny number
if mask is None:
    masked = scores
elif operand(mask).dtype.kind == "b":
    masked = where(mask, scores, float("-inf"))
else:
    masked = mask + scores
top = masked.max(-1, keepdims=True)
top = where(np.isfinite(top.data), top, 0)
powers = (masked - top).exp()
return powers / powers.sum(-1, keepdims=True).maximum(np.finfo(masked.dtype).tiny)

# %% attention right: queries scaled, steps named
scale = query.shape[-1] ** -0.5 if scale is None else scale
scores = attention_scores(query * scale, key, 1.0)
mask = causal_mask(*scores.shape[-2:]) if is_causal else attn_mask
return dropout(masked_softmax(scores, mask), dropout_p) @ value

# %% attention right: without attention_scores
T = query.shape[-2]
if is_causal:
    attn_mask = np.where(np.tri(T, dtype=bool), np.float32(0), np.float32(-np.inf))
factor = 1 / math.sqrt(key.shape[-1]) if scale is None else scale
weights = masked_softmax(query @ key.swapaxes(-1, -2) * factor, attn_mask)
weights = weights if not dropout_p else dropout(weights, dropout_p)
return weights @ value

# %% by-hand right: the query reshaped, an even larger scale
#- return scaled_dot_product_attention(query.unsqueeze(0), keys, values, scale=1000.0)[0]
rows = query.reshape(1, -1)
out = scaled_dot_product_attention(rows, keys, values, scale=1e4)
return out.reshape(values.shape[-1])

# %% by-hand right: equal scores by a scale of 0, counts by the length so far
#- same = Tensor(np.zeros((values.shape[-2], 1), values.dtype))
#- return scaled_dot_product_attention(same, same, values, is_causal=True)
rows = values
return scaled_dot_product_attention(rows, rows, rows, is_causal=True, scale=0.0)

# %% heads right: transpose with all axes
#- return x.reshape(B, T, heads, D // heads).swapaxes(1, 2)
return x.reshape(B, T, heads, D // heads).transpose(0, 2, 1, 3)

# %% heads right: parts of the last axis, stacked
#- return x.reshape(B, T, heads, D // heads).swapaxes(1, 2)
d = D // heads
return stack([x[:, :, h * d:(h + 1) * d] for h in range(heads)], axis=1)

# %% forward right: einsum, and a mask by where
#- weights = q @ k.swapaxes(-1, -2)
#- weights *= 1 / math.sqrt(q.shape[-1])
#- if causal:
#-     weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)
#- weights -= weights.max(-1, keepdims=True)
#- np.exp(weights, out=weights)
#- weights /= weights.sum(-1, keepdims=True)
#- return weights
scores = np.einsum("...id,...jd->...ij", q, k) / np.sqrt(q.shape[-1]).astype(q.dtype)
if causal:
    scores = np.where(causal_mask(q.shape[-2], k.shape[-2]), scores, -np.inf)
powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
return powers / powers.sum(axis=-1, keepdims=True)

# %% forward right: a loop over sequences and heads
#- weights = saved["weights"] = weights_forward(q, k, causal)
#- return (weights @ v).swapaxes(1, 2).reshape(B, T, width // 3)
out = np.empty((B, T, width // 3), qkv.dtype)
saved["weights"] = np.empty((B, heads, T, T), qkv.dtype)
d = width // 3 // heads
for b in range(B):
    for h in range(heads):
        p = weights_forward(q[b, h], k[b, h], causal)
        saved["weights"][b, h] = p
        out[b, :, h * d:(h + 1) * d] = p @ v[b, h]
return out

# %% rule right: the row term first
#- out = weights * g
#- out -= weights * out.sum(-1, keepdims=True)
#- return out
return weights * (g - np.sum(g * weights, axis=-1, keepdims=True))

# %% rule right: einsum, and the factor in k and q
#- dv[...] = weights.swapaxes(-1, -2) @ g
#- scores = softmax_rule(g @ v.swapaxes(-1, -2), weights)
#- scores *= 1 / math.sqrt(q.shape[-1])
#- dq[...] = scores @ k
#- dk[...] = scores.swapaxes(-1, -2) @ q
scale = k.shape[-1] ** -0.5
scores = softmax_rule(np.einsum("bhid,bhjd->bhij", g, v), weights)
dq[...] = np.einsum("bhij,bhjd->bhid", scores, scale * k)
dk[...] = np.einsum("bhij,bhid->bhjd", scores, scale * q)
dv[...] = np.einsum("bhij,bhid->bhjd", weights, g)

# %% multi-head right: parts of the columns, each split into heads
#- q, k, v = head_views(self.qkv(x), self.num_heads)
qkv, D = self.qkv(x), self.embed_dim
q, k, v = (split_heads(qkv[..., i * D:(i + 1) * D], self.num_heads) for i in range(3))

# %% multi-head right: split before dividing, in three lines
#- q, k, v = head_views(self.qkv(x), self.num_heads)
every = split_heads(self.qkv(x), 3 * self.num_heads)
H = self.num_heads
q, k, v = every[:, :H], every[:, H:2 * H], every[:, 2 * H:]

# %% multi-head right: the steps of attention named
#- heads = scaled_dot_product_attention(*self.project(x), mask, dropout_p)
#- return self.out(merge_heads(heads))
q, k, v = self.project(x)
weights = masked_softmax(attention_scores(q, k), mask)
if dropout_p > 0:
    weights = dropout(weights, dropout_p)
return self.out(merge_heads(weights @ v))

# %% padding right: a loop over sequences
mask = np.zeros((len(lengths), 1, 1, keys), dtype=bool)
for b, length in enumerate(lengths):
    mask[b, 0, 0, :length] = True
return mask

# %% padding right: a comparison with new axes
lengths = np.asarray(lengths)
return np.arange(keys)[None, None, None, :] < lengths[:, None, None, None]

# %% sinusoidal right: a loop over columns
out = np.zeros((T, D), dtype=np.float32)
for i in range(D):
    angles = np.arange(T) / 10000 ** (2 * (i // 2) / D)
    out[:, i] = np.cos(angles) if i % 2 else np.sin(angles)
return out

# %% sinusoidal right: a cosine is a shifted sine
columns = np.arange(D)
speeds = np.exp(-math.log(10000.0) * (columns // 2 * 2) / D)
angles = np.arange(T)[:, None] * speeds + (columns % 2) * (math.pi / 2)
return np.sin(angles).astype("float32")

# %% learned right: rows by an array of positions
return self.weight[np.arange(T)] + x

# %% learned right: a one-hot product
return x + Tensor(np.eye(T, context, dtype=np.float32)) @ self.weight

# %% rope right: pairs as an axis
d = x.shape[-1]
speeds = np.array([base ** (-2 * i / d) for i in range(d // 2)])
angles = np.outer(positions, speeds)
cos, sin = (f(angles).astype(x.dtype) for f in (np.cos, np.sin))
pairs = x.reshape(*x.shape[:-1], d // 2, 2)
a, b = pairs[..., 0], pairs[..., 1]
return stack([a * cos - b * sin, b * cos + a * sin], axis=-1).flatten(-2)

# %% rope right: x times cosines plus its quarter turn times sines
d = x.shape[-1]
angles = np.reshape(positions, (-1, 1)) / base ** (np.arange(0, d, 2) / d)
angles = np.repeat(angles, 2, axis=-1)
turn = np.zeros((d, d), x.dtype)
for i in range(0, d, 2):
    turn[i, i + 1], turn[i + 1, i] = 1, -1
return x * np.cos(angles).astype(x.dtype) + (x @ turn) * np.sin(angles).astype(x.dtype)

# %% chunked right: lists of slices, named by the paper
scale, m, total, out = 1 / math.sqrt(q.shape[-1]), None, 0, 0
positions = np.arange(Tk)
for start in range(0, Tk, block):
    stop = start + block
    scores = np.einsum("...id,...jd->...ij", q, k[..., start:stop, :]) * q.dtype.type(scale)
    if is_causal:
        allowed = positions[start:stop] <= np.arange(Tk - Tq, Tk)[:, None]
        scores = np.where(allowed, scores, -np.inf)
    new = np.maximum(scores.max(axis=-1), np.finfo(q.dtype).min)
    new = new if m is None else np.maximum(m, new)
    factor = 1 if m is None else np.exp(m - new)
    p = np.exp(scores - new[..., None])
    total = factor * total + p.sum(axis=-1)
    out = (out if m is None else factor[..., None] * out) + p @ v[..., start:stop, :]
    m = new
return Tensor(out / np.maximum(total, np.finfo(q.dtype).tiny)[..., None])

# %% chunked right: the mean kept normalized, query by query
lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
out = np.zeros((*lead, Tq, v.shape[-1]), q.dtype)
for i in range(Tq):
    last = Tk - Tq + i + 1 if is_causal else Tk
    m, total = np.full((*lead, 1), -np.inf, q.dtype), np.zeros((*lead, 1), q.dtype)
    for start in range(0, last, block):
        stop = min(start + block, last)
        s = (k[..., start:stop, :] * q[..., i:i + 1, :]).sum(-1) / math.sqrt(q.shape[-1])
        new = np.maximum(m, s.max(-1, keepdims=True))
        p, old = np.exp(s - new), total * np.exp(m - new)
        total = old + p.sum(-1, keepdims=True)
        added = (p[..., None] * v[..., start:stop, :]).sum(-2)
        out[..., i, :] = (out[..., i, :] * old + added) / total
        m = new
return Tensor(out)

# %% scores equivalent: swapaxes exchanges two axes: their order does not matter.
#= `-1, -2` -> `-2, -1`

# %% masked-softmax equivalent: In the inner `where`: any finite scores will do for a row that
# becomes 0 afterwards.
#= `0` -> `1`
#= `0` -> `(-1)`

# %% attention equivalent: With is_causal=True there are as many queries as keys.
#= `query.shape[-2], key.shape[-2]` -> `key.shape[-2], query.shape[-2]`

# %% by-hand equivalent: There is one row: it is the first and the last.
#= `0` -> `(-1)`

# %% by-hand equivalent: Any large scale will do.
#= `1000.0` -> `1001.0`
#= `1000.0` -> `999.0`
#= `1000.0` -> `2000.0`

# %% by-hand equivalent: Queries of zeros: their width does not matter.
#= `1` -> `2`

# %% heads equivalent: swapaxes exchanges two axes: their order does not matter.
#= `1, 2` -> `2, 1`

# %% forward equivalent: swapaxes exchanges two axes: their order does not matter.
#= `-1, -2` -> `-2, -1`

# %% forward equivalent: These arrays have four axes: -2 and 2 are the same one.
#= `-2` -> `(2)`

# %% forward equivalent: A constant added to all scores of a row changes no weight.
#= `0` -> `1`
#= `0` -> `(-1)`

# %% forward equivalent: swapaxes exchanges two axes: their order does not matter.
#= `1, 2` -> `2, 1`

# %% rule equivalent: swapaxes exchanges two axes: their order does not matter.
#= `-1, -2` -> `-2, -1`

# %% rule equivalent: These arrays have four axes: -2 and 2 are the same one.
#= `-2` -> `(2)`

# %% rule equivalent: Given code between the two solutions: NumPy takes every negative length as
# the one to compute.
#= `1` -> `2`

# %% chunked equivalent: The smaller of two numbers, in either order.
#= `start + block, Tk` -> `Tk, start + block`

# %% chunked equivalent: swapaxes exchanges two axes: their order does not matter.
#= `-1, -2` -> `-2, -1`

# %% chunked equivalent: The larger of two numbers, in either order.
#= `highest, scores.max(-1, keepdims=True)` -> `scores.max(-1, keepdims=True), highest`

# %% chunked equivalent: What 0 is divided by: any number but 0 will do.
#= `1` -> `2`
