"""The paper's figures, reproduced."""
