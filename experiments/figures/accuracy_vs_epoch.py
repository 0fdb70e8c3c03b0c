"""Figure 8: accuracy on the test images against the epoch."""

from experiments.learning import figure

FIGURE = figure(
    8, "accuracy_vs_epoch", "Accuracy against the epoch", "accuracy [%]", "accuracy", max, 100.0
)
