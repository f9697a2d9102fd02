"""Double descent, measured: the test error of a model against its number of parameters.

The model is linear regression on random ReLU features, solved exactly with least squares. With
fewer parameters than training examples it fits as well as it can; with more, many solutions fit
the training set exactly, and least squares returns the one with the smallest weights.
"""

import numpy as np

COUNTS = (2, 4, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 80, 120, 200, 400, 800)


def random_feature_errors(counts=COUNTS, examples=40, repetitions=5):
    """The errors of random-feature regression with several numbers of parameters.

    counts       numbers of parameters
    examples     size of the training set
    repetitions  how often everything is drawn anew; the errors are medians
    returns      (training errors, test errors): arrays with the mean squared error for each count

    Source: Belkin, Hsu, Ma, Mandal, Reconciling modern machine-learning practice and the classical
    bias-variance trade-off (2019).
    """
    errors = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(examples + 300, 5))
        y = x[:, 0] + 0.5 * np.sin(2 * x[:, 1]) + rng.normal(0, 0.2, len(x))
        weights, biases = rng.normal(0, 5**-0.5, (5, max(counts))), rng.normal(size=max(counts))
        features = np.maximum(0, x @ weights + biases)
        for count in counts:
            some = features[:, :count] / np.sqrt(count)
            w = np.linalg.lstsq(some[:examples], y[:examples], rcond=None)[0]
            squares = (some @ w - y) ** 2
            errors.append((squares[:examples].mean(), squares[examples:].mean()))
    return np.median(np.reshape(errors, (repetitions, len(counts), 2)), axis=0).T


def plot_double_descent(counts, train, test, examples=40):
    """Both errors against the number of parameters; returns a matplotlib figure."""
    from tinytorch.support.drawing import panel

    figure, axes = panel(
        xlabel="parameters", ylabel="mean squared error", xscale="log", yscale="log"
    )
    axes.plot(counts, np.maximum(train, 1e-2), "C0")
    axes.plot(counts, test, "C1.-")
    axes.axvline(examples, color="C3", linestyle=":", linewidth=1.5)
    axes.annotate(
        f"{examples} parameters for {examples} examples",
        (examples, 1.02),
        xycoords=("data", "axes fraction"),
        ha="center",
        color="C3",
    )
    axes.annotate("test set", (counts[-3], test[-3] * 1.3), color="C1")
    axes.annotate("training set", (counts[0], train[0] / 6), color="C0")
    axes.set(ylim=(1e-2, None))
    return figure
