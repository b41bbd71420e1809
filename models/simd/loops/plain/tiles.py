"""Distances of a row to the points of a tile, added up in the order of columns."""

from __future__ import annotations

from numba import njit

from models.simd.loops.constants import POINTS


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_squares(row, tile, start, stop, total):
    for column in range(start, stop):
        for i in range(POINTS):
            apart = row[column] - tile[column, i]
            total[i] += apart * apart


@njit(cache=True, nogil=True)
def add_differences(row, tile, start, stop, total):
    for column in range(start, stop):
        for i in range(POINTS):
            total[i] += abs(row[column] - tile[column, i])


@njit(cache=True, nogil=True)
def take_largest(row, tile, start, stop, total):
    for column in range(start, stop):
        for i in range(POINTS):
            apart = abs(row[column] - tile[column, i])
            if apart > total[i]:
                total[i] = apart


@njit(cache=True, nogil=True, error_model="numpy")
def add_shares(row, tile, start, stop, total):
    for column in range(start, stop):
        for i in range(POINTS):
            apart = abs(row[column] - tile[column, i])
            whole = abs(row[column]) + abs(tile[column, i])
            total[i] += 0.0 if apart == 0.0 else apart / whole
