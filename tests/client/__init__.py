"""The Python client without a service: inputs, faults, what is written from the code."""
