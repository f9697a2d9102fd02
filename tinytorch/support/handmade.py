"""Operations that somebody adds to the scalar engine by hand, as micrograd does it.

There, a Value is made with its inputs, and a function of no arguments is assigned to its
`_backward`. The engine wants derivatives, one for each input: they are found by calling that
function. A node is here anything with `grad`, a float, and `_prev`, its inputs.
"""


class UnknownDerivatives:
    """Stands in for the derivatives of a node with inputs, until somebody states them.

    To ask for them is a RuntimeError.
    """

    def __iter__(self):
        raise RuntimeError(
            "this Value has inputs but no slopes: make it with record(op, data, "
            "inputs, slopes), or assign its _backward"
        )


unknown_derivatives = UnknownDerivatives()


def derivatives_from(function, out):
    """The derivatives of a node along its inputs, from a handmade `_backward`.

    function  adds (derivative * out.grad) to the `grad` of each input; called once, with 1 in
              `out.grad`
    out       the node; every `grad` is afterwards what it was before
    returns   tuple of floats, one per input; an input that stands twice has its whole derivative
              at the first place
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
