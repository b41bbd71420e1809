"""Methods of other distributions (`models.plugins`).

- `toy_methods`: a distribution with one method, and entry points that cannot be used
- `conftest`: installs it beside Umbel
- `test_registry`: what is found, and what is left out, and why
- `test_contract`: the contract as a plug-in's author runs it
- `test_service`: a service with it: catalogue, document, version, jobs, the client's commands
"""
