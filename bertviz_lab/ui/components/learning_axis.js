// The axis that all pictures of one training share, and lines drawn over it.

const ROOM = { left: 52, right: 18, top: 10, bottom: 24 };
const PAINTS = ['--lab-a', '--lab-b', '--lab-kept', '--lab-mask', '--lab-random', '--lab-quiet'];
const paintOf = (place) => `var(${PAINTS[place % PAINTS.length]})`;

const briefly = (step) => (step >= 1e6 ? `${Number((step / 1e6).toPrecision(3))}M` : step >= 1e3 ? `${Number((step / 1e3).toPrecision(3))}k` : String(step));

/**
 * Snapshots stand at even distances, and a step between two of them where its logarithm puts it. They are kept at steps
 * 1, 2, 5, 10 ..., so this is nearly a logarithmic axis; but it has a place for step 0, and its places are those of the
 * slider. `last` is the last step that is known of: a run under way is ahead of its newest snapshot.
 */
function makeAxis(steps, last) {
  const log = Math.log1p;
  const count = steps.length;
  const gap = count > 1 ? (log(steps[count - 1]) - log(steps[0])) / (count - 1) : 1;
  function place(step) {
    let low = 0;
    while (low < count - 1 && steps[low + 1] <= step) low += 1;
    const width = low < count - 1 ? log(steps[low + 1]) - log(steps[low]) : gap;
    return low + Math.max(0, log(step) - log(steps[low])) / (width || 1);
  }
  const end = Math.max(count - 1, count ? place(Math.max(last, steps[count - 1])) : 0, 1);
  return { steps, end, place, share: (step) => place(step) / end,
    /** The snapshot nearest to a share of the width. */
    nearest: (share) => Math.min(count - 1, Math.max(0, Math.round(share * end))) };
}

/** Steps that are written under an axis so that they do not touch: the last one first, then from the left. */
function writtenSteps(axis, x) {
  const chosen = [axis.steps.at(-1)];
  let edge = -Infinity;
  for (const step of axis.steps.slice(0, -1)) {
    const half = 4 * briefly(step).length;
    if (x(step) - half < edge + 8 || x(step) + half > x(chosen[0]) - 4 * briefly(chosen[0]).length - 8) continue;
    chosen.push(step);
    edge = x(step) + half;
  }
  return chosen;
}

/**
 * Lines over a training. `show(body, axis)` draws `body`: {series: [{name, points: [[step, value]], paint, thin, dots, dashed}],
 * low, high, log, ticks, format, level: [value, name], words}; `moveTo(step)` only moves the cursor. Press or drag to call
 * `onJump(index of a snapshot)`.
 */
function makeLines(height, onJump) {
  const drawing = svg('svg', { role: 'img', height });
  const legend = h('div', { class: 'legend' });
  const node = h('div', { class: 'lines' }, drawing, legend);
  let [body, axis, width, at] = [null, null, 0, 0];
  let marks = [];
  let values = [];
  const cursor = svg('line', { class: 'cursor', y1: ROOM.top, y2: height - ROOM.bottom });
  const inner = () => width - ROOM.left - ROOM.right;
  const x = (step) => ROOM.left + inner() * axis.share(step);

  function y(value) {
    const { low, high, log } = body;
    const share = log ? (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low) || 1) : (value - low) / (high - low || 1);
    return ROOM.top + (height - ROOM.top - ROOM.bottom) * (1 - Math.min(1, Math.max(0, share)));
  }

  function draw() {
    width = drawing.parentNode.clientWidth;
    if (!body || !axis || !axis.steps.length || width < 80) return;
    drawing.setAttribute('width', width);
    drawing.setAttribute('viewBox', `0 0 ${width} ${height}`);
    drawing.setAttribute('aria-label', body.words);
    const write = (text, attributes) => svg('text', { 'dominant-baseline': 'central', 'font-size': 11.5, class: 'quiet', ...attributes }, text);
    const shapes = body.ticks.flatMap((tick) => [
      svg('line', { class: 'grid', x1: ROOM.left, x2: width - ROOM.right, y1: y(tick), y2: y(tick) }),
      write(body.format(tick), { x: ROOM.left - 7, y: y(tick), 'text-anchor': 'end' })]);
    for (const step of axis.steps) {
      shapes.push(svg('line', { class: 'tick', x1: x(step), x2: x(step), y1: height - ROOM.bottom, y2: height - ROOM.bottom + 4 }));
    }
    for (const step of writtenSteps(axis, x)) shapes.push(write(briefly(step), { x: x(step), y: height - 9, 'text-anchor': 'middle' }));
    if (body.level && body.level[0] <= body.high) {
      shapes.push(svg('line', { class: 'level', x1: ROOM.left, x2: width - ROOM.right, y1: y(body.level[0]), y2: y(body.level[0]) }),
        write(body.level[1], { x: ROOM.left + 4, y: y(body.level[0]) + 9, class: 'quiet named' }));
    }
    marks = body.series.map((series) => {
      const places = series.points.map(([step, value]) => [x(step), y(value)]);
      if (series.dots) shapes.push(...places.map(([cx, cy]) => svg('circle', { cx, cy, r: 3, style: `fill: ${series.paint}` })));
      if (!series.dots || places.length > 1) {
        shapes.push(svg('polyline', { class: 'way', points: places.map((one) => one.map((part) => part.toFixed(1)).join()).join(' '),
          'stroke-dasharray': series.dashed ? '5 4' : null, style: `stroke: ${series.paint}; stroke-width: ${series.thin ? 1 : 2}; `
            + `stroke-opacity: ${series.thin ? 0.55 : 1}` }));
      }
      return svg('circle', { class: 'mark', r: series.thin ? 0 : 4.5, style: `fill: ${series.paint}` });
    });
    drawing.replaceChildren(...shapes, cursor, ...marks);
    values = body.series.map(() => h('b', {}));
    legend.replaceChildren(...body.series.flatMap((series, place) => (series.thin || series.name === '' ? [] : [h('span', {},
      h('i', { style: `background: ${series.paint}` }), `${series.name} `, values[place])])));
    moveTo(at);
  }

  function moveTo(step) {
    at = step;
    if (!body || !axis || !marks.length) return;
    cursor.setAttribute('x1', x(step));
    cursor.setAttribute('x2', x(step));
    body.series.forEach((series, place) => {
      const value = valueAt(series.points, step);
      marks[place].style.display = value === null ? 'none' : '';
      values[place].textContent = value === null ? '–' : (body.tell ?? body.format)(value);
      if (value === null) return;
      marks[place].setAttribute('cx', x(step));
      marks[place].setAttribute('cy', y(value));
    });
  }

  function jump(event) {
    const share = (event.clientX - drawing.getBoundingClientRect().left - ROOM.left) / inner();
    onJump(axis.nearest(share));
  }
  drawing.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !axis) return;
    drawing.setPointerCapture(event.pointerId);
    jump(event);
  });
  drawing.addEventListener('pointermove', (event) => { if (drawing.hasPointerCapture(event.pointerId)) jump(event); });
  new ResizeObserver(() => { if (drawing.parentNode.clientWidth !== width) draw(); }).observe(node);
  return { node, moveTo, show(newBody, newAxis) { [body, axis] = [newBody, newAxis]; draw(); } };
}

/** The value of a line at a step, or that of the last point before it; null before the first. */
function valueAt(points, step) {
  let found = null;
  for (const [at, value] of points) {
    if (at > step) break;
    found = value;
  }
  return found;
}

/** Round numbers from low to high. */
function roundTicks(low, high, count = 4) {
  const rough = (high - low) / count || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 2.5, 5, 10].map((digit) => digit * unit).find((one) => one >= rough * 0.999);
  const marks = [];
  for (let mark = Math.ceil(low / size - 1e-9) * size; mark <= high + size * 1e-6; mark += size) marks.push(Number(mark.toPrecision(10)));
  return marks;
}
