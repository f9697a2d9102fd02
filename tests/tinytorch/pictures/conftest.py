import pytest


@pytest.fixture(autouse=True)
def no_window():
    """Draw figures in memory, and close them after each test."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context():
        yield
    plt.close("all")
