// A chart over a training, whose axis is that of the slider.

import { h } from 'lab/client/dom.js';
import { percent, short, whole } from 'lab/client/format.js';
import { makeChart } from 'lab/components/charts/chart.js';

const WRITTEN = { percent, short, whole };

/** The cursor in a saved picture; on the page one rule of CSS moves all cursors at once. */
export const cursorShape = ({ current }, half) => ({ type: 'rect', yref: 'paper', x0: current.index - half,
  x1: current.index + half, y0: 0, y1: 1, line: { color: 'var(--lab-text)', width: 1.2 } });

/** `show(chart, lines)` draws a chart of `scene.opening`, its traces filled with `lines`, [[step, value]] for each;
 * without them it is complete. `move()` changes only the values in the legend: this is what dragging waits for. A press
 * or a drag jumps to a snapshot. */
export function makeTimeline(scene, options = {}) {
  const node = h('div.timeline');
  const chart = makeChart(node, options);
  const { picture } = chart;
  let body = null;

  function show(given, lines, more = {}) {
    const { axis, steps, title } = scene.opening;
    const { data, layout } = given.figure;
    const fill = (trace, place) => ({ ...trace, x: lines[place].map(([step]) => steps.indexOf(step)),
      y: lines[place].map(([, value]) => value), customdata: lines[place].map(([step]) => step) });
    body = { ...(lines && { table: tableOf(given.keys, lines) }), ...given, caption: `${title} · ${given.title}`,
      shapes: () => [cursorShape(scene, 0)], ...more,
      figure: { data: lines ? data.map(fill) : data, layout: { ...layout, xaxis: axis } } };
    chart.show(body);
    move();
  }

  /** A row for each step at which a line has a point, a column for each line. */
  function tableOf(keys, lines) {
    const values = lines.map((line) => new Map(line));
    return { header: ['step', ...keys.map(([name]) => name)],
      rows: scene.opening.steps.filter((step) => values.some((line) => line.has(step)))
        .map((step) => [step, ...values.map((line) => line.get(step) ?? null)]) };
  }

  /** The value of each line at the slider, or that of its last point before. */
  function move() {
    if (!body) return;
    chart.tell(body.keys.map((_, place) => {
      const { x, y } = body.figure.data[place];
      const value = y[x.findLastIndex((at) => at !== null && at <= scene.current.index)];
      return Number.isFinite(value) ? WRITTEN[body.shown_as](value) : '–';
    }));
  }

  function jump(event) {
    const { left, width } = picture.getBoundingClientRect();
    const { l, r } = body.figure.layout.margin;
    const share = (event.clientX - left - l) / (width - l - r);
    scene.jump(Math.round(share * scene.opening.axis.range[1]));
  }
  picture.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !body) return;
    picture.setPointerCapture(event.pointerId);
    jump(event);
  });
  picture.addEventListener('pointermove', (event) => { if (picture.hasPointerCapture(event.pointerId)) jump(event); });

  return { node, show, move };
}
