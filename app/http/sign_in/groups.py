"""Which tenant, role and tags the groups of an issuer have here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.settings import Settings
from workers.artifacts.keys import ROLES, Role, require_limits, require_tenant


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the issuer. tags : to what its people are limited, as limited keys are; none: to
    nothing but the tenant."""

    name: str
    tenant: str
    role: Role
    tags: tuple[str, ...] = ()


def groups(settings: Settings) -> tuple[Group, ...]:
    """The groups of the settings, in their order. Raises ValueError for a line that is not
    `group=tenant:role` or `group=tenant:role:tag|tag`, and for a file that cannot be read."""
    lines = list(settings.oidc_groups)
    if settings.oidc_groups_file is not None:
        try:
            content = settings.oidc_groups_file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"UMBEL_OIDC_GROUPS_FILE cannot be read: {error}.") from None
        texts = [line.strip() for line in content.splitlines()]
        lines += [text for text in texts if text and not text.startswith("#")]
    return tuple(map(_group, lines))


def first_of(known: Sequence[Group], names: Collection[str]) -> Group | None:
    """The first group, in the order of the settings, that a person is in."""
    return next((group for group in known if group.name in names), None)


def _group(line: str) -> Group:
    # Names of groups may have `=` and `:`, as directories have them; tenants and roles do not.
    name, _, meaning = line.rpartition("=")
    tenant, _, rest = meaning.partition(":")
    role, _, tags = rest.partition(":")
    known = next((each for each in ROLES if each == role), None)
    if not name.strip() or known is None:
        raise ValueError(
            f"UMBEL_OIDC_GROUPS: {line!r} is not `group=tenant:role` with the role "
            f"{', '.join(ROLES)}, as `lab=acme:write` or `guests=acme:read:public|demo`."
        )
    require_tenant(tenant)
    limits = tuple(tags.split("|")) if tags else ()
    require_limits(known, (), limits)
    return Group(name.strip(), tenant, known, limits)
