"""Drawn computation graphs: their numbers, and that nothing overlaps or is cut off."""

from types import SimpleNamespace

from tinytorch.support import computation_graph
from tinytorch.support.handmade import unknown_derivatives


def test_the_graph_of_values_has_their_labels_and_local_gradients():
    def node(data, op="", inputs=(), local_gradients=(), label=""):
        return SimpleNamespace(
            data=data, grad=0.0, label=label, _op=op, _prev=inputs, _local_gradients=local_gradients
        )

    class Node(SimpleNamespace):
        __hash__ = object.__hash__

    x = Node(**vars(node(2.0, label="x")))
    y = Node(**vars(node(6.0, "triple", (x,), (3.0,))))
    z = Node(**vars(node(1.0, "unknown", (y,), unknown_derivatives)))
    graph = computation_graph.graph_of_values([z, y, x])
    assert str(graph).splitlines()[1:] == ["triple  data 6  grad 0", "x  data 2  grad 0"]
    assert [text for _, _, text in graph.arrows] == ["?", "3"]
    assert list(graph.kinds.values()) == ["operation", "operation", "leaf"]
