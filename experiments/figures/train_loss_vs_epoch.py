"""Figure 5: loss on training images against the epoch."""

from experiments.learning_curves import figure

FIGURE = figure(
    5, "train_loss_vs_epoch", "Training loss against the epoch", "training loss", "train_loss"
)
