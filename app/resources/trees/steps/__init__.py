"""The trees that a fit had on its way to a tree, where its parameter `keep_steps` kept them.

`routes`: their list, and each as a tree; `schemas`: what goes over the wire.
"""
