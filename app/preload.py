"""What the fork server imports: solver processes start with the slow algorithms loaded."""

from app.warmup import warm_up

warm_up("slow")
