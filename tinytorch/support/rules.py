"""The table in which an engine finds the derivatives of its operations.

A package must be importable before a learner has written its rules. So the function that writes
some of them can be deferred: it is called when a rule of one of its operations is first needed.

What is done with a rule is the engine's; here is also `free`, which releases the memory of a graph
node after its use.
"""

from tinytorch.support.validation import check_rules

FREED_GRAPH = (
    "backward() has already freed this graph; call it with retain_graph=True to go through it "
    "twice or to draw it, or compute the result again"
)


class Rules(dict):
    """operation -> its rules; missing ones are written, once, by the function deferred for them.

    deferred  dict from operation to that function

    >>> table = Rules()
    >>> @table.deferred_rules(abs)
    ... def write():
    ...     table[abs] = "the rules of abs"
    >>> len(table), table[abs], len(table)
    (0, 'the rules of abs', 1)
    """

    def __init__(self):
        super().__init__()
        self.deferred = {}

    def deferred_rules(self, *ops):
        """Mark the function below as the one that writes the rules of each of `ops` into the table.
        It is called when one of them is first needed."""

        def remember(write):
            for op in ops:
                self.pop(op, None)
                self.deferred[op] = write
            return write

        return remember

    def __missing__(self, op):
        if op in self.deferred:
            self.deferred[op]()  # writes the rules of a whole group into the table
            if op in self:
                self.deferred.pop(op, None)
                return self[op]
        # The forward method of a Function has its rule beside it, which is not kept: each use of
        # a Function is an operation of its own.
        if hasattr(op, "__self__") and hasattr(op.__self__, "vjp"):
            return op.__self__.vjp
        name = getattr(op, "__name__", op)
        raise NotImplementedError(
            f"no derivative is known for {name}: give it with derivative({name}, ...), "
            "one rule for each input"
        )

    def rules_of(self, node, g):
        """The rules of the operation that computed `node`, one for each of its inputs.

        node  has `creator` and `data`
        g     its gradient: where one rule serves all inputs, it is called with `g` now
        """
        made = node.creator
        rules = self[made.op]
        if callable(rules):
            gradients = rules(g, node.data, *made.arrays, **made.options)
            check_rules(gradients, made)
            # computed already: the rule for each input only returns its part
            return [
                part if part is None else lambda *_, part=part, **__: part for part in gradients
            ]
        check_rules(rules, made)
        return rules


class Freed:
    """The creator of a result whose graph was freed. Reading how it was computed is an error."""

    __slots__ = ()

    @property
    def op(self):
        raise RuntimeError(FREED_GRAPH)

    inputs = arrays = options = created = op


FREED = Freed()


def free(node):
    """Release everything that the backward pass needed of `node`, a tensor with a creator."""
    node.creator = FREED
