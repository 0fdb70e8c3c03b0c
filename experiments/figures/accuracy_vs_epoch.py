"""Figure 7: accuracy on the test images against the epoch."""

from experiments.learning_curves import figure

FIGURE = figure(
    7, "accuracy_vs_epoch", "Accuracy against the epoch", "accuracy [%]", "accuracy", 100.0
)
