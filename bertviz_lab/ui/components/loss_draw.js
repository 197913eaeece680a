// One panel of curves on a canvas: axes, chance lines, training curve, held-out points.

const X_AXES = {
  step: { label: 'step', show: (value) => whole(value) },
  seconds: { label: 'time', show: (value) => duration(value) },
  tokens: { label: 'tokens seen', show: (value) => compact(value) },
};

const compact = (value) => (value >= 1e6 ? `${Number((value / 1e6).toPrecision(3))}M`
  : value >= 1e3 ? `${Number((value / 1e3).toPrecision(3))}k` : whole(value));

const FORWARDS = 'causal-LM warm-up'; // written on the background of that phase

/** About `count` round numbers from low to high. */
function ticksOf(low, high, count, log) {
  if (log) {
    const marks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const digit of [1, 2, 5]) marks.push(digit * 10 ** power);
    }
    return marks.filter((mark) => mark >= low && mark <= high);
  }
  const rough = (high - low) / Math.max(1, count);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((digit) => digit * unit).find((size) => size >= rough) ?? 10 * unit;
  const marks = [];
  for (let mark = Math.ceil(low / step) * step; mark <= high + step * 1e-6; mark += step) marks.push(Number(mark.toPrecision(12)));
  return marks;
}

/** Round steps of time for an axis in seconds. */
function timeTicks(high, count) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
  const step = steps.find((size) => size >= high / count) ?? 86400 * Math.ceil(high / count / 86400);
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, index) => index * step);
}

/**
 * Everything needed to draw one panel, computed once for screen, hover and export.
 * `look` is {axis, logY, smooth}.
 */
function planPanel(panel, log, look, width, height) {
  const hasNsp = log.hasNsp();
  const forwards = log.forwardsUntil();
  const parts = partsOf(log);
  const series = panel.series.filter((one) => (hasNsp || !one.nsp) && (forwards >= 0 || !one.forwards))
    .map((one) => ({ ...one, name: inWordsOf(log, one.name), raw: log.column(one.field),
      line: one.exact ? log.column(one.field) : smoothed(log.column(one.field), log.count, parts) }));
  const chances = panel.chances(log.started?.baselines ?? {}, hasNsp).filter(([value]) => Number.isFinite(value));
  const xs = log.columns[look.axis];
  const evalX = (row) => row[look.axis] ?? (log.count ? xs[indexNear(log.columns.step, log.count, row.step)] : 0);
  const evals = log.evals.map((row) => ({ ...row, x: evalX(row) }));
  const right = Math.max(log.count ? xs[log.count - 1] : 0, ...evals.map((row) => row.x), 1e-9);

  let [low, high] = [Infinity, -Infinity];
  const take = (value) => {
    if (!Number.isFinite(value)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const one of series) {
    for (let index = 0; index < log.count; index += 1) take(one.line[index]);
    for (const row of evals) take(row[one.field]);
  }
  for (const [value] of chances) take(value);
  if (low > high) [low, high] = [0, 1];
  const log10 = look.logY && panel.loss && !panel.show;
  // A loss has a true zero and an accuracy is a share: their axes start at 0, the latter's ends at 1.
  // Correlations may lie below 0.
  [low, high] = panel.loss ? [log10 ? Math.max(1e-4, low * 0.85) : 0, high * 1.08] : [Math.max(-1, Math.min(0, low * 1.1)), 1];
  const frame = { left: 44, top: 10, right: width - 10, bottom: height - 26 };
  const bend = log10 ? Math.log : (value) => value;
  const x = (value) => frame.left + ((frame.right - frame.left) * value) / right;
  const y = (value) => frame.bottom - ((frame.bottom - frame.top) * (bend(Math.max(value, log10 ? 1e-9 : -1e9)) - bend(low))) / (bend(high) - bend(low));
  const band = forwards < 0 ? null : x(xs[forwards]); // where the part that reads forwards ends
  const trials = !severalTrials(log) ? [] : log.trials.map(({ name, step }, place) =>
    ({ name, at: x(look.axis === 'step' ? step : xs[parts[place][0] - 1] ?? 0) }));
  return { panel, series, chances, evals, xs, x, y, low, high, right, frame, width, height, log10, band, parts, trials,
    count: log.count, look };
}

function paintPanel(context, plan, paints) {
  const { frame, x, y, chances, series, evals } = plan;
  context.font = `11px ${paints.font}`;
  paintBand(context, plan, paints);
  paintAxes(context, plan, paints);
  context.strokeStyle = paints.quiet;
  for (const { at } of plan.trials) strokePath(context, [[at, frame.top], [at, frame.bottom]]);
  context.save();
  context.beginPath();
  context.rect(frame.left - 5, frame.top - 4, frame.right - frame.left + 10, frame.bottom - frame.top + 6);
  context.clip();
  context.setLineDash([5, 4]);
  context.lineWidth = 1.2;
  context.strokeStyle = paints.quiet;
  for (const [value] of chances) strokePath(context, [[frame.left, y(value)], [frame.right, y(value)]]);
  context.setLineDash([]);
  context.lineJoin = 'round';
  for (const one of series) {
    context.strokeStyle = paints[one.paint];
    context.globalAlpha = plan.look.smooth ? (one.forwards ? 0.14 : 0.28) : 0.9;
    context.lineWidth = 1;
    strokeCurve(context, plan, one.raw);
    context.globalAlpha = 1;
    context.lineWidth = one.forwards ? 1.3 : 2;
    if (plan.look.smooth) strokeCurve(context, plan, one.line);
  }
  for (const one of series) {
    context.strokeStyle = paints[one.paint];
    context.fillStyle = paints.page;
    if (lastPlace(one.raw, plan.count) < 0) joinDots(context, plan, one.field);
    context.lineWidth = 2;
    for (const row of evals) {
      if (!Number.isFinite(row[one.field])) continue;
      context.beginPath();
      context.arc(x(row.x), y(row[one.field]), 3.5, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }
  context.restore();
  paintNames(context, plan, paints);
}

/** A measure that is taken on held-out examples alone is easier followed along a line; trials are kept apart. */
function joinDots(context, { evals, x, y }, field) {
  context.lineWidth = 1;
  const dots = evals.filter((row) => Number.isFinite(row[field]));
  for (const trial of new Set(dots.map((row) => row.trial))) {
    strokePath(context, dots.filter((row) => row.trial === trial).map((row) => [x(row.x), y(row[field])]));
  }
}

/** A light ground under the part of the run that reads forwards. */
function paintBand(context, { band, frame }, paints) {
  if (band === null) return;
  context.save();
  context.globalAlpha = 0.08;
  context.fillStyle = paints['--lab-kept'];
  context.fillRect(frame.left, frame.top, band - frame.left, frame.bottom - frame.top);
  context.restore();
}

function strokePath(context, points) {
  context.beginPath();
  points.forEach(([px, py], index) => (index ? context.lineTo(px, py) : context.moveTo(px, py)));
  context.stroke();
}

function strokeCurve(context, plan, values) {
  for (const part of plan.parts) strokePart(context, plan, values, part);
}

/** A curve of any length: within one pixel column only the first, lowest, highest and last value can be seen. */
function strokePart(context, { x, y, xs }, values, [start, end]) {
  context.beginPath();
  let [column, low, high, last, pen] = [null, 0, 0, 0, false];
  const flush = () => {
    if (column === null) return;
    if (high > low) {
      context.lineTo(column, y(high));
      context.lineTo(column, y(low));
    }
    context.lineTo(column, y(last));
  };
  for (let index = start; index < end; index += 1) {
    const value = values[index];
    if (!Number.isFinite(value)) continue;
    const here = Math.round(2 * x(xs[index])) / 2;
    if (here !== column) {
      flush();
      if (!pen) context.moveTo(here, y(value));
      else context.lineTo(here, y(value));
      pen = true;
      [column, low, high] = [here, value, value];
    }
    low = Math.min(low, value);
    high = Math.max(high, value);
    last = value;
  }
  flush();
  context.stroke();
}

function paintAxes(context, plan, paints) {
  const { frame, low, high, right, x, y, panel, log10, look } = plan;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  context.lineWidth = 1;
  let lastAt = Infinity;
  for (const tick of ticksOf(low, high, 4, log10)) {
    if (lastAt - y(tick) < 14) continue;
    lastAt = y(tick);
    context.strokeStyle = paints.edge;
    strokePath(context, [[frame.left, y(tick)], [frame.right, y(tick)]]);
    context.fillStyle = paints.quiet;
    const text = panel.tick ? panel.tick(tick) : panel.loss || panel.plain ? String(Number(tick.toPrecision(3))) : `${Math.round(100 * tick)}%`;
    context.fillText(text, frame.left - 6, y(tick));
  }
  context.textBaseline = 'top';
  const room = Math.max(2, Math.floor((frame.right - frame.left) / 80));
  const ticks = look.axis === 'seconds' ? timeTicks(right, room) : ticksOf(0, right, room, false);
  for (const tick of ticks) {
    const text = X_AXES[look.axis].show(tick);
    context.textAlign = x(tick) + context.measureText(text).width / 2 > plan.width ? 'right' : 'center';
    context.fillText(text, context.textAlign === 'right' ? plan.width - 1 : x(tick), frame.bottom + 7);
  }
}

/** The name of a chance line goes above or below its line, right or left; that of the band to its top or foot. */
function paintNames(context, plan, paints) {
  const { chances, y, frame, panel, band } = plan;
  context.lineWidth = 3;
  context.strokeStyle = paints.page;
  context.fillStyle = paints.quiet;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  const taken = paintTrialNames(context, plan);
  const put = (text, width, spots) => {
    const cost = (spot) => hidden(plan, spot) + 1000 * taken.filter((other) => touches(spot, other)).length
      + (spot.middle + 7 > frame.bottom || spot.middle - 7 < 0 ? 500 : 0);
    const best = spots.reduce((one, other) => (cost(other) < cost(one) ? other : one));
    taken.push(best);
    context.strokeText(text, best.left, best.middle);
    context.fillText(text, best.left, best.middle);
  };
  for (const [value, name] of chances) {
    const text = `${name}: ${panel.loss || panel.plain ? value.toFixed(2) : percent(value, value < 0.1 ? 1 : 0)}`;
    const width = context.measureText(text).width;
    put(text, width, [frame.right - width - 3, frame.left + 5].flatMap((left) =>
      [-8, 9].map((shift) => ({ left, width, middle: y(value) + shift }))));
  }
  const width = context.measureText(FORWARDS).width;
  if (band === null || band - frame.left < width + 8) return;
  const left = frame.left + (band - frame.left - width) / 2;
  const spots = [frame.bottom - 10, frame.top + 8].map((middle) => ({ left, width, middle }));
  put(FORWARDS, width, panel.loss ? spots : spots.reverse()); // where a panel has most room
}

/** The name of each trial at the foot of its line, its number where names are too long; where they stand, so that others keep off. */
function paintTrialNames(context, { trials, frame }) {
  const room = (place) => (trials[place + 1]?.at ?? frame.right) - trials[place].at;
  // The last one may just have begun: its name then stands before its line.
  const fit = (texts) => texts.every((text, place) => context.measureText(text).width + 10 < Math.max(room(place), place ? room(place - 1) : 0));
  const names = [trials.map(({ name }) => name), trials.map((_, place) => String(place + 1))].find(fit) ?? [];
  return names.map((name, place) => {
    const width = context.measureText(name).width;
    const spot = { left: Math.min(trials[place].at + 5, frame.right - width), width, middle: frame.bottom - 9 };
    context.strokeText(name, spot.left, spot.middle);
    context.fillText(name, spot.left, spot.middle);
    return spot;
  });
}

const touches = (one, other) => Math.abs(one.middle - other.middle) < 14
  && one.left < other.left + other.width && other.left < one.left + one.width;

/** How many of 40 samples of each curve, and how many held-out points, lie under a piece of text. */
function hidden({ series, evals, count, x, y, xs }, { left, width, middle }) {
  const inside = (px, py) => px > left - 4 && px < left + width + 4 && Math.abs(py - middle) < 11;
  let hits = 0;
  for (const one of series) {
    for (let sample = 0; sample < 40 && count; sample += 1) {
      let index = Math.round((sample / 39) * (count - 1));
      while (index < count - 1 && !Number.isFinite(one.line[index])) index += 1;
      if (inside(x(xs[index]), y(one.line[index]))) hits += 1;
    }
    for (const row of evals) if (inside(x(row.x), y(row[one.field] ?? NaN))) hits += 1;
  }
  return hits;
}

/** The cursor: a line at one step and a dot on each curve. */
function paintCursor(context, plan, index, paints) {
  const { x, y, xs, frame, series, look } = plan;
  const at = x(xs[index]);
  context.strokeStyle = paints.quiet;
  context.lineWidth = 1;
  strokePath(context, [[at, frame.top], [at, frame.bottom]]);
  for (const one of series) {
    const value = (look.smooth ? one.line : one.raw)[index];
    if (!Number.isFinite(value)) continue;
    context.fillStyle = paints[one.paint];
    context.beginPath();
    context.arc(at, Math.min(Math.max(y(value), frame.top), frame.bottom), 4, 0, 2 * Math.PI);
    context.fill();
  }
}
