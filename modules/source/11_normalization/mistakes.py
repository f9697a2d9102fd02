# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% spread mistake spread-of-the-input: Measures the input of each layer instead of its output.
#> This is the input of each layer
#- x = layer(x)
#- stds.append(float(x.data.std()))
stds.append(float(x.data.std()))
x = layer(x)

# %% spread mistake every-layer-gets-x: Gives every layer the input of the network.
#> Each layer gets the output of the layer before it
#- x = layer(x)
#- stds.append(float(x.data.std()))
stds.append(float(layer(x).data.std()))

# %% spread mistake spread-records: Records a computation graph that is not needed.
#> use no_grad
stds = []
if True:
    for layer in model:
        x = layer(x)
        stds.append(float(x.data.std()))
return stds

# %% spread mistake spread-of-columns: Takes the mean of the deviations of the columns.
#> take all numbers together
#- stds.append(float(x.data.std()))
stds.append(float(x.data.std(axis=0).mean()))

# %% spread mistake spread-is-a-variance: Returns variances.
#> This is the variance
#- stds.append(float(x.data.std()))
stds.append(float(x.data.var()))

# %% spread mistake spread-returns-tensors: Returns Tensors instead of floats.
#> should return a list of floats
#- stds.append(float(x.data.std()))
stds.append(x.std())

# %% normalized mistake variance-as-a-difference: Computes the variance as the mean of x² minus
# the squared mean.
#> in float32 it loses digits
m = x.mean(axes, keepdims=True)
variance = (x * x).mean(axes, keepdims=True) - m * m
return (x - m) / (variance + eps).sqrt()

# %% normalized mistake sample-deviation-outside: Divides by the sample standard deviation, with
# eps outside the root.
#> the variance is over n
return (x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True, correction=1) + eps)

# %% normalized mistake eps-outside-the-root: Adds eps to the standard deviation.
#> eps belongs under the root
centered = x - x.mean(axes, keepdims=True)
return centered / (x.std(axes, keepdims=True) + eps)

# %% normalized mistake no-eps: Leaves eps out, so that a constant row is 0 / 0.
#> Is eps added at all?
centered = x - x.mean(axes, keepdims=True)
return centered / x.std(axes, keepdims=True)

# %% normalized mistake own-eps: Uses an eps far below the resolution of float32.
#> Is eps added at all?
centered = x - x.mean(axes, keepdims=True)
return centered / (x.var(axes, keepdims=True) + 1e-56).sqrt()

# %% normalized mistake without-keepdims: Reduces without keepdims: on a square batch, the means
# of rows meet the columns.
#> use keepdims
return (x - x.mean(axes)) / (x.var(axes, keepdims=True) + eps).sqrt()

# %% normalized mistake no-keepdims-at-all: Reduces without keepdims, twice.
#> keepdims=True
return (x - x.mean(axes)) / (x.var(axes) + eps).sqrt()

# %% normalized mistake axes-ignored: Takes mean and variance of all numbers.
#> Mean and variance were taken over all axes
return (x - x.mean()) / (x.var() + eps).sqrt()

# %% normalized mistake always-axis-0: Normalizes over the batch, whatever the axes are.
#> You normalized over axis 0
return (x - x.mean(0, keepdims=True)) / (x.var(0, keepdims=True) + eps).sqrt()

# %% normalized mistake always-last-axis: Normalizes over the last axis, whatever the axes are.
#> You normalized over axis 1
return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + eps).sqrt()

# %% normalized mistake divided-by-the-variance: Divides by the variance.
#> instead of its root
centered = x - x.mean(axes, keepdims=True)
return centered / (x.var(axes, keepdims=True) + eps)

# %% normalized mistake statistics-without-graph: Computes mean and variance from x.data, as if
# they were constants.
#> compute them with Tensors
mean, var = x.data.mean(axes, keepdims=True), x.data.var(axes, keepdims=True)
return (x - mean) / np.sqrt(var + eps)

# %% normalized mistake variance-without-graph: Computes the variance from x.data, as if it were
# a constant.
#> compute it with Tensors
var = x.data.var(axes, keepdims=True)
return (x - x.mean(axes, keepdims=True)) / np.sqrt(var + eps)

# %% normalized mistake result-without-graph: Computes with x.data throughout.
#> not with x.data
mean, var = x.data.mean(axes, keepdims=True), x.data.var(axes, keepdims=True)
return Tensor((x.data - mean) / np.sqrt(var + eps))

# %% normalized mistake x-normalized-in-place: Subtracts the mean from x itself.
#> normalized changes its argument x
variance = x.var(axes, keepdims=True)
x.data -= x.data.mean(axes, keepdims=True)
return x / (variance + eps).sqrt()
centered = x
return centered / (x.var(axes, keepdims=True) + eps).sqrt()

# %% layer-norm-forward mistake layer-norm-over-the-batch: Normalizes over the batch.
#> You normalized over axis 0
centered = x - x.mean(0, keepdims=True)
saved["scale"] = 1 / np.sqrt((centered * centered).mean(0, keepdims=True) + eps)
saved["normalized"] = centered * saved["scale"]
return saved["normalized"] * weight + bias

# %% layer-norm-forward mistake output-saved: Multiplies the saved array in place, so that the
# output is saved.
#> keep x̂
#- return saved["normalized"] * weight + bias
out = saved["normalized"]
out *= weight
out += bias
return out

# %% layer-norm-forward mistake deviation-saved: Saves the standard deviation instead of its
# inverse.
#> keep 1 divided by it
centered = x - x.mean(-1, keepdims=True)
saved["scale"] = np.sqrt((centered * centered).mean(-1, keepdims=True) + eps)
saved["normalized"] = centered / saved["scale"]
return saved["normalized"] * weight + bias

# %% layer-norm-forward mistake nothing-saved: Saves nothing.
#> saved should have the key "normalized"
normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
return normal * weight + bias

# %% layer-norm-forward mistake affine-forgotten: Forgets weight and bias.
#> Weight and bias are missing
#- return saved["normalized"] * weight + bias
return saved["normalized"]

# %% layer-norm-forward mistake bias-before-weight: Adds the bias before it multiplies with the
# weight.
#> before the multiplication with the weight
#- return saved["normalized"] * weight + bias
return (saved["normalized"] + bias) * weight

# %% layer-norm-forward mistake x-centered-in-place: Centers x in place.
#> changed its input x
#- centered = x - sum_forward(x, -1, True) / n  # faster than x.mean on short rows
centered = x
centered -= x.sum(-1, keepdims=True) / n  # NumPy's mean is slower on short rows

# %% layer-norm-forward mistake float64-inside: Computes in float64.
#> should give float32
#- centered = x - sum_forward(x, -1, True) / n  # faster than x.mean on short rows
centered = x - np.mean(x, -1, np.float64, keepdims=True)  # NumPy's mean is slower on short rows

# %% layer-norm-forward mistake variance-by-mean-of-squares-forward: Computes the variance as
# the mean of the squares minus the squared mean.
#> in float32 it loses digits
#- variance = sum_forward(centered * centered, -1, True) / n
variance = (x * x).mean(-1, keepdims=True) - x.mean(-1, keepdims=True) ** 2

# %% layer-norm-rule mistake rule-without-the-weight: Leaves the weight out of the gradient of
# x.
#> The factor weight is missing: h = g * weight
#- h = g * weight
h = g

# %% layer-norm-rule mistake statistics-as-constants: Treats mean and deviation as constants.
#> treats both as constants
#- dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * along)
dx = saved["scale"] * h

# %% layer-norm-rule mistake deviation-as-constant: Treats the deviation as a constant.
#> the term with x̂ is missing
#- dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * along)
dx = saved["scale"] * (h - h.mean(-1, keepdims=True))

# %% layer-norm-rule mistake mean-as-constant: Treats the mean as a constant.
#> the mean of h is missing
#- dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * along)
dx = saved["scale"] * (h - normal * along)

# %% layer-norm-rule mistake scale-forgotten: Forgets the factor 1 / sigma.
#> The factor scale is missing
#- dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * along)
dx = (h - h.mean(-1, keepdims=True) - normal * along)

# %% layer-norm-rule mistake divided-by-scale: Divides by the saved scale, which is already 1 /
# sigma.
#> instead of multiplied
#- dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * along)
dx = (h - h.mean(-1, keepdims=True) - normal * along) / saved["scale"]

# %% layer-norm-rule mistake weight-forgotten-in-the-rule: Takes the means of g, and multiplies
# with the weight last.
#> should add up to 0
normal = saved["normalized"]
along = (g * normal).mean(-1, keepdims=True)
dx = saved["scale"] * weight * (g - g.mean(-1, keepdims=True) - normal * along)
rows = tuple(range(g.ndim - 1))
return [dx, (g * normal).sum(rows), g.sum(rows)]

# %% layer-norm-rule mistake only-the-batch-axis: Adds up the gradients of weight and bias over
# axis 0 only.
#> add up over all axes but the last
#- rows = tuple(range(g.ndim - 1))
rows = 0

# %% layer-norm-rule mistake mean-of-gradients: Takes the mean of the gradients of weight and
# bias.
#> gradients are added up
#- return [dx, sum_forward(g * normal, rows), sum_forward(g, rows)]
return [dx, (g * normal).mean(rows), g.mean(rows)]

# %% layer-norm-rule mistake weight-times-x: Uses x instead of x̂ in the gradient of the weight.
#> The weight multiplies x̂, not x
#- return [dx, sum_forward(g * normal, rows), sum_forward(g, rows)]
return [dx, (g * x).sum(rows), g.sum(rows)]

# %% layer-norm-rule mistake weight-and-bias-exchanged: Returns the gradients of bias and weight
# in the wrong order.
#> This is the gradient of the bias
#- return [dx, sum_forward(g * normal, rows), sum_forward(g, rows)]
return [dx, g.sum(rows), (g * normal).sum(rows)]

# %% layer-norm-rule mistake g-changed-in-place: Multiplies g with the weight in place.
#> make new arrays
normal = saved["normalized"]
rows = tuple(range(g.ndim - 1))
for_weight, for_bias = (g * normal).sum(rows), g.sum(rows)
g *= weight
along = (g * normal).mean(-1, keepdims=True)
dx = saved["scale"] * (g - g.mean(-1, keepdims=True) - normal * along)
return [dx, for_weight, for_bias]

# %% layer-norm-rule mistake sums-for-means: Takes sums where the formula has means.
#> x = [1, 2, 4], g = [1, 0, 0], weight 1
#- along = (h * normal).mean(-1, keepdims=True)
#- dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * along)
along = (h * normal).sum(-1, keepdims=True)
dx = saved["scale"] * (h - h.sum(-1, keepdims=True) - normal * along)

# %% layer-norm-rule mistake weight-gradient-from-h: Computes the gradient of the weight from g
# * weight instead of g.
#> x̂ is multiplied by g, not by g * weight
#- return [dx, sum_forward(g * normal, rows), sum_forward(g, rows)]
return [dx, (h * normal).sum(rows), g.sum(rows)]

# %% layer-norm-rule mistake scale-computed-again-without-eps: Computes the deviation again from
# x, without eps.
#> computed again, without eps
#- dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * along)
dx = 1 / x.std(-1, keepdims=True) * (h - h.mean(-1, keepdims=True) - normal * along)

# %% layer-norm mistake tensors-not-variables: Makes weight and bias plain tensors, which are no
# parameters.
#> Are both Variables?
#- self.weight = Variable(np.ones(self.normalized_shape, np.float32))
self.weight = Tensor(np.ones(self.normalized_shape, np.float32))

# %% layer-norm mistake zero-weight: Starts with a weight of 0, which makes every output 0.
#> at first, the weight
#- self.weight = Variable(np.ones(self.normalized_shape, np.float32))
self.weight = Variable(np.zeros(self.normalized_shape, np.float32))

# %% layer-norm mistake bias-without-weight: Makes a bias even if elementwise_affine is False.
#> should have the parameters []
#- if elementwise_affine and bias:
#-     self.bias = Variable(np.zeros(self.normalized_shape, np.float32))
if bias:
    self.bias = Variable(np.zeros(self.normalized_shape, np.float32))

# %% layer-norm mistake bias-always: Ignores the option bias.
#> should have the parameters ['weight']
#- if elementwise_affine and bias:
#-     self.bias = Variable(np.zeros(self.normalized_shape, np.float32))
if elementwise_affine:
    self.bias = Variable(np.zeros(self.normalized_shape, np.float32))

# %% layer-norm mistake eps-not-passed: Does not pass eps on.
#> Is eps passed on?
#- return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
return layer_norm(x, self.normalized_shape, self.weight, self.bias)

# %% layer-norm mistake parameters-not-passed: Does not pass weight and bias on.
#> Are weight and bias passed on?
#- return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
return layer_norm(x, self.normalized_shape, eps=self.eps)

# %% layer-norm mistake arrays-passed: Passes the arrays of weight and bias, so that they get no
# gradient.
#> should have a gradient
#- return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
w, b = [p if p is None else p.data for p in (self.weight, self.bias)]
return layer_norm(Tensor(x.data, True), self.normalized_shape, w, b, self.eps)

# %% running mistake momentum-the-other-way: Gives the old value the share momentum, as the
# momentum of an optimizer does.
#> in PyTorch's batch norm, momentum belongs to the new value
return momentum * old + (1 - momentum) * new

# %% running mistake old-in-full: Adds to the old value without reducing it.
#> The old value counts 1 - momentum
return old + momentum * new

# %% running mistake running-in-place: Changes its argument.
#> changed one of its arguments
old += momentum * (new - old)
return old

# %% batch-norm mistake running-statistics-in-training: Normalizes with the running statistics,
# even in training.
#> in training, use the batch's own
#- out = normalized(x, axes, eps)
out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)

# %% batch-norm mistake batch-norm-per-example: Normalizes each example.
#> batch norm normalizes each channel
#- out = normalized(x, axes, eps)
out = normalized(x, tuple(range(1, x.ndim)), eps)

# %% batch-norm mistake images-over-the-batch-only: Normalizes images over the batch only, each
# pixel separately.
#> over both axes of the image
#- out = normalized(x, axes, eps)
out = normalized(x, 0, eps)

# %% batch-norm mistake biased-running-variance: Stores the variance over n.
#> update the running variance with the variance over n - 1
#- var[...] = running(var, numbers.var(axes, correction=1).data, momentum)
var[...] = running(var, x.data.var(axes), momentum)

# %% batch-norm mistake never-updated: Computes the new statistics and does not store them.
#> Write into the array: mean[...]
#- mean[...] = running(mean, numbers.mean(axes).data, momentum)
#- var[...] = running(var, numbers.var(axes, correction=1).data, momentum)
mean = running(mean, x.data.mean(axes), momentum)
var = running(var, x.data.var(axes, ddof=1), momentum)

# %% batch-norm mistake momentum-exchanged: Exchanges old and new.
#> by the share momentum towards the batch
#- mean[...] = running(mean, numbers.mean(axes).data, momentum)
mean[...] = running(x.data.mean(axes), mean, momentum)

# %% batch-norm mistake updated-in-evaluation: Updates the running statistics, even in
# evaluation.
#> in evaluation the running statistics should stay
#- out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
mean[...] = running(mean, x.data.mean(axes), momentum)

# %% batch-norm mistake evaluation-uses-the-batch: Normalizes with the batch, even in
# evaluation.
#> depends on its neighbours
#- out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
out = normalized(x, axes, eps)

# %% batch-norm mistake variance-for-deviation: Divides by the running variance.
#> divide by its root
#- out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
out = (x - mean.reshape(shape)) / (var.reshape(shape) + eps)

# %% batch-norm mistake statistics-not-aligned: Broadcasts statistics of shape (C,) along the
# last axis of images.
#> the shape (1, C, 1, 1)
#- out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
out = (x - mean) / np.sqrt(var + eps)

# %% batch-norm mistake batch-statistics-as-constants: Computes mean and variance of the batch
# from x.data.
#> compute with Tensors
#- out = normalized(x, axes, eps)
m, v = x.data.mean(axes, keepdims=True), x.data.var(axes, keepdims=True)
out = (x - m) / np.sqrt(v + eps)

# %% batch-norm mistake running-variance-by-mean-of-squares: Computes the running variance from
# the mean of the squares minus the squared mean.
#> in float32 it loses digits
#- var[...] = running(var, numbers.var(axes, correction=1).data, momentum)
var[...] = running(var, ((x.data * x.data).mean(axes) - x.data.mean(axes) ** 2) * (x.size / len(mean)) / (x.size / len(mean) - 1), momentum)

# %% batch-norm mistake graph-cut-in-evaluation: Computes with x.data in evaluation, which cuts
# the graph.
#> Compute with the Tensor x, not with x.data
#- out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
out = Tensor(x.data - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)

# %% batch-norm-layer mistake statistics-are-parameters: Makes the running statistics
# parameters.
#> statistics are not learned
#- self.register_buffer("running_mean", zeros if track_running_stats else None)
self.running_mean = Variable(zeros) if track_running_stats else None

# %% batch-norm-layer mistake statistics-not-in-the-state-dict: Keeps the running statistics as
# plain arrays, which are not saved.
#> Use register_buffer
#- self.register_buffer("running_mean", zeros if track_running_stats else None)
#- self.register_buffer("running_var", ones if track_running_stats else None)
self.running_mean = zeros if track_running_stats else None
self.running_var = ones if track_running_stats else None

# %% batch-norm-layer mistake always-in-training: Does not look at self.training.
#> pass self.training
#- training = self.training or self.running_mean is None
training = True

# %% batch-norm-layer mistake never-in-training: Leaves the default, training=False.
#> in training mode
#- training = self.training or self.running_mean is None
training = self.running_mean is None

# %% batch-norm-layer mistake no-statistics-in-evaluation: Forgets that there may be no running
# statistics in evaluation mode.
#> evaluation mode also uses the batch's mean
#- training = self.training or self.running_mean is None
training = self.training

# %% batch-norm-layer mistake variance-starts-at-0: Starts the running variance at 0.
#> at first, .running_var
#- self.register_buffer("running_var", ones if track_running_stats else None)
self.register_buffer("running_var", zeros if track_running_stats else None)

# %% batch-norm-layer mistake affine-ignored: Always makes weight and bias.
#> with affine=False
#- if affine:
#-     self.weight, self.bias = Variable(ones), Variable(zeros)
if True:
    self.weight, self.bias = Variable(ones), Variable(zeros)

# %% batch-norm-layer mistake momentum-not-passed: Does not pass momentum on.
#> the running mean after one batch
#- return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
#-                   training, self.momentum, self.eps)
return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                  training, eps=self.eps)

# %% batch-norm-layer mistake weight-and-bias-in-training-only: Passes weight and bias on in
# training only.
#> Are weight and bias passed on in evaluation?
#- return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
#-                   training, self.momentum, self.eps)
return batch_norm(x, self.running_mean, self.running_var, *([self.weight, self.bias] if self.training else [None, None]),
                  training, self.momentum, self.eps)

# %% rms-norm mistake rms-norm-centers: Subtracts the mean.
#> does not center
#- saved["scale"] = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
x = x - x.mean(-1, keepdims=True)
saved["scale"] = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)

# %% rms-norm mistake rms-of-the-deviation: Divides by the standard deviation, although the row
# is not centered.
#> This is divided by the standard deviation
#- saved["scale"] = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
saved["scale"] = 1 / np.sqrt(x.var(-1, keepdims=True) + eps)

# %% rms-norm mistake sum-of-squares: Divides by the length of the row.
#> by the sum of the squares
#- saved["scale"] = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
saved["scale"] = 1 / np.sqrt((x * x).sum(-1, keepdims=True) + eps)

# %% rms-norm mistake rms-weight-forgotten: Forgets the weight.
#> Is the weight missing?
#- return saved["normalized"] * weight
return saved["normalized"]

# %% rms-norm mistake rms-as-constant: Treats the root of the mean square as a constant.
#> depends on x
#- dx = saved["scale"] * (h - normal * (h * normal).mean(-1, keepdims=True))
dx = saved["scale"] * h

# %% rms-norm mistake rule-of-layer-norm: Copies the rule of layer norm, which subtracts the
# mean of h.
#> subtract no mean of h
#- dx = saved["scale"] * (h - normal * (h * normal).mean(-1, keepdims=True))
dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * (h * normal).mean(-1, keepdims=True))

# %% rms-norm mistake rms-weight-forgotten-in-the-rule: Forgets the weight in the gradient of x.
#> Multiply g with the weight first
#- h = g * weight
h = g

# %% rms-norm mistake rms-only-the-batch-axis: Adds up the gradient of the weight over axis 0
# only.
#> Every row uses the weight
#- return [dx, sum_forward(g * normal, tuple(range(g.ndim - 1)))]
return [dx, (g * normal).sum(0)]

# %% rms-norm mistake weight-gradient-from-h-in-rms: Computes the gradient of the weight from g
# * weight instead of g.
#> x̂ is multiplied by g, not by g * weight
#- return [dx, sum_forward(g * normal, tuple(range(g.ndim - 1)))]
return [dx, (h * normal).sum(tuple(range(g.ndim - 1)))]

# %% folded mistake folding-with-the-variance: Takes the variance for the standard deviation.
#> needs the root of the running variance
#- factor = 1 / np.sqrt(norm.running_var.data + norm.eps)
factor = 1 / (norm.running_var.data + norm.eps)

# %% folded mistake folding-without-the-mean: Forgets the running mean.
#> is subtracted from the bias
#- bias = (bias - norm.running_mean.data) * factor
bias = bias * factor

# %% folded mistake folding-without-the-bias-of-the-norm: Forgets the bias of the batch norm.
#> Was the bias of the norm forgotten?
#- bias = bias + norm.bias.data
pass

# %% folded mistake folding-without-the-bias-of-the-layer: Forgets the bias of the layer.
#> Was the bias of the layer forgotten?
#- bias = 0 if layer.bias is None else layer.bias.data
bias = 0

# %% folded mistake folding-the-wrong-axis: Multiplies the columns of a convolution's kernels
# instead of its output channels.
#> Which axis of the weights is the output?
#- shape = (-1, 1, 1, 1) if weights.ndim == 4 else (-1,)
shape = (1, -1, 1, 1) if weights.ndim == 4 else (-1,)

# %% folded mistake folding-the-rows: Multiplies the rows of a dense layer's weights instead of
# its columns.
#> Which axis of the weights is the output?
#- shape = (-1, 1, 1, 1) if weights.ndim == 4 else (-1,)
shape = (-1, 1, 1, 1) if weights.ndim == 4 else (-1,) if len(factor) != len(weights) else (-1, 1)

# %% folded mistake folding-without-eps: Forgets eps.
#> the folded layer of
#- factor = 1 / np.sqrt(norm.running_var.data + norm.eps)
factor = 1 / np.sqrt(norm.running_var.data)

# %% folded mistake folding-in-place: Changes the weights of the layer in place.
#> folded changed the weights
#- return weights * factor.reshape(shape), bias
weights *= factor.reshape(shape)
return weights, bias

# %% folded mistake norm-always-with-weight: Forgets that a batch norm may have no weight.
#> weight and bias of the norm, may be None
#- if norm.weight is not None:
#-     factor = factor * norm.weight.data
factor = factor * norm.weight.data

# %% residual mistake input-not-added: Returns the output of inner alone.
#> This is inner(x) alone
#- return x + change
return change

# %% residual mistake added-in-place: Adds to inner's result after x was overwritten in place.
#> inner(x) was added twice
#- return x + change
x = x + change
return x + change

# %% residual mistake arrays-added: Adds arrays, so that no gradient can come back.
#> the result should be recorded
#- return x + change
return Tensor(x.data + change.data)

# %% spread right: standard deviation by hand
result = []
with no_grad():
    for layer in model:
        x = layer(x)
        a = x.data.astype(np.float64)
        result.append(float(np.sqrt(((a - a.mean()) ** 2).mean())))
return result

# %% spread right: outputs first, deviations afterwards
outputs = [x]
with no_grad():
    for layer in model:
        outputs.append(layer(outputs[-1]))
return [out.std().item() for out in outputs[1:]]

# %% normalized right: variance as the mean of squares, and a power
mean = x.mean(axis=axes, keepdims=True)
squares = ((x - mean) ** 2).mean(axis=axes, keepdims=True)
return (x - mean) * (squares + eps) ** -0.5

# %% normalized right: sums divided by a count
total = x.sum(axes, keepdims=True)
n = x.size // total.size
centered = x - total / n
return centered / ((centered * centered).sum(axes, keepdims=True) / n + eps).sqrt()

# %% layer-norm-forward right: variance by NumPy
mean, var = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
scale = (var + eps) ** -0.5
normal = (x - mean) * scale
saved.update(normalized=normal, scale=scale)
return weight * normal + bias

# %% layer-norm-forward right: in place on new arrays, with einsum
normal = x - x.mean(-1, keepdims=True)
squares = np.einsum("...d,...d->...", normal, normal)[..., None] / x.shape[-1]
saved["scale"] = 1.0 / np.sqrt(squares + eps)
normal *= saved["scale"]
saved["normalized"] = normal
out = normal * weight
out += bias
return out

# %% layer-norm-rule right: the formula with sums over D
normal, d = saved["normalized"], g.shape[-1]
h = g * weight
first = h.sum(-1, keepdims=True)
second = (h * normal).sum(-1, keepdims=True)
dx = saved["scale"] / d * (d * h - first - normal * second)
rows, hats = g.reshape(-1, d), normal.reshape(-1, d)
return dx, (rows * hats).sum(0), rows.sum(0)

# %% layer-norm-rule right: einsum, projection in two steps
normal = saved["normalized"]
h = g * weight
h = h - h.mean(axis=-1, keepdims=True)
h = h - normal * (h * normal).mean(axis=-1, keepdims=True)
rows, hats = g.reshape(-1, g.shape[-1]), normal.reshape(-1, g.shape[-1])
return [saved["scale"] * h, np.einsum("nd,nd->d", rows, hats), np.einsum("nd->d", rows)]

# %% layer-norm right: nested ifs
#- if elementwise_affine:
#-     self.weight = Variable(np.ones(self.normalized_shape, np.float32))
#- if elementwise_affine and bias:
#-     self.bias = Variable(np.zeros(self.normalized_shape, np.float32))
if elementwise_affine:
    self.weight = Tensor(np.ones(self.normalized_shape, "float32"), requires_grad=True)
    if bias:
        self.bias = self.weight * 0
        self.bias = Variable(self.bias.data)

# %% layer-norm right: arguments by name
#- return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
out = layer_norm(x, weight=self.weight, bias=self.bias, eps=self.eps,
                 normalized_shape=self.normalized_shape)
return out

# %% running right: a step towards the new value
return old + momentum * (new - old)

# %% running right: a weighted sum
share = {"old": 1 - momentum, "new": momentum}
return new * share["new"] + old * share["old"]

# %% batch-norm right: batch statistics as Tensors, n by hand
if not training:
    out = (x - mean.reshape(shape)) * (var.reshape(shape) + eps) ** -0.5
else:
    n = x.size / x.shape[1]
    m, v = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    out = (x - m) / (v + eps).sqrt()
    mean[:] = running(mean, m.data.ravel(), momentum)
    var[:] = running(var, v.data.ravel() * n / (n - 1), momentum)

# %% batch-norm right: one formula for both modes
m, v = mean.reshape(shape), var.reshape(shape)
if training:
    m = x.mean(axes, keepdims=True)
    v = ((x - m) * (x - m)).mean(axes, keepdims=True)
    mean += momentum * (x.data.mean(axes) - mean)
    var += momentum * (np.var(x.data, axis=axes, ddof=1) - var)
out = (x - m) / (v + eps) ** 0.5

# %% batch-norm-layer right: buffers as Tensors, and an if
#- if affine:
#-     self.weight, self.bias = Variable(ones), Variable(zeros)
#- self.register_buffer("running_mean", zeros if track_running_stats else None)
#- self.register_buffer("running_var", ones if track_running_stats else None)
if affine:
    self.bias = Variable(zeros)
    self.weight = Variable(ones)
self.running_mean = self.running_var = None
if track_running_stats:
    self.running_mean, self.running_var = Tensor(zeros), Tensor(ones)

# %% batch-norm-layer right: arguments by name, and no statistics first
#- training = self.training or self.running_mean is None
#- return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
#-                   training, self.momentum, self.eps)
if self.running_mean is None:
    return batch_norm(x, None, None, self.weight, self.bias, training=True, eps=self.eps)
return batch_norm(x, running_mean=self.running_mean, running_var=self.running_var,
                  weight=self.weight, bias=self.bias, training=self.training,
                  eps=self.eps, momentum=self.momentum)

# %% rms-norm right: a power, and a sum over D
#- saved["scale"] = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
#- saved["normalized"] = x * saved["scale"]
#- return saved["normalized"] * weight
squares = (x**2).sum(axis=-1, keepdims=True) / x.shape[-1]
root = np.sqrt(squares + eps)
saved["normalized"], saved["scale"] = x / root, 1 / root
return weight * saved["normalized"]

# %% rms-norm right: a rule with einsum
#- h = g * weight
#- dx = saved["scale"] * (h - normal * (h * normal).mean(-1, keepdims=True))
#- return [dx, sum_forward(g * normal, tuple(range(g.ndim - 1)))]
along = np.einsum("...d,...d,d->...", g, normal, weight)[..., None] / g.shape[-1]
dx = (g * weight - along * normal) * saved["scale"]
return dx, (g * normal).reshape(-1, g.shape[-1]).sum(axis=0)

# %% folded right: the norm applied to 0 and to 1
deviation = (norm.running_var.data + norm.eps) ** 0.5
gamma = np.ones_like(deviation) if norm.weight is None else norm.weight.data
beta = np.zeros_like(deviation) if norm.bias is None else norm.bias.data
old = np.zeros_like(deviation) if layer.bias is None else layer.bias.data
w = layer.weights.data
if isinstance(layer, Dense):
    new = w * (gamma / deviation)
else:
    new = w * (gamma / deviation)[:, None, None, None]
return new, beta + gamma * (old - norm.running_mean.data) / deviation

# %% folded right: einsum and a loop over output channels
w = layer.weights.data.copy()
first = w.ndim == 4
channels = w.shape[0] if first else w.shape[1]
bias = np.zeros(channels, w.dtype)
for c in range(channels):
    gamma = 1 if norm.weight is None else norm.weight.data[c]
    factor = gamma / np.sqrt(norm.running_var.data[c] + norm.eps)
    if first:
        w[c] *= factor
    else:
        w[:, c] *= factor
    before = 0 if layer.bias is None else layer.bias.data[c]
    bias[c] = (before - norm.running_mean.data[c]) * factor
    bias[c] += 0 if norm.bias is None else norm.bias.data[c]
return w, bias

# %% residual right: the other order of the sum
return change + x

# %% residual right: the sum of a list
return sum([x], start=change)

# %% folded equivalent: NumPy takes any negative length for the one to be inferred.
#= `1` -> `2`

# %% batch-norm mistake returned-without-weight-and-bias: Returns the normalized numbers, so
# that the given last lines never run.
#> The given line `out = out * weight.reshape(shape)` does not run: your own `return`
#- ### END SOLUTION
return out
### END SOLUTION
