# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% predict mistake inputs-changed: Appends 1 to the inputs for the bias, which changes the
# caller's list.
#> predict changed its arguments
inputs.append(1.0)
return sum(w * x for w, x in zip(parameters, inputs))

# %% predict mistake bias-forgotten: Leaves out the bias.
#> the bias is missing
#- output = parameters[-1]
output = 0.0

# %% predict mistake bias-multiplied: Multiplies the bias by an input, too.
#> your code multiplies the bias by the input
#- output = parameters[-1]
x = inputs[0] if inputs else 1.0
output = parameters[-1] * x

# %% predict mistake bias-in-every-turn: Adds the bias in every turn of the loop.
#> add the bias once
output = 0.0
for i in range(len(inputs)):
    output += parameters[i] * inputs[i] + parameters[-1]
return output

# %% predict mistake returns-in-the-loop: Returns from inside the loop, after the first input.
#> is `return` inside the loop?
#- output += parameters[i] * inputs[i]
output += parameters[i] * inputs[i]
return output

# %% predict mistake prints-the-output: Prints the output instead of returning it.
#> is `return` missing?
#- return output
print(output)

# %% predict mistake bias-popped: Takes the bias out of the caller's list.
#> predict changed its arguments
output = parameters.pop()
for weight, x in zip(parameters, inputs):
    output += weight * x
return output

# %% predict mistake one-input-too-many: Loops over all parameters, and looks for an input that
# belongs to the bias.
#> its last number is the bias
output = parameters[-1]
for i in range(len(parameters)):
    output += parameters[i] * inputs[i]
return output

# %% predict mistake weight-times-the-list: Multiplies the weight by the list of inputs.
#> take a number from the list
return parameters[0] * inputs + parameters[-1]

# %% predict right: sum of a generator over zip
return sum(weight * x for weight, x in zip(parameters, inputs)) + parameters[-1]

# %% predict right: weights and bias unpacked
*weights, bias = parameters
products = [w * x for w, x in zip(weights, inputs)]
return sum(products) + bias

# %% mean-squared-error mistake sum-not-mean: Returns the sum of the squares.
#> divide it by the number of examples
#- return total / len(examples)
return total

# %% mean-squared-error mistake not-squared: Averages the differences without squaring them, so
# that they cancel.
#> square each difference first
#- total += (model(parameters, inputs) - target) ** 2
total += model(parameters, inputs) - target

# %% mean-squared-error mistake absolute-differences: Averages the distances.
#> the mean of the distances
#- total += (model(parameters, inputs) - target) ** 2
total += abs(model(parameters, inputs) - target)

# %% mean-squared-error mistake last-example-only: Overwrites the total in each turn.
#> add all of them up
#- total += (model(parameters, inputs) - target) ** 2
total = (model(parameters, inputs) - target) ** 2

# %% mean-squared-error mistake predict-instead-of-model: Calls predict, whatever model it was
# given.
#> and not `predict`
#- total += (model(parameters, inputs) - target) ** 2
total += (predict([*parameters[:len(inputs)], 0.0], inputs) - target) ** 2

# %% mean-squared-error mistake mse-returned-in-the-loop: Returns from inside the loop.
#> is `return` inside the loop?
total = 0.0
for inputs, target in examples:
    total += (model(parameters, inputs) - target) ** 2
    return total / len(examples)

# %% mean-squared-error mistake all-examples-at-once: Gives the model all examples at once.
#> the model takes the inputs of one example
#- total += (model(parameters, inputs) - target) ** 2
total += (model(parameters, examples) - target) ** 2

# %% mean-squared-error equivalent: The square of a difference does not depend on its sign.
#= `model(parameters, inputs) - target` -> `((target) - (model(parameters, inputs)))`

# %% mean-squared-error right: two lists: the squares, then their mean
outputs = [model(parameters, inputs) for inputs, _ in examples]
squares = [(target - output) ** 2 for (_, target), output in zip(examples, outputs)]
return sum(squares) / len(squares)

# %% mean-squared-error right: the mean, updated example by example
mean = 0.0
for count, (inputs, target) in enumerate(examples, 1):
    difference = target - model(parameters, inputs)
    mean += (difference * difference - mean) / count
return mean

# %% numerical-gradient mistake one-sided-difference: Takes a one-sided difference, whose error
# is proportional to h.
#> in one direction only
#- gradient.append((f(up) - f(down)) / (2 * h))
gradient.append((f(up) - f(numbers)) / h)

# %% numerical-gradient mistake divided-by-h: Divides by h although the two points are 2 h
# apart.
#> so divide by 2 * h
#- gradient.append((f(up) - f(down)) / (2 * h))
gradient.append((f(up) - f(down)) / h)

# %% numerical-gradient mistake brackets-forgotten: Writes / 2 * h, which divides by 2 and
# multiplies by h.
#> divides by 2 and then multiplies by h
#- gradient.append((f(up) - f(down)) / (2 * h))
gradient.append((f(up) - f(down)) / 2 * h)

# %% numerical-gradient mistake not-divided: Does not divide at all.
#> divide by the distance of the two points
#- gradient.append((f(up) - f(down)) / (2 * h))
gradient.append(f(up) - f(down))

# %% numerical-gradient mistake numbers-moved-together: Makes the copies once, before the loop,
# so that earlier numbers stay moved.
#> change one number at a time
#- for i in range(len(numbers)):
#-     up, down = list(numbers), list(numbers)
#-     up[i] += h
up, down = list(numbers), list(numbers)
for i in range(len(numbers)):
    up[i] += h

# %% numerical-gradient mistake same-list-twice: Gives one copy two names, so that both changes
# cancel.
#> do you change one copy of the list twice?
#- up, down = list(numbers), list(numbers)
up = down = list(numbers)

# %% numerical-gradient mistake sign-of-the-difference: Subtracts the upper value from the lower
# one.
#> the sign is wrong
#- gradient.append((f(up) - f(down)) / (2 * h))
gradient.append((f(down) - f(up)) / (2 * h))

# %% numerical-gradient mistake h-written-into-the-code: Ignores h and writes its default into
# the code.
#> use `h` wherever you move a number or divide
#- up[i] += h
#- down[i] -= h
#- gradient.append((f(up) - f(down)) / (2 * h))
up[i] += 1e-5
down[i] -= 1e-5
gradient.append((f(up) - f(down)) / 2e-5)

# %% numerical-gradient mistake numbers-changed: Changes the caller's list and does not restore
# it.
#> change a copy
#- up, down = list(numbers), list(numbers)
up = numbers
down = list(numbers)

# %% numerical-gradient mistake one-number-moved-alone: Calls f with the number alone, as the
# formula seems to say.
#> call f with the whole copy
return [(f(n + h) - f(n - h)) / (2 * h) for n in numbers]

# %% numerical-gradient right: one list, changed and restored
moved, gradient = list(numbers), []
for i, x in enumerate(numbers):
    moved[i] = x + h
    high = f(moved)
    moved[i] = x - h
    low = f(moved)
    moved[i] = x
    gradient.append((high - low) / h / 2)
return gradient

# %% numerical-gradient right: slices and a helper
def value(i, distance):
    return f(numbers[:i] + [numbers[i] + distance] + numbers[i + 1:])

return [(value(i, h) - value(i, -h)) / (2 * h) for i in range(len(numbers))]

# %% step mistake ascends: Adds the derivative, which makes the loss grow.
#> so the loss grows
return [p + learning_rate * d for p, d in zip(parameters, gradient)]

# %% step mistake learning-rate-forgotten: Ignores the learning rate.
#> the learning rate is missing
return [p - d for p, d in zip(parameters, gradient)]

# %% step mistake change-only: Returns the change instead of the new parameters.
#> this is only the change
return [learning_rate * d for p, d in zip(parameters, gradient)]

# %% step mistake changed-in-place: Changes the list of the caller.
#> build a new list
for i in range(len(parameters)):
    parameters[i] -= learning_rate * gradient[i]
return parameters

# %% step right: a loop with an index and append
moved = []
for i in range(len(parameters)):
    moved.append(parameters[i] - gradient[i] * learning_rate)
return moved

# %% step right: the changes first, then the sums
changes = [-learning_rate * derivative for derivative in gradient]
return [sum(pair) for pair in zip(parameters, changes)]

# %% train mistake start-missing: Leaves out the parameters before the first step.
#> the start and one per step
history = []
for _ in range(steps):
    parameters = step(parameters, numerical_gradient(loss, parameters), learning_rate)
    history.append(parameters)
return history

# %% train mistake always-from-the-start: Each step begins at the start again.
#> each step starts from the parameters after the step before
#- gradient = numerical_gradient(loss, history[-1])
#- history.append(step(history[-1], gradient, learning_rate))
gradient = numerical_gradient(loss, parameters)
history.append(step(parameters, gradient, learning_rate))

# %% train mistake gradient-once: Computes the gradient once, before the loop.
#> compute the gradient anew in each step
history = [list(parameters)]
gradient = numerical_gradient(loss, parameters)
for _ in range(steps):
    history.append(step(history[-1], gradient, learning_rate))
return history

# %% train mistake last-only: Returns only the last parameters.
#> return the history
#- return history
return history[-1]

# %% train mistake step-not-used: Calls step and does not use the list that it returns.
#> use the list that `step` returns
latest = list(parameters)
history = [latest]
for _ in range(steps):
    step(latest, numerical_gradient(loss, latest), learning_rate)
    history.append(list(latest))
return history

# %% train mistake one-list-many-times: Appends the same list every time, and changes it.
#> is it the same list as a later entry?
latest = list(parameters)
history = [latest]
for _ in range(steps):
    latest[:] = step(latest, numerical_gradient(loss, latest), learning_rate)
    history.append(latest)
return history

# %% train right: a variable for the latest parameters
latest = list(parameters)
history = [latest]
while len(history) <= steps:
    latest = step(latest, numerical_gradient(loss, latest), learning_rate)
    history.append(latest)
return history

# %% train right: recursion
if steps == 0:
    return [list(parameters)]
before = train(loss, parameters, learning_rate, steps - 1)
return before + [step(before[-1], numerical_gradient(loss, before[-1]), learning_rate)]

# %% seconds-per-step mistake computed-once: Counts one loss per parameter instead of two.
#> twice for each parameter
return larger_count * seconds_per_loss * larger_count / count

# %% seconds-per-step mistake same-time-per-loss: Forgets that the loss of the larger model
# takes longer.
#> one loss takes 10 times as long
return 2 * larger_count * seconds_per_loss

# %% seconds-per-step mistake time-of-one-loss: Returns the time of one loss of the larger
# model.
#> this is the time of one loss
return seconds_per_loss * larger_count / count

# %% seconds-per-step right: in two steps
larger_loss = seconds_per_loss * (larger_count / count)
times = larger_count + larger_count
return times * larger_loss

# %% seconds-per-step right: the time grows with the square
growth = larger_count / count
return seconds_per_loss * count * 2 * growth**2
