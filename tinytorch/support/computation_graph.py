"""Computation graphs of expressions on single numbers.

`draw` draws one by hand: a box per number, with its value, and below it its gradient or an empty
place for it; on the edges the local gradients. `graph_of_values` makes the Graph of Values that
recorded how they were computed.
"""

import itertools

from tinytorch.support.graphs import Graph
from tinytorch.support.handmade import unknown_derivatives


def graph_of_values(nodes):
    """The Graph of how a Value was computed: a box per Value, an arrow per input.

    nodes    Values, anything with `data grad label _op _prev _local_gradients`; every input of one
             of them is among them, too
    returns  a Graph with label, operation, data and grad in each box, and on each arrow the local
             gradient ("?" where it is unknown)
    """
    graph = Graph()
    for node in nodes:
        kind = "operation" if node._prev else "leaf"
        title = f"{node.label} {node._op}".strip()
        graph.box(node, title, f"data {node.data:.5g}", f"grad {node.grad:.5g}", kind=kind)
        unknown = node._local_gradients is unknown_derivatives
        local_gradients = itertools.repeat("?") if unknown else node._local_gradients
        for x, local in zip(node._prev, local_gradients):
            graph.arrow(x, node, local if unknown else f"{local:.4g}")
    return graph
