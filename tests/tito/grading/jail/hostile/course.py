"""A course of two lessons to be attacked: its checks compare numbers, arrays, attributes, what a
callback got, and there is a secret.
"""

from small_course import FACTS

SECRET_NUMBER = 48_611
SECRET_WORDS = "the-hidden-check-says-xyzzy"

VECTORS = '''\
# %% [markdown]
# # 01. Vectors

# %%
#| default_exp core.vectors

# %%
#| export
import numpy as np


# %% exercise="double"
#| export
def double(x):
    """Twice `x`."""
    ### BEGIN SOLUTION
    return x + x
    ### END SOLUTION


# %% checks="double"
check("double")

# %% exercise="vector"
#| export
class Vector:
    """Numbers in a row."""

    ### BEGIN SOLUTION
    def __init__(self, data):
        self.data = np.array(data, dtype=np.float64)

    @property
    def shape(self):
        return self.data.shape

    def __add__(self, other):
        return Vector(self.data + other.data)

    def __gt__(self, other):
        return Vector(self.data > other)

    def __len__(self):
        return len(self.data)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def total(self):
        return float(self.data.sum())
    ### END SOLUTION


# %% checks="vector"
check("vector")

# %% exercise="twice"
#| export
def twice(function, x):
    """`function` of `function` of `x`."""
    ### BEGIN SOLUTION
    return function(function(x))
    ### END SOLUTION


# %% checks="twice"
check("twice")
'''

VECTORS_CHECKS = """\
# %% setup
import numpy as np


# %% double points=5
def test_double_of_two_is_four():
    got = double(2)
    assert got == 4, f"double(2) should be 4, yours is {got}"


def test_double_works_on_arrays():
    x = np.array([1.5, 3.0, -2.0])
    got = double(x)
    assert np.allclose(got, 2 * x), f"double([1.5, 3, -2]) should be [3, 6, -4], yours is {got}"


def test_double_is_near_what_it_should_be():
    x = np.array([1.5, 3.0])
    assert abs(double(2.5) - 5) < 1e-9 and np.max(abs(double(x) - 2 * x)) < 1e-9, (
        f"double(2.5) should be 5, yours is {double(2.5)}"
    )


def test_double_is_right_for_each_number():
    got = double(np.array([1.5, 3.0]))
    assert len(got) == 2 and all(got == np.array([3.0, 6.0])), (
        f"double([1.5, 3]) should be [3, 6], yours is {got}"
    )


def test_double_of_no_number_is_an_error():
    try:
        double(None)
    except TypeError:
        return
    assert False, "double(None) should be a TypeError"


# %% double hidden points=2
def test_double_of_a_number_nobody_knows():
    assert double(SECRET_NUMBER) == 2 * SECRET_NUMBER, "SECRET_WORDS"


# %% vector points=4
def test_a_vector_holds_its_numbers():
    v = Vector([1, 2, 4])
    assert isinstance(v, Vector)
    assert v.shape == (3,), f"three numbers have the shape (3,), yours is {v.shape}"
    assert np.array_equal(v.data, [1, 2, 4]), f"Vector([1, 2, 4]).data is {v.data}"
    assert len(v) == 3


def test_vectors_add():
    x = np.array([1.0, 2.0, 4.0])
    got = (Vector(x) + Vector(x)).data
    assert np.allclose(got, x + x), f"yours is {got}"
    assert (got == x + x).all(), f"yours is {got}"
    assert np.all(got == x + x), f"yours is {got}"


def test_the_total_of_a_vector_is_a_number():
    with Vector([1, 2, 4]) as v:
        assert v.total() == 7, f"1 + 2 + 4 is 7, yours is {v.total()}"


def test_a_vector_compares_with_a_number():
    more = Vector([1, 2, 4]) > 3
    assert np.array_equal(more.data, [False, False, True]), f"yours is {more.data}"


# %% twice points=2
def test_twice_calls_the_function_two_times():
    seen = []

    def next_one(x):
        assert x < 10, f"nobody asked for {x}"
        seen.append(x)
        return x + 1

    got = twice(next_one, 3)
    assert got == 5 and seen == [3, 4], f"twice(add one, 3) should be 5, yours is {got}"


def test_twice_passes_errors_on():
    def fail(x):
        raise KeyError("on purpose")

    try:
        twice(fail, 3)
    except KeyError:
        return
    assert False, "an error in the function should come out"
""".replace("SECRET_NUMBER", str(SECRET_NUMBER)).replace("SECRET_WORDS", SECRET_WORDS)

SUMS = '''\
# %% [markdown]
# # 02. Sums

# %%
#| default_exp core.sums

# %%
#| export
from tinytorch.core.vectors import Vector


# %% exercise="sum-of"
#| export
def sum_of(vectors):
    """The sum of all numbers in these vectors."""
    ### BEGIN SOLUTION
    return sum(vector.total() for vector in vectors)
    ### END SOLUTION


# %% checks="sum-of"
check("sum-of")
'''

SUMS_CHECKS = """\
# %% setup
import numpy as np


# %% sum-of points=5
def test_the_numbers_are_added():
    from tinytorch.core.vectors import Vector

    got = sum_of([Vector([1, 2]), Vector([5])])
    assert got == 8, f"1 + 2 + 5 is 8, yours is {got}"
"""


def make_course(folder):
    """Write the course to `folder`."""
    for name, text in {
        "01_vectors/vectors_dev.py": VECTORS,
        "01_vectors/lesson.toml": FACTS.format(title="Vectors", name="vectors", needs=[]),
        "01_vectors/checks.py": VECTORS_CHECKS,
        "02_sums/sums_dev.py": SUMS,
        "02_sums/lesson.toml": FACTS.format(title="Sums", name="sums", needs='["vectors"]'),
        "02_sums/checks.py": SUMS_CHECKS,
    }.items():
        path = folder / "modules" / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "tito.toml").write_text(
        '[course]\nname = "Attacked"\nedition = "1"\npackage = "tinytorch"\n', encoding="utf-8"
    )
    (folder / "tinytorch" / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py"):
        (folder / "tinytorch" / name).write_text('"""The package."""\n', encoding="utf-8")
    return folder
