# From modules/source/00_descent/descent_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 18bf8322925601c1
"""Gradient descent: Train a line and then a neural network in plain Python."""

import math

__all__ = ["predict", "mean_squared_error", "numerical_gradient", "step", "train", "network", "seconds_per_step"]


def predict(parameters, inputs):
    """The output of a linear model: each input times its weight, plus the bias.

    returns     float

    >>> predict([2.0, 0.5], [3.0])
    6.5
    """
    output = parameters[-1]
    for i in range(len(inputs)):
        output += parameters[i] * inputs[i]
    return output


def mean_squared_error(model, parameters, examples):
    """How wrong a model is: the mean of (output - target) squared.

    returns     float, at least 0

    >>> mean_squared_error(predict, [1.0, 0.0], [([1.0], 3.0), ([2.0], 2.0)])
    2.0
    """
    total = 0.0
    for inputs, target in examples:
        total += (model(parameters, inputs) - target) ** 2
    return total / len(examples)


def numerical_gradient(f, numbers, h=1e-5):
    """The gradient of f at the given numbers, estimated by central differences.

    returns  list of floats, one partial derivative per number

    >>> [round(d, 6) for d in numerical_gradient(lambda n: n[0] * n[1], [2.0, 7.0])]
    [7.0, 2.0]
    """
    gradient = []
    for i in range(len(numbers)):
        up, down = list(numbers), list(numbers)
        up[i] += h
        down[i] -= h
        gradient.append((f(up) - f(down)) / (2 * h))
    return gradient


def step(parameters, gradient, learning_rate):
    """Move each parameter against its derivative.

    returns        a new list: each parameter minus learning_rate times its derivative

    >>> step([1.0, 5.0], [2.0, -4.0], 0.5)
    [0.0, 7.0]
    """
    return [p - learning_rate * d for p, d in zip(parameters, gradient)]


def train(loss, parameters, learning_rate, steps):
    """Change the parameters by gradient descent.

    returns        list with `steps + 1` entries, each a list of parameters: first the start,
                   then the parameters after each step

    >>> [round(p[0], 3) for p in train(lambda p: p[0] ** 2, [8.0], 0.25, 3)]
    [8.0, 4.0, 2.0, 1.0]
    """
    history = [list(parameters)]
    for _ in range(steps):
        gradient = numerical_gradient(loss, history[-1])
        history.append(step(history[-1], gradient, learning_rate))
    return history


def network(parameters, inputs):
    """The output of a network of 25 parameters for two inputs, a float between -1 and 1."""
    hidden = [math.tanh(predict(parameters[i : i + 3], inputs)) for i in range(0, 18, 3)]
    return math.tanh(predict(parameters[18:], hidden))


def seconds_per_step(seconds_per_loss, count, larger_count):
    """How long one step with central differences takes for a larger model.

    returns           float: the seconds of one step of the larger model, which computes its
                      loss twice for each of its parameters

    >>> seconds_per_step(0.5, 10, 100)
    1000.0
    """
    return 2 * larger_count * seconds_per_loss * larger_count / count
