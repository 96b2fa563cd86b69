"""Connected regions of a mask, as rotated rectangles, without an image-processing library."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# More runs of pixels than this are noise, not text.
_MAX_RUNS = 150_000
# A region that is this many times as wide as high shows its own angle; others take the page's.
_MIN_ASPECT = 4


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A rectangle in pixels: its centre, its size, and its angle in radians (clockwise, as y grows downwards)."""

    x: float
    y: float
    width: float
    height: float
    angle: float

    def grow(self, distance: float) -> "Rectangle":
        """Return the rectangle with `distance` more on each side."""
        return Rectangle(self.x, self.y, self.width + 2 * distance, self.height + 2 * distance, self.angle)

    def scale(self, x: float, y: float) -> "Rectangle":
        """Return the rectangle in a picture that is `x` times as wide and `y` times as high."""
        return Rectangle(self.x * x, self.y * y, self.width * x, self.height * y, self.angle)

    def corners(self) -> list[tuple[float, float]]:
        """Return the corners, in the order upper left, lower left, lower right, upper right."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        half = [(-1, -1), (-1, 1), (1, 1), (1, -1)]
        sides = [(u * self.width / 2, v * self.height / 2) for u, v in half]
        return [(self.x + u * cos - v * sin, self.y + u * sin + v * cos) for u, v in sides]


def find_rectangles(probabilities: npt.NDArray[np.float32], threshold: float, min_score: float) -> list[Rectangle]:
    """Find the connected regions whose values exceed a threshold.

    Args:
        probabilities: The probability of each pixel to belong to text; shape (height, width).
        threshold: The minimum probability of a pixel of a region, 0 to 1.
        min_score: The minimum mean probability of a region, 0 to 1.

    Returns:
        A rectangle around each region that is at least three pixels high and wide.
    """
    rows, starts, ends = _runs(probabilities > threshold)
    if not len(rows) or len(rows) > _MAX_RUNS:
        return []
    labels = _connect(rows, starts, ends)
    sums = np.add.accumulate(np.pad(probabilities, ((0, 0), (1, 0))), axis=1, dtype=np.float64)
    totals = sums[rows, ends] - sums[rows, starts]
    regions = []
    order = np.argsort(labels, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        lengths = ends[members] - starts[members]
        if totals[members].sum() >= min_score * lengths.sum() and lengths.max() >= 3:
            regions.append(members)
    slopes = [_slope(rows[members], starts[members], ends[members]) for members in regions]
    known = sorted(slope for slope in slopes if slope is not None)
    page_slope = known[len(known) // 2] if known else 0.0
    rectangles = [
        _rectangle(rows[members], starts[members], ends[members], math.atan(page_slope if slope is None else slope))
        for members, slope in zip(regions, slopes, strict=True)
    ]
    return [rectangle for rectangle in rectangles if min(rectangle.width, rectangle.height) >= 3]


Indices = npt.NDArray[np.int64]


def _runs(mask: npt.NDArray[np.bool_]) -> tuple[Indices, Indices, Indices]:
    """Return row, start and end of each horizontal run of true pixels, ordered by row and start."""
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    return rows, starts, np.nonzero(edges == -1)[1]


def _connect(rows: Indices, starts: Indices, ends: Indices) -> Indices:
    """Return a label for each run; runs of neighbouring rows that touch have the same one."""
    parents = list(range(len(rows)))

    def root(run: int) -> int:
        while parents[run] != run:
            parents[run] = parents[parents[run]]
            run = parents[run]
        return run

    first_of_row = np.searchsorted(rows, np.arange(int(rows[-1]) + 2)).tolist()
    left, right = starts.tolist(), ends.tolist()
    for row in range(1, len(first_of_row) - 1):
        above, above_end = first_of_row[row - 1], first_of_row[row]
        below, below_end = first_of_row[row], first_of_row[row + 1]
        while above < above_end and below < below_end:
            if left[above] <= right[below] and left[below] <= right[above]:
                parents[root(below)] = root(above)
            if right[above] < right[below]:
                above += 1
            else:
                below += 1
    return np.array([root(run) for run in range(len(parents))])


def _slope(rows: Indices, starts: Indices, ends: Indices) -> float | None:
    """Return the slope of a wide region's middle line; None if the region is not wide."""
    left, right = int(starts.min()), int(ends.max())
    width = right - left
    if width < _MIN_ASPECT * (rows.max() - rows.min() + 1) / 2 or width < 24:
        return None
    # Counts and sums of y by column, from the runs' ends.
    counts, sums = np.zeros(width + 1), np.zeros(width + 1)
    np.add.at(counts, starts - left, 1)
    np.add.at(counts, ends - left, -1)
    np.add.at(sums, starts - left, rows)
    np.add.at(sums, ends - left, -rows)
    counts, sums = np.cumsum(counts)[:-1], np.cumsum(sums)[:-1]
    columns = np.flatnonzero(counts)
    middles = sums[columns] / counts[columns]
    # The rounded ends of a region pull the line, so that they are left out.
    trim = len(columns) // 10
    columns, middles = columns[trim : len(columns) - trim], middles[trim : len(middles) - trim]
    slope = float(np.polyfit(columns, middles, 1)[0])
    return slope if abs(slope) < 1 else None


def _rectangle(rows: Indices, starts: Indices, ends: Indices, angle: float) -> Rectangle:
    cos, sin = math.cos(angle), math.sin(angle)
    xs = np.concatenate([starts, ends, starts, ends]).astype(np.float64)
    ys = np.concatenate([rows, rows, rows + 1, rows + 1]).astype(np.float64)
    along, across = xs * cos + ys * sin, ys * cos - xs * sin
    u, v = (along.min() + along.max()) / 2, (across.min() + across.max()) / 2
    return Rectangle(u * cos - v * sin, u * sin + v * cos, float(np.ptp(along)), float(np.ptp(across)), angle)
