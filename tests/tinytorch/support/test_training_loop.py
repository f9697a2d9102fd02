import xml.etree.ElementTree as tree

from tinytorch.support.training_loop import draw_training_loop


def test_the_numbers_given_are_in_the_diagram():
    root = tree.fromstring(draw_training_loop(batches=7, epochs=40).svg())
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "one epoch: 7 batches, 7 steps" in texts and "40 epochs, or should_stop?" in texts
