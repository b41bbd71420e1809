"""The service itself: its health, its version, what a caller uses of it. Start with `health`.

`health`: liveness, readiness, metrics; `usage`: what a caller uses of what it may; `audit`: who
changed what; `version`: which version answers; `pauses`, `workers`: what takes no jobs for now, and
who takes them; `sign_in`: where people sign in and out.
"""
