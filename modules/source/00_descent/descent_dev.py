# %% [markdown]
# # 00. Gradient descent
#
# At the end of this lesson you train a small neural network. The network gets two numbers, the
# position of a point, and answers which of two groups the point belongs to. You do not draw the
# curve between the groups, because your program finds it from 26 examples.

# %% tags=["payoff"]
#| default_exp core.descent
#| export
import math

# %% tags=["payoff"]
from tinytorch.pictures.descent import draw_goal

draw_goal();
# caption: Gradient descent found this curve from 26 examples.
# alt: 10 round points near the origin inside a closed curve that the network drew around them,
# and 16 square points on a ring outside it.

# %% [markdown]
# **You need** Python and about an hour. **You build** a model, a function that measures
# how wrong the model is, the functions that train the model, and an estimate of how long one
# training step of a large network would take.

# %% [markdown] page="One neuron"
# ## The model
#
# Before we can train, we need something to train. A **model** is a function with adjustable
# numbers in it. The **parameters** of a model are these adjustable numbers. Our first model is
# a line, $w x + b$. Its parameters are the *weight* $w$ and the *bias* $b$; $x$ is its input.
# Because a later model will have two inputs, write this one for any number of inputs:
#
# $$w_1 x_1 + w_2 x_2 + \dots + w_n x_n + b$$
#
# **Task.** Write `predict`. Delete the line that says `raise`, and write your lines there. In
# all lessons, keep the lines that begin with `# %%` or `#|`, which `tito` reads, and lines such
# as `check("predict")`, which run the checks of an exercise.

# %% The model's prediction exercise="predict"
#| export
def predict(parameters, inputs):
    """The output of a linear model: each input times its weight, plus the bias.

    parameters  list of n + 1 floats: the n weights, then the bias
    inputs      list of n floats
    returns     float

    >>> predict([2.0, 0.5], [3.0])
    6.5
    """
    ### BEGIN SOLUTION
    output = parameters[-1]
    for i in range(len(inputs)):
        output += parameters[i] * inputs[i]
    return output
    ### END SOLUTION

# %% checks="predict"
check("predict")

# %% [markdown]
# To train the model we need examples. The cell below has twelve of them. Each is a pair: a list
# of inputs, and the **target**, the output that we want. With weight 0 and bias 0 the model
# answers 0 for every input.

# %%
from tinytorch.pictures.descent import draw_line

examples = [
    ([0.3], -1.5), ([0.7], -0.4), ([1.1], -0.9), ([1.4], 0.5), ([1.9], 0.5), ([2.2], 0.9),
    ([2.7], 2.7), ([3.1], 2.4), ([3.4], 2.7), ([3.9], 3.8), ([4.3], 4.6), ([4.8], 4.7),
]
start = [0.0, 0.0]
draw_line(predict, [start], examples);
# alt: The twelve points, and a flat line at height 0 that misses most of them.

# %% [markdown]
# ## The loss
#
# How wrong is the model? The difference between output and target is positive for some
# examples and negative for others. If we averaged the differences, positive and negative ones
# would cancel, so we square each of them first. The **mean squared error** is the mean of the
# squared differences over all examples. A **loss function** says in one number, the *loss*, how
# wrong a model is.
#
# **Task.** Write `mean_squared_error`. Call `model(parameters, inputs)`, not `predict`: at the
# end of the lesson, the model will be a network.

# %% exercise="mean-squared-error"
#| export
def mean_squared_error(model, parameters, examples):
    """How wrong a model is: the mean of (output - target) squared.

    model       function of (parameters, inputs), returning a float
    parameters  list of floats, for the model
    examples    non-empty list of pairs (inputs, target): a list of floats and a float
    returns     float, at least 0; 0 if every output is its target

    >>> mean_squared_error(predict, [1.0, 0.0], [([1.0], 3.0), ([2.0], 2.0)])
    2.0
    """
    ### BEGIN SOLUTION
    total = 0.0
    for inputs, target in examples:
        total += (model(parameters, inputs) - target) ** 2
    return total / len(examples)
    ### END SOLUTION

# %% checks="mean-squared-error"
check("mean-squared-error")

# %% [markdown]
# The smaller the loss, the better the line fits the examples. Here are the losses of three
# lines:

# %%
def line_loss(parameters):
    """The loss of the line with these parameters, on the twelve examples."""
    return mean_squared_error(predict, parameters, examples)


for parameters in ([0.0, 0.0], [1.0, 0.0], [1.0, -1.0]):
    print(f"weight {parameters[0]}, bias {parameters[1]:4}: loss {line_loss(parameters):.2f}")

# %% [markdown]
# ## The gradient
#
# **Training** means finding parameters with a small loss. Should the weight be larger or
# smaller? We measure how the loss changes when the weight increases by a very small amount $h$.
# The **derivative** of the loss with respect to the weight is approximately the change in the
# loss divided by $h$. In the picture below, the derivative at weight 0 is the slope of the
# orange line. It is negative, because a larger weight has a smaller loss.

# %%
from tinytorch.pictures.descent import draw_slope

draw_slope(lambda weight: line_loss([weight, 0.0]), at=0.0);
# alt: The loss as a function of the weight, with bias 0: a curve that falls, has its lowest
# point near weight 0.9, and rises again. An orange line touches it at weight 0 and falls
# steeply.

# %% [markdown]
# A **finite difference** estimates a derivative from function values at nearby points. Let
# $L(w)$ be the loss when the weight is $w$. The last cell used the points $w$ and $w + h$. A
# **central difference** uses the points $w + h$ and $w - h$, which are $2h$ apart, and is more
# accurate:
#
# $$\text{derivative} \approx \frac{L(w + h) - L(w - h)}{2h}$$
#
# A **partial derivative** is the derivative with respect to one parameter, while all other
# parameters keep their values. The **gradient** is the list of all partial derivatives.
#
# **Task.** Write `numerical_gradient`. The function `f` takes a whole list of numbers. For each
# number, call `f` twice: with a copy of the list in which only this number is larger by `h`,
# and with a copy in which only this number is smaller by `h`. It is the longest function of
# this lesson. For a list of two numbers, write down its four calls of `f` first.

# %% exercise="numerical-gradient"
#| export
def numerical_gradient(f, numbers, h=1e-5):
    """The gradient of f at the given numbers, estimated by central differences.

    f        function of a list of floats, returning one float
    numbers  list of floats: the point at which to compute the gradient; the list stays as it is
    h        float: how far one number is moved, up and down, while the others stay the same
    returns  list of floats, one partial derivative per number

    >>> [round(d, 6) for d in numerical_gradient(lambda n: n[0] * n[1], [2.0, 7.0])]
    [7.0, 2.0]

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 11.5.
    """
    ### BEGIN SOLUTION
    gradient = []
    for i in range(len(numbers)):
        up, down = list(numbers), list(numbers)
        up[i] += h
        down[i] -= h
        gradient.append((f(up) - f(down)) / (2 * h))
    return gradient
    ### END SOLUTION

# %% checks="numerical-gradient"
check("numerical-gradient")

# %% [markdown]
# The next cell first prints the gradient of the line's loss at the start. Both derivatives are
# negative, so a larger weight and a larger bias lower the loss. Then the given function
# `follow` takes 100 small steps with your gradient, each of which makes the loss smaller. You
# write such a function yourself in the next two exercises, which also explain the learning
# rate, 0.05.

# %%
from tinytorch.pictures.descent import follow

print("gradient at the start:", [round(d, 2) for d in numerical_gradient(line_loss, start)])
history = follow(line_loss, numerical_gradient, start, learning_rate=0.05, steps=100)
draw_line(predict, history, examples);
# alt: The twelve points and six lines, from pale to dark: the flat one at the start, and then
# lines that turn toward the points. The last one goes through them.

# %% [markdown]
# ## Gradient descent
#
# The gradient says in which direction each parameter should change. A positive derivative says
# that the loss grows with the parameter, so we make the parameter smaller, while with a
# negative derivative we make it larger. In both cases we subtract:
#
# $$\text{new parameter} = \text{parameter} - \text{learning rate} \cdot \text{derivative}$$
#
# The **learning rate** is a number, such as 0.05, that scales the steps.
#
# **Task.** Write `step`.

# %% One step of gradient descent exercise="step"
#| export
def step(parameters, gradient, learning_rate):
    """Move each parameter against its derivative.

    parameters     list of floats; the list stays as it is
    gradient       list of floats: one derivative per parameter
    learning_rate  float, positive
    returns        a new list: each parameter minus learning_rate times its derivative

    >>> step([1.0, 5.0], [2.0, -4.0], 0.5)
    [0.0, 7.0]
    """
    ### BEGIN SOLUTION
    return [p - learning_rate * d for p, d in zip(parameters, gradient)]
    ### END SOLUTION

# %% checks="step"
check("step")

# %% [markdown]
# **Gradient descent** computes the gradient, takes a step, and repeats both many times. Every
# network in this course is trained in this way, or in an improved version of it.
#
# **Task.** Write `train`. Each step computes the gradient at the latest parameters with
# `numerical_gradient`, and the new parameters with `step`.

# %% The training loop exercise="train"
#| export
def train(loss, parameters, learning_rate, steps):
    """Change the parameters by gradient descent.

    loss           function of a list of floats, returning a float
    parameters     list of floats: where to start; the list stays as it is
    learning_rate  float, positive
    steps          int: how many steps to take, at least 0
    returns        list with `steps + 1` entries, each a list of parameters: first the start,
                   then the parameters after each step

    >>> [round(p[0], 3) for p in train(lambda p: p[0] ** 2, [8.0], 0.25, 3)]
    [8.0, 4.0, 2.0, 1.0]
    """
    ### BEGIN SOLUTION
    history = [list(parameters)]
    for _ in range(steps):
        gradient = numerical_gradient(loss, history[-1])
        history.append(step(history[-1], gradient, learning_rate))
    return history
    ### END SOLUTION

# %% checks="train"
check("train")

# %%
history = train(line_loss, start, learning_rate=0.05, steps=100)
for step_number in (0, 1, 10, 100):
    weight, bias = history[step_number]
    loss = line_loss(history[step_number])
    print(f"step {step_number:3}: weight {weight:.2f}, bias {bias:5.2f}, loss {loss:.2f}")

# %% [markdown]
# Predict: which of the learning rates 0.005, 0.05 and 0.12 has the smallest loss after 20
# steps?

# %% tags=["answer", "explained"]
from tinytorch.pictures.drawing import plot_lines

curves = {}
for rate in (0.12, 0.05, 0.005):
    losses = [line_loss(parameters) for parameters in train(line_loss, start, rate, 20)]
    curves[f"rate {rate}"] = (range(21), losses)
    print(f"learning rate {rate}: loss {losses[-1]:.2f}")
plot_lines(curves, "step", "loss", top=10);
# caption: With too large a learning rate the loss grows; with too small a one it falls slowly.
# alt: Three curves of the loss. With rate 0.12 it leaves the picture at the top. With 0.05 it
# falls below 1 in a few steps. With 0.005 it falls slowly.

# %% [markdown]
# With a small rate the loss falls slowly, while with a rate that is too large each step goes
# past the lowest point of the loss and ends higher than before: training *diverges*.

# %% [markdown] page="A network"
# ## A neural network, with the same functions
#
# No line can separate the two groups of points in the picture at the top. A **neural network**
# can. Ours consists of seven linear models like yours:
#
# - Six of them get the position of a point. Each has two weights and a bias, 18 parameters in
#   all.
# - The seventh gets the six outputs of the others. It has six weights and a bias, 7 parameters.
#
# In all, the network has 25 parameters.
#
# The function `tanh` is applied to the output of each of the seven. It has an S-shaped curve
# and values between -1 and 1. Without it the whole network would be one linear model, because a
# weighted sum of weighted sums is again a weighted sum of the inputs.

# %%
#| export
def network(parameters, inputs):
    """The output of a network of 25 parameters for two inputs, a float between -1 and 1."""
    hidden = [math.tanh(predict(parameters[i : i + 3], inputs)) for i in range(0, 18, 3)]
    return math.tanh(predict(parameters[18:], hidden))

# %% [markdown]
# The target is 1 for the points in the middle and -1 for the points around them. You do not
# have to change your functions. We pass `network` to `mean_squared_error` in place of
# `predict`, and `network_loss` to `train` in place of `line_loss`. Which learning rates are too
# large depends on the model: for the line, 0.12 was too large, while for this network 0.5
# works.

# %% tags=["payoff"]
import random

from tinytorch.pictures.descent import draw_learning, ring_examples

rings = ring_examples()


def network_loss(parameters):
    """The loss of the network with these parameters, on the points of the picture."""
    return mean_squared_error(network, parameters, rings)


draw = random.Random(0).uniform
network_start = [draw(-1, 1) for _ in range(25)]
history = train(network_loss, network_start, learning_rate=0.5, steps=100)
print(f"loss {network_loss(history[0]):.2f} -> {network_loss(history[-1]):.2f}")
draw_learning(network, history, rings);
# caption: The boundary bends, step by step, until it separates the two groups.
# alt: Four panels, after 0, 20, 50 and 100 steps. At first a slanted line cuts through both
# groups. After 20 steps the boundary is a curve that is open at the top, after 50 a wide closed
# one, and after 100 a closed curve around the points in the middle.

# %% [markdown]
# This is the curve from the beginning of the lesson, and your program found it.
#
# ## What this costs
#
# Each step computes the loss twice for every parameter: 50 times for 25 parameters. In lesson
# 15 you will train a *GPT*, a network that writes text, with 734,336 parameters. Computing
# its loss once also takes longer: with 10 times as many parameters, about 10 times as long.
#
# **Task.** Write `seconds_per_step`. Computing the loss of our network once takes about 0.1
# milliseconds. Predict, before you test: would one training step of the GPT take about an hour,
# about a day, or more than a month in this way?

# %% exercise="seconds-per-step"
#| export
def seconds_per_step(seconds_per_loss, count, larger_count):
    """How long one step with central differences takes for a larger model.

    seconds_per_loss  float: the time to compute the loss of a smaller model once
    count             int: how many parameters the smaller model has
    larger_count      int: how many parameters the larger model has; if it has 10 times as many,
                      computing its loss once takes 10 times as long
    returns           float: the seconds of one step of the larger model, which computes its
                      loss twice for each of its parameters

    >>> seconds_per_step(0.5, 10, 100)
    1000.0
    """
    ### BEGIN SOLUTION
    return 2 * larger_count * seconds_per_loss * larger_count / count
    ### END SOLUTION

# %% checks="seconds-per-step"
check("seconds-per-step")

# %% tags=["answer", "explained"]
import time

began = time.perf_counter()
for _ in range(100):
    network_loss(network_start)
seconds = (time.perf_counter() - began) / 100
days = seconds_per_step(seconds, 25, 734_336) / (24 * 60 * 60)
print(f"{days:,.0f} days for one step, on this machine")

# %% [markdown]
# In lesson 15 you train the GPT for 3,000 steps, in about two minutes. Two ideas make the steps
# so much faster. **Backpropagation** (lesson 01) computes all partial derivatives in about
# twice the time that one loss takes. **Arrays** (lesson 02) compute thousands of numbers in one
# call of fast compiled code.
#
# The next lesson is 01, `backprop`.
#
# ## Look back
#
# 1. At the end of this file, print `numerical_gradient(line_loss, [0.0, 0.0], h)` with `h=1`
#    and with `h=1e-15`, and test. Compare both with the gradient at the start. Which one is
#    wrong, and why? (A float has about 16 digits.)
# 2. Start the network from 25 zeros. Which parameters change? Which never do?
# 3. In PyTorch, a widely used library, `loss.backward()` computes the gradient and
#    `torch.optim.SGD(...).step()` takes the step. Which of your functions does each of them
#    replace?

# %% [markdown] tags=["answer"]
# 1. With `h=1` the gradient is right, because for a parabola the central difference is exact
#    for every `h`. With `h=1e-15` it is -14.2 in place of -13.83: the two losses differ only in
#    their last digits, so rounding decides.
# 2. Only the last one, the bias of the output, changes. All hidden outputs are 0, so no other
#    parameter has an effect on the loss, and all other derivatives stay 0.
# 3. `loss.backward()` replaces `numerical_gradient`, and `step()` replaces your `step`.
