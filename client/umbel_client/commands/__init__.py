"""The command line on files: `umbel run l2h logits.npy --names names.txt --out tree.nwk`.

Start with `arguments`, which has every command; `main` is that of `umbel-client`. Where the server
is installed, its command `umbel` has the same commands beside its own.

- `arguments`: the commands, their options and their help
- `values`: from text on the command line to inputs and parameters
- `work`: what each command does
- `outputs`: results as files and on the terminal
"""

from umbel_client.commands.arguments import add_commands, main

__all__ = ["add_commands", "main"]
