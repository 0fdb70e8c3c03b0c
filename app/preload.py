"""What the fork server imports: every solver process is born with the slow algorithms loaded."""

from app.warmup import warm_up

warm_up("slow")
