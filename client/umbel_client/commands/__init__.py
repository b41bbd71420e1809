"""The command line on files: `umbel run l2h logits.npy --names names.txt --out tree.nwk`.

Start with `arguments`, which has every command; `main` is that of `umbel-client`. Where the server
is installed, its command `umbel` has the same commands beside its own.

- `arguments`: the commands on files, their options and their help; `work`: what each does
- `kept_arguments`, `kept_work`: the same of commands on what a service keeps
- `aliases`: `umbel alias`; `editions`: `umbel edit` and `history`
- `embedding`: `umbel run ... --embed` and `--map`
- `reports`: `umbel report`; `placing`: `umbel place`; `exchanging`: `umbel export`, `annotations`
- `operating`: what the operator's commands do: failed jobs, pauses, workers
- `options`: what commands have in common; `plugged`: methods of plug-ins
- `catalogue`: `umbel methods`; `completion`: `umbel completion`
- `conditions`: when a command fails in a pipeline: `--fail-if`, `--fail-under`, `--junit`
- `values`: from text on the command line to inputs and parameters
- `outputs`: results as files and on the terminal
"""

from umbel_client.commands.arguments import CommandHelp, add_commands, main
from umbel_client.commands.options import Parser

__all__ = ["CommandHelp", "Parser", "add_commands", "main"]
