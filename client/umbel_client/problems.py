"""An exception for each type of problem: `except problems.TooLarge`. `BY_TYPE` has them by type."""

from umbel_client._written.problems import *  # noqa: F403
