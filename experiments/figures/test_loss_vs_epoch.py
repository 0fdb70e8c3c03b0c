"""Figure 6: loss on the test images against the epoch."""

from experiments.learning_curves import figure

FIGURE = figure(6, "test_loss_vs_epoch", "Test loss against the epoch", "test loss", "loss")
