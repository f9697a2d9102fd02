# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% by-hand mistake own-factor: Takes each factor of L = f*g for its own derivative.
#> with respect to one factor is the other factor
return {"L": 1, "f": 4, "g": 7, "e": 7, "c": 7, "d": 4, "b": 14, "a": -17}

# %% by-hand mistake one-path-only: Follows one of the two paths from a to L.
#> their contributions add up
return {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -21}

# %% by-hand mistake paths-multiplied: Multiplies the contributions of two paths instead of
# adding them.
#> their contributions add up
return {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -84}

# %% by-hand mistake chain-rule-added: Adds the factors along a path instead of multiplying
# them.
#> along a path, derivatives multiply
return {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 9, "a": -17}

# %% by-hand right: the chain rule written out, with floats
a, b, c, d = 2.0, -3.0, 10.0, 5.0
L = 1.0
f, g = L * (a + d), L * (a * b + c)
e = f * 1.0
return {"a": e * b + g, "b": e * a, "c": f, "d": g, "e": e, "f": f, "g": g, "L": L}

# %% by-hand right: filled in one after the other
found = dict(L=1)
found["f"], found["g"] = 7, 4
found.update(e=7, c=7, d=4)
found["b"] = found["e"] * 2
found["a"] = found["e"] * -3 + found["g"]
return found

# %% multiply mistake plain-number-returned: Returns the number alone, which records nothing.
#> should be a Value
return a.data * b.data

# %% multiply mistake numbers-recorded: Records the numbers instead of the Values, so that the
# backward pass cannot reach them.
#> record the Values (a, b) themselves
return record("*", a.data * b.data, (a.data, b.data), (b.data, a.data))

# %% multiply mistake return-forgotten: Creates the result and does not return it.
#> yours is None: return what record returns
record("*", a.data * b.data, (a, b), (b.data, a.data))

# %% multiply mistake constructor-called: Calls the constructor as in micrograd, so that the
# local gradients are never set.
#> create the result with `record`
return Value(a.data * b.data, (a, b), "*")

# %% multiply mistake own-factor-as-local-gradient: Gives each factor itself as its local
# gradient, as if d(ab)/da were a.
#> the derivative with respect to one factor is the other factor
return record("*", a.data * b.data, (a, b), (a.data, b.data))

# %% multiply mistake values-as-local-gradients: Gives the Values themselves as local gradients,
# so that gradients become Values, too.
#> local gradients are plain floats: `b.data`, not `b`
return record("*", a.data * b.data, (a, b), (b, a))

# %% multiply right: with a name for each partial derivative
x, y = a.data, b.data
with_respect_to_a, with_respect_to_b = y, x
return record("*", x * y, (a, b), (with_respect_to_a, with_respect_to_b))

# %% multiply right: with keywords and float()
return record(op="*", data=b.data * a.data, inputs=(a, b),
              local_gradients=(float(b), float(a)))

# %% multiply mistake local-gradients-of-a-sum: Copies the local gradients of add.
#> the derivative with respect to one factor is the other factor
return record("*", a.data * b.data, (a, b), (1.0, 1.0))

# %% propagate mistake upstream-gradient-dropped: Passes on the local gradient alone and ignores
# the upstream gradient.
#> multiply each local gradient by the grad of
#- g = node.grad
g = 1.0

# %% propagate mistake gradient-overwritten: Writes = instead of +=, so that only the last
# contribution counts.
#> Gradients accumulate: += instead of =
for x, local in zip(node._prev, node._local_gradients):
    x.grad = local * node.grad

# %% propagate mistake added-along-a-path: Adds local and upstream gradient instead of
# multiplying them.
#> multiply each local gradient by the grad of
#- x.grad += local_x * g
x.grad += local_x + g

# %% propagate mistake two-inputs-only: Works for two inputs and forgets functions, which have
# one.
#> with the local gradients (3.0,)
#- for x, local in zip(node._prev, node._local_gradients):
#-     x.grad += local * g
pass

# %% propagate mistake propagate-recurses: Calls itself for the inputs, whose gradients are not
# complete yet.
#> propagate makes one step only
#- ### END SOLUTION
for x in node._prev:
    propagate(x)
### END SOLUTION

# %% propagate mistake value-of-the-input-as-factor: Multiplies by the value of the input as
# well.
#> multiply each local gradient by the grad of
#- x.grad += local_x * g
x.grad += local_x * g * x.data

# %% propagate right: a loop
for x, local in zip(node._prev, node._local_gradients):
    x.grad += local * node.grad

# %% propagate right: a loop over indices, and assignments
for i in range(len(node._prev)):
    node._prev[i].grad = node._prev[i].grad + node.grad * node._local_gradients[i]

# %% topological-order mistake order-of-discovery: Keeps the order of discovery, level by level.
#> has every node before its inputs
seen, nodes = {root}, [root]
for node in nodes:
    for x in node._prev:
        if x not in seen:
            seen.add(x)
            nodes.append(x)
return nodes

# %% topological-order mistake inputs-before-results: Forgets reverse=True, so that inputs come
# before the results.
#> has every node before its inputs
#- return sorted(seen, key=lambda node: node._created, reverse=True)
return sorted(seen, key=lambda node: node._created)

# %% topological-order mistake recursion: Uses recursion, which ends at a depth of about 1,000.
#> replace the recursion by a loop
seen, stack = set(), [root]
def visit(node):
    if node not in seen:
        seen.add(node)
        for x in node._prev:
            visit(x)

visit(root)
return sorted(seen, key=lambda node: node._created, reverse=True)

# %% topological-order mistake every-path-followed: Visits a shared node once per path: wrong
# numbers, and exponential time.
#> each of the four once
nodes = [root]
for node in nodes:
    nodes.extend(node._prev)
return sorted(nodes, key=lambda node: node._created, reverse=True)

# %% topological-order mistake depth-first-without-sorting: Lists nodes depth first with a
# visited set: a node can come before a result that uses it.
#> has every node before its inputs
waiting, nodes, seen = [root], [], set()
while waiting:
    node = waiting.pop()
    if node not in seen:
        seen.add(node)
        nodes.append(node)
        waiting.extend(node._prev)
return nodes

# %% topological-order mistake duplicates-removed-afterwards: Follows every path and removes
# duplicates at the end: right, and exponential.
#> paths was followed
#- if node not in seen:
#-     seen.add(node)
#-     stack.extend(node._prev)
seen.add(node)
stack.extend(node._prev)

# %% topological-order mistake searches-a-list: Asks the list whether a node was seen, which
# takes longer each time.
#> keep the nodes seen in a set
#- seen, stack = set(), [root]
seen, stack = [], [root]
#- seen.add(node)
seen.append(node)

# %% topological-order mistake data-remembered: Remembers the data of the nodes seen, so that
# two nodes that hold the same number are one.
#> remember the nodes themselves, not their data
nodes, seen, stack = [], set(), [root]
while stack:
    node = stack.pop()
    if node.data not in seen:
        seen.add(node.data)
        nodes.append(node)
        stack.extend(node._prev)
return sorted(nodes, key=lambda node: node._created, reverse=True)

# %% topological-order mistake sort-returned: Returns what list.sort returns: None.
#> `list.sort` sorts in place
#- return sorted(seen, key=lambda node: node._created, reverse=True)
return list(seen).sort(key=lambda node: node._created, reverse=True)

# %% topological-order right: a list that grows during the loop
seen, nodes = {root}, [root]
for node in nodes:
    for x in node._prev:
        if x not in seen:
            seen.add(x)
            nodes.append(x)
nodes.sort(key=lambda node: node._created, reverse=True)
return nodes

# %% topological-order right: depth first with an explicit stack, results after their inputs,
# then reversed
order, seen, stack = [], {root}, [(root, iter(root._prev))]
while stack:
    node, inputs = stack[-1]
    x = next(inputs, None)
    if x is None:
        order.append(node)
        stack.pop()
    elif x not in seen:
        seen.add(x)
        stack.append((x, iter(x._prev)))
return order[::-1]

# %% topological-order right: Kahn's algorithm: count the results that use each node
users, stack = {root: 0}, [root]
while stack:
    for x in stack.pop()._prev:
        if x not in users:
            users[x] = 0
            stack.append(x)
        users[x] += 1
order, ready = [], [root]
while ready:
    node = ready.pop()
    order.append(node)
    for x in node._prev:
        users[x] -= 1
        if users[x] == 0:
            ready.append(x)
return order

# %% backward mistake no-seed-gradient: Forgets to begin with 1, so that zeros are propagated.
#> with respect to itself is 1: begin with it
#- root.grad += 1.0
pass

# %% backward mistake intermediate-results-not-reset: Lets intermediate results keep their
# gradients from the last pass.
#> set the grad of intermediate results to 0 first
#- if node._prev:
#-     node.grad = 0.0
if False:
    node.grad = 0.0

# %% backward mistake leaves-reset: Resets the leaves too, so that they cannot accumulate over
# several passes.
#> leaves accumulate
#- if node._prev:
#-     node.grad = 0.0
if True:
    node.grad = 0.0

# %% backward mistake recursion-into-inputs: Propagates, then calls itself for each input: a
# shared node propagates before it is complete, and repeatedly.
#> b propagated too early or too often
#- for node in nodes:
#-     propagate(node)
def visit(node):
    propagate(node)
    for x in node._prev:
        visit(x)

visit(root)

# %% backward mistake depth-first-once-per-node: Goes depth first with a visited set: a node
# propagates before the second result that uses it.
#> must wait until both results that use it have propagated
#- for node in nodes:
#-     propagate(node)
done, stack = set(), [root]
while stack:
    node = stack.pop()
    if node not in done:
        done.add(node)
        propagate(node)
        stack.extend(node._prev)

# %% backward mistake seed-gradient-assigned: Sets the first gradient with =, so that a root
# that is a leaf does not accumulate.
#> accumulates 1 each time
#- root.grad += 1.0
root.grad = 1.0

# %% backward mistake inputs-first: Propagates from the inputs to the result.
#> compare with the graph that you filled in by hand
#- for node in nodes:
#-     propagate(node)
for node in reversed(nodes):
    propagate(node)

# %% backward right: the root reset by hand, comprehension for the rest
order = topological_order(root)
for node in [node for node in order if len(node._prev)]:
    node.grad = 0.0
root.grad = root.grad + 1.0
for node in order:
    node._backward()

# %% backward right: gradients of this pass kept aside, written back at the end
order = topological_order(root)
gradients = dict.fromkeys(order, 0.0)
gradients[root] = 1.0
for node in order:
    for x, local in zip(node._prev, node._local_gradients):
        gradients[x] += local * gradients[node]
for node, gradient in gradients.items():
    node.grad = gradient if node._prev else node.grad + gradient

# %% train-step mistake gradients-never-zeroed: Does not set gradients to 0 between steps.
#> set them to 0 in each step
#- p.grad = 0.0
pass

# %% train-step mistake zeroed-after-backward: Sets the gradients to 0 between the backward pass
# and the update, so that nothing moves.
#> the parameters did not move
#- for p in parameters:
#-     p.grad = 0.0
#- result.backward()
result.backward()
for p in parameters:
    p.grad = 0.0

# %% train-step mistake gradient-ascent: Adds the gradient, so that the loss grows.
#> moved with the gradient instead of against it
#- p.data -= learning_rate * p.grad
p.data += learning_rate * p.grad

# %% train-step mistake parameter-rebound: Computes p = p - rate * grad, which creates a new
# Value and leaves the parameter as it was.
#> the parameters did not move
#- p.data -= learning_rate * p.grad
p = p - learning_rate * p.grad

# %% train-step mistake parameter-rebound-and-loss-returned: Makes two mistakes: rebinds p and
# returns the Value. The message about p comes first.
#> the parameters did not move
#- for p in parameters:
#-     p.data -= learning_rate * p.grad
#- return result.data
for p in parameters:
    p = p - learning_rate * p.grad
return result

# %% train-step mistake loss-returned-as-value: Returns the loss as a Value.
#> return the number, `.data`
#- return result.data
return result

# %% train-step mistake loss-after-the-step: Computes the loss again after the update and
# returns that.
#> that is the loss after the step
#- return result.data
return loss().data

# %% train-step mistake loss-computed-twice: Calls the loss function a second time for the
# number to return.
#> the number of times that one step computes the loss should be 1
for p in parameters:
    p.grad = 0.0
before = loss().data
loss().backward()
for p in parameters:
    p.data -= learning_rate * p.grad
return before

# %% train-step right: gradients set to 0 at the end of the step as well, and a loop over
# indices
for p in parameters:
    p.grad = 0.0
value = loss()
backward(value)
for i in range(len(parameters)):
    parameters[i].data = parameters[i].data - learning_rate * parameters[i].grad
    parameters[i].grad = 0.0
return float(value)

# %% train-step right: the gradients as a list
value = loss()
for p in parameters:
    p.grad = 0
value.backward()
for p, g in zip(parameters, [p.grad for p in parameters]):
    p.data += -learning_rate * g
return value.data

# %% gradient-check mistake nan-passes: Asks whether the difference is too large, which is never
# true for nan.
#> every comparison with nan is False
#- if not abs(value.grad - right) <= tolerance * max(1.0, abs(right)):
#-     raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
#-                          f"a central difference gives {right:.6g}")
if abs(value.grad - right) > tolerance * max(1.0, abs(right)):
    raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
                         f"a central difference gives {right:.6g}")

# %% gradient-check mistake abs-forgotten: Compares without abs, so that a derivative that is
# too small passes.
#> in both directions
#- if not abs(value.grad - right) <= tolerance * max(1.0, abs(right)):
#-     raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
#-                          f"a central difference gives {right:.6g}")
if not value.grad - right <= tolerance * max(1.0, abs(right)):
    raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
                         f"a central difference gives {right:.6g}")

# %% gradient-check mistake absolute-tolerance: Uses an absolute tolerance, which refuses right
# derivatives that are large.
#> allow tolerance * max(1, |central difference|)
#- if not abs(value.grad - right) <= tolerance * max(1.0, abs(right)):
#-     raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
#-                          f"a central difference gives {right:.6g}")
if not abs(value.grad - right) <= tolerance:
    raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
                         f"a central difference gives {right:.6g}")

# %% gradient-check mistake relative-tolerance: Uses a relative tolerance, which refuses right
# derivatives near 0.
#> allow tolerance * max(1, |central difference|)
#- if not abs(value.grad - right) <= tolerance * max(1.0, abs(right)):
#-     raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
#-                          f"a central difference gives {right:.6g}")
if not abs(value.grad - right) <= tolerance * abs(right):
    raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
                         f"a central difference gives {right:.6g}")

# %% gradient-check mistake true-forgotten: Returns nothing when all is right.
#> should return True, yours returns
#- return True
return None

# %% gradient-check mistake false-returned: Returns False instead of raising.
#> should raise AssertionError, yours raised nothing
#- raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
#-                      f"a central difference gives {right:.6g}")
return False

# %% gradient-check mistake message-without-numbers: Says that something is wrong, but not what.
#> the message should contain
#- raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
#-                      f"a central difference gives {right:.6g}")
raise AssertionError("the gradients differ")

# %% gradient-check right: math.isclose and a loop over indices
values = list(map(Value, numbers))
out = f(*values)
out.backward()

def as_floats(moved):
    return f(*[Value(x) for x in moved]).data

numerical = numerical_gradient(as_floats, list(numbers))
for i in range(len(values)):
    mine, right = values[i].grad, numerical[i]
    if math.isnan(mine) or abs(mine - right) / max(1, abs(right)) > tolerance:
        raise AssertionError(f"derivative number {i}: {mine} by backward, {right} numerically")
return True

# %% gradient-check right: assert with a message
values = [Value(x) for x in numbers]
f(*values).backward()
central = numerical_gradient(lambda x: float(f(*[Value(n) for n in x])), numbers)
for i, right in enumerate(central):
    allowed = tolerance if abs(right) < 1 else tolerance * abs(right)
    assert -allowed <= values[i].grad - right <= allowed, (i, values[i].grad, right)
return True

# %% power mistake result-over-x: Divides n times the result by x, which fails at 0.
#> n * x ** n / x fails at x = 0
result = real_power(x.data, n)
return record(f"**{n}", result, (x,), (n * result / x.data,))

# %% power mistake power-not-lowered: Multiplies by n and forgets to lower the exponent.
#> the local gradient of 3.0 ** 2 should be 2 * 3.0 ** (2 - 1)
derivative = n * real_power(x.data, n)
return record(f"**{n}", real_power(x.data, n), (x,), (derivative,))

# %% power mistake exponent-forgotten: Lowers the exponent and forgets the factor n.
#> the local gradient of 3.0 ** 2 should be 2 * 3.0 ** (2 - 1)
derivative = real_power(x.data, n - 1)
return record(f"**{n}", real_power(x.data, n), (x,), (derivative,))

# %% power mistake parentheses-are-no-tuple: Forgets the comma: (x) is just x.
#> (x) is just x, write (x,)
derivative = n * real_power(x.data, n - 1)
return record(f"**{n}", real_power(x.data, n), (x), (derivative,))

# %% power mistake plain-power: Uses ** where real_power gives infinity or refuses.
#> use real_power in place of **
derivative = n * real_power(x.data, n - 1)
return record(f"**{n}", x.data ** n, (x,), (derivative,))

# %% power right: in one expression
return record("**" + str(n), real_power(x.data, n), (x,), (real_power(x.data, n - 1) * n,))

# %% power right: with names for each part
base = x.data
result = real_power(base, n)
lowered = real_power(base, n - 1)
return record(op=f"**{n}", data=result, inputs=(x,), local_gradients=(n * lowered,))

# %% neuron mistake bias-with-tanh-only: Adds the bias in the branch with tanh only.
#> the bias is missing
total = sum(w * number for w, number in zip(self.w, x))
return (total + self.b).tanh() if self.nonlin else total

# %% neuron mistake bias-forgotten: Creates a bias and never adds it.
#> the output should be
#- total = sum((w * v for w, v in zip(self.w, x)), self.b)
total = sum((w * v for w, v in zip(self.w, x)), Value(0.0))

# %% neuron mistake bias-number-added: Adds the bias's number, so that the bias never gets a
# gradient.
#> is the bias a part of the sum, as a Value?
#- total = sum((w * v for w, v in zip(self.w, x)), self.b)
total = sum((w * v for w, v in zip(self.w, x)), Value(self.b.data))

# %% neuron mistake always-tanh: Applies tanh even when nonlin is False.
#> with nonlin=False
#- return total.tanh() if self.nonlin else total
return total.tanh()

# %% neuron right: a sum in a loop over pairs
total = self.b
for w, v in zip(self.w, x, strict=True):
    total = total + w * v
return tanh(total) if self.nonlin else total

# %% neuron right: a sum in a loop over indices
total = self.b
for i in range(len(x)):
    total = total + x[i] * self.w[i]
if self.nonlin:
    total = total.tanh()
return total

# %% mlp mistake every-layer-linear: Applies linear_output to every layer.
#> linear_output is for the last layer only
sizes = [nin, *nouts]
self.layers = [Layer(a, b, not linear_output, generator) for a, b in zip(sizes, sizes[1:])]

# %% mlp mistake every-layer-has-nin-inputs: Gives every layer as many inputs as the network
# has.
#> MLP(3, [4, 4, 1]) has 41 parameters
#- self.layers.append(Layer(sizes[i], sizes[i + 1],
#-                          not (last and linear_output), generator))
self.layers.append(Layer(nin, sizes[i + 1],
                         not (last and linear_output), generator))

# %% mlp mistake hidden-layers-linear: Makes all layers linear instead of the last.
#> with linear_output=True, nonlin of the neurons should be
#- self.layers.append(Layer(sizes[i], sizes[i + 1],
#-                          not (last and linear_output), generator))
self.layers.append(Layer(sizes[i], sizes[i + 1],
                         not linear_output, generator))

# %% mlp mistake generator-not-passed: Does not pass the generator on, so that the seed has no
# effect.
#> pass `generator` to each layer
#- self.layers.append(Layer(sizes[i], sizes[i + 1],
#-                          not (last and linear_output), generator))
self.layers.append(Layer(sizes[i], sizes[i + 1],
                         not (last and linear_output)))

# %% mlp mistake fixed-seed: Creates a generator with a fixed seed where none was given.
#> with a fixed seed
#- self.layers = []
generator = generator or random.Random(0)
self.layers = []

# %% mlp mistake list-of-sizes-changed: Inserts nin into the list of the caller.
#> Build a new list, [nin, *nouts]
nouts.insert(0, nin)
self.layers = []
for i in range(len(nouts) - 1):
    last = i == len(nouts) - 2
    self.layers.append(Layer(nouts[i], nouts[i + 1], not (last and linear_output), generator))

# %% mlp right: zip of neighbouring sizes
nonlins = [True] * (len(nouts) - 1) + [not linear_output]
self.layers = [Layer(before, after, nonlin, generator)
               for before, after, nonlin in zip([nin, *nouts], nouts, nonlins)]

# %% mlp right: a running number of inputs, the last layer changed afterwards
self.layers, inputs = [], nin
for nout in nouts:
    self.layers.append(Layer(inputs, nout, generator=generator))
    inputs = nout
if linear_output:
    for neuron in self.layers[-1].neurons:
        neuron.nonlin = False

# %% forward-mode mistake other-leaves-move-too: Gives every leaf the derivative 1.
#> yours is [
#- derivatives[node] = sum((local * derivatives[x] for x, local in terms), 0.0)
derivatives[node] = sum((local * derivatives[x] for x, local in terms), 0.0 if node._prev else 1.0)

# %% forward-mode mistake intermediate-leaf-overwritten: Computes the derivative of the chosen
# number from its own inputs, which is 0.
#> also when it was computed
#- if node is not leaf:
#-     terms = zip(node._prev, node._local_gradients)
if node is not leaf or node._prev:
    terms = zip(node._prev, node._local_gradients)

# %% forward-mode mistake one-pass-per-root: Makes one pass per result instead of one for all.
#> It makes one pass per root
#- return [derivatives[root] for root in roots]
if len(roots) > 1:
    return [forward_mode_derivatives([root], leaf)[0] for root in roots]
return [derivatives[root] for root in roots]

# %% forward-mode mistake leaf-overwritten: Replaces the 1 of the leaf by a sum over no inputs.
#> it has no inputs, so the sum would be 0
#- if node is not leaf:
#-     terms = zip(node._prev, node._local_gradients)
if True:
    terms = zip(node._prev, node._local_gradients)

# %% forward-mode right: a loop with +=
derivatives = {}
for node in forward_order(roots):
    derivatives[node] = 0.0
    for i in range(len(node._prev)):
        derivatives[node] += derivatives[node._prev[i]] * node._local_gradients[i]
    if node is leaf:
        derivatives[node] = 1.0
return [derivatives[root] for root in roots]

# %% forward-mode right: a dictionary with a default, and a product of lists
moves = {leaf: 1.0}
for node in forward_order(roots):
    if node not in moves:
        pairs = zip([moves[x] for x in node._prev], list(node._local_gradients))
        moves[node] = math.fsum(a * b for a, b in pairs)
return list(map(moves.get, roots))

# %% gradient-check equivalent: The two differ only where a difference is exactly the tolerance.
#= `<=` -> `<`

# %% gradient-check equivalent: The sign of the difference does not matter to abs.
#= `value.grad - right` -> `((right) - (value.grad))`

# %% gradient-check equivalent: The larger of two numbers does not depend on their order.
#= `1.0, abs(right)` -> `abs(right), 1.0`

# %% neuron equivalent: A product does not depend on the order of its factors.
#= `self.w, x` -> `x, self.w`

# %% power mistake given-lines-for-the-power-0-gone: Writes over the given lines for n = 0.
#> the given lines for n == 0 record 1 with the local gradient 0
#- if n == 0:
#-     return record(f"**{n}", 1.0, (x,), (0.0,))
