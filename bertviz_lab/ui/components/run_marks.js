// What tells the runs apart in every picture: a colour, and a shape for those who cannot tell the colours.

const MOST_RUNS = 6;
const runColour = (place) => `var(--run-${place % MOST_RUNS})`;

/** A mark of a run at a point: circle, square, triangle, diamond, ring, cross. */
function runMark(place, x, y, size = 4, attributes = {}) {
  const paint = { style: `fill: ${runColour(place)}; stroke: ${runColour(place)}`, 'stroke-width': 1.5, ...attributes };
  const polygon = (...points) => svg('polygon', { points: points.map(([dx, dy]) => `${x + dx * size},${y + dy * size}`).join(' '), ...paint });
  const shapes = [
    () => svg('circle', { cx: x, cy: y, r: size * 0.85, ...paint }),
    () => svg('rect', { x: x - size * 0.8, y: y - size * 0.8, width: size * 1.6, height: size * 1.6, ...paint }),
    () => polygon([0, -1.1], [1, 0.8], [-1, 0.8]),
    () => polygon([0, -1.2], [1.1, 0], [0, 1.2], [-1.1, 0]),
    () => svg('circle', { cx: x, cy: y, r: size * 0.85, ...paint, style: `fill: var(--lab-page); stroke: ${runColour(place)}` }),
    () => polygon([0, 1.1], [1, -0.8], [-1, -0.8]),
  ];
  return shapes[place % MOST_RUNS]();
}

/** A run's mark and name, for a legend or a table. */
const runName = (run, place) => h('span', { class: 'run-name' },
  svg('svg', { width: 12, height: 12, 'aria-hidden': 'true' }, runMark(place, 6, 6, 4.5)), run.name);
