"""1989: digits, read by fully connected layers.

In these years networks learned to read the zip codes on letters. Here a network reads 1,797
digits, written by 13 people, 8 by 8 pixels each. It does not know that its input is an image:
if you permute the pixels of all images in the same way, it learns just as well.

The data is split into three parts. The weights are trained on the training set. A validation
set, a fifth of the training digits, is used to choose the amount of dropout. Then the chosen
network is trained on all training digits, tested once on the 359 test digits, and saved for
`tito milestone run olympics --mine`.
"""

# /// milestone
# title = "Two dense layers read handwritten digits"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training", "data",
# ]
# seconds = 300
# alt = """Accuracy rises with the epochs, on training and validation digits; a confusion \
#     matrix of the test digits, nearly all on its diagonal; the misread digits, each with \
#     its class and what the network read."""
# [goal]
# "test accuracy" = 0.97
# ///

from pathlib import Path

from digits_training import OneLineTrainer
from pictures import report
from saved import place

from tinytorch.core.activations import ReLU
from tinytorch.core.data import DataLoader, Subset, digits, stratified_split
from tinytorch.core.layers import Dense, Dropout, Flatten, Sequential, he_normal, manual_seed
from tinytorch.core.losses import CrossEntropyLoss
from tinytorch.core.optimizers import AdamW, CosineAnnealingLR
from tinytorch.core.training import accuracy
from tinytorch.support.checkpoints import save_state

DROPOUTS = (0.0, 0.5)  # the candidates
TRIAL_EPOCHS, EPOCHS = 15, 40  # for each candidate, and for the chosen one


def network(dropout):
    return Sequential(
        Flatten(), Dense(64, 512, init=he_normal), ReLU(), Dropout(dropout), Dense(512, 10)
    )


def train(dropout, dataset, epochs, validation=None):
    """Train a new network on `dataset`; returns its Trainer."""
    model = network(dropout)
    optimizer = AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    title = f"dropout {dropout}" if dropout else "no dropout"
    trainer = OneLineTrainer(
        title,
        model,
        optimizer,
        CrossEntropyLoss(label_smoothing=0.1),
        {"accuracy": accuracy},
        CosineAnnealingLR(optimizer, epochs),
    )
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
    for dropout in DROPOUTS:
        trials[dropout] = train(
            dropout, Subset(training_digits, kept), TRIAL_EPOCHS, validation
        ).history
    chosen = min(DROPOUTS, key=lambda dropout: trials[dropout]["validation loss"][-1])
    print(
        "The one with the smaller validation loss, trained on all training digits:", flush=True
    )

    trainer = train(chosen, training_digits, EPOCHS)
    save_state(place("digits_mlp"), trainer.model.state_dict())
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
