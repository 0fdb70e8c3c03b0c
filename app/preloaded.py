"""What the fork server imports, so that every solver process has it from birth.

Importing it loads the kernels of the slow schedulers, and cvxpy.
"""

from app.compilation import compile_kernels

compile_kernels(["slow"])
