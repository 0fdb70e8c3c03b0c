"""Figure 7: loss on the test images against the epoch."""

from experiments.learning import figure

FIGURE = figure(7, "test_loss_vs_epoch", "Test loss against the epoch", "test loss", "loss", min)
