# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% output-size mistake padding-at-one-end: Counts the padding once, although it is at both
# ends.
#> padding is at both ends
#- size = (length + 2 * padding - kernel_size) // stride + 1
size = (length + padding - kernel_size) // stride + 1

# %% output-size mistake first-window-forgotten: Counts steps instead of positions.
#> The first window starts at 0
#- size = (length + 2 * padding - kernel_size) // stride + 1
size = (length + 2 * padding - kernel_size) // stride

# %% output-size mistake window-beyond-the-end-counted: Rounds up, so that a last window reaches
# beyond the end.
#> beyond the end does not count
#- size = (length + 2 * padding - kernel_size) // stride + 1
size = -(-(length + 2 * padding - kernel_size) // stride) + 1

# %% output-size mistake divides-before-subtracting: Divides before subtracting the kernel.
#> should be
#- size = (length + 2 * padding - kernel_size) // stride + 1
size = (length + 2 * padding) // stride - kernel_size + 1

# %% output-size mistake size-unchecked: Returns 0 or less for a kernel that is larger than the
# image.
#> this should raise a ValueError
size = (length + 2 * padding - kernel_size) // stride + 1
if False:
    raise ValueError(f"a kernel of {kernel_size} does not fit into {length} numbers: "
                     f"({length} + 2 * {padding} - {kernel_size}) // {stride} + 1 = {size}")
return size

# %% output-size mistake kernel-compared-without-the-padding: Compares the kernel with the input
# without its padding, and refuses a kernel that fits.
#> with its padding, and the kernel 5: it fits
size = (length + 2 * padding - kernel_size) // stride + 1
if kernel_size > length:
    raise ValueError(f"a kernel of {kernel_size} does not fit into {length} numbers: "
                     f"({length} + 2 * {padding} - {kernel_size}) // {stride} + 1 = {size}")
return size

# %% output-size mistake size-is-a-float: Divides with / and np.floor, which returns a float.
#> should be an int
#- size = (length + 2 * padding - kernel_size) // stride + 1
size = np.floor((length + 2 * padding - kernel_size) / stride) + 1

# %% loops mistake kernel-flipped: Turns the kernel by 180 degrees, as in the mathematical
# convolution.
#> You turn the kernel by 180 degrees
#- out[n, o, p, q] = (window * weights[o]).sum() + bias[o]
out[n, o, p, q] = (window * weights[o, :, ::-1, ::-1]).sum() + bias[o]

# %% loops mistake bias-never-added: Takes a bias and never adds it.
#> The bias is missing
#- out[n, o, p, q] = (window * weights[o]).sum() + bias[o]
out[n, o, p, q] = (window * weights[o]).sum()

# %% loops mistake bias-for-each-product: Adds the bias to each product, before the sum.
#> The bias is added once for each output number
#- out[n, o, p, q] = (window * weights[o]).sum() + bias[o]
out[n, o, p, q] = (window * weights[o] + bias[o]).sum()

# %% loops mistake first-channel-only: Uses the first channel only.
#> Every kernel sums over all 3 channels
#- out[n, o, p, q] = (window * weights[o]).sum() + bias[o]
out[n, o, p, q] = (window[0] * weights[o][0]).sum() + bias[o]

# %% loops mistake one-stride-for-both: Uses the vertical stride for both axes.
#> the first stride is for rows
#- top, left = p * stride[0], q * stride[1]
top, left = p * stride[0], q * stride[0]

# %% patches mistake one-row-too-many: Lets the slice run to the end of the image, past the last
# window.
#> exactly one pixel for each window
down, across = stride
return x[..., i::down, j:j + across * (size[1] - 1) + 1:across]

# %% patches mistake last-row-lost: Ends the slice at the last row instead of behind it.
#> A slice ends before its stop
down, across = stride
return x[..., i:i + down * (size[0] - 1):down, j:j + across * (size[1] - 1) + 1:across]

# %% patches mistake start-times-stride: Also multiplies the position in the kernel by the
# stride.
#> Window (p, q) has its pixel at row
down, across = stride
return x[..., i * down:i * down + down * (size[0] - 1) + 1:down, j:j + across * (size[1] - 1) + 1:across]

# %% patches mistake rows-for-columns: Uses the number of rows for the columns: right for square
# outputs only.
#> the shape should be
down, across = stride
return x[..., i:i + down * (size[0] - 1) + 1:down, j:j + across * (size[0] - 1) + 1:across]

# %% patches mistake four-axes-only: Names two leading axes, which a single image does not have.
#> stands for any number of axes
down, across = stride
return x[:, :, i:i + down * (size[0] - 1) + 1:down, j:j + across * (size[1] - 1) + 1:across]

# %% patches mistake a-copy-instead-of-a-view: Selects rows and columns with index arrays, which
# copies: nothing can be added through it.
#> Index arrays make copies
down, across = stride
return x[..., i + down * np.arange(size[0])[:, None], j + across * np.arange(size[1])]

# %% im2col mistake windows-mixed-up: Puts the window axes before the kernel axes and reshapes
# without moving them.
#> reshape keeps the order of the numbers
#- columns = np.empty((n, c, *kernel_size, *size), x.dtype)
columns = np.empty((n, c, *size, *kernel_size), x.dtype)
#- columns[:, :, i, j] = patches(x, i, j, size, stride)
columns[..., i, j] = patches(x, i, j, size, stride)

# %% im2col mistake channels-last: Orders the rows by kernel position first and by channel
# second.
#> first all of channel 0, then channel 1
#- columns = np.empty((n, c, *kernel_size, *size), x.dtype)
columns = np.empty((n, *kernel_size, c, *size), x.dtype)
#- columns[:, :, i, j] = patches(x, i, j, size, stride)
columns[:, i, j] = patches(x, i, j, size, stride)

# %% im2col mistake padding-forgotten-in-im2col: Neither pads the image nor counts the padding.
#> the shape should be
#- size = output_shape(x.shape, kernel_size, stride, padding)
#- x = pad_images(x, padding)
size = output_shape(x.shape, kernel_size, stride)

# %% im2col mistake columns-in-float64: Creates the columns in float64, NumPy's default.
#> x is float32, your columns are float64
#- columns = np.empty((n, c, *kernel_size, *size), x.dtype)
columns = np.empty((n, c, *kernel_size, *size))

# %% forward mistake bias-never-added-by-product: Never adds the bias to the product.
#> The bias is missing
#- out += bias[:, None]
out += 0

# %% forward mistake bias-along-the-windows: Adds the bias along the windows instead of along
# the kernels.
#> You add bias o to column o
#- out += bias[:, None]
out += np.resize(bias, out.shape[-1])

# %% forward mistake padding-forgotten-forward: Uses the padding in the backward pass only.
#> Are stride and padding passed to im2col
#- out = weights.reshape(len(weights), -1) @ im2col(x, kernel_size, stride, padding)
out = weights.reshape(len(weights), -1) @ im2col(x, kernel_size, stride)
#- size = output_shape(x.shape, kernel_size, stride, padding)
size = output_shape(x.shape, kernel_size, stride)

# %% forward mistake weights-reshaped-to-k-out: Reshapes the weights to (K, out) and transposes
# that: the numbers of different kernels mix.
#> W has one row per kernel
#- out = weights.reshape(len(weights), -1) @ im2col(x, kernel_size, stride, padding)
out = weights.reshape(-1, len(weights)).T @ im2col(x, kernel_size, stride, padding)

# %% forward mistake stride-forgotten: Does not pass the stride on.
#> the shape should be
#- out = weights.reshape(len(weights), -1) @ im2col(x, kernel_size, stride, padding)
out = weights.reshape(len(weights), -1) @ im2col(x, kernel_size, padding=padding)
#- size = output_shape(x.shape, kernel_size, stride, padding)
size = output_shape(x.shape, kernel_size, padding=padding)

# %% col2im mistake overlaps-overwritten: Assigns where windows overlap, so that only the last
# of them counts.
#> Add to its gradient, do not assign
#- view += columns[:, :, i, j]
view[...] = columns[:, :, i, j]

# %% col2im mistake overlaps-averaged: Divides by the size of the kernel, as if a pixel received
# a mean.
#> The middle pixel is in two windows
#- return crop_padding(x, padding)
return crop_padding(x, padding) / (kernel_size[0] * kernel_size[1])

# %% col2im mistake view-rebound: Writes view = view + ..., a new array, so the image stays 0.
#> The middle pixel is in two windows
#- view += columns[:, :, i, j]
view = view + columns[:, :, i, j]

# %% col2im mistake padding-kept: Also returns the gradient of the padding.
#> The result has the shape of the images
#- return crop_padding(x, padding)
return x

# %% col2im mistake axes-of-columns-mixed: Splits the columns in another order than im2col made
# them.
#> is added to the pixel it was copied from
#- columns = columns.reshape(n, c, *kernel_size, *size)
columns = columns.reshape(n, *kernel_size, c, *size).transpose(0, 3, 1, 2, 4, 5)

# %% col2im mistake sums-in-float64: Adds in float64, NumPy's default.
#> the columns are float32, your result is float64
#- x = np.zeros((n, c, height + 2 * padding[0], width + 2 * padding[1]), columns.dtype)
x = np.zeros((n, c, height + 2 * padding[0], width + 2 * padding[1]))

# %% weight-gradient mistake mean-over-the-batch: Averages over the images; the loss has done
# that already if it should be done.
#> sum over the images, no mean
columns = im2col(x, weights.shape[2:], stride, padding)
return (flatten_maps(g) @ columns.swapaxes(1, 2)).mean(axis=0).reshape(weights.shape)

# %% weight-gradient mistake columns-not-transposed: Reshapes the columns to the shape that
# fits, instead of transposing them.
#> Each weight receives the sum of g times the pixel
columns = im2col(x, weights.shape[2:], stride, padding)
return (flatten_maps(g) @ columns.reshape(len(columns), -1, columns.shape[1])).sum(axis=0).reshape(weights.shape)

# %% weight-gradient mistake padding-in-forward-only: Forgets the padding in the backward pass:
# other pixels lie under the weights.
#> Each weight receives the sum of g times the pixel
columns = im2col(x, weights.shape[2:], stride)
columns = np.resize(columns, (*columns.shape[:2], g.shape[2] * g.shape[3]))
return (flatten_maps(g) @ columns.swapaxes(1, 2)).sum(axis=0).reshape(weights.shape)

# %% input-gradient mistake weights-not-transposed: Reshapes the weights to (K, out) instead of
# transposing the matrix (out, K).
#> the weight on it times g
columns = weights.reshape(-1, len(weights)) @ flatten_maps(g)
return col2im(columns, x.shape, weights.shape[2:], stride, padding)

# %% input-gradient mistake gradient-with-padding: Returns the gradient of the padded images.
#> Is the padding cropped?
columns = weights.reshape(len(weights), -1).T @ flatten_maps(g)
return col2im(columns, pad_images(x, padding).shape, weights.shape[2:], stride)

# %% conv2d mistake if-bias: Tests whether the bias is true; a single bias of 0 is not.
#> Test `bias is None`
#- bias = np.zeros(len(weights), weights.dtype) if bias is None else bias
bias = np.zeros(len(weights), weights.dtype) if bias is None or not np.asarray(bias).any() else bias

# %% conv2d mistake bias-dropped: Replaces every bias by zeros.
#> Are bias, stride and padding all passed
#- bias = np.zeros(len(weights), weights.dtype) if bias is None else bias
bias = np.zeros(len(weights), weights.dtype) if True else bias

# %% conv2d mistake apply-bypassed: Calls the forward function on the arrays, so that nothing is
# recorded.
#> call apply, with tensors
#- return apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding, saved={})
return Tensor(conv2d_forward(x.data, weights.data, np.asarray(bias), stride, padding))

# %% layer mistake fans-without-the-kernel: Counts channels only: the initial weights are too
# large.
#> Do your fans count the positions in the kernel?
#- self.weights = Variable(init(in_channels * area, out_channels * area, rng, shape))
self.weights = Variable(init(in_channels, out_channels, rng, shape))

# %% layer mistake fans-exchanged: Exchanges fan_in and fan_out; Xavier initialization gives the
# same, He does not.
#> should call init(24, 40, 7
#- self.weights = Variable(init(in_channels * area, out_channels * area, rng, shape))
self.weights = Variable(init(out_channels * area, in_channels * area, rng, shape))

# %% layer mistake seed-lost: Does not pass rng on, so that a seed repeats nothing.
#> should call init(24, 40, 7
#- self.weights = Variable(init(in_channels * area, out_channels * area, rng, shape))
self.weights = Variable(init(in_channels * area, out_channels * area, None, shape))

# %% layer mistake channels-in-the-wrong-order: Makes weights of shape (in, out, ...), like a
# dense layer's.
#> is the output channel the first axis?
#- shape = (out_channels, in_channels, *self.kernel_size)
shape = (in_channels, out_channels, *self.kernel_size)

# %% layer mistake bias-is-no-parameter: Makes the bias a plain tensor, which is no parameter.
#> Are both Variables
#- self.bias = Variable(np.zeros(out_channels, np.float32)) if bias else None
self.bias = Tensor(np.zeros(out_channels, np.float32)) if bias else None

# %% max-pool mistake zeros-as-padding: Pads with zeros, which are larger than negative inputs.
#> A 0 from the padding
#- x = pad_images(x, padding, -np.inf)
x = pad_images(x, padding)

# %% max-pool mistake maximum-from-zero: Starts from zeros, which are larger than negative
# inputs.
#> or a 0 that you start from, must not become
#- out = patches(x, 0, 0, size, stride).copy(order="K")
out = np.zeros((*x.shape[:2], *size), x.dtype)

# %% max-pool mistake maximum-written-into-the-input: Does not copy before writing: the input is
# changed.
#> x was changed; copy before you write
#- out = patches(x, 0, 0, size, stride).copy(order="K")
out = patches(x, 0, 0, size, stride)

# %% max-pool mistake last-position-left-out: Misses the last position of the kernel.
#> The last pixel of each window, its maximum, is left out
#- for i, j in kernel_positions(kernel_size):
#-     np.maximum(out, patches(x, i, j, size, stride), out=out)
for i, j in kernel_positions(kernel_size)[:-1]:
    np.maximum(out, patches(x, i, j, size, stride), out=out)

# %% max-pool mistake stride-replaced-by-the-kernel: Moves the windows by the kernel instead of
# the stride.
#> The stride says how far the windows move
#- size = output_shape(x.shape, kernel_size, stride, padding)
stride = kernel_size
size = output_shape(x.shape, kernel_size, stride, padding)

# %% max-pool-gradient mistake every-equal-maximum-receives-it: Passes the gradient to every
# number that equals the maximum; after a ReLU that multiplies gradients.
#> should sum to 7, yours sum to
#- free &= ~first
pass

# %% max-pool-gradient mistake equal-maxima-share: Divides the gradient among equal maxima, as
# lesson 06 does for a maximum along an axis.
#> the first of the equal maxima, row by row
#- first = free & (patches(x, i, j, size, stride) == out)
first = patches(x, i, j, size, stride) == out
ties = sum((patches(x, a, b, size, stride) == out).astype(x.dtype) for a, b in kernel_positions(kernel_size))
#- view += masked(g, first)
#- free &= ~first
view += first * g / ties

# %% max-pool-gradient mistake last-equal-maximum-receives-it: Passes the gradient to the last
# of several equal maxima.
#> the first of the equal maxima, row by row
#- for i, j in kernel_positions(kernel_size):
#-     first = free & (patches(x, i, j, size, stride) == out)
for i, j in kernel_positions(kernel_size)[::-1]:
    first = free & (patches(x, i, j, size, stride) == out)

# %% max-pool-gradient mistake ties-column-by-column: Searches the window column by column.
#> the first of the equal maxima, row by row
#- for i, j in kernel_positions(kernel_size):
#-     first = free & (patches(x, i, j, size, stride) == out)
for j, i in kernel_positions(kernel_size[::-1]):
    first = free & (patches(x, i, j, size, stride) == out)

# %% max-pool-gradient mistake gradients-on-the-diagonal: Computes the column of a window from
# its row number: gradients pile up in the windows of the diagonal.
#> gradient of this window
#- view = patches(gradient, i, j, size, stride)
#- view += masked(g, first)
for n, c, p, q in np.argwhere(first):
    gradient[n, c, p * stride[0] + i, min(p * stride[1] + j, x.shape[3] - 1)] += g[n, c, p, q]

# %% max-pool-gradient mistake overlapping-maxima-overwritten: Assigns, so that only one of
# several overlapping windows counts.
#> 9 is the maximum of two windows
#- view += masked(g, first)
view[first] = g[first]

# %% max-pool-gradient mistake upstream-forgotten: Ignores the upstream gradient.
#> gradient of this window
#- view += masked(g, first)
view += first

# %% avg-pool-gradient mistake whole-gradient-for-each: Passes the whole gradient to every
# number of the window, as for a sum.
#> Yours is not divided by
#- view += g / math.prod(kernel_size)
view += g

# %% avg-pool-gradient mistake divided-by-one-side: Divides by the height of the kernel only.
#> of its gradient
#- view += g / math.prod(kernel_size)
view += g / kernel_size[0]

# %% avg-pool-gradient mistake shares-overwritten: Assigns, and loses what other windows gave.
#> a number in several windows receives the sum
#- view += g / math.prod(kernel_size)
view[...] = g / math.prod(kernel_size)

# %% avg-pool-gradient mistake padding-kept-in-average: Also returns the gradient of the
# padding.
#> Is the padding cropped?
#- return crop_padding(gradient, padding)
return gradient

# %% avg-pool-gradient mistake divided-by-the-pixels: Divides by the number of pixels in the
# window, without the padding.
#> The padding counts as zeros: divide by
size = g.shape[2:]
ones = pad_images(np.ones_like(x), padding)
count = sum(patches(ones, i, j, size, stride) for i, j in kernel_positions(kernel_size))
gradient = np.zeros_like(ones)
for i, j in kernel_positions(kernel_size):
    view = patches(gradient, i, j, size, stride)
    view += g / count
return crop_padding(gradient, padding)

# %% receptive-field mistake strides-ignored: Adds up the kernels and ignores the strides.
#> the product of the strides before it
#- field += (kernel_size - 1) * distance
field += (kernel_size - 1)

# %% receptive-field mistake stride-one-layer-early: Applies a layer's stride to its own kernel.
#> the product of the strides before it
#- field += (kernel_size - 1) * distance
#- distance *= stride
distance *= stride
field += (kernel_size - 1) * distance

# %% receptive-field mistake kernels-multiplied: Multiplies the kernels.
#> yours is
#- field += (kernel_size - 1) * distance
field *= kernel_size

# %% receptive-field mistake last-stride-only: Uses the last stride as the distance, instead of
# the product of all.
#> the product of the strides before it
#- distance *= stride
distance = stride

# %% flops mistake input-channels-not-counted: Counts the positions of the kernel, not its
# channels.
#> in all its channels
size = output_shape(images, weights[2:], pair(stride), pair(padding, least=0))
return 2 * images[0] * weights[0] * math.prod(size) * math.prod(weights[2:])

# %% flops mistake output-channels-twice: Counts the output channels twice.
#> FLOPs, yours is
size = output_shape(images, weights[2:], pair(stride), pair(padding, least=0))
return 2 * images[0] * weights[0] * math.prod(size) * math.prod(weights)

# %% flops mistake pixels-instead-of-positions: Counts the pixels of the images instead of the
# output numbers.
#> FLOPs, yours is
size = output_shape(images, weights[2:], pair(stride), pair(padding, least=0))
return 2 * images[0] * weights[0] * math.prod(images[2:]) * math.prod(weights[1:])

# %% flops mistake one-image-only: Forgets the batch.
#> FLOPs, yours is
size = output_shape(images, weights[2:], pair(stride), pair(padding, least=0))
return 2 * weights[0] * math.prod(size) * math.prod(weights[1:])

# %% forward mistake bias-added-without-an-axis: Adds the bias of shape (out,) to (batch, out,
# P): NumPy aligns it with the windows.
#> needs another axis, (out, 1)
#- out += bias[:, None]
out = out + bias

# %% forward mistake rows-and-columns-not-split: Returns (batch, out, P) without splitting P
# into rows and columns.
#> the shape should be
#- return out.reshape(len(x), len(weights), *size)
return out

# %% forward mistake bias-along-the-rows: Adds the bias to the rows of the output instead of to
# its channels.
#> You add bias o to row o
kernel_size = weights.shape[2:]
out = weights.reshape(len(weights), -1) @ im2col(x, kernel_size, stride, padding)
size = output_shape(x.shape, kernel_size, stride, padding)
return out.reshape(len(x), len(weights), *size) + np.resize(bias, size[0])[:, None]

# %% bias-gradient mistake mean-of-the-bias-gradient: Takes the mean of the gradients instead of
# their sum.
#> 60 times too small
return g.mean(axis=(0, 2, 3))

# %% bias-gradient mistake bias-gradient-of-each-image: Sums over rows and columns and forgets
# the images.
#> One gradient per output channel
return g.sum(axis=(2, 3))

# %% bias-gradient mistake bias-gradient-over-images-only: Sums over the images only, as for a
# dense layer.
#> One gradient per output channel
return g.sum(axis=0)

# %% weight-gradient mistake images-not-summed: Forgets the sum over the images; NumPy then
# cannot reshape.
#> all images use the same weights
columns = im2col(x, weights.shape[2:], stride, padding)
return (flatten_maps(g) @ columns.swapaxes(1, 2)).reshape(weights.shape)

# %% weight-gradient mistake weight-gradient-of-the-last-image: Keeps the gradient of one image
# only.
#> Each weight receives the sum of g times the pixel
columns = im2col(x, weights.shape[2:], stride, padding)
return (flatten_maps(g) @ columns.swapaxes(1, 2))[-1].reshape(weights.shape)

# %% weight-gradient mistake stride-forgotten-backward: Computes the columns with stride 1,
# whatever the forward pass did.
#> stride and padding of the forward pass
columns = im2col(x, weights.shape[2:], (1, 1), padding)
return (flatten_maps(g) @ columns.swapaxes(1, 2)).sum(axis=0).reshape(weights.shape)

# %% input-gradient mistake stride-forgotten-in-the-input-gradient: Calls col2im with stride 1.
#> Does col2im get the stride and padding
columns = weights.reshape(len(weights), -1).T @ flatten_maps(g)
return col2im(columns, x.shape, weights.shape[2:], padding=padding)

# %% col2im mistake padding-added-once: Adds the padding once to height and width.
#> add into zeros of the padded size
#- x = np.zeros((n, c, height + 2 * padding[0], width + 2 * padding[1]), columns.dtype)
x = np.zeros((n, c, height + padding[0], width + padding[1]), columns.dtype)

# %% im2col mistake length-inferred-for-an-empty-batch: Leaves a length to -1, which NumPy
# cannot infer for an empty batch.
#> cannot reshape
#- return columns.reshape(n, c * kernel_size[0] * kernel_size[1], size[0] * size[1])
return columns.reshape(n, -1, size[0] * size[1])

# %% conv2d mistake array-returned: Returns the array inside the result.
#> conv2d should return a Tensor
#- return apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding, saved={})
return apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding).data

# %% max-pool mistake large-negative-number-as-padding: Pads with -1e9, which is larger than
# some inputs.
#> The padding was the maximum
#- x = pad_images(x, padding, -np.inf)
x = pad_images(x, padding, -1e9)

# %% max-pool mistake np-max-for-np-maximum: Calls np.max with two arrays, which takes the
# second one for an axis.
#> np.max(a, b) takes b as an axis
#- np.maximum(out, patches(x, i, j, size, stride), out=out)
out = np.max(out, patches(x, i, j, size, stride))

# %% max-pool-gradient mistake x-compared-with-out: Compares the whole input with the output,
# which has one number per window.
#> compare out with patches of x
#- first = free & (patches(x, i, j, size, stride) == out)
first = free & (x == out)

# %% conv2d mistake bias-of-none-passed-on: Passes None on to apply.
#> Replace a bias of None by zeros
#- bias = np.zeros(len(weights), weights.dtype) if bias is None else bias
pass

# %% max-pool mistake smallest-number-as-padding: Pads with the smallest finite number, which is
# larger than -inf.
#> The padding was the maximum
#- x = pad_images(x, padding, -np.inf)
x = pad_images(x, padding, np.finfo(x.dtype).min)

# %% max-pool mistake mean-instead-of-maximum: Computes the mean of each window.
#> That is the mean of each window
size = output_shape(x.shape, kernel_size, stride, padding)
x = pad_images(x, padding, -np.inf)
out = patches(x, 0, 0, size, stride).copy(order="K")
for i, j in kernel_positions(kernel_size):
    out += patches(x, i, j, size, stride) * ((i, j) != (0, 0))
return out / (kernel_size[0] * kernel_size[1])

# %% max-pool mistake first-row-of-the-window-only: Reads the first row of each window only.
#> That looks at the first row of each window only
#- for i, j in kernel_positions(kernel_size):
#-     np.maximum(out, patches(x, i, j, size, stride), out=out)
for i, j in kernel_positions((1, kernel_size[1])):
    np.maximum(out, patches(x, i, j, size, stride), out=out)

# %% max-pool-gradient mistake pool-gradient-with-padding: Also returns the gradient of the
# padding.
#> Is the padding cropped?
#- return crop_padding(gradient, padding)
return gradient

# %% flops mistake multiply-adds-counted-once: Counts multiply-adds, not FLOPs.
#> each is 2 FLOPs
size = output_shape(images, weights[2:], pair(stride), pair(padding, least=0))
return images[0] * weights[0] * math.prod(size) * math.prod(weights[1:])

# %% patches mistake view-of-too-few-rows: Stops one window too early: a view, but of too few
# pixels.
#> yours is a view of other pixels
down, across = stride
return x[..., i:i + down * (size[0] - 1):down, j:j + across * (size[1] - 1) + 1:across]

# %% patches mistake first-two-axes-sliced: Slices the first two axes instead of the last two.
#> Slice the last two axes
down, across = stride
return x[i:i + down * (size[0] - 1) + 1:down, j:j + across * (size[1] - 1) + 1:across]

# %% im2col mistake padding-above-and-left-only: Pads above and at the left only, by twice as
# much.
#> Windows begin in the padding
#- x = pad_images(x, padding)
x = np.pad(x, ((0, 0), (0, 0), (2 * padding[0], 0), (2 * padding[1], 0)))

# %% im2col mistake columns-are-a-view: Returns a view of x for a kernel of one pixel.
#> They are a view of x
#- size = output_shape(x.shape, kernel_size, stride, padding)
if tuple(kernel_size) == (1, 1) and tuple(stride) == (1, 1) and not any(padding):
    return x.reshape(n, c, x.shape[2] * x.shape[3])
size = output_shape(x.shape, kernel_size, stride, padding)

# %% im2col mistake integers-become-float64-columns: Creates float columns also for integer
# images.
#> the dtype of the columns
#- columns = np.empty((n, c, *kernel_size, *size), x.dtype)
columns = np.empty((n, c, *kernel_size, *size), x.dtype if x.dtype.kind == "f" else float)

# %% weight-gradient mistake columns-not-swapped: Multiplies g with the columns without
# transposing one of them.
#> Is one factor transposed
columns = im2col(x, weights.shape[2:], stride, padding)
return (flatten_maps(g) @ columns).sum(axis=0).reshape(weights.shape)

# %% input-gradient mistake weights-as-they-are: Multiplies with the weights (out, K), not
# transposed.
#> the inner axes must both be out
columns = weights.reshape(len(weights), -1) @ flatten_maps(g)
return col2im(columns, x.shape, weights.shape[2:], stride, padding)

# %% conv2d mistake options-by-position: Passes stride and padding to apply by position, as if
# they were inputs with rules.
#> Pass options to apply by name
#- return apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding, saved={})
return apply(conv2d_forward, x, weights, bias, stride, padding)

# %% max-pool-gradient mistake overlaps-copied: Assigns where windows overlap, and only where
# something is passed on.
#> The gradients should sum to the sum of g
#- view += masked(g, first)
np.copyto(view, g, where=first)

# %% flops mistake ints-not-made-pairs: Hands ints to output_shape, which needs pairs.
#> `pair` turns them into pairs
size = output_shape(images, weights[2:], stride, padding)
return 2 * images[0] * weights[0] * math.prod(size) * math.prod(weights[1:])

# %% output-size right: Counts the positions with a range.
size = len(range(0, length + 2 * padding - kernel_size + 1, stride))
if not size:
    raise ValueError(f"no position: {length=} {kernel_size=} {stride=} {padding=}")
return size

# %% output-size right: Tests first, then adds strides in a loop.
wide = length + padding + padding
if kernel_size > wide:
    raise ValueError(f"a kernel of {kernel_size} on {length} numbers, padding {padding}, stride {stride}")
end, count = kernel_size, 0
while end <= wide:
    end, count = end + stride, count + 1
return count

# %% loops right: Seven loops.
for n in range(out.shape[0]):
    for o in range(out.shape[1]):
        for p in range(out.shape[2]):
            for q in range(out.shape[3]):
                total = bias[o]
                for c in range(x.shape[1]):
                    for i in range(rows):
                        for j in range(columns):
                            pixel = x[n, c, p * stride[0] + i, q * stride[1] + j]
                            total = total + pixel * weights[o, c, i, j]
                out[n, o, p, q] = total

# %% loops right: Loops over windows only, with tensordot.
for p in range(out.shape[2]):
    for q in range(out.shape[3]):
        a, b = p * stride[0], q * stride[1]
        window = x[:, :, a:a + rows, b:b + columns]
        out[:, :, p, q] = np.tensordot(window, weights, axes=([1, 2, 3], [1, 2, 3])) + bias

# %% patches right: Slices to the end, then cuts to the size.
return x[..., i::stride[0], j::stride[1]][..., :size[0], :size[1]]

# %% patches right: Builds the slices by name.
rows = slice(i, i + stride[0] * size[0] - stride[0] + 1, stride[0])
columns = slice(j, j + stride[1] * size[1] - stride[1] + 1, stride[1])
return x[(Ellipsis, rows, columns)]

# %% patches right: Uses a sliding window view.
windows = np.lib.stride_tricks.as_strided(
    x[..., i:, j:], (*x.shape[:-2], *size),
    (*x.strides[:-2], x.strides[-2] * stride[0], x.strides[-1] * stride[1]))
return windows

# %% im2col right: Transposes a sliding window view.
sides = ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2)
windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, sides), kernel_size, axis=(2, 3))
windows = windows[:, :, ::stride[0], ::stride[1]]
n, c, p, q = windows.shape[:4]
return windows.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * kernel_size[0] * kernel_size[1], p * q).copy()

# %% im2col right: Stacks one window after the other.
rows, columns = output_shape(x.shape, kernel_size, stride, padding)
x = pad_images(x, padding)
flat = []
for p in range(rows):
    for q in range(columns):
        a, b = p * stride[0], q * stride[1]
        window = x[:, :, a:a + kernel_size[0], b:b + kernel_size[1]]
        flat.append(window.reshape(len(x), x.shape[1] * kernel_size[0] * kernel_size[1]))
return np.stack(flat, axis=-1)

# %% forward right: An einsum over the columns.
kernel_size = weights.shape[2:]
columns = im2col(x, kernel_size, stride, padding)
matrix = weights.reshape(weights.shape[0], columns.shape[1])
out = np.einsum("ok,nkp->nop", matrix, columns) + bias.reshape(1, -1, 1)
return out.reshape((*out.shape[:2], *output_shape(x.shape, kernel_size, stride, padding)))

# %% forward right: One image after the other, bias added at the end.
rows, columns = output_shape(x.shape, weights.shape[2:], stride, padding)
out = np.empty((len(x), len(weights), rows, columns), x.dtype)
for n in range(len(x)):
    matrix = im2col(x[n:n + 1], weights.shape[2:], stride, padding)[0]
    out[n] = (weights.reshape(len(weights), -1) @ matrix).reshape(-1, rows, columns)
return out + bias[:, None, None]

# %% bias-gradient right: An einsum.
return np.einsum("nopq->o", g)

# %% bias-gradient right: Three sums, one after the other.
return g.sum(axis=3).sum(axis=2).sum(axis=0)

# %% weight-gradient right: An einsum over images and windows.
columns = im2col(x, weights.shape[2:], stride, padding)
return np.einsum("nop,nkp->ok", flatten_maps(g), columns).reshape(weights.shape)

# %% weight-gradient right: A loop over the weights of the kernel, without columns.
x, size = pad_images(x, padding), g.shape[2:]
gradient = np.zeros(weights.shape, g.dtype)
for i, j in kernel_positions(weights.shape[2:]):
    gradient[:, :, i, j] = np.einsum("nopq,ncpq->oc", g, patches(x, i, j, size, stride))
return gradient

# %% weight-gradient right: A loop over the images.
columns = im2col(x, weights.shape[2:], stride, padding)
total = 0
for maps, matrix in zip(flatten_maps(g), columns):
    total = total + maps @ matrix.T
return total.reshape(weights.shape)

# %% col2im right: Adds window by window.
x = np.zeros((n, c, height + 2 * padding[0], width + 2 * padding[1]), columns.dtype)
for w in range(size[0] * size[1]):
    a, b = w // size[1] * stride[0], w % size[1] * stride[1]
    window = columns[:, :, w].reshape(n, c, kernel_size[0], kernel_size[1])
    x[:, :, a:a + kernel_size[0], b:b + kernel_size[1]] += window
return x[:, :, padding[0]:padding[0] + height, padding[1]:padding[1] + width]

# %% col2im right: Sums with bincount over pixel numbers.
number = np.arange(1, 1 + n * c * height * width).reshape(shape)
came_from = im2col(number, kernel_size, stride, padding).ravel()
sums = np.bincount(came_from, columns.ravel(), 1 + number.size)[1:]
return sums.reshape(shape).astype(columns.dtype)

# %% input-gradient right: An einsum for the columns.
n, out_channels = g.shape[:2]
columns = np.einsum("ok,nop->nkp", weights.reshape(out_channels, -1), flatten_maps(g))
return col2im(columns, x.shape, weights.shape[2:], stride=stride, padding=padding)

# %% input-gradient right: One weight of the kernel after the other, added into views.
gradient = np.zeros_like(pad_images(x, padding))
for i, j in kernel_positions(weights.shape[2:]):
    view = patches(gradient, i, j, g.shape[2:], stride)
    view += np.einsum("nopq,oc->ncpq", g, weights[:, :, i, j])
return crop_padding(gradient, padding)

# %% conv2d right: A tensor of zeros, and the options in another order.
if bias is None:
    bias = Tensor(np.zeros(weights.shape[0], dtype=weights.dtype))
return apply(conv2d_forward, x, weights, bias, padding=padding, stride=stride)

# %% conv2d right: Zeros that are computed from the weights.
if bias is None:
    bias = weights.data[:, 0, 0, 0] * 0
return apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding)

# %% layer right: Names the fans, and creates the bias with an if.
fan_in, fan_out = in_channels * area, area * out_channels
height, width = self.kernel_size
values = init(fan_in, fan_out, rng, (out_channels, in_channels, height, width))
self.weights = Variable(values)
self.bias = None
if bias:
    self.bias = Variable(np.zeros((out_channels,), dtype="float32"))

# %% layer right: A Tensor that requires a gradient is a Variable.
shape = (out_channels, in_channels) + tuple(self.kernel_size)
fans = in_channels * area, out_channels * area
self.weights = Tensor(init(*fans, rng, shape), requires_grad=True)
self.bias = Tensor(np.zeros(out_channels, "float32"), requires_grad=True) if bias else None

# %% max-pool right: The maximum of a sliding window view.
x = pad_images(x, padding, -np.inf)
windows = np.lib.stride_tricks.sliding_window_view(x, kernel_size, axis=(2, 3))
return windows[:, :, ::stride[0], ::stride[1]].max(axis=(4, 5))

# %% max-pool right: Starts from -inf, and makes a new array each time.
size = output_shape(x.shape, kernel_size, stride, padding)
wide = pad_images(x, padding, float("-inf"))
out = np.full((*x.shape[:2], *size), -np.inf, x.dtype)
for i in range(kernel_size[0]):
    for j in range(kernel_size[1]):
        out = np.maximum(out, patches(wide, i, j, size, stride))
return out

# %% max-pool-gradient right: argmax of a sliding window view, then a loop over windows.
wide = pad_images(x, padding, -np.inf)
gradient = np.zeros_like(wide)
for n, c, p, q in np.ndindex(*out.shape):
    a, b = p * stride[0], q * stride[1]
    window = wide[n, c, a:a + kernel_size[0], b:b + kernel_size[1]]
    i, j = np.unravel_index(np.argmax(window), window.shape)
    gradient[n, c, a + i, b + j] += g[n, c, p, q]
return crop_padding(gradient, padding)

# %% max-pool-gradient right: The number of the winner for all windows, then one mask per
# position.
size, wide = out.shape[2:], pad_images(x, padding, -np.inf)
positions = kernel_positions(kernel_size)
winner = np.stack([patches(wide, i, j, size, stride) for i, j in positions]).argmax(axis=0)
gradient = np.zeros_like(wide)
for number, (i, j) in enumerate(positions):
    patches(gradient, i, j, size, stride)[...] += np.where(winner == number, g, 0)
return crop_padding(gradient, padding)

# %% avg-pool-gradient right: Repeats the parts as columns and uses col2im.
n, c = x.shape[:2]
area = kernel_size[0] * kernel_size[1]
parts = np.repeat((g / area).reshape(n, c, 1, -1), area, axis=2)
return col2im(parts.reshape(n, c * area, -1), x.shape, kernel_size, stride, padding)

# %% avg-pool-gradient right: Adds the parts of one window after the other.
gradient = np.zeros_like(pad_images(x, padding))
for p, q in np.ndindex(*g.shape[2:]):
    a, b = p * stride[0], q * stride[1]
    part = g[:, :, p, q] / (kernel_size[0] * kernel_size[1])
    gradient[:, :, a:a + kernel_size[0], b:b + kernel_size[1]] += part[:, :, None, None]
return crop_padding(gradient, padding)

# %% receptive-field right: From the last layer to the first.
field = 1
for kernel_size, stride in reversed(layers):
    field = (field - 1) * stride + kernel_size
return field

# %% receptive-field right: A sum with the product of the strides before each layer.
return 1 + sum((kernel_size - 1) * math.prod(stride for _, stride in layers[:n])
               for n, (kernel_size, _) in enumerate(layers))

# %% flops right: Names every length.
n, channels, height, width = images
out_channels, _, down, across = weights
(s, t), (a, b) = pair(stride), pair(padding, least=0)
rows = output_size(height, down, s, a)
columns = output_size(width, across, t, b)
return 2 * n * out_channels * rows * columns * channels * down * across

# %% flops right: Counts the numbers of the output, then multiply-adds, then FLOPs.
out = conv2d(np.zeros(images, "float32"), Tensor(np.zeros(weights)), None, stride, padding)
multiply_adds = out.size * weights[1] * weights[2] * weights[3]
return multiply_adds + multiply_adds

# %% forward equivalent: NumPy takes any negative length for the one to be inferred.
#= `1` -> `2`

# %% input-gradient equivalent: NumPy takes any negative length for the one to be inferred.
#= `1` -> `2`

# %% weight-gradient equivalent: Exchanging two axes is the same both ways round.
#= `1, 2` -> `2, 1`

# %% max-pool equivalent: The layout in memory changes the time, not the numbers.
#= `patches(x, 0, 0, size, stride).copy(order="K")` -> `patches(x, 0, 0, size, stride).copy()`

# %% max-pool equivalent: The maximum of two numbers does not depend on their order.
#= `out, patches(x, i, j, size, stride)` -> `patches(x, i, j, size, stride), out`

# %% conv2d equivalent: Without `saved`, the backward pass computes a product again.
#= `apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding, saved={})` -> `apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding)`
