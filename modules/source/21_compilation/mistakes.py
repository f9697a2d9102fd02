# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% needed mistake needed-outputs-left-out: Leaves out the outputs.
#> the outputs belong to the list
#- found, stack = set(), [*outputs]
found, stack = set(), [x for output in outputs for x in getattr(output, "inputs", ())]

# %% needed mistake needed-arguments-left-out: Leaves out the arguments.
#> arguments belong to the list
#- if isinstance(node, Node) and node not in found:
#-     found.add(node)
#-     stack.extend(node.inputs)
if isinstance(node, Node) and node.op and node not in found:
    found.add(node)
    stack.extend(node.inputs)

# %% needed mistake needed-recursion: Calls itself for each input.
#> too deep for Python
found = {}
for node in outputs:
    if isinstance(node, Node):
        for x in needed(node.inputs):
            found[x] = True
        found[node] = True
return sorted(found, key=lambda node: node.created)

# %% needed mistake needed-not-sorted: Returns the Nodes in the order of the visit.
#> sort by `created`
#- return sorted(found, key=lambda node: node.created)
return list(found)[::-1]

# %% needed mistake needed-newest-first: Sorts the newest Node to the front.
#> go from the outputs to their inputs
#- return sorted(found, key=lambda node: node.created)
return sorted(found, key=lambda node: -node.created)

# %% needed mistake needed-a-list-with-repeats: Finds a Node once for each use.
#> is one Node
found, stack = [], [*outputs]
while stack:
    node = stack.pop()
    if isinstance(node, Node):
        found.append(node)
        stack.extend(node.inputs)
return sorted(found, key=lambda node: node.created)

# %% needed mistake needed-constants-have-inputs: Asks a constant for its inputs.
#> only a Node has inputs
#- if isinstance(node, Node) and node not in found:
#-     found.add(node)
#-     stack.extend(node.inputs)
if node not in found:
    found.add(node)
    stack.extend(node.inputs)

# %% needed mistake needed-outputs-are-emptied: Takes the Nodes out of the list that is given.
#> it must not change
#- found, stack = set(), [*outputs]
found, stack = set(), outputs

# %% needed mistake needed-first-output-only: Begins with the first output.
#> only a Node has inputs
#- found, stack = set(), [*outputs]
found, stack = set(), [outputs[0]]
outputs = [outputs[0].inputs]

# %% needed mistake needed-one-level: Looks at the inputs of the outputs, and no further.
#> arguments belong to the list
found = {x for x in outputs if isinstance(x, Node)}
found |= {x for node in found for x in node.inputs if isinstance(x, Node)}
return sorted(found, key=lambda node: node.created)

# %% needed mistake needed-first-input-only: Follows the first input of each step.
#> sort by `created`
#- stack.extend(node.inputs)
stack.extend(node.inputs[:1])

# %% needed right: a dict that is also the queue
found = {x: True for x in outputs if isinstance(x, Node)}
waiting = list(found)
for node in waiting:
    for x in only_nodes(node.inputs):
        if x not in found:
            found[x] = True
            waiting.append(x)
return sorted(found, key=lambda node: node.created)

# %% needed right: level by level, with sets
found, level = set(), set(only_nodes(outputs))
while level:
    found |= level
    level = {x for node in level for x in only_nodes(node.inputs)} - found
return sorted(found, key=lambda node: node.created)

# %% evaluate mistake evaluate-options-forgotten: Leaves out the options.
#> call op(*inputs, **options)
#- values[node] = node.op(*map(value, node.inputs), **node.options)
values[node] = node.op(*map(value, node.inputs))

# %% evaluate mistake evaluate-examples: Computes with the examples.
#> These are the examples
#- return values[x] if isinstance(x, Node) else x
return (x.example if x.op is None else values[x]) if isinstance(x, Node) else x

# %% evaluate mistake evaluate-returns-examples: Returns the examples of the outputs.
#> These are the examples
#- return [value(x) for x in program.outputs]
return [x.example if isinstance(x, Node) else x for x in program.outputs]

# %% evaluate mistake evaluate-constant-outputs: Looks up every output in the dict.
#> an output that is no Node is its own value
#- return [value(x) for x in program.outputs]
return [values[x] for x in program.outputs]

# %% evaluate mistake evaluate-first-output: Returns the first output.
#> not a list
#- return [value(x) for x in program.outputs]
return value(program.outputs[0])

# %% evaluate mistake evaluate-inputs-reversed: Reverses the inputs.
#> The order
#- values[node] = node.op(*map(value, node.inputs), **node.options)
values[node] = node.op(*[value(x) for x in node.inputs[::-1]], **node.options)

# %% evaluate mistake evaluate-nodes-first: Puts the constants behind the Nodes.
#> the constant 1 is the first input
#- values[node] = node.op(*map(value, node.inputs), **node.options)
given = sorted(node.inputs, key=lambda x: not isinstance(x, Node))
values[node] = node.op(*map(value, given), **node.options)

# %% evaluate mistake evaluate-last-step: Returns the value of the last step for each output.
#> t0 = sub(a1, a0)
#- return [value(x) for x in program.outputs]
return [values[program.nodes[-1]] for x in program.outputs]

# %% evaluate mistake evaluate-arguments-reversed: Gives the arrays to the arguments in reverse.
#> the result of
#- values = dict(zip(program.arguments, arrays))
values = dict(zip(program.arguments, arrays[::-1]))

# %% evaluate mistake evaluate-returns-nothing: Forgets to return the list.
#> not a list
#- return [value(x) for x in program.outputs]
out = [value(x) for x in program.outputs]

# %% evaluate mistake evaluate-arrays-as-keys: Looks up constants in the dict, with a default.
#> also an array, is its own value
values = dict(zip(program.arguments, arrays))
for node in program.nodes:
    values[node] = node.op(*[values.get(x, x) for x in node.inputs], **node.options)
return [values.get(x, x) for x in program.outputs]

# %% evaluate right: values in a list, by the number of the Node
number = {x: n for n, x in enumerate([*program.arguments, *program.nodes])}
values = list(arrays)
for node in program.nodes:
    inputs = [values[number[x]] if isinstance(x, Node) else x for x in node.inputs]
    values.append(node.op(*inputs, **node.options))
return [values[number[x]] if isinstance(x, Node) else x for x in program.outputs]

# %% evaluate right: recursion with a memory of what is known
known = {a: x for a, x in zip(program.arguments, arrays)}


def value(x):
    if not isinstance(x, Node):
        return x
    if x not in known:
        known[x] = x.op(*[value(part) for part in x.inputs], **x.options)
    return known[x]


return list(map(value, program.outputs))

# %% traced mistake traced-method-ignored: Records the function itself for a reduction.
#> for the method 'reduce' the operation is np.add.reduce
#- op = ufunc if method == "__call__" else getattr(ufunc, method)
op = ufunc

# %% traced mistake traced-options-forgotten: Leaves out the options.
#> pass the options
#- result = self.record(op, *inputs, **options)
result = self.record(op, *inputs)

# %% traced mistake traced-self-first: Puts this array in front of the other inputs.
#> record all `inputs`, in order
#- result = self.record(op, *inputs, **options)
others = [x for x in inputs if x is not self]
result = self.record(op, self, *others, **options)

# %% traced mistake traced-one-input: Records the first input only.
#> __array_ufunc__ return what self.record
#- result = self.record(op, *inputs, **options)
result = self.record(op, *inputs[:1], *[0 for _ in inputs[1:]], **options)

# %% traced mistake traced-returns-the-node: Returns the Node.
#> the steps of exp(x)
#- return result
return result.node

# %% traced mistake traced-out-ignored: Ignores `out`.
#> out[0].node must change
#- if out is None:
#-     return result
return result

# %% traced mistake traced-new-array-for-out: Returns the new result instead of the array in `out`.
#> should return the array in `out`
#- return target
return result

# %% traced mistake traced-node-of-out-changes: Changes the Node of `out`, which others use, too.
#> out[0].node must change
#- target.node = result.astype(target.dtype).node
new = result.astype(target.dtype).node
target.node.op, target.node.inputs = new.op, tuple(
    Node(None, example=x.example) if x is target.node else x for x in new.inputs)
target.node.options, target.node.example = new.options, new.example

# %% traced mistake traced-no-cast: Lets `out` take the dtype of the result.
#> cast the result to the dtype of `out`
#- target.node = result.astype(target.dtype).node
target.node = result.node

# %% traced mistake traced-views-are-written: Writes into a view.
#> the other array would also have to change
#- if target.is_view:
#-     raise NotTraceable("a result is to be written into a view")
if False:
    raise NotTraceable("a result is to be written into a view")

# %% traced mistake traced-only-the-base-is-checked: Checks only whether `out` is a view of another
# array.
#> the other array would also have to change
#- if target.is_view:
#-     raise NotTraceable("a result is to be written into a view")
if target.base is not None:
    raise NotTraceable("a result is to be written into a view")

# %% traced mistake traced-writes-into-self: Writes into the array whose method was called.
#> the array in `out` changes
#- target.node = result.astype(target.dtype).node
#- return target
self.node = result.astype(self.dtype).node
return self

# %% traced mistake traced-plain-array-in-out: Writes into an array that is not traced.
#> the array in `out` has no Node
#- if not isinstance(target, Traced):
#-     raise NotTraceable("a result is to be written into an array that is not traced")
if target is None:
    raise NotTraceable("a result is to be written into an array that is not traced")

# %% traced mistake traced-no-words: Raises NotTraceable without saying why.
#> should contain 'not traced'
#- raise NotTraceable("a result is to be written into an array that is not traced")
raise NotTraceable("this is not possible")

# %% traced right: one expression for the operation, and checks first
target = out[0] if out else None
if target is not None:
    if not isinstance(target, Traced):
        raise NotTraceable(f"the {type(target).__name__} in `out` is not traced")
    if target.is_view:
        raise NotTraceable("`out` is a view")
new = self.record({"__call__": ufunc}.get(method) or getattr(ufunc, method), *inputs, **options)
if target is None:
    return new
target.node = new.astype(target.dtype).node
return target

# %% traced right: getattr for both, since ufunc.__call__ is bound
if method == "__call__":
    result = self.record(ufunc, *inputs, **options)
else:
    result = self.record(getattr(ufunc, method), *inputs, **options)
for target in out or ():
    if not isinstance(target, Traced) or target.is_view:
        raise NotTraceable("`out` is a view" if isinstance(target, Traced) else "not traced")
    target.node = result.astype(target.dtype).node
    return target
return result

# %% straight mistake straight-no-del: Deletes nothing.
#> each result is deleted once
#- if dead:
#-     lines.append(f"del {', '.join(dead)}")
if False:
    lines.append(f"del {', '.join(dead)}")

# %% straight mistake straight-first-use: Deletes an array after the first step that reads it.
#> is it deleted before its last use
#- last = {x: node for node in program.nodes for x in only_nodes(node.inputs)}
last = {}
for node in program.nodes:
    for x in only_nodes(node.inputs):
        last.setdefault(x, node)

# %% straight mistake straight-outputs-deleted: Deletes outputs, too.
#> an output must not be deleted
#- for x in [*program.arguments, *only_nodes(program.outputs)]:
#-     last.pop(x, None)
for x in program.arguments:
    last.pop(x, None)

# %% straight mistake straight-arguments-deleted: Deletes arguments, too.
#> arguments belong to the caller
#- for x in [*program.arguments, *only_nodes(program.outputs)]:
#-     last.pop(x, None)
for x in only_nodes(program.outputs):
    last.pop(x, None)

# %% straight mistake straight-all-at-the-end: Deletes everything before it returns.
#> right after the last step that reads it
#- dead = [names[x] for x in only_nodes(node.inputs) if last.get(x) is node]
dead = [names[x] for x in last] if node is program.nodes[-1] else []

# %% straight mistake straight-options-forgotten: Leaves out the options.
#> the function for t0 = max
#- inputs += [f"{option}={text(value)}" for option, value in node.options.items()]
inputs += []

# %% straight mistake straight-options-by-position: Writes options without their names.
#> look at the text
#- inputs += [f"{option}={text(value)}" for option, value in node.options.items()]
inputs += [text(value) for option, value in node.options.items()]

# %% straight mistake straight-constants-by-repr: Writes constants by repr, arrays too.
#> which gives an array a name
#- inputs = [*map(text, node.inputs)]
inputs = [names[x] if isinstance(x, Node) else repr(x) for x in node.inputs]

# %% straight mistake straight-no-list: Returns the outputs without a list.
#> the lines for softmax
#- lines.append(f"return [{', '.join(map(text, program.outputs))}]")
lines.append(f"return {', '.join(map(text, program.outputs))},")

# %% straight mistake straight-last-result-only: Returns the last result.
#> the number of results
#- lines.append(f"return [{', '.join(map(text, program.outputs))}]")
lines.append(f"return [t{len(program.nodes) - 1}]")

# %% straight mistake straight-steps-as-objects: Puts the name of the operation into the text, but no
# object.
#> the names of the objects
#- lines.append(f"{names[node]} = {text(node.op)}({', '.join(inputs)})")
objects["op"] = text(node.op) and node.op
lines.append(f"{names[node]} = {text(node.op)}({', '.join(inputs)})")

# %% straight mistake straight-deleted-with-the-step: Deletes the results in front of the step that
# reads them last.
#> is it deleted before its last use
#- lines.append(f"{names[node]} = {text(node.op)}({', '.join(inputs)})")
#- dead = [names[x] for x in only_nodes(node.inputs) if last.get(x) is node]
#- if dead:
#-     lines.append(f"del {', '.join(dead)}")
dead = [names[x] for x in only_nodes(node.inputs) if last.get(x) is node]
if dead:
    lines.append(f"del {', '.join(dead)}")
lines.append(f"{names[node]} = {text(node.op)}({', '.join(inputs)})")

# %% straight mistake straight-deleted-twice: Deletes a result twice that is both inputs.
#> is both inputs
last = {}
for node in program.nodes:
    last |= dict.fromkeys(only_nodes(node.inputs), node)
for node in program.nodes:
    options = [f"{name}={text(x)}" for name, x in node.options.items()]
    lines.append(f"{text(node)} = {text(node.op)}({', '.join([*map(text, node.inputs), *options])})")
    unused = [text(x) for x in node.inputs if isinstance(x, Node) and last[x] is node
              and x.op and x not in only_nodes(program.outputs)]
    if unused:
        lines.append(f"del {', '.join(unused)}")
lines.append(f"return [{', '.join(map(text, program.outputs))}]")

# %% straight mistake straight-compares-constants: Looks for a Node among the outputs by `in`.
#> compares an array number by number
#- last = {x: node for node in program.nodes for x in only_nodes(node.inputs)}
#- for x in [*program.arguments, *only_nodes(program.outputs)]:
#-     last.pop(x, None)
last = {x: node for node in program.nodes for x in only_nodes(node.inputs)}
last = {x: n for x, n in last.items() if x not in program.outputs and x not in program.arguments}

# %% straight mistake straight-options-as-they-are: Writes an option by str, not by text.
#> write it by text(value)
last = {}
for node in program.nodes:
    last |= dict.fromkeys(only_nodes(node.inputs), node)
for node in program.nodes:
    options = [f"{name}={x}" for name, x in node.options.items()]
    lines.append(f"{text(node)} = {text(node.op)}({', '.join([*map(text, node.inputs), *options])})")
    unused = [text(x) for x in only_nodes(node.inputs) if last[x] is node
              and x.op and x not in only_nodes(program.outputs)]
    if unused:
        lines.append(f"del {', '.join(unused)}")
lines.append(f"return [{', '.join(map(text, program.outputs))}]")

# %% straight right: counts the readers of each result
readers = {}
for node in program.nodes:
    for x in only_nodes(node.inputs):
        readers[x] = readers.get(x, 0) + 1
kept = {*program.arguments, *only_nodes(program.outputs)}
for node in program.nodes:
    parts = [text(x) for x in node.inputs]
    for name, value in node.options.items():
        parts.append(name + "=" + text(value))
    lines.append(text(node) + " = " + text(node.op) + "(" + ", ".join(parts) + ")")
    for x in only_nodes(node.inputs):
        readers[x] -= 1
        if not readers[x] and x not in kept:
            lines.append("del " + text(x))
lines.append("return [" + ", ".join(text(x) for x in program.outputs) + "]")

# %% straight right: walks backward, to see the last use first
seen, reverse = {*program.arguments, *only_nodes(program.outputs)}, []
for node in reversed(program.nodes):
    dead = [x for x in only_nodes(node.inputs) if x not in seen]
    seen.update(dead)
    if dead:
        reverse.append("del " + ", ".join(map(text, dead)))
    named = [f"{name}={text(value)}" for name, value in node.options.items()]
    call = f"{text(node.op)}({', '.join([*map(text, node.inputs), *named])})"
    reverse.append(f"{text(node)} = {call}")
lines += [*reversed(reverse), f"return [{', '.join(map(text, program.outputs))}]"]

# %% rewrite mistake rewrite-inputs-not-replaced: Gives the rule the old inputs.
#> replace the inputs of each step first
#- inputs = [replaced(x) for x in node.inputs]
inputs = node.inputs

# %% rewrite mistake rewrite-outputs-not-replaced: Keeps the old outputs.
#> are the outputs replaced
#- return Program(program.arguments, [replaced(x) for x in program.outputs])
return Program(program.arguments, program.outputs)

# %% rewrite mistake rewrite-old-nodes-change: Writes the new inputs into the old Nodes.
#> the old program changed
#- new[node] = rule(Node(node.op, inputs, node.options, node.example))
node.inputs = tuple(inputs)
new[node] = rule(Node(node.op, inputs, node.options, node.example))

# %% rewrite mistake rewrite-rule-gets-the-old-node: Gives the rule the Node of the program.
#> yours gives it one of the old program
#- new[node] = rule(Node(node.op, inputs, node.options, node.example))
new[node] = rule(node)

# %% rewrite mistake rewrite-options-lost: Leaves out the options.
#> the options belong to a Node
#- new[node] = rule(Node(node.op, inputs, node.options, node.example))
new[node] = rule(Node(node.op, inputs, {}, node.example))

# %% rewrite mistake rewrite-recomputed-twice: Calls the rule until it changes nothing any more.
#> the calls of the rule
#- new[node] = rule(Node(node.op, inputs, node.options, node.example))
new[node] = rule(Node(node.op, inputs, node.options, node.example))
if isinstance(new[node], Node) and new[node].op:
    new[node] = rule(new[node])

# %% rewrite mistake rewrite-newest-first: Goes through the steps from the last one.
#> replace the inputs of each step first
#- for node in program.nodes:
#-     inputs = [replaced(x) for x in node.inputs]
#-     new[node] = rule(Node(node.op, inputs, node.options, node.example))
for node in reversed(program.nodes):
    inputs = [replaced(x) for x in node.inputs]
    new[node] = rule(Node(node.op, inputs, node.options, node.example))

# %% rewrite mistake rewrite-constants-looked-up: Takes a Node for each output.
#> an output that was not replaced stays
#- return Program(program.arguments, [replaced(x) for x in program.outputs])
return Program(program.arguments, [new[x] for x in program.outputs])

# %% rewrite mistake rewrite-only-nodes-replace: Ignores a constant that the rule returns.
#> when tanh becomes 2.0
#- new[node] = rule(Node(node.op, inputs, node.options, node.example))
fresh = Node(node.op, inputs, node.options, node.example)
result = rule(fresh)
new[node] = result if isinstance(result, Node) else fresh

# %% rewrite mistake rewrite-list-of-nodes: Returns the new steps instead of a Program.
#> not a Program
#- return Program(program.arguments, [replaced(x) for x in program.outputs])
return list(new.values())

# %% rewrite mistake rewrite-new-arguments: Copies the arguments, too.
#> the same arguments
#- return Program(program.arguments, [replaced(x) for x in program.outputs])
copies = {a: Node(None, example=a.example) for a in program.arguments}
return Program(list(copies.values()), [replaced(x) for x in program.outputs])

# %% rewrite mistake rewrite-arrays-as-keys: Looks up constants in the dict, with a default.
#> only a Node has been replaced
new = {}
for node in program.nodes:
    new[node] = rule(step(node.op, *[new.get(x, x) for x in node.inputs], **node.options))
return Program(program.arguments, [new.get(x, x) for x in program.outputs])

# %% rewrite mistake rewrite-zero-is-false: Keeps the old step where the rule returns 0.
#> 0.0 counts as False
new = {}


def replaced(x):
    return (new.get(x) or x) if isinstance(x, Node) else x


for node in program.nodes:
    new[node] = rule(step(node.op, *map(replaced, node.inputs), **node.options))
return Program(program.arguments, [replaced(x) for x in program.outputs])

# %% rewrite right: one dict that also has the arguments
new = {a: a for a in program.arguments}
for node in program.nodes:
    inputs = tuple(new[x] if isinstance(x, Node) else x for x in node.inputs)
    copied = Node(node.op, inputs, dict(node.options), node.example)
    new[node] = rule(copied)
outputs = [new[x] if isinstance(x, Node) else x for x in program.outputs]
return Program(program.arguments, outputs)

# %% rewrite right: constants that are keys by their id
new = {}
for node in program.nodes:
    inputs = [new.get(id(x), x) for x in node.inputs]
    new[id(node)] = rule(Node(node.op, inputs, node.options, node.example))
return Program(program.arguments, [new.get(id(x), x) for x in program.outputs])

# %% simplify mistake simplify-nodes-folded: Folds a step that has one constant.
#> is not known yet
#- if node.op is np.broadcast_to or only_nodes(node.inputs):
#-     return node
if node.op is np.broadcast_to or len(only_nodes(node.inputs)) == len(node.inputs):
    return node

# %% simplify mistake simplify-first-input-decides: Looks only at the first input.
#> look at all inputs
#- if node.op is np.broadcast_to or only_nodes(node.inputs):
#-     return node
if node.op is np.broadcast_to or isinstance(node.inputs[0], Node):
    return node

# %% simplify mistake simplify-broadcast-folded: Folds broadcast constants, too.
#> it would need memory
#- if node.op is np.broadcast_to or only_nodes(node.inputs):
#-     return node
if only_nodes(node.inputs):
    return node

# %% simplify mistake simplify-folded-to-the-input: Returns the first constant.
#> fold(add(2, 3))
#- return node.example
return np.asarray(node.inputs[0])

# %% simplify mistake simplify-never-folds: Returns the step in every case.
#> return node.example
#- return node.example
return node

# %% simplify mistake simplify-zero-times: Replaces x * 0 by 0.
#> nan * 0 is nan
#- x = node.inputs[0]
x = node.inputs[0]
if node.op is np.multiply and not isinstance(node.inputs[1], Node):
    if np.all(node.inputs[1] == 0):
        return 0.0

# %% simplify mistake simplify-shape-ignored: Returns x although the step has another shape.
#> the result has shape (2, 3)
#- if same_array(a, node) and not isinstance(b, Node) and np.all(b == neutral):
#-     return a
if isinstance(a, Node) and not isinstance(b, Node) and np.all(b == neutral):
    if a.dtype == node.dtype:
        return a

# %% simplify mistake simplify-dtype-ignored: Returns x although the step has another dtype.
#> the result is float64
#- if same_array(a, node) and not isinstance(b, Node) and np.all(b == neutral):
#-     return a
if isinstance(a, Node) and not isinstance(b, Node) and np.all(b == neutral):
    if a.shape == node.shape:
        return a

# %% simplify mistake simplify-one-side: Looks for the constant at the right only.
#> the constant may be on either side
#- for a, b in (node.inputs, node.inputs[::-1]) if neutral is not None else ():
#-     if same_array(a, node) and not isinstance(b, Node) and np.all(b == neutral):
#-         return a
for a, b in (node.inputs,) if neutral is not None else ():
    if same_array(a, node) and not isinstance(b, Node) and np.all(b == neutral):
        return a

# %% simplify mistake simplify-any-element: Is content with one element that is 1.
#> x is not the result
#- if same_array(a, node) and not isinstance(b, Node) and np.all(b == neutral):
#-     return a
if same_array(a, node) and not isinstance(b, Node) and np.any(b == neutral):
    return a

# %% simplify mistake simplify-same-neutral: Takes 1 as neutral for sums, too.
#> the constant may be on either side
#- neutral = {np.add: 0, np.multiply: 1}.get(node.op)
neutral = {np.add: 1, np.multiply: 1}.get(node.op)

# %% simplify mistake simplify-zero-minus-x: Removes the 0 of a difference on either side.
#> x is not the result
#- neutral = {np.add: 0, np.multiply: 1}.get(node.op)
neutral = {np.add: 0, np.multiply: 1, np.subtract: 0}.get(node.op)

# %% simplify mistake simplify-one-over-x: Removes the 1 of a division on either side.
#> x is not the result
#- neutral = {np.add: 0, np.multiply: 1}.get(node.op)
neutral = {np.add: 0, np.multiply: 1, np.divide: 1}.get(node.op)

# %% simplify mistake simplify-every-reshape: Removes every reshape.
#> simplify(reshape(x, (3, 2)))
#- if node.op is np.reshape and same_array(x, node):
#-     return x
if node.op is np.reshape:
    return x

# %% simplify mistake simplify-other-axes: Removes any two swaps in a row.
#> these are other axes
#- if x.op is np.swapaxes and x.options == node.options:
#-     return x.inputs[0]
if x.op is np.swapaxes:
    return x.inputs[0]

# %% simplify mistake simplify-other-axes-of-equal-length: Compares only the shape after two swaps.
#> these are other axes
#- if x.op is np.swapaxes and x.options == node.options:
#-     return x.inputs[0]
if x.op is np.swapaxes and same_array(x.inputs[0], node):
    return x.inputs[0]

# %% simplify mistake simplify-one-swap: Removes a single swap.
#> swapping the same axes twice
#- if x.op is np.swapaxes and x.options == node.options:
#-     return x.inputs[0]
if x.op is np.swapaxes and x.options == node.options:
    return x

# %% simplify right: any instead of a list, and a conditional expression
#- if node.op is np.broadcast_to or only_nodes(node.inputs):
#-     return node
#- return node.example
unknown = any(isinstance(x, Node) for x in node.inputs) or node.op is np.broadcast_to
return node if unknown else node.example

# %% simplify right: the two orders one after the other
#- for a, b in (node.inputs, node.inputs[::-1]) if neutral is not None else ():
#-     if same_array(a, node) and not isinstance(b, Node) and np.all(b == neutral):
#-         return a
if neutral is not None:
    first, second = node.inputs
    if not isinstance(second, Node) and np.all(np.asarray(second) == neutral):
        return first if same_array(first, node) else node
    if not isinstance(first, Node) and np.all(np.asarray(first) == neutral):
        return second if same_array(second, node) else node

# %% share mistake share-options-forgotten: Leaves the options out of the key.
#> the options belong to the key
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
return known.setdefault((node.op, key_of(node.inputs)), node)

# %% share mistake share-inputs-sorted: Sorts the inputs.
#> do not sort the inputs
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
inputs = frozenset(map(key_of, node.inputs))
return known.setdefault((node.op, inputs, key_of(node.options)), node)

# %% share mistake share-constants-by-value: Compares constants by their values.
#> 2 == 2.0 in Python
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
inputs = tuple(key_of(x) if isinstance(x, np.ndarray) else x for x in node.inputs)
return known.setdefault((node.op, inputs, key_of(node.options)), node)

# %% share mistake share-arrays-by-identity: Compares arrays by their identity.
#> key_of(array) is equal for equal arrays
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
inputs = tuple(id(x) if isinstance(x, np.ndarray) else key_of(x) for x in node.inputs)
return known.setdefault((node.op, inputs, key_of(node.options)), node)

# %% share mistake share-repr-of-arrays: Compares arrays by their shapes.
#> key_of(array) is equal for equal arrays
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
inputs = tuple(x.shape if isinstance(x, np.ndarray) else key_of(x) for x in node.inputs)
return known.setdefault((node.op, inputs, key_of(node.options)), node)

# %% share mistake share-operation-forgotten: Leaves the operation out of the key.
#> the operation is in the key
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
return known.setdefault((key_of(node.inputs), key_of(node.options)), node)

# %% share mistake share-inputs-forgotten: Leaves the inputs out of the key.
#> the steps after share
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
return known.setdefault((node.op, key_of(node.options)), node)

# %% share mistake share-old-nodes-compared: Looks for equal steps in the old program.
#> when the rule sees the second neg
known, first = {}, {}
for node in program.nodes:
    key = node.op, key_of(node.inputs), key_of(node.options)
    first[node] = known.setdefault(key, node)
outputs = [first.get(x, x) if isinstance(x, Node) else x for x in program.outputs]
new = {}
for node in program.nodes:
    inputs = [first.get(x, x) if isinstance(x, Node) else x for x in node.inputs]
    inputs = [new.get(x, x) if isinstance(x, Node) else x for x in inputs]
    new[node] = Node(node.op, inputs, node.options, node.example)
return Program(program.arguments, [new.get(x, x) for x in outputs])

# %% share mistake share-the-last-one: Uses the last of equal steps.
#> the steps after share
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
known[node.op, key_of(node.inputs), key_of(node.options)] = node
return known[node.op, key_of(node.inputs), key_of(node.options)]

# %% share mistake share-lists-as-keys: Uses a list as a key.
#> unhashable
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
return known.setdefault((node.op, node.inputs, node.options), node)

# %% share mistake share-only-neighbours: Compares a step only with the one before.
#> the steps after share
#- return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
key = node.op, key_of(node.inputs), key_of(node.options)
result = known.get(key, node)
known.clear()
known[key] = result
return result

# %% share mistake share-by-text: Uses the text of a step as its key.
#> which str(array) leaves out
first = {}
return rewrite(
    program, lambda node: first.setdefault(str((node.op, node.inputs, node.options)), node)
)

# %% share right: a dict and an if
seen = {}


def first_of(node):
    key = (node.op, tuple(key_of(x) for x in node.inputs), key_of(node.options))
    if key not in seen:
        seen[key] = node
    return seen[key]


return rewrite(program, first_of)

# %% share right: the name of the operation and its options as text
steps = {}
return rewrite(program, lambda node: steps.setdefault(
    (node.op, key_of([*node.inputs, *sorted(node.options)]), key_of(node.options)), node))

# %% same mistake same-number-of-steps: Compares the number of steps.
#> such masks are dropout
return bool(len(a.nodes) == len(b.nodes) and all(
    x.name == y.name and x.options == y.options and len(x.inputs) == len(y.inputs)
    and all(isinstance(p, Node) == isinstance(q, Node) and (
        isinstance(p, (Node, np.ndarray)) or key_of(p) == key_of(q))
        for p, q in zip(x.inputs, y.inputs)) for x, y in zip(a.nodes, b.nodes)))

# %% same mistake same-nodes-compared: Compares the Nodes.
#> compare their numbers, not the Nodes
#- return ("node", number[x]) if isinstance(x, Node) else key_of(x)
return key_of(x)

# %% same mistake same-wiring-ignored: Ignores which Node an input is.
#> exp(a0) - a1 and a1 - exp(a0)
#- return ("node", number[x]) if isinstance(x, Node) else key_of(x)
return "node" if isinstance(x, Node) else key_of(x)

# %% same mistake same-constants-ignored: Ignores the constants.
#> compare the constants among the inputs
#- return ("node", number[x]) if isinstance(x, Node) else key_of(x)
return ("node", number[x]) if isinstance(x, Node) else "constant"

# %% same mistake same-arrays-by-shape: Compares arrays of constants by their shape.
#> such masks are dropout
#- return ("node", number[x]) if isinstance(x, Node) else key_of(x)
if isinstance(x, np.ndarray):
    return x.shape
return ("node", number[x]) if isinstance(x, Node) else key_of(x)

# %% same mistake same-arrays-compared: Compares arrays with ==.
#> arrays have no single truth value
#- return ("node", number[x]) if isinstance(x, Node) else key_of(x)
return ("node", number[x]) if isinstance(x, Node) else x

# %% same mistake same-options-ignored: Ignores the options.
#> sums over axis 0 and over axis 1
#- steps = [(node.name, [part(x) for x in node.inputs], key_of(node.options))
#-          for node in program.nodes]
steps = [(node.name, [part(x) for x in node.inputs]) for node in program.nodes]

# %% same mistake same-names-ignored: Ignores the operations.
#> compare the names
#- steps = [(node.name, [part(x) for x in node.inputs], key_of(node.options))
#-          for node in program.nodes]
steps = [([part(x) for x in node.inputs], key_of(node.options)) for node in program.nodes]

# %% same mistake same-outputs-ignored: Ignores the outputs.
#> compare the outputs
#- return steps, [part(x) for x in program.outputs]
return steps

# %% same mistake same-shorter-one: Compares only as many steps as the shorter program has.
#> the same with one
#- return described(a) == described(b)
one, other = described(a)[0], described(b)[0]
return all(x == y for x, y in zip(one, other)) and (
    len(a.outputs) == len(b.outputs) and (
        len(one) != len(other) or described(a)[1] == described(b)[1]))

# %% same mistake same-arguments-not-counted: Gives numbers to the steps only.
#> which argument it is counts
#- return ("node", number[x]) if isinstance(x, Node) else key_of(x)
if isinstance(x, Node):
    return ("node", number[x] if x.op else None)
return key_of(x)

# %% same mistake same-examples-compared: Compares the examples, too.
#> examples do not count
#- steps = [(node.name, [part(x) for x in node.inputs], key_of(node.options))
#-          for node in program.nodes]
steps = [(node.name, [part(x) for x in node.inputs], key_of(node.options),
          key_of(node.example)) for node in program.nodes]

# %% same mistake same-printed-programs: Compares the printed programs.
#> such masks are dropout
#- return described(a) == described(b)
return repr(a) == repr(b)

# %% same right: step by step, with a dict from one program's Nodes to the other's
if len(a.nodes) != len(b.nodes) or len(a.arguments) != len(b.arguments):
    return False
partner = dict(zip(a.arguments, b.arguments))


def equal(x, y):
    if isinstance(x, Node) and isinstance(y, Node):
        return partner[x] is y
    return not isinstance(x, Node) and not isinstance(y, Node) and key_of(x) == key_of(y)


def all_equal(xs, ys):
    return len(xs) == len(ys) and all(map(equal, xs, ys))


for x, y in zip(a.nodes, b.nodes):
    partner[x] = y
    if (x.name, key_of(x.options)) != (y.name, key_of(y.options)):
        return False
    if not all_equal(x.inputs, y.inputs):
        return False
return all_equal(a.outputs, b.outputs)

# %% same right: one long tuple for each program
texts = []
for program in (a, b):
    names = {x: f"step {n}" for n, x in enumerate([*program.arguments, *program.nodes])}
    parts = []
    for node in program.nodes:
        parts.append(("name", node.name, key_of(node.options), len(node.inputs)))
        parts += [names[x] if isinstance(x, Node) else key_of(x) for x in node.inputs]
    parts += ["outputs"]
    parts += [names[x] if isinstance(x, Node) else key_of(x) for x in program.outputs]
    texts.append(tuple(parts))
return texts[0] == texts[1]

# %% cache mistake cache-numbers-in-the-key: Puts the numbers of an array into the key.
#> the numbers must not count
#- return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)
return key_of(x) if isinstance(x, np.ndarray) else (type(x), x)

# %% cache mistake cache-no-dtype: Leaves out the dtype.
#> another dtype is another signature
#- return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)
return x.shape if isinstance(x, np.ndarray) else (type(x), x)

# %% cache mistake cache-no-shape: Leaves out the shape.
#> another shape is another signature
#- return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)
return (x.ndim > 0, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)

# %% cache mistake cache-no-type: Compares other arguments by value alone.
#> the type belongs to it
#- return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)
return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else x

# %% cache mistake cache-type-only: Compares other arguments by type alone.
#> is that of 1, 1, 2
#- return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)
return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else type(x)

# %% cache mistake cache-list-of-shape: Makes a list, which cannot be a key.
#> should be a key of a dict
#- return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)
return [x.shape, x.dtype.str] if isinstance(x, np.ndarray) else (type(x), x)

# %% cache mistake cache-tensors-by-identity: Takes a Tensor for some other value.
#> the signature of a Tensor should be a key
#- x = x.data if isinstance(x, Tensor) else x
#- return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)
return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)

# %% cache mistake cache-traced-each-time: Builds a program at each call.
#> look there first
#- if key not in self.programs:
#-     self.programs[key] = self.build(arguments)
self.programs[key] = self.build(arguments)

# %% cache mistake cache-first-program-for-ever: Builds a program only once.
#> the key has self.state()
#- if key not in self.programs:
#-     self.programs[key] = self.build(arguments)
if not self.programs:
    self.programs[key] = self.build(arguments)
key = next(iter(self.programs))

# %% cache mistake cache-state-forgotten: Leaves the state of the model out of the key.
#> after train, eval, train
#- key = self.state(), *map(signature, arguments)
key = tuple(map(signature, arguments))

# %% cache mistake cache-first-argument-only: Takes the signature of the first argument.
#> after factor 1.0, 2.0
#- key = self.state(), *map(signature, arguments)
key = self.state(), signature(arguments[0])

# %% cache mistake cache-arrays-only: Takes the signatures of the arrays only.
#> after factor 1.0, 2.0
#- key = self.state(), *map(signature, arguments)
key = self.state(), *[signature(x) for x in arguments if isinstance(x, np.ndarray)]

# %% cache mistake cache-weights-as-arrays: Gives the arrays of the weights to the operation.
#> gradient
#- return apply(self.programs[key], *self.weights, arrays=arrays, saved={})
return apply(self.programs[key], *[w.data for w in self.weights], arrays=arrays, saved={})

# %% cache mistake cache-others-forgotten: Leaves out the tensors without gradients.
#> the arrays of self.others come after
#- arrays += [w.data for w in self.others]
arrays = list(arrays)

# %% cache mistake cache-others-first: Puts the other tensors before the arguments.
#> compile(model)(x)
#- arrays += [w.data for w in self.others]
arrays = [*[w.data for w in self.others], *arrays]

# %% cache mistake cache-operation-returned: Returns the operation.
#> should return a Tensor
#- return apply(self.programs[key], *self.weights, arrays=arrays, saved={})
return self.programs[key]

# %% cache mistake cache-called-directly: Calls the operation instead of `apply`.
#> should return a Tensor
#- return apply(self.programs[key], *self.weights, arrays=arrays, saved={})
return self.programs[key](*[w.data for w in self.weights], arrays=arrays, saved={})

# %% cache right: keys of words and values
#- return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)
return ("array", str(x.dtype), *x.shape) if isinstance(x, np.ndarray) else (repr(type(x)), x)

# %% cache right: get, and a tuple that is built up
#- key = self.state(), *map(signature, arguments)
#- if key not in self.programs:
#-     self.programs[key] = self.build(arguments)
#- arrays = [x for x in arguments if isinstance(x, np.ndarray)]
#- arrays += [w.data for w in self.others]
#- return apply(self.programs[key], *self.weights, arrays=arrays, saved={})
key = (self.state(),)
for x in arguments:
    key += (signature(x),)
operation = self.programs.get(key)
if operation is None:
    operation = self.programs[key] = self.build(arguments)
given = [x for x in arguments if isinstance(x, np.ndarray)]
given.extend(w.data for w in self.others)
return apply(operation, *self.weights, arrays=given, saved={})

# %% bytes-moved mistake bytes-moved-read-twice: Counts an array for each step that reads it.
#> it counts once
#- read = only_nodes(x for node in group for x in node.inputs)
read = [x for node in group for x in only_nodes(node.inputs)]

# %% bytes-moved mistake bytes-moved-read-per-input: Counts an array for each input.
#> is read once by x * x
#- read = only_nodes(x for node in group for x in node.inputs)
read = [x for node in group for x in node.inputs if isinstance(x, Node)]

# %% bytes-moved mistake bytes-moved-outputs-forgotten: Leaves out the outputs.
#> the bytes of exp(x * x)
#- wanted = [*program.outputs, *(x for node in others for x in node.inputs)]
wanted = [x for node in others for x in node.inputs]

# %% bytes-moved mistake bytes-moved-all-written: Writes each result.
#> the bytes of exp(x * x) in one group
#- total += sum(x.example.nbytes for x in only_nodes(wanted) if x in inside)
total += sum(x.example.nbytes for x in group)

# %% bytes-moved mistake bytes-moved-nothing-read: Counts only what is written.
#> the bytes of exp(x * x)
#- total += sum(x.example.nbytes for x in read if x not in inside)
total += 0

# %% bytes-moved mistake bytes-moved-group-reads-itself: Counts what the group reads from itself.
#> the bytes of exp(x * x) in one group
#- total += sum(x.example.nbytes for x in read if x not in inside)
total += sum(x.example.nbytes for x in read)

# %% bytes-moved mistake bytes-moved-views-counted: Counts views as copies.
#> a group whose first step is in VIEWS
#- if group[0].op not in VIEWS:
#-     inside = set(group)
#-     others = [node for node in program.nodes if node not in inside]
#-     read = only_nodes(x for node in group for x in node.inputs)
#-     wanted = [*program.outputs, *(x for node in others for x in node.inputs)]
#-     total += sum(x.example.nbytes for x in read if x not in inside)
#-     total += sum(x.example.nbytes for x in only_nodes(wanted) if x in inside)
inside = set(group)
others = [node for node in program.nodes if node not in inside]
read = only_nodes(x for node in group for x in node.inputs)
wanted = [*program.outputs, *(x for node in others for x in node.inputs)]
total += sum(x.example.nbytes for x in read if x not in inside)
total += sum(x.example.nbytes for x in only_nodes(wanted) if x in inside)

# %% bytes-moved mistake bytes-moved-elements: Counts elements instead of bytes.
#> the bytes of exp(x * x)
#- total += sum(x.example.nbytes for x in only_nodes(wanted) if x in inside)
total += sum(x.example.size for x in only_nodes(wanted) if x in inside)

# %% bytes-moved mistake bytes-moved-groups-repeated: Counts a group for each of its steps.
#> the bytes of exp(x * x) in one group
#- total = 0
#- for group in {id(group): group for group in groups.values()}.values():
#-     if group[0].op not in VIEWS:
#-         inside = set(group)
#-         others = [node for node in program.nodes if node not in inside]
#-         read = only_nodes(x for node in group for x in node.inputs)
#-         wanted = [*program.outputs, *(x for node in others for x in node.inputs)]
#-         total += sum(x.example.nbytes for x in read if x not in inside)
#-         total += sum(x.example.nbytes for x in only_nodes(wanted) if x in inside)
total = 0
for group in groups.values():
    if group[0].op not in VIEWS:
        inside = set(group)
        others = [node for node in program.nodes if node not in inside]
        read = only_nodes(x for node in group for x in node.inputs)
        wanted = [*program.outputs, *(x for node in others for x in node.inputs)]
        total += sum(x.example.nbytes for x in read if x not in inside)
        total += sum(x.example.nbytes for x in only_nodes(wanted) if x in inside)

# %% bytes-moved mistake bytes-moved-arguments-free: Reads arguments for nothing.
#> the bytes of exp(x * x)
#- total += sum(x.example.nbytes for x in read if x not in inside)
total += sum(x.example.nbytes for x in read if x not in inside and x.op)

# %% bytes-moved mistake bytes-moved-constants-counted: Counts 4 bytes for a constant.
#> and the constant 2.0 none
#- total += sum(x.example.nbytes for x in read if x not in inside)
total += sum(x.example.nbytes for x in read if x not in inside)
total += sum(4 for node in group for x in node.inputs if not isinstance(x, Node))

# %% bytes-moved mistake bytes-moved-in-a-list: Looks for an array of constants in the group.
#> compares an array number by number
total = 0
for group in {id(group): group for group in groups.values()}.values():
    if group[0].op in VIEWS:
        continue
    reads = {x for node in group for x in node.inputs if x not in group and isinstance(x, Node)}
    used = {x for node in program.nodes if node not in group for x in only_nodes(node.inputs)}
    writes = {x for x in group if x in used or x in only_nodes(program.outputs)}
    total += sum(x.example.nbytes for x in reads | writes)
return total

# %% bytes-moved right: two sets for each group
total, outputs = 0, set(only_nodes(program.outputs))
for key in {id(part) for part in groups.values()}:
    members = [node for node in program.nodes if id(groups[node]) == key]
    if members[0].op in VIEWS:
        continue
    arrays = {x for node in members for x in only_nodes(node.inputs) if x not in members}
    for node in members:
        users = [user for user in program.nodes if node in only_nodes(user.inputs)]
        if node in outputs or any(user not in members for user in users):
            arrays.add(node)
    total += sum(x.example.nbytes for x in arrays)
return total

# %% bytes-moved right: one walk over the steps
read, written = set(), set()
for node in program.nodes:
    for x in only_nodes(node.inputs):
        if groups.get(x) is not groups[node]:
            if groups[node][0].op not in VIEWS:
                read.add((id(groups[node]), x))
            written.add(x)
written |= set(only_nodes(program.outputs))
total = sum(x.example.nbytes for _, x in read)
return total + sum(x.example.nbytes for x in written
                   if x in groups and groups[x][0].op not in VIEWS)

# %% groups mistake groups-views-wait: Lets a step wait for a view.
#> neg does not wait for the view
#- level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
level[node] = max((level[x] + (not joins(x, node)) for x in steps), default=0)

# %% groups mistake groups-all-wait: Lets each step wait for all its inputs.
#> exp and sum wait for nothing
#- level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
level[node] = max((level[x] + 1 for x in steps), default=0)

# %% groups mistake groups-nobody-waits: Lets no step wait.
#> sub waits for max
#- level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
level[node] = max((level[x] for x in steps), default=0)

# %% groups mistake groups-smallest-level: Takes the smallest level of the inputs.
#> the level is the largest of all inputs
#- level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
level[node] = min((level[x] + waits(x, node) for x in steps), default=0)

# %% groups mistake groups-first-input: Takes the level of the first input.
#> the levels of the steps of
#- level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
level[node] = max((level[x] + waits(x, node) for x in steps[:1]), default=0)

# %% groups mistake groups-arguments-have-levels: Gives arguments the level 0, and lets steps
# wait for them.
#> no step waits for an argument
#- steps = [x for x in only_nodes(node.inputs) if x in level]
#- level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
inputs = only_nodes(node.inputs)
level[node] = max((level.get(x, 0) + waits(x, node) for x in inputs), default=0)

# %% groups mistake groups-sum-of-levels: Adds the levels of the inputs.
#> the levels of the steps of
#- level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
level[node] = sum(level[x] + waits(x, node) for x in steps)

# %% groups mistake groups-begin-at-1: Begins to count at 1.
#> the levels of the steps of
#- level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
level[node] = max((level[x] + waits(x, node) for x in steps), default=1)

# %% groups mistake groups-level-ignored: Joins steps of different levels.
#> only steps of one level
#- if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
#-     group[x].extend(group[node])
#-     for member in group[node]:
#-         group[member] = group[x]
if joins(x, node) and group[x] is not group[node]:
    group[x].extend(group[node])
    for member in group[node]:
        group[member] = group[x]

# %% groups mistake groups-shape-ignored: Joins all steps of one level.
#> exp loops over (3,)
#- if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
#-     group[x].extend(group[node])
#-     for member in group[node]:
#-         group[member] = group[x]
if x.op and level[node] - level[x] < 2 and loop_shape(x) and group[x] is not group[node]:
    group[x].extend(group[node])
    for member in group[node]:
        group[member] = group[x]

# %% groups mistake groups-one-member-moves: Moves only the step to the group of its input.
#> their groups become one
#- group[x].extend(group[node])
#- for member in group[node]:
#-     group[member] = group[x]
group[x].append(node)
group[node] = group[x]

# %% groups mistake groups-members-left-behind: Gives the common list to the step alone.
#> need the same list
#- group[x].extend(group[node])
#- for member in group[node]:
#-     group[member] = group[x]
joined = group[x] + group[node]
group[x] = group[node] = joined

# %% groups mistake groups-first-input-only: Joins the first input only.
#> their groups become one
#- for x in only_nodes(node.inputs):
#-     if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
#-         group[x].extend(group[node])
#-         for member in group[node]:
#-             group[member] = group[x]
for x in only_nodes(node.inputs)[:1]:
    if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
        group[x].extend(group[node])
        for member in group[node]:
            group[member] = group[x]

# %% groups mistake groups-neighbours: Compares only with the step before.
#> their groups become one
#- level, group = levels(program), {}
#- for node in program.nodes:
#-     group[node] = [node]
#-     for x in only_nodes(node.inputs):
#-         if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
#-             group[x].extend(group[node])
#-             for member in group[node]:
#-                 group[member] = group[x]
level, group, before = levels(program), {}, None
for node in program.nodes:
    if before in only_nodes(node.inputs) and joins(before, node):
        if level[before] == level[node]:
            group[before].append(node)
    group[node] = group[before] if before and node in group[before] else [node]
    before = node

# %% groups mistake groups-array-in-dict: Asks whether an array of constants has a level.
#> look only at Nodes
#- steps = [x for x in only_nodes(node.inputs) if x in level]
steps = [x for x in node.inputs if x in level]

# %% groups mistake groups-by-level: Makes all steps of a level one group.
#> one level is not enough
#- level, group = levels(program), {}
#- for node in program.nodes:
#-     group[node] = [node]
#-     for x in only_nodes(node.inputs):
#-         if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
#-             group[x].extend(group[node])
#-             for member in group[node]:
#-                 group[member] = group[x]
#- return group
level, lists = levels(program), {}
for node in program.nodes:
    lists.setdefault(level[node], []).append(node)
return {node: lists[level[node]] for node in program.nodes}

# %% groups mistake groups-node-twice: Joins two steps that are in one group already.
#> a group has each Node once
#- for x in only_nodes(node.inputs):
#-     if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
#-         group[x].extend(group[node])
#-         for member in group[node]:
#-             group[member] = group[x]
for x in only_nodes(node.inputs):
    if joins(x, node) and level[x] == level[node]:
        both = group[x] + group[node]
        for member in both:
            group[member] = both

# %% groups mistake groups-joined-twice: Joins the group of an input that is used twice, twice.
#> a group has each Node once
#- for x in only_nodes(node.inputs):
#-     if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
#-         group[x].extend(group[node])
#-         for member in group[node]:
#-             group[member] = group[x]
for x in node.inputs:
    if isinstance(x, Node) and joins(x, node) and level[x] == level[node]:
        group[node] = group[x] + group[node]
        for member in group[node]:
            group[member] = group[node]

# %% groups right: levels by a loop, and groups by a number for each
#- steps = [x for x in only_nodes(node.inputs) if x in level]
#- level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
level[node] = 0
for x in only_nodes(node.inputs):
    if x.op is not None:
        level[node] = max(level[node], level[x] + 1 if waits(x, node) else level[x])

# %% groups right: a step collects the lists of all inputs that it joins
#- group[node] = [node]
#- for x in only_nodes(node.inputs):
#-     if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
#-         group[x].extend(group[node])
#-         for member in group[node]:
#-             group[member] = group[x]
near = [x for x in only_nodes(node.inputs) if joins(x, node) and level[x] == level[node]]
lists = {id(group[x]): group[x] for x in near}.values()
members = [*[m for part in lists for m in part], node]
group.update(dict.fromkeys(members, members))

# %% view-strides mistake strides-not-swapped: Keeps the strides of swapped axes.
#> the strides are swapped, too
#- swapped[a], swapped[b] = strides[b], strides[a]
swapped[a], swapped[b] = strides[a], strides[b]

# %% view-strides mistake strides-reversed: Reverses all strides.
#> only the two named axes
#- return tuple(swapped)
return tuple(strides[::-1])

# %% view-strides mistake strides-of-the-new-shape: Takes the strides of a new array.
#> the strides of swapaxes
#- return tuple(swapped)
return strides_of(node.shape)

# %% view-strides mistake strides-copied-twice: Writes one stride over the other.
#> the strides of swapaxes
#- swapped[a], swapped[b] = strides[b], strides[a]
swapped[a] = swapped[b]
swapped[b] = swapped[a]

# %% view-strides mistake strides-no-new-axes: Forgets the new axes.
#> a new axis also has a stride
#- return (0,) * (len(node.shape) - len(kept)) + tuple(kept)
return tuple(kept)

# %% view-strides mistake strides-new-axes-right: Puts the new axes at the right.
#> new axes are at the left
#- return (0,) * (len(node.shape) - len(kept)) + tuple(kept)
return tuple(kept) + (0,) * (len(node.shape) - len(kept))

# %% view-strides mistake strides-broadcast-as-copy: Takes the strides of a broadcast copy.
#> each row reads the same memory
#- return (0,) * (len(node.shape) - len(kept)) + tuple(kept)
return strides_of(node.shape)

# %% view-strides mistake strides-length-1: Keeps the stride of an axis of length 1.
#> is read again and again
#- kept = [s if n > 1 else 0 for s, n in zip(strides, x.shape)]
kept = [*strides]

# %% view-strides mistake strides-all-0: Gives every axis the stride 0.
#> the strides of broadcast_to
#- kept = [s if n > 1 else 0 for s, n in zip(strides, x.shape)]
kept = [0 for _ in strides]

# %% view-strides mistake strides-reshape-always: Takes each reshape for a view.
#> the elements do not lie in the order
#- if node.op is np.reshape and strides == strides_of(x.shape):
#-     return strides_of(node.shape)
if node.op is np.reshape:
    return strides_of(node.shape)

# %% view-strides mistake strides-reshape-never: Takes each reshape for a copy.
#> so no copy is needed
#- if node.op is np.reshape and strides == strides_of(x.shape):
#-     return strides_of(node.shape)
if node.op is np.reshape:
    return None

# %% view-strides mistake strides-reshape-keeps: Keeps the strides of a reshaped array.
#> the strides belong to the new shape
#- if node.op is np.reshape and strides == strides_of(x.shape):
#-     return strides_of(node.shape)
if node.op is np.reshape and strides == strides_of(x.shape):
    return strides

# %% view-strides mistake strides-as-a-list: Returns a list.
#> should be a tuple
#- return tuple(swapped)
return swapped

# %% view-strides mistake strides-by-the-option: Takes a shape with -1 for the new shape.
#> -1 is 6
#- return strides_of(node.shape)
return strides_of(node.options["shape"])

# %% view-strides mistake strides-of-all-steps: Takes every step for a view.
#> exp computes new numbers
#- if node.op is np.reshape and strides == strides_of(x.shape):
#-     return strides_of(node.shape)
if strides == strides_of(x.shape):
    return strides_of(node.shape)

# %% view-strides right: NumPy's own strides of a view of one byte per element
if node.op is np.swapaxes:
    order = list(range(len(strides)))
    a, b = node.options["axis1"], node.options["axis2"]
    order[a], order[b] = order[b], order[a]
    return tuple(strides[i] for i in order)
if node.op is np.broadcast_to:
    new = len(node.shape) - len(x.shape)
    return tuple(0 if i < new or x.shape[i - new] == 1 else strides[i - new]
                 for i in range(len(node.shape)))
if node.op is np.reshape:
    return strides_of(node.shape) if tuple(strides) == strides_of(x.shape) else None
return None

# %% view-strides right: one list that is changed
result = [*strides]
if node.op is np.swapaxes:
    first, second = node.options["axis1"], node.options["axis2"]
    result[first] = strides[second]
    result[second] = strides[first]
elif node.op is np.broadcast_to:
    for axis, length in enumerate(x.shape):
        if length == 1:
            result[axis] = 0
    while len(result) < len(node.shape):
        result.insert(0, 0)
elif node.op is np.reshape and tuple(result) == strides_of(x.shape):
    result = strides_of(node.shape)
else:
    result = None
return result and tuple(result)

# %% plan mistake plan-exclusive-ends: Lets an array start where another ends.
#> Both ends belong
#- taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
#-          if arrays[j][1] <= last and first <= arrays[j][2]]
taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
         if arrays[j][1] < last and first < arrays[j][2]]

# %% plan mistake plan-half-open: Takes the last time for the first free one.
#> Both ends belong
#- taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
#-          if arrays[j][1] <= last and first <= arrays[j][2]]
taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
         if arrays[j][1] < last + 1 and first < arrays[j][2]]

# %% plan mistake plan-no-lifetimes: Gives each array a place of its own.
#> alive one after the other
#- taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
#-          if arrays[j][1] <= last and first <= arrays[j][2]]
taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
         ]

# %% plan mistake plan-only-start: Looks only at whether the other is alive at the start.
#> they overlap
#- taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
#-          if arrays[j][1] <= last and first <= arrays[j][2]]
taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
         if arrays[j][1] <= first <= arrays[j][2]]

# %% plan mistake plan-only-inside: Looks only for lifetimes inside the own.
#> they overlap
#- taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
#-          if arrays[j][1] <= last and first <= arrays[j][2]]
taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
         if first <= arrays[j][1] and arrays[j][2] <= last]

# %% plan mistake plan-or: Joins the two conditions with or.
#> alive one after the other
#- taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
#-          if arrays[j][1] <= last and first <= arrays[j][2]]
taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
         if arrays[j][1] <= last or first <= arrays[j][2]]

# %% plan mistake plan-smallest-first: Places the smallest first.
#> should
#- for i in sorted(range(len(arrays)), key=lambda i: -arrays[i][0]):
#-     size, first, last = arrays[i]
for i in sorted(range(len(arrays)), key=lambda i: arrays[i][0]):
    size, first, last = arrays[i]

# %% plan mistake plan-in-order-of-time: Places arrays in the order in which they are created.
#> should
#- for i in sorted(range(len(arrays)), key=lambda i: -arrays[i][0]):
#-     size, first, last = arrays[i]
for i in sorted(range(len(arrays)), key=lambda i: arrays[i][1]):
    size, first, last = arrays[i]

# %% plan mistake plan-as-given: Places arrays in the order of the list.
#> from the largest to the smallest
#- for i in sorted(range(len(arrays)), key=lambda i: -arrays[i][0]):
#-     size, first, last = arrays[i]
for i in range(len(arrays)):
    size, first, last = arrays[i]

# %% plan mistake plan-sorted-offsets: Returns the offsets in the order of placement.
#> they overlap
#- return offsets, total
return [offsets[i] for i in placed], total

# %% plan mistake plan-total-is-sum: Adds all sizes.
#> should
#- total = max((o + size for o, (size, *_) in zip(offsets, arrays)), default=0)
total = sum(size for size, *_ in arrays)

# %% plan mistake plan-total-is-offset: Takes the largest offset for the size.
#> should
#- total = max((o + size for o, (size, *_) in zip(offsets, arrays)), default=0)
total = max((o for o, (size, *_) in zip(offsets, arrays)), default=0)

# %% plan mistake plan-on-top: Puts each array on top of all others that are alive.
#> should
#- if offsets[i] + size > start:
#-     offsets[i] = max(offsets[i], end)
offsets[i] = max(offsets[i], end)

# %% plan mistake plan-unsorted-gaps: Looks at the placed arrays in the order of placement.
#> overlapping offsets
#- for start, end in sorted(taken):
#-     if offsets[i] + size > start:
#-         offsets[i] = max(offsets[i], end)
for start, end in taken:
    if offsets[i] + size > start:
        offsets[i] = max(offsets[i], end)

# %% plan mistake plan-no-max: Goes back to the end of an earlier array.
#> overlap
#- offsets[i] = max(offsets[i], end)
offsets[i] = end

# %% plan mistake plan-gap-too-small: Uses a gap without looking at its size.
#> overlap
#- if offsets[i] + size > start:
#-     offsets[i] = max(offsets[i], end)
if offsets[i] >= start:
    offsets[i] = max(offsets[i], end)

# %% plan mistake plan-exact-gap-refused: Refuses a gap of exactly the right size.
#> should
#- if offsets[i] + size > start:
#-     offsets[i] = max(offsets[i], end)
if offsets[i] + size >= start:
    offsets[i] = max(offsets[i], end)

# %% plan mistake plan-gap-left: Leaves a gap that it has found.
#> should
#- if offsets[i] + size > start:
#-     offsets[i] = max(offsets[i], end)
if offsets[i] + size > start:
    offsets[i] = max(offsets[i], end)
else:
    offsets[i] = end

# %% plan mistake plan-not-placed: Forgets which arrays have been placed.
#> should
#- placed.append(i)
pass

# %% plan mistake plan-returns-offsets: Returns the offsets only.
#> should return (offsets, total)
#- return offsets, total
return offsets

# %% plan mistake plan-size-as-lifetime: Takes the second number for the length of the lifetime.
#> alive one after the other
#- taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
#-          if arrays[j][1] <= last and first <= arrays[j][2]]
taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
         if arrays[j][1] <= first + last and first <= arrays[j][1] + arrays[j][2]]

# %% plan right plan try each candidate: try each candidate
offsets = {}
for i in sorted(range(len(arrays)), key=lambda i: arrays[i][0], reverse=True):
    size, first, last = arrays[i]
    others = [(offsets[j], arrays[j][0]) for j in offsets
              if not (arrays[j][2] < first or last < arrays[j][1])]
    candidates = sorted({0, *[offset + length for offset, length in others]})
    offsets[i] = next(at for at in candidates
                      if all(at + size <= o or o + n <= at for o, n in others))
result = [offsets[i] for i in range(len(arrays))]
return result, max([offsets[i] + arrays[i][0] for i in offsets], default=0)

# %% plan right plan move up until nothing overlaps: move up until nothing overlaps
#- taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
#-          if arrays[j][1] <= last and first <= arrays[j][2]]
#- for start, end in sorted(taken):
#-     if offsets[i] + size > start:
#-         offsets[i] = max(offsets[i], end)
at, moved = 0, True
while moved:
    moved = False
    for j in placed:
        n, f, l = arrays[j]
        if f <= last and first <= l and at < offsets[j] + n and offsets[j] < at + size:
            at, moved = offsets[j] + n, True
offsets[i] = at

# %% arena mistake arena-first-reader: Takes the first reader for the last one.
#> not until the first
#- last[array] = max(last.get(array, 0), time[node])
last.setdefault(array, time[node])

# %% arena mistake arena-view-ignored: Takes a view for an array of its own.
#> who reads the view reads the array behind it
#- array = layout.array[x]
array = x

# %% arena mistake arena-outputs-die: Forgets the views that are outputs.
#> an output is read after the last group
#- for x in only_nodes(program.outputs):
#-     last[layout.array[x]] = len(layout.order)
for x in ():
    last[layout.array[x]] = len(layout.order)

# %% arena mistake arena-outputs-by-view: Keeps the view alive, not its array.
#> an output is read after the last group
#- for x in only_nodes(program.outputs):
#-     last[layout.array[x]] = len(layout.order)
for x in only_nodes(program.outputs):
    last[x] = len(layout.order)

# %% arena mistake arena-elements: Counts elements instead of bytes.
#> an element has 4 bytes
#- offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in layout.stored])
offsets, size = plan([(x.example.size, time[x], last[x]) for x in layout.stored])

# %% arena mistake arena-bytes-of-the-example: Takes the bytes of the example, also of a condition.
#> not nbytes
#- offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in layout.stored])
offsets, size = plan([(x.example.nbytes, time[x], last[x]) for x in layout.stored])

# %% arena mistake arena-all-alive: Lets each array live to the end.
#> they can share a place
#- offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in layout.stored])
end = len(layout.order)
offsets, size = plan([(4 * x.example.size, time[x], end) for x in layout.stored])

# %% arena mistake arena-from-the-start: Lets each array live from the start.
#> they can share a place
#- offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in layout.stored])
offsets, size = plan([(4 * x.example.size, 0, last[x]) for x in layout.stored])

# %% arena mistake arena-one-too-short: Lets an array die before its last reader.
#> both are alive
#- offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in layout.stored])
offsets, size = plan([(4 * x.example.size, time[x], last[x] - 1) for x in layout.stored])

# %% arena mistake arena-places-in-a-row: Puts the arrays one after the other.
#> they can share a place
#- offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in layout.stored])
sizes = [4 * x.example.size for x in layout.stored]
offsets, size = [sum(sizes[:n]) for n in range(len(sizes))], sum(sizes)

# %% arena mistake arena-every-result: Plans a place for every result.
#> t3 is the output
#- offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in layout.stored])
#- return dict(zip(layout.stored, offsets)), size
results = [x for x in program.nodes if layout.array[x] is x]
offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in results])
return dict(zip(results, offsets)), size

# %% arena mistake arena-only-offsets: Returns the offsets alone.
#> arena returns a dict and the size
#- return dict(zip(layout.stored, offsets)), size
return dict(zip(layout.stored, offsets))

# %% arena mistake arena-list: Returns a list of offsets.
#> not a dict
#- return dict(zip(layout.stored, offsets)), size
return offsets, size

# %% arena mistake arena-constant-output: Looks for the array of an output that is a constant.
#> an output may be a constant
#- for x in only_nodes(program.outputs):
#-     last[layout.array[x]] = len(layout.order)
for x in program.outputs:
    last[layout.array[x]] = len(layout.order)

# %% arena right: one walk over the groups
born, dies = {}, {}
for now, group in enumerate(layout.order):
    for node in group:
        born[node] = now
        for x in only_nodes(node.inputs):
            dies[layout.array[x]] = now
for x in only_nodes(program.outputs):
    dies[layout.array[x]] = len(layout.order)
arrays = [(x.example.size * 4, born[x], dies[x]) for x in layout.stored]
offsets, total = plan(arrays)
return {x: offset for x, offset in zip(layout.stored, offsets)}, total

# %% arena right: looks for the readers of each array
time = {}
for t, group in enumerate(layout.order):
    time.update(dict.fromkeys(group, t))
lives = []
for x in layout.stored:
    readers = [time[node] for node in program.nodes for y in only_nodes(node.inputs)
               if layout.array[y] is x]
    readers += [len(layout.order) for y in only_nodes(program.outputs) if layout.array[y] is x]
    lives.append((x.example.size * 4, time[x], max(readers)))
offsets, size = plan(lives)
return dict(zip(layout.stored, offsets)), size

# %% nest mistake nest-no-start: Does not set the totals.
#> set all totals to START
#- start += self.loops(node.inputs[0].shape, [begin], self.kept_axes(node))
start += []

# %% nest mistake nest-start-in-the-loops: Sets the total in the loops.
#> set all totals to START
#- start += self.loops(node.inputs[0].shape, [begin], self.kept_axes(node))
body.append(begin)

# %% nest mistake nest-start-over-all-axes: Sets the totals in loops over all axes, behind the
# others.
#> set all totals to START
#- return start + self.loops(shape, body)
return self.loops(shape, body) + start

# %% nest mistake nest-start-once: Sets one total instead of all.
#> an index is used outside
#- start += self.loops(node.inputs[0].shape, [begin], self.kept_axes(node))
start.append(begin)

# %% nest mistake nest-maximum-from-0: Begins a maximum at 0.
#> a maximum begins at START
#- begin = self.assign(total, self.number(START[node.op]))
begin = self.assign(total, self.number(0.0))

# %% nest mistake nest-maximum-added: Adds in every reduction.
#> combined by np.maximum
#- combine = np.maximum if node.op == np.maximum.reduce else np.add
combine = np.add

# %% nest mistake nest-total-replaced: Writes the last element into the total.
#> the sum of
#- body.append(self.assign(total, self.formula(combine, total, *values)))
body.append(self.assign(total, values[0]))

# %% nest mistake nest-nothing-stored: Stores no elementwise result.
#> a step in self.stored writes its variable
#- if node in self.stored:
#-     body.append(self.store(node))
if False:
    body.append(self.store(node))

# %% nest mistake nest-stored-alone: Stores a result without defining its variable.
#> defines its variable before others read it
#- body.append(self.define(node, self.formula(node.op, *values)))
#- if node in self.stored:
#-     body.append(self.store(node))
if node in self.stored:
    body.append(self.store(node))
else:
    body.append(self.define(node, self.formula(node.op, *values)))

# %% nest mistake nest-loops-for-each-step: Writes loops for each step.
#> all steps of a group are in the same loops
#- return start + self.loops(shape, body)
return start + [line for step in body for line in self.loops(shape, [step])]

# %% nest mistake nest-no-group: Reads the steps of the group from memory.
#> has no place in memory
#- values = [self.read(x, shape, group) for x in node.inputs]
values = [self.read(x, shape) for x in node.inputs]

# %% nest mistake nest-totals-set-again: Sets the totals in loops over all axes.
#> one to set the 2 totals
#- start += self.loops(node.inputs[0].shape, [begin], self.kept_axes(node))
start += self.loops(node.inputs[0].shape, [begin])

# %% nest mistake nest-no-loops: Returns the lines without loops.
#> the number of loops
#- return start + self.loops(shape, body)
return start + body

# %% nest mistake nest-text: Returns a text instead of a list.
#> tanh(x * x + row)
#- return start + self.loops(shape, body)
return "; ".join(start + self.loops(shape, body))

# %% nest right: a reduction as a case of its own, and lines in one list
totals, lines = [], []
for node in group:
    texts = [self.read(x, shape, group) for x in node.inputs]
    if node.op not in START:
        lines.append(self.define(node, self.formula(node.op, *texts)))
        if node in self.stored:
            lines.append(self.store(node))
        continue
    place = self.total(node)
    first = [self.assign(place, self.number(START[node.op]))]
    totals.extend(self.loops(shape, first, self.kept_axes(node)))
    op = {np.maximum.reduce: np.maximum}.get(node.op, np.add)
    lines.append(self.assign(place, self.formula(op, place, texts[0])))
return totals + self.loops(shape, lines)

# %% nest right: first all totals, then all lines
reductions = [node for node in group if node.op in START]
for node in reductions:
    value = "-" + self.language.infinity if node.op == np.maximum.reduce else self.number(0.0)
    start += self.loops(shape, [self.assign(self.total(node), value)], self.kept_axes(node))
for node in group:
    values = [self.read(x, shape, group) for x in node.inputs]
    if node in reductions:
        larger = node.op == np.maximum.reduce
        op = np.maximum if larger else np.add
        body.append(self.assign(self.total(node), self.formula(op, *values, self.total(node))))
        continue
    body.append(self.define(node, self.formula(node.op, *values)))
    if node in self.stored:
        body.append(self.store(node))
return start + self.loops(shape, body)

# %% simplify equivalent: np.reshape and np.swapaxes have one input.
#= `0` -> `(-1)`

# %% simplify equivalent: Comparing shapes and dtypes is the same both ways round.
#= `x, node` -> `node, x`

# %% bytes-moved equivalent: A view is alone in its group.
#= `0` -> `(-1)`

# %% plan equivalent: max is symmetric.
#= `offsets[i], end` -> `end, offsets[i]`

# %% arena equivalent: max is symmetric.
#= `last.get(array, 0), time[node]` -> `time[node], last.get(array, 0)`

# %% arena equivalent: In the first group only arguments are read, which have no place.
#= `0` -> `1`
#= `0` -> `(-1)`

# %% nest equivalent: A reduction has one input.
#= `0` -> `(-1)`
