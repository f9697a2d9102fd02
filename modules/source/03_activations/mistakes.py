# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% collapse-linear mistake first-bias-left-out: Leaves the first bias out.
#> both biases count
#- b = b1 @ w2 + b2
b = b2

# %% collapse-linear mistake matrices-in-reading-order-of-functions: Multiplies the matrices in
# the order in which composed functions are written, the second one first.
#> x is multiplied by w1 first
#- w = w1 @ w2
w = w2 @ w1

# %% collapse-linear mistake biases-added: Adds the two biases, which have different lengths.
#> b1 is also multiplied by w2
#- b = b1 @ w2 + b2
b = b1 + b2

# %% relu mistake relu-of-the-whole: Uses max() instead of maximum(): the largest number of all
# instead of the larger of two.
#> the larger of each element and y is x.maximum(y)
return x.max(0)

# %% relu mistake relu-flips-the-sign: Returns the absolute value: negative inputs change their
# sign instead of becoming 0.
#> relu of [-2.0, 0.0, 3.0] should be
return abs(x)

# %% relu mistake relu-in-place: Writes zeros into the caller's tensor.
#> do not write into x
x.data[x.data < 0] = 0
return where(x <= 0, 0, x)

# %% relu mistake relu-of-the-array: Computes with x.data, so that nothing is recorded.
#> compute with x, not with x.data
return Tensor(np.maximum(x.data, 0))

# %% relu mistake relu-leaky: Multiplies negative inputs by 0.01, as leaky ReLU does.
#> relu of [-2.0, 0.0, 3.0] should be
return x.maximum(0.01 * x)

# %% relu mistake relu-by-maximum: Uses maximum, whose derivative at 0 is 1/2 instead of 0.
#> maximum and abs give it
return x.maximum(0)

# %% relu mistake relu-by-clip: Uses clip, whose derivative at its limit 0 is 1 instead of 0.
#> at 0, the comparison should choose the constant, not x
return x.clip(0)

# %% relu mistake relu-strict-condition: Tests x < 0, so that at 0 the derivative is the
# derivative of x.
#> at 0, the comparison should choose the constant, not x
return where(x < 0, 0, x)

# %% xor mistake xor-is-or: Subtracts the second hidden unit once instead of twice.
#> XOR of (1, 1) should be 0, yours is 1
#- w2, b2 = Tensor([[1.0], [-2.0]]), Tensor([0.0])
w2, b2 = Tensor([[1.0], [-1.0]]), Tensor([0.0])

# %% xor mistake xor-columns-for-rows: Writes the second layer's weights as a row: one row per
# unit instead of one per input.
#> the shapes should be (2, 2), (2,), (2, 1), (1,)
#- w2, b2 = Tensor([[1.0], [-2.0]]), Tensor([0.0])
w2, b2 = Tensor([[1.0, -2.0]]), Tensor([0.0])

# %% xor mistake xor-second-unit-without-threshold: Gives no unit a bias, so that no kink lies
# between 0 and 2.
#> after relu, the hidden units are
#- w1, b1 = Tensor([[1.0, 1.0], [1.0, 1.0]]), Tensor([0.0, -1.0])
w1, b1 = Tensor([[1.0, 1.0], [1.0, 1.0]]), Tensor([0.0, 0.0])

# %% softmax mistake softmax-without-a-shift: Subtracts no maximum, so that large logits
# overflow.
#> Subtract the largest logit first
powers = x.exp()
return powers / powers.sum(axis, keepdims=True)

# %% softmax mistake softmax-maximum-of-the-batch: Subtracts the largest logit of the whole
# batch: a row far below it becomes 0 / 0.
#> subtract the largest logit of each row, not of the whole batch
powers = (x - x.max()).exp()
return powers / powers.sum(axis, keepdims=True)

# %% softmax mistake softmax-shift-never-negative: Subtracts the larger of 0 and the largest
# logit, so that very negative logits give 0 / 0.
#> also if it is negative
powers = (x - x.max(axis, keepdims=True).maximum(0)).exp()
return powers / powers.sum(axis, keepdims=True)

# %% softmax mistake softmax-sum-of-everything: Divides by the sum of the whole batch.
#> probabilities should sum to 1
powers = (x - x.max(axis, keepdims=True)).exp()
return powers / powers.sum()

# %% softmax mistake softmax-axis-ignored-in-the-sum: Sums along the last axis whatever the
# caller says.
#> along axis 0 probabilities should sum to 1
powers = (x - x.max(axis, keepdims=True)).exp()
return powers / powers.sum(-1, keepdims=True)

# %% softmax mistake softmax-axis-one: Uses axis 1 as the last axis, which is right for matrices
# only.
#> along axis -1 probabilities should sum to 1
powers = (x - x.max(axis, keepdims=True)).exp()
return powers / powers.sum(1, keepdims=True)

# %% softmax mistake softmax-other-default: Has the first axis as default.
#> by default softmax works along the last axis
#- def softmax(x, axis=-1):
#-     """Turn logits into probabilities along `axis`.
#-
#-     x        Tensor of logits, shape (..., classes, ...); -inf means "impossible"
#-     axis     the axis of the classes: an int, or a tuple of ints if the classes are on several
#-              axes
#-     returns  a new Tensor of the same shape, computed with Tensor operations. Its numbers are
#-              >= 0 and sum to 1 along `axis`
#-
#-     Correct for logits of +-1000, also if the rows of a batch have logits of very different
#-     size. If all logits of a row are -inf, the result is nan.
#-
#-     >>> softmax(Tensor([[1000.0, 1000.0], [0.0, -1000.0]]))
#-     Tensor([[0.5, 0.5],
#-             [1. , 0. ]])
#-
#-     Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 4.1.
#-     """
def softmax(x, axis=0):
    """Turn logits into probabilities along `axis`.

    x        Tensor of logits, shape (..., classes, ...); -inf means "impossible"
    axis     the axis of the classes: an int, or a tuple of ints if the classes are on several
             axes
    returns  a new Tensor of the same shape, computed with Tensor operations. Its numbers are
             >= 0 and sum to 1 along `axis`

    Correct for logits of +-1000, also if the rows of a batch have logits of very different
    size. If all logits of a row are -inf, the result is nan.

    >>> softmax(Tensor([[1000.0, 1000.0], [0.0, -1000.0]]))
    Tensor([[0.5, 0.5],
            [1. , 0. ]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 4.1.
    """

# %% softmax mistake softmax-maximum-along-another-axis: Takes the maximum along the last axis
# whatever the caller says; it cancels, until logits are large.
#> the same logits as columns, with axis=0
powers = (x - x.max(-1, keepdims=True)).exp()
return powers / powers.sum(axis, keepdims=True)

# %% softmax mistake softmax-sum-without-keepdims: Drops the axis of the sum, which then lines
# up with another one.
#> Do max and sum keep the reduced axes?
powers = (x - x.max(axis, keepdims=True)).exp()
return powers / powers.sum(axis)

# %% softmax mistake softmax-without-exp: Divides the logits themselves by their sum.
#> softmax along axis -1 should be
powers = x
return powers / powers.sum(axis, keepdims=True)

# %% softmax mistake softmax-sum-cut-off: Divides by the sum's array: right values, but
# derivatives as if raising one logit did not lower the other probabilities.
#> some operation used .data
powers = (x - x.max(axis, keepdims=True)).exp()
return powers / powers.data.sum(axis, keepdims=True)

# %% collapse-linear right: Adds the biases of both layers in the order in which they are
# applied.
bias = b2 + b1 @ w2
return w1 @ w2, bias

# %% collapse-linear right: Appends the bias as a further row of the matrix and splits the
# product.
from tinytorch.core.tensor import concatenate
both = concatenate([w1, b1.reshape(1, -1)]) @ w2
return both[:-1], both[-1] + b2

# %% relu right: Chooses the positive ones.
return where(x > 0, x, 0)

# %% relu right: Multiplies by the mask of the positive ones.
return x * (x > 0)

# %% relu right: The operation that Tensor has.
return x.relu()

# %% xor mistake weights-as-lists: Writes lists of numbers instead of Tensors.
#> w1 is a list: put Tensor(...) around it
return [[1.0, 1.0], [1.0, 1.0]], [0.0, -1.0], [[1.0], [-2.0]], [0.0]

# %% xor right: The two differences, each cut off at 0.
w1 = Tensor([[1.0, -1.0], [-1.0, 1.0]])
return w1, Tensor([0.0, 0.0]), Tensor([[1.0], [1.0]]), Tensor([0.0])

# %% xor right: 1 minus neither minus both.
w1 = Tensor([[-1.0, 1.0], [-1.0, 1.0]])
return w1, Tensor([1.0, -1.0]), Tensor([[-1.0], [-1.0]]), Tensor([1.0])

# %% softmax right: The exponential of the logits minus their log-sum-exp.
shifted = x - x.max(axis, keepdims=True)
return (shifted - shifted.exp().sum(axis, keepdims=True).log()).exp()

# %% softmax right: The maximum as an array without a derivative, and a product with the
# reciprocal.
largest = x.data.max(axis=axis, keepdims=True)
e = (x - largest).exp()
return e * (1 / e.sum(axis, keepdims=True))

