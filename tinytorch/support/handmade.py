"""Operations that somebody adds to the scalar engine by hand, as micrograd does it.

There, a Value is made with its inputs, and a function of no arguments is assigned to its
`_backward`. This engine stores local gradients, one for each input: they are found by calling
that function. A node is here anything with `grad`, a float, and `_prev`, its inputs.
"""


class UnknownDerivatives:
    """Stands in for the local gradients of a node with inputs, until somebody states them.

    Reading them is a RuntimeError.
    """

    def __iter__(self):
        raise RuntimeError(
            "this Value has inputs but no local gradients: make it with record(op, data, "
            "inputs, local_gradients), or assign its _backward"
        )


unknown_derivatives = UnknownDerivatives()


def derivatives_from(function, out):
    """The local gradients of a node, found by calling its handmade `_backward`.

    function  adds (derivative * out.grad) to the `grad` of each input; called once, with 1 in
              `out.grad`
    out       the node; every `grad` is afterwards what it was before
    returns   tuple of floats, one per input; an input that stands twice has the sum of both at its
              first place, and 0 at the second
    """
    nodes = {out, *out._prev}
    before = [(node, node.grad) for node in nodes]
    for node in nodes:
        node.grad = 0.0
    out.grad = 1.0
    function()
    arrived = {node: node.grad for node in out._prev}
    for node, grad in before:
        node.grad = grad
    return tuple(arrived.pop(node, 0.0) for node in out._prev)


class Handmade:
    """A base class of nodes whose operation may also be defined by assigning to `_backward`."""

    __slots__ = ()

    @property
    def _backward(self):
        """Call it to propagate `grad` one step; assign a function to define an operation."""

        def one_step():
            for x, local in zip(self._prev, self._local_gradients):
                x.grad += local * self.grad

        return one_step

    @_backward.setter
    def _backward(self, function):
        self._local_gradients = derivatives_from(function, self)
