"""The table in which an engine finds the derivatives of its operations.

A package must be importable before a learner has written its rules. So a function that writes some
of them can wait: it is called when a rule of one of its operations is first asked for.

What is done with a rule is the engine's; here is also what stands in for rules and records that
there are not: `parts_of` where one rule served all inputs, `FREED` where a record was used up.
"""

from tinytorch.support.validation import check_parts


class Rules(dict):
    """operation -> its rules; what is missing is written, once, by the function that waits for it.

    waiting  dict from operation to that function

    >>> table = Rules()
    >>> @table.rules_for(abs)
    ... def write():
    ...     table[abs] = "the rules of abs"
    >>> len(table), table[abs], len(table)
    (0, 'the rules of abs', 1)
    """

    def __init__(self):
        super().__init__()
        self.waiting = {}

    def rules_for(self, *ops):
        """Mark the function below as the one that writes the rules of each of `ops` into the table.
        It is called when one of them is first needed."""

        def remember(write):
            for op in ops:
                self.pop(op, None)
                self.waiting[op] = write
            return write

        return remember

    def __missing__(self, op):
        if op in self.waiting:
            self.waiting[op]()  # writes the rules of a whole group into the table
            if op in self:
                self.waiting.pop(op, None)
                return self[op]
        if op is None:
            raise RuntimeError(
                "this note was already freed: a tensor hands on first, "
                "then its creator becomes FREED"
            )
        # The forward method of a Function has its rule beside it, which is not kept: each use of
        # a Function is an operation of its own.
        if hasattr(op, "__self__") and hasattr(op.__self__, "slopes_of_all"):
            return op.__self__.slopes_of_all
        name = getattr(op, "__name__", op)
        raise NotImplementedError(
            f"no slope is known for {name}: tell it with derivative({name}, ...), "
            "one rule for each input"
        )


class Freed:
    """What stands in the `creator` of a tensor when the record of its origin has been used up."""

    __slots__ = ()
    order, op = -1, None

    @property
    def inputs(self):
        raise RuntimeError(
            "a gradient has been taken through this graph before, and its notes were freed on "
            "the way. Compute the result again; or, to walk twice, say "
            "backward(retain_graph=True) the first time"
        )


FREED = Freed()


def parts_of(found, made):
    """One rule per input, with nothing left to compute, of what a rule for all inputs returned.

    found    tuple or list with a gradient, or None, for each input
    made     what has `op` and `inputs`
    returns  list of functions that return those gradients, whatever they are called with; None
             stays None

    >>> from types import SimpleNamespace
    >>> first, second = parts_of((10.0, None), SimpleNamespace(op=divmod, inputs=(1, 2)))
    >>> first("anything"), second
    (10.0, None)
    """
    check_parts(found, len(made.inputs), made.op)
    return [part if part is None else lambda *_, part=part, **__: part for part in found]
