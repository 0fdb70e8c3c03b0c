"""Figure 6: loss on training images against the epoch."""

from experiments.learning import figure

FIGURE = figure(
    "train_loss_vs_epoch",
    "Training loss against the epoch",
    "training loss",
    "train_loss",
    min,
    1.0,
)
