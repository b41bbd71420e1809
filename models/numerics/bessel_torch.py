"""`models.numerics.sphere` for tensors of torch, on any device, with gradients.

Computed in double precision, returned in the tensor's own. Gradients are the exact derivatives (of
log C_D it is -A_D, of A_D its slope, of the inverse one over the slope), not the derivatives of the
expansion's steps, and they can be differentiated again. The order, or D, is a plain number.
"""

from __future__ import annotations

from typing import Any

import torch

from models.numerics.sphere import invert, log_bessel, log_constant, order_of, ratios


def log_iv(order: float, a: torch.Tensor) -> torch.Tensor:
    """log I_v(a) for an order v >= 0 and a > 0."""
    return _wide(_LogIv, a, order)


def log_c(n_features: int, kappa: torch.Tensor) -> torch.Tensor:
    """log C_D(k), k >= 0."""
    return _wide(_LogC, kappa, n_features)


def ratio(n_features: int, kappa: torch.Tensor) -> torch.Tensor:
    """A_D(k), k >= 0."""
    return _wide(_Ratio, kappa, order_of(n_features))


def concentration(n_features: int, r: torch.Tensor) -> torch.Tensor:
    """The k for which A_D(k) = r, for r in [0, 1]; infinite for 1. ValueError for other r."""
    return _wide(_Concentration, r, n_features)


def _ratio(kappa: torch.Tensor, order: float) -> torch.Tensor:
    value: torch.Tensor = _Ratio.apply(kappa, order)  # type: ignore[no-untyped-call]
    return value


def _wide(function: Any, values: torch.Tensor, parameter: float) -> torch.Tensor:
    wide: torch.Tensor = function.apply(values.double(), parameter)
    return wide.to(values.dtype)


class _LogIv(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, order: float) -> torch.Tensor:
        ctx.save_for_backward(a)
        ctx.order = order
        return torch.as_tensor(log_bessel(order, a, torch))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (a,) = ctx.saved_tensors
        return grads[0] * (_ratio(a, ctx.order) + ctx.order / a), None


class _LogC(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kappa: torch.Tensor, n_features: int) -> torch.Tensor:
        ctx.save_for_backward(kappa)
        ctx.order = order_of(n_features)
        return torch.as_tensor(log_constant(n_features, kappa, torch))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (kappa,) = ctx.saved_tensors
        return -grads[0] * _ratio(kappa, ctx.order), None


class _Ratio(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kappa: torch.Tensor, order: float) -> torch.Tensor:
        ctx.save_for_backward(kappa)
        ctx.order = order
        return torch.as_tensor(ratios(order, kappa, torch)[0])

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (kappa,) = ctx.saved_tensors
        return grads[0] * ratios(ctx.order, kappa, torch)[2], None


class _Concentration(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, r: torch.Tensor, n_features: int) -> torch.Tensor:
        kappa = torch.as_tensor(invert(n_features, r, torch))
        ctx.save_for_backward(kappa)
        ctx.order = order_of(n_features)
        return kappa

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (kappa,) = ctx.saved_tensors
        return grads[0] / ratios(ctx.order, kappa, torch)[2], None
