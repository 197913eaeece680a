// The curves of several runs in one frame: held-out scores as marks that are joined, training as a thin line.

const MEASURES = {
  mlm_accuracy: { label: 'MLM accuracy', share: true, says: 'Share of masked tokens predicted correctly: higher is better.' },
  nsp_accuracy: { label: 'NSP accuracy', share: true, says: 'Share of sentence pairs predicted correctly: higher is better, chance is 50%.', chance: 0.5 },
  mlm_loss: { label: 'MLM loss', says: 'Cross-entropy at masked tokens, in nats: lower is better.' },
};
const ACROSS = { step: { label: 'steps', write: whole }, tokens: { label: 'tokens', write: whole }, seconds: { label: 'time', write: duration } };

/** Round numbers from low to high, about so many; for a logarithmic axis powers of ten with 2 and 5 between. */
function roundTicks(low, high, count, log) {
  const ticks = [];
  if (log) {
    for (let power = Math.floor(Math.log10(Math.max(low, 1e-9))); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
    }
    const inside = ticks.filter((tick) => tick >= low && tick <= high);
    return inside.length > count ? inside.filter((tick) => Number.isInteger(Math.round(1e6 * Math.log10(tick)) / 1e6)) : inside;
  }
  const rough = (high - low) / Math.max(1, count) || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= rough) * unit;
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-6; tick += step) ticks.push(tick);
  return ticks;
}

const shortCount = (number) => (number >= 1e9 ? `${+(number / 1e9).toFixed(1)}B` : number >= 1e6 ? `${+(number / 1e6).toFixed(1)}M`
  : number >= 1e4 ? `${+(number / 1e3).toFixed(0)}k` : whole(number));
const shortTime = (seconds) => (seconds >= 3600 ? `${+(seconds / 3600).toFixed(1)} h` : seconds >= 60 ? `${+(seconds / 60).toFixed(1)} min` : `${+seconds.toFixed(1)} s`);

/** Held-out points and trained points of a run: [[x, y], ...] each, without gaps. */
function curveOf(log, measure, across) {
  const usable = ([x, y]) => Number.isFinite(x) && Number.isFinite(y);
  const held = log.evals.map((row) => [row[across], row[measure], row]).filter(usable);
  const smooth = smoothed(log.column(measure), log.count);
  const xs = log.column(across);
  const every = Math.max(1, Math.floor(log.count / 500));
  const trained = Array.from({ length: log.count }, (_, index) => [xs[index], smooth[index]])
    .filter((point, index) => usable(point) && (index % every === 0 || index === log.count - 1));
  return { held, trained };
}

/** `tell(text)` hears what is under the cursor. */
function makeRunCurves(host, tell) {
  const look = { measure: 'mlm_accuracy', across: 'step', log: false, training: true };
  const plot = h('div', { class: 'plot', tabindex: '0', role: 'application', 'aria-roledescription': 'line chart' });
  host.append(plot);
  let [runs, curves, cursor, frame] = [[], [], null, null];
  const spots = () => [...new Set(curves.flatMap(({ held, trained }) => (held.length ? held : trained).map(([x]) => x)))].sort((a, b) => a - b);

  function draw() {
    const width = plot.clientWidth;
    if (!width || !runs.length) return;
    const measure = MEASURES[look.measure];
    curves = runs.map(({ log }) => curveOf(log, look.measure, look.across));
    const all = curves.flatMap(({ held, trained }) => [...held, ...(look.training || !held.length ? trained : [])]);
    const positive = all.map(([x]) => x).filter((x) => x > 0);
    if (!all.length) {
      plot.replaceChildren(h('p', { class: 'empty' }, runs.some((run) => RUNS_ON.includes(run.status))
        ? 'The first evaluation comes soon after training begins.' : 'None of these runs has this metric.'));
      frame = null;
      return;
    }
    const low = look.log ? Math.min(...positive, 1) || 1 : 0;
    const high = Math.max(...all.map(([x]) => x), low * 1.01, 1e-6);
    const ys = all.map(([, y]) => y);
    const bottom = measure.share ? 0 : Math.max(0, Math.min(...ys) - 0.05 * (Math.max(...ys) - Math.min(...ys)));
    const top = measure.share ? Math.min(1, Math.max(1.1 * Math.max(...ys), measure.chance ? 0.6 : 0.1)) : Math.max(...ys, bottom + 0.1);
    const box = { left: 46, right: width - 14, top: 10, bottom: 268 };
    const toX = (x) => box.left + (box.right - box.left) * (look.log ? Math.log(Math.max(x, low) / low) / Math.log(high / low) : x / high);
    const toY = (y) => box.bottom - (box.bottom - box.top) * ((y - bottom) / (top - bottom));
    const write = look.across === 'seconds' ? shortTime : shortCount;
    const shapes = roundTicks(bottom, top, 5, false).flatMap((tick) => [
      svg('line', { class: 'axis', x1: box.left, x2: box.right, y1: toY(tick), y2: toY(tick) }),
      label(measure.share ? percent(tick, 0) : short(tick).replace(/\.?0+$/, ''), { x: box.left - 7, y: toY(tick), 'text-anchor': 'end', 'font-size': 11, class: 'quiet' })]);
    let until = -Infinity;
    for (const tick of roundTicks(low, high, Math.max(2, width / 110), look.log)) {
      const [x, room] = [toX(tick), 7 * write(tick).length];
      if (x - room / 2 < until + 8) continue;
      until = x + room / 2;
      shapes.push(label(write(tick), { x: Math.min(x, width - room / 2), y: box.bottom + 16, 'text-anchor': 'middle', 'font-size': 11, class: 'quiet' }));
    }
    if (measure.chance) shapes.push(svg('line', { class: 'chance', x1: box.left, x2: box.right, y1: toY(measure.chance), y2: toY(measure.chance), 'stroke-dasharray': '5 5' }),
      label('chance', { x: box.right, y: toY(measure.chance) - 8, 'text-anchor': 'end', 'font-size': 11, class: 'quiet' }));
    const line = (points, place, thin) => svg('polyline', { class: thin ? 'thin' : 'way', style: `stroke: ${runColour(place)}`,
      points: points.map(([x, y]) => `${toX(x).toFixed(1)},${toY(Math.min(top, y)).toFixed(1)}`).join(' ') });
    curves.forEach(({ held, trained }, place) => {
      if (look.training || !held.length) shapes.push(line(trained, place, true));
    });
    curves.forEach(({ held }, place) => {
      shapes.push(line(held, place, false));
      // Marks that would touch each other make a thick line that shows nothing.
      const every = Math.max(1, Math.ceil((held.length * 13) / (box.right - box.left)));
      held.forEach(([x, y], index) => {
        if (index % every === 0 || index === held.length - 1) shapes.push(runMark(place, toX(x), toY(y), held.length > 30 ? 3 : 4));
      });
    });
    const ruler = svg('line', { class: 'ruler', y1: box.top, y2: box.bottom, visibility: 'hidden' });
    frame = { toX, box, ruler };
    plot.replaceChildren(svg('svg', { width, height: box.bottom + 26 }, ...shapes, ruler));
    plot.setAttribute('aria-label', `${measure.label} by ${ACROSS[look.across].label}. ${
      runs.map((run, place) => `${run.name}: ${valueOf(curves[place], Infinity)?.text ?? 'not evaluated yet'}`).join('; ')}. Arrow keys read the points.`);
    if (cursor !== null) point(cursor, false);
  }

  /** The value of a run at or before x. */
  function valueOf({ held, trained }, x) {
    const found = (held.length ? held : trained).findLast(([at]) => at <= x);
    return found && { at: found[0], text: MEASURES[look.measure].share ? percent(found[1]) : short(found[1]) };
  }

  function point(x, aloud = true) {
    cursor = x;
    if (!frame) return;
    frame.ruler.setAttribute('visibility', x === null ? 'hidden' : 'visible');
    if (x === null) return;
    for (const end of ['x1', 'x2']) frame.ruler.setAttribute(end, frame.toX(x));
    const told = runs.map((run, place) => `${run.name} ${valueOf(curves[place], x)?.text ?? '–'}`);
    if (aloud) tell(`${look.across === 'seconds' ? duration(x) : `${look.across} ${whole(x)}`}: ${told.join(' · ')}`);
  }

  plot.addEventListener('pointermove', (event) => {
    if (!frame) return;
    const across = event.clientX - plot.getBoundingClientRect().left;
    const near = spots().reduce((best, x) => (Math.abs(frame.toX(x) - across) < Math.abs(frame.toX(best) - across) ? x : best), spots()[0]);
    point(near ?? null);
  });
  plot.addEventListener('keydown', (event) => {
    const all = spots();
    const next = nextByArrow(event.key, Math.max(0, all.indexOf(cursor ?? all.at(-1))), all.length);
    if (next === null || !all.length) return;
    event.preventDefault();
    point(all[next]);
  });
  new ResizeObserver(draw).observe(plot);

  return {
    look,
    show(newRuns) {
      runs = newRuns;
      if (!spots().includes(cursor)) cursor = null;
      draw();
    },
    redraw() { cursor = null; draw(); },
    /** Every row of every run, for a file. */
    rows: () => [['run', 'kind', 'step', 'tokens', 'seconds', ...Object.keys(MEASURES)], ...runs.flatMap((run) => {
      const cells = (read) => ['step', 'tokens', 'seconds', ...Object.keys(MEASURES)].map((field) => {
        const value = read(field);
        return Number.isFinite(value) ? value : null;
      });
      return [...Array.from({ length: run.log.count }, (_, index) => [run.name, 'training', ...cells((field) => run.log.column(field)[index])]),
        ...run.log.evals.map((row) => [run.name, 'held-out', ...cells((field) => row[field])])];
    })],
  };
}
