"""1998: digits, read by a convolutional network.

The network was called LeNet-5, and banks used such networks to read cheques. A convolution
applies the same few weights to every patch of the image, so it detects an edge at any position.
With about as many weights as the dense network of 1989, it makes fewer mistakes.

The data is split into three parts, as in 1989. The weights are trained on the training set. A
validation set, a fifth of the training digits, decides whether half of the training images are
shifted by up to a pixel. Then a network is trained in the chosen way on all training digits,
tested once on the 359 test digits, and saved for `tito milestone run olympics --mine`.
"""

# /// milestone
# title = "A convolutional network reads handwritten digits"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training", "data",
#     "convolutions",
# ]
# seconds = 600
# alt = """Accuracy rises with the epochs, on training and validation digits; a confusion \
#     matrix of the test digits, nearly all on its diagonal; the few misread digits, each \
#     with its class and what the network read."""
# [goal]
# "test accuracy" = 0.985
# ///

from pathlib import Path

from digits_training import OneLineTrainer
from pictures import report
from saved import place

from tinytorch.core.activations import ReLU
from tinytorch.core.convolutions import Conv2d, MaxPool2d
from tinytorch.core.data import (
    DataLoader,
    RandomShift,
    Subset,
    TransformedDataset,
    digits,
    stratified_split,
)
from tinytorch.core.layers import (
    Dense,
    Dropout,
    Flatten,
    Sequential,
    generator,
    he_normal,
    manual_seed,
)
from tinytorch.core.losses import CrossEntropyLoss
from tinytorch.core.optimizers import AdamW, CosineAnnealingLR
from tinytorch.core.training import accuracy
from tinytorch.support.checkpoints import save_state

TRIAL_EPOCHS, EPOCHS = 6, 30  # for each of the two candidates, and for the chosen one


class Sometimes:
    """A transform that is applied to half of the images."""

    def __init__(self, transform):
        self.transform, self.rng = transform, generator().spawn(1)[0]

    def __call__(self, image):
        return self.transform(image) if self.rng.random() < 0.5 else image


def network():
    return Sequential(
        Conv2d(1, 24, 3, padding=1, init=he_normal),
        ReLU(),
        Conv2d(24, 48, 3, padding=1, init=he_normal),
        ReLU(),
        MaxPool2d(2),
        Conv2d(48, 48, 3, padding=1, init=he_normal),
        ReLU(),
        Flatten(),
        Dropout(0.5),
        Dense(768, 10),
    )


def train(shifted, dataset, epochs, validation=None):
    """Train a new network on `dataset`; returns its Trainer.

    shifted  whether half of the images are shifted, differently in each epoch
    """
    model = network()
    optimizer = AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    title = "half of the images shifted" if shifted else "no image shifted"
    trainer = OneLineTrainer(
        title,
        model,
        optimizer,
        CrossEntropyLoss(label_smoothing=0.1),
        {"accuracy": accuracy},
        CosineAnnealingLR(optimizer, epochs),
    )
    if shifted:
        dataset = TransformedDataset(dataset, Sometimes(RandomShift(1)))
    trainer.fit(DataLoader(dataset, 32, shuffle=True), epochs, validation=validation)
    return trainer


def run(seed=0):
    """Choose on the validation set, train, and test once: the test accuracy, and a figure."""
    manual_seed(seed)
    training_digits = digits("train")
    kept, held_out = stratified_split(training_digits.arrays[1], 0.2)
    validation = DataLoader(Subset(training_digits, held_out), 128)
    print("Two candidates, trained on four fifths of the training digits:", flush=True)
    trials = {}
    for shifted in (False, True):
        trials[shifted] = train(
            shifted, Subset(training_digits, kept), TRIAL_EPOCHS, validation
        ).history
    chosen = min(trials, key=lambda shifted: trials[shifted]["validation loss"][-1])
    print(
        "The one with the smaller validation loss, trained on all training digits:", flush=True
    )

    trainer = train(chosen, training_digits, EPOCHS)
    save_state(place("digits_cnn"), trainer.model.state_dict())
    test = DataLoader(digits("test"), 128)
    measured = trainer.evaluate(test)["accuracy"]
    images, labels = test.dataset.arrays
    return {"test accuracy": measured}, report(
        trials[chosen], images, labels, trainer.predict(test)
    )


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))
