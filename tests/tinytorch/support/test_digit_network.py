import numpy as np
import pytest

from tinytorch.support.digit_network import draw_digits, load_network


@pytest.fixture(scope="module")
def network():
    return load_network()


def test_the_network_reads_digits_that_it_was_not_fitted_to(network):
    images, labels, (W1, b1, W2, b2) = network
    scores = np.maximum(images @ W1 + b1, 0) @ W2 + b2
    assert scores.shape == (359, 10) and scores.dtype == "float32"
    assert (scores.argmax(axis=1) == labels).mean() > 0.94


def test_the_network_is_the_same_each_time(network):
    again = load_network()
    assert all(np.array_equal(a, b) for a, b in zip(network[2], again[2]))


def test_a_wrong_answer_stands_above_its_image_in_red(network):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    images, labels, _ = network
    answers = labels[:7].copy()
    answers[2] = (answers[2] + 1) % 10
    with plt.rc_context():
        figure = draw_digits(images[:7], answers, labels[:7])
        texts = figure.axes[0].texts
        assert [text.get_text() for text in texts] == [
            f"{a} (is {b})" if a != b else str(a) for a, b in zip(answers, labels)
        ]
        assert len({text.get_color() for text in texts}) == 2
        plt.close(figure)
