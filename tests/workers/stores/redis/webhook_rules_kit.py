"""Rules about webhooks."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import (
    precondition,
    rule,
)

from tests.workers.stores.redis.calls_kit import KEPT, few, leases, seconds, tokens, usual
from tests.workers.stores.redis.job_rules_kit import JobRules


class WebhookRules(JobRules):
    @rule(
        data=st.data(),
        calls=st.lists(
            st.sampled_from(["end", "take", "take", "tell", "wait"]), min_size=4, max_size=12
        ),
    )
    @precondition(lambda self: self.book.jobs)
    def hooks_are_sent(self, data: st.DataObject, calls: list[str]) -> None:
        """Several calls about webhooks in turn: single ones seldom come far."""
        for call in calls:
            if call == "end":
                self.end(data, "succeeded", KEPT, False, "", 5, "", "", False)
            elif call == "take":
                most, per_host = data.draw(few), data.draw(st.sampled_from([1, 2, 9]))
                own = (data.draw(few), data.draw(st.sampled_from([0, 0, 1, 2])))
                self.hook_take(data.draw(tokens), most, data.draw(leases), per_host, *own)
            elif call == "tell":
                status = data.draw(st.sampled_from(["delivered", "pending", "pending"]))
                slow = data.draw(st.sampled_from(["", "0", "1"]))
                self.hook_tell(data, True, status, data.draw(seconds), slow)
            else:
                self.book.now += data.draw(leases)

    @rule(
        token=tokens,
        most=few,
        lease=leases,
        per_host=st.sampled_from([1, 2, 9]),
        slow=few,
        sent_here=st.sampled_from([0, 0, 1, 2]),
    )
    @precondition(lambda self: self.book.hooks)
    def hook_take(
        self, token: str, most: int, lease: int, per_host: int, slow: int, sent_here: int
    ) -> None:
        tenants = sorted({to.split(" ")[0] for to in self.book.hooks})[:1] if sent_here else []
        sent = [each for tenant in tenants for each in (tenant, sent_here)]
        row = (token, most, lease, per_host, 2 if per_host < 9 else 9, slow, *sent)
        self.call("hook_take", self.book.hook_take(*row), *row)

    @rule(
        data=st.data(),
        holds=usual,
        status=st.sampled_from(["delivered", "failed", "pending"]),
        delay=seconds,
        slow=st.sampled_from(["", "0", "1"]),
    )
    def hook_tell(
        self, data: st.DataObject, holds: bool, status: str, delay: int, slow: str
    ) -> None:
        id = self.one_of(data, lambda job: job.hook_token is not None)
        job = self.book.jobs.get(id)
        token = job.hook_token if job is not None and holds else None
        row = (id, token or "none", status, 4, delay, "why", slow)
        self.call("hook_tell", self.book.hook_tell(*row), *row)
