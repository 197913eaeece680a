// A chart over a training, whose axis is that of the slider.

import { h } from 'lab/client/dom.js';
import { percent, short, whole } from 'lab/client/format.js';
import { makeChart } from 'lab/components/charts/chart.js';

const WRITTEN = { percent, short, whole: (value) => whole(value) };

/** The value of a line at a place of the axis, or that of the last point before it; undefined before the first. */
const valueAt = ({ x, y }, place) => y[x.findLastIndex((at) => at !== null && at <= place)];

/** The cursor in a saved picture; on the page one rule of CSS moves all cursors at once. */
export const cursorShape = (scene, half) => ({ type: 'rect', yref: 'paper', x0: scene.current.index - half,
  x1: scene.current.index + half, y0: 0, y1: 1,
  line: { color: 'var(--lab-text)', width: 1.2 } });

/**
 * `show(chart, lines)` draws a chart of `scene.opening`, its traces filled with `lines`, [[step, value]] for each;
 * without them it is complete. `moveTo(index)` changes only the values in the legend: this is what dragging waits for.
 * Press or drag to call `onJump(index of a snapshot)`.
 */
export function makeTimeline(scene, onJump, options = {}) {
  const node = h('div', { class: 'timeline' });
  const chart = makeChart(node, options);
  const { picture } = chart;
  let body = null;

  function show(given, lines, more = {}) {
    const { data, layout } = given.figure;
    const filled = lines
      ? data.map((trace, place) => ({ ...trace, x: lines[place].map(([step]) => scene.opening.steps.indexOf(step)),
      y: lines[place].map(([, value]) => value), customdata: lines[place].map(([step]) => step) })) : data;
    body = { table: tableOfLines(given.keys, filled), ...given, caption: `${scene.opening.title} · ${given.title}`,
      shapes: () => [cursorShape(scene, 0)], ...more,
      figure: { data: more.data ?? filled, layout: { ...layout, xaxis: scene.opening.axis } } };
    chart.show(body);
    tellValues(scene.current.index);
  }

  /** A row for each step at which a line has a point, a column for each line. */
  function tableOfLines(keys, data) {
    const steps = scene.opening.steps.filter((step) => data.some(({ customdata }) => customdata?.includes(step)));
    return { header: ['step', ...keys.map(([name]) => name)],
      rows: steps.map((step) => [step, ...keys.map((_, place) => data[place].y[data[place].customdata.indexOf(step)]
        ?? null)]) };
  }

  const tellValues = (index) => chart.tell(body.keys.map((_, place) => {
    const value = valueAt(body.figure.data[place], index);
    return Number.isFinite(value) ? WRITTEN[body.shown_as](value) : '–';
  }));

  function jump(event) {
    const { left, width } = picture.getBoundingClientRect();
    const { l, r } = body.figure.layout.margin;
    const share = (event.clientX - left - l) / (width - l - r);
    onJump(Math.min(scene.opening.steps.length - 1, Math.max(0, Math.round(share * scene.opening.axis.range[1]))));
  }
  picture.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !body) return;
    picture.setPointerCapture(event.pointerId);
    jump(event);
  });
  picture.addEventListener('pointermove', (event) => { if (picture.hasPointerCapture(event.pointerId)) jump(event); });

  return { node, show,
    moveTo(index) {
      if (body) tellValues(index);
    } };
}
