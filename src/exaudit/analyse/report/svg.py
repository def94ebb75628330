"""Plots as SVG text: lines and bars, told apart by colour, dash and marker, with a title and a description; alone, or
several in one picture."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from exaudit._escape import visible
from exaudit.analyse.report.blocks import Plot, Series

__all__ = ["PALETTE", "panels", "svg"]

# Okabe and Ito: told apart by people with any kind of colour vision.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
DASHES = ("", "7 4", "2 3", "9 3 2 3", "5 2", "1 2")
WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 30, 12, 58
LINE = 17  # height of a line of text
TITLE = 24  # height of a panel's title


def svg(plot: Plot, number: int) -> str:
    """The plot as an svg element. `number` keeps the ids of several on one page apart."""
    scale = _Scale.of(plot)
    legend = plot.series if len(plot.series) > 1 else ()
    height = HEIGHT + LINE * len(legend) if legend else HEIGHT - 12
    ids = f"plot-{number}-title", f"plot-{number}-text"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-labelledby="{ids[0]} {ids[1]}" font-family="system-ui, sans-serif" font-size="13" fill="#222">',
        f'<title id="{ids[0]}">{escape(plot.title)}</title>',
        f'<desc id="{ids[1]}">{escape(plot.description)}</desc>',
        *_axes(plot, scale),
        *(_bars(plot, scale) if plot.kind == "bars" else _lines(plot, scale)),
        *_marks(plot, scale),
        *_legend(plot, legend),
        "</svg>",
    ]
    return "\n".join(parts)


def panels(title: str, plots: Sequence[Plot], *, across: int) -> str:
    """Plots under their titles in one picture, on white, so that it can be read on any page."""
    drawn = [svg(plot, n) for n, plot in enumerate(plots)]
    heights = [float(re.search(r'viewBox="0 0 \S+ (\S+)"', one)[1]) for one in drawn]  # type: ignore[index]
    height = max(heights, default=0.0) + TITLE
    across, down = min(across, len(plots)), -(-len(plots) // across)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * across} {height * down:g}" '
        f'font-family="system-ui, sans-serif" font-size="15" fill="#222">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for n, (plot, one, own) in enumerate(zip(plots, drawn, heights, strict=True)):
        x, y = WIDTH * (n % across), height * (n // across)
        parts.append(
            f'<text x="{x + WIDTH / 2:g}" y="{y + TITLE - 6:g}" text-anchor="middle" font-weight="600">'
            f"{escape(plot.title)}</text>"
        )
        place = f'<svg x="{x}" y="{y + TITLE:g}" width="{WIDTH}" height="{own:g}" '
        parts.append(one.replace("<svg ", place, 1))
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Scale:
    """From values to places on the paper."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], step: float, logarithmic: bool = False
    ) -> None:
        self.x_low, self.x_high = x
        self.y_low, self.y_high = y
        self.y_step = step
        self.logarithmic = logarithmic  # then the bounds are powers of ten, and these their exponents

    @classmethod
    def of(cls, plot: Plot) -> _Scale:
        xs = [x for series in plot.series for x in series.x] + [x for x, _ in plot.marks]
        ys = [y for series in plot.series for y in series.y if y is not None and math.isfinite(y)]
        if plot.logarithmic:
            return cls(_decades(xs), _decades(ys), 1.0, True)
        low, high = plot.y_range or (min([0.0, *ys]), max([0.0, *ys]))
        step = _step(high - low or 1.0)
        if plot.y_range is None:
            low, high = step * math.floor(low / step), step * math.ceil(high / step) or step
        x_low, x_high = (min(xs), max(xs)) if xs else (0.0, 1.0)
        if plot.kind == "bars" or plot.x_names:  # names and bars need room at both ends
            gap = _gap(plot)
            x_low, x_high = x_low - gap / 2, x_high + gap / 2
        return cls((x_low, x_high if x_high > x_low else x_low + 1), (low, high), step)

    def x(self, value: float) -> float:
        value = math.log10(value) if self.logarithmic else value
        return LEFT + (value - self.x_low) / (self.x_high - self.x_low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        value = math.log10(value) if self.logarithmic else value
        return HEIGHT - BOTTOM - (value - self.y_low) / (self.y_high - self.y_low) * (HEIGHT - TOP - BOTTOM)


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """The powers of ten around positive numbers, as exponents."""
    low = math.floor(math.log10(min(values, default=1.0)))
    return low, max(math.ceil(math.log10(max(values, default=1.0)) - 1e-9), low + 1)


def _step(span: float, ticks: int = 5) -> float:
    """A round distance between ticks."""
    raw = span / ticks
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * f for f in (1, 2, 2.5, 5, 10) if power * f >= raw * 0.999)


def _gap(plot: Plot) -> float:
    places = sorted({x for series in plot.series for x in series.x})
    return min((b - a for a, b in pairwise(places)), default=1.0)


def _axes(plot: Plot, scale: _Scale) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    count = round((scale.y_high - scale.y_low) / scale.y_step)
    for tick in range(count + 1):
        value = scale.y_low + tick * scale.y_step
        value = 10.0**value if scale.logarithmic else value
        y = scale.y(value)
        yield f'<line x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>'
    for value, name in _x_ticks(plot, scale):
        yield f'<text x="{scale.x(value):.1f}" y="{bottom + LINE}" text-anchor="middle">{escape(name)}</text>'
    yield f'<line x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="#222"/>'
    middle = (LEFT + right) / 2
    yield f'<text x="{middle}" y="{bottom + 2.2 * LINE:.1f}" text-anchor="middle">{escape(plot.x_label)}</text>'
    across = (TOP + bottom) / 2
    yield (
        f'<text x="13" y="{across}" text-anchor="middle" transform="rotate(-90 13 {across})">'
        f"{escape(plot.y_label)}</text>"
    )


def _x_ticks(plot: Plot, scale: _Scale) -> Iterator[tuple[float, str]]:
    if plot.x_names:
        yield from enumerate(plot.x_names)
        return
    if scale.logarithmic:
        exponents = range(int(scale.x_low), int(scale.x_high) + 1)
        yield from ((10.0**exponent, _number(10.0**exponent)) for exponent in exponents)
        return
    step = _step(scale.x_high - scale.x_low)
    first = math.ceil(scale.x_low / step - 1e-9)
    for tick in range(first, math.floor(scale.x_high / step + 1e-9) + 1):
        yield tick * step, _number(tick * step)


def _lines(plot: Plot, scale: _Scale) -> Iterator[str]:
    for n, series in enumerate(plot.series):
        points = [(scale.x(x), scale.y(y)) for x, y in zip(series.x, series.y, strict=True) if y is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield (
            f'<polyline points="{path}" fill="none" stroke="{_colour(n)}" stroke-width="2" '
            f'stroke-dasharray="{DASHES[n % len(DASHES)]}"/>'
        )
        if len(points) <= 25:
            yield from (_marker(n, x, y) for x, y in points)


def _bars(plot: Plot, scale: _Scale) -> Iterator[str]:
    width = 0.9 * _gap(plot) / max(1, len(plot.series))
    for n, series in enumerate(plot.series):
        shift = (n - (len(plot.series) - 1) / 2) * width
        for x, y in zip(series.x, series.y, strict=True):
            if y is None:
                continue
            left, right = scale.x(x + shift - width / 2), scale.x(x + shift + width / 2)
            top, base = sorted((scale.y(y), scale.y(max(0.0, scale.y_low))))
            yield (
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(0.5, right - left):.1f}" '
                f'height="{base - top:.1f}" fill="{_colour(n)}" fill-opacity="{1 if n % 2 == 0 else 0.65}" '
                f'stroke="{_colour(n)}"><title>{escape(series.name)}: {_number(y)}</title></rect>'
            )


def _marks(plot: Plot, scale: _Scale) -> Iterator[str]:
    for n, (value, name) in enumerate(plot.marks):
        x = scale.x(value)
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#222" '
            'stroke-dasharray="4 3"/>'
        )
        anchor, shift = ("end", -4) if x > WIDTH / 2 else ("start", 4)
        yield f'<text x="{x + shift:.1f}" y="{TOP + 12 + LINE * n}" text-anchor="{anchor}">{escape(name)}</text>'


def _legend(plot: Plot, series: Sequence[Series]) -> Iterator[str]:
    for n, one in enumerate(series):
        y = HEIGHT + LINE * n + 2
        if plot.kind == "bars":
            yield f'<rect x="{LEFT}" y="{y - 9}" width="26" height="10" fill="{_colour(n)}"/>'
        else:
            yield (
                f'<line x1="{LEFT}" x2="{LEFT + 26}" y1="{y - 4}" y2="{y - 4}" stroke="{_colour(n)}" '
                f'stroke-width="2" stroke-dasharray="{DASHES[n % len(DASHES)]}"/>'
            )
            yield _marker(n, LEFT + 13, y - 4)
        yield f'<text x="{LEFT + 34}" y="{y}">{escape(one.name)}</text>'


def _marker(n: int, x: float, y: float) -> str:
    if n % 3 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_colour(n)}"/>'
    if n % 3 == 1:
        return f'<rect x="{x - 3.2:.1f}" y="{y - 3.2:.1f}" width="6.4" height="6.4" fill="{_colour(n)}"/>'
    corners = f"{x:.1f},{y - 4.5:.1f} {x - 4:.1f},{y + 3:.1f} {x + 4:.1f},{y + 3:.1f}"
    return f'<polygon points="{corners}" fill="{_colour(n)}"/>'


def _colour(n: int) -> str:
    return PALETTE[n % len(PALETTE)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{round(value, 6):g}"


def escape(text: str) -> str:
    return html.escape(visible(text))
