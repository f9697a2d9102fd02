import numpy as np

from tinytorch import Variable, manual_seed
from tinytorch.nn import functional as F


def test_it_drops_and_scales_in_training_only():
    x = Variable(np.ones(10_000, "float32"))
    out = F.dropout(x, 0.25)
    assert np.isin(out.data, np.float32([0, 4 / 3])).all()
    assert 0.73 < np.count_nonzero(out.data) / x.size < 0.77
    out.sum().backward()
    assert np.array_equal(x.grad, out.data)
    assert F.dropout(x, 0.25, training=False) is x


def test_a_seed_repeats_the_masks_and_calls_differ():
    x = Variable(np.ones(50, "float32"))
    runs = []
    for _ in range(2):
        manual_seed(3)
        runs.append([F.dropout(x).data.tolist() for _ in range(2)])
    assert runs[0] == runs[1] and runs[0][0] != runs[0][1]
