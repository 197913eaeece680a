// Runs side by side: asks each for what is new, and draws the table and the curves of all.

import { elements, h, makeField, makeTable, payloadView, setText } from 'lab/client/dom.js';
import { ACTIVE, STATUS, duration, whole } from 'lab/client/format.js';
import { pictureOf, rowsOf, saveDrawing } from 'lab/client/saving.js';
import { inTurn, makeDataTable, makePlot } from 'lab/components/charts/chart.js';
import { curveFigure, lookControls } from 'lab/components/charts/curve_figure.js';
import {
  NEWEST, entriesOf, firstLasting, followRun, hasMeasure, makeLog, tableOf, written,
} from 'lab/components/runs/run_log.js';

export default payloadView('Choose runs above to compare them here.', comparison);

function comparison(content, { events, server, captionOf }, root) {
  const look = { axis: 'step', smoothing: 0.6, logX: false, logY: false, heldOutOnly: false };
  let [payload, runs, rows] = [null, [], []]; // rows of the table as a file has them
  let panel = null; // of the chosen metric
  let touched = false; // whether a person has chosen the scale of the x-axis

  const want = inTurn(draw);
  const [tablePart, curvesPart, host, empty, about, verdict] =
    elements('div.part', 'div.part', 'div', 'p.empty', 'span', 'p.lead');
  const table = h('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Table of runs' });
  const note = h('p.quiet.small',
    'These runs were not evaluated on the same examples and tokens: their metrics are not comparable.');
  const shipped = h('p.quiet.small', 'For models that come with the lab these are the last scores of their training, '
    + 'on text held out of it. Their cards have those of the finished models, on the texts named there.');
  const plot = makePlot(host, { plotly_relayout: want });
  const metric = makeField('select', 'Metric', '', setMetric, { inline: true });
  const controls = lookControls(look, want);
  const tick = (words, isOn, onChange) => makeField('checkbox', words, isOn, onChange, { inline: true });
  const logX = tick('log x-axis', false, (on) => {
    touched = true;
    controls.change({ logX: on });
  });
  const knobs = h('div.bar', { 'data-noexport': '' }, metric.node, controls.axis, logX.node,
    tick('log y-axis', false, (logY) => controls.change({ logY })).node,
    tick('training curves', true, (on) => controls.change({ heldOutOnly: !on })).node, controls.slider);
  const numbers = makeDataTable(() => tableOf(entries(NEWEST), payload.panels));
  numbers.node.setAttribute('data-noexport', '');
  const heading = (text, what, name, part, body) => h('div.bar', h('p.heading', text),
    saveDrawing(what, () => name, { picture: () => pictureOf(part), rows: body, body, captionOf,
      words: () => verdict.textContent }));
  curvesPart.append(verdict, heading('Curves', 'the curves', 'curves', curvesPart, () => rowsOf(entries())), knobs,
    empty, host,
    h('p.quiet.small', 'Marks: held-out set. Thin lines: training, smoothed. ', about), numbers.node);
  tablePart.append(heading('The runs', 'the table', 'runs', tablePart, () => rows), table, note, shipped);
  content.append(curvesPart, tablePart);
  new ResizeObserver(want).observe(curvesPart);

  const entries = (most) =>
    runs.flatMap(({ log, name }) => entriesOf(log, most).map((entry) => ({ run: name, ...entry })));

  function show(body) {
    payload = body;
    plot.forget();
    const mine = body.runs.map(({ rows: known, ...run }) => {
      const log = makeLog();
      known?.forEach(log.fold);
      return { ...run, log, status: run.id ? 'starting' : 'finished' };
    });
    runs = mine;
    metric.setOptions(body.panels.map(({ id, title }) => [id, title]), '');
    setMetric(panel?.id);
    refresh();
    const told = (isChanged) => isChanged && refresh();
    for (const run of runs.filter(({ id }) => id))
      followRun(run, told, () => runs === mine && root.isConnected, { server, events, pause: 2000, node: root });
  }

  function setMetric(id) {
    panel = payload.panels.find((one) => one.id === id) ?? payload.panels[0];
    metric.set(panel.id);
    about.textContent = `${panel.title}: ${panel.about}.`;
    setText(verdict, verdictWords());
    want();
  }

  /** Which run is better by the metric, and since when; "" where there is nothing to choose from. */
  function verdictWords() {
    const { title, unit, better, series: [{ field }] } = panel;
    const scored = runs.map((run) => ({ ...run, rows: run.log.evals.filter((row) => Number.isFinite(row[field])) }))
      .filter(({ rows: known }) => known.length);
    if (!payload.comparable || !better || scored.length < 2) return '';
    const worth = ({ rows: known }) => better * known.at(-1)[field];
    const [best, ...others] = scored.sort((one, other) => worth(other) - worth(one));
    const scoreOf = ({ rows: known }) => written(unit, known.at(-1)[field]);
    const scores = scored.map((run) => `${run.name} ${scoreOf(run)}`);
    const equal = scored.filter((run) => scoreOf(run) === scoreOf(best));
    if (equal.length > 1)
      return `${title} is the same${equal.length < scored.length ? ' for the best' : ''}: ${scores.join(', ')}.`;
    // What the others had scored by a step of the best one: runs are evaluated at different steps.
    const isAhead = ({ step, [field]: value }) => others.every(({ rows: known }) =>
      better * value > better * (known.findLast((row) => row.step <= step)?.[field] ?? -better * Infinity));
    const first = firstLasting(best.rows, isAhead);
    const since = first && ` It has been ahead since step ${whole(first.step)} (${duration(first.seconds)}).`;
    return `${best.name} is better by ${title}: ${scores.join(', ')}.${since ?? ''}`;
  }

  function refresh() {
    // Runs of very different lengths are seen together on a logarithmic axis only.
    const lengths = runs.map(({ log }) => log.last?.step).filter(Boolean);
    if (!touched && lengths.length) look.logX = logX.input.checked = Math.max(...lengths) > 8 * Math.min(...lengths);
    drawTable();
    setText(verdict, verdictWords());
    numbers.fill();
    want();
  }

  function draw() {
    if (!panel) return;
    const [{ field }] = panel.series;
    host.hidden = !runs.some(({ log }) => hasMeasure(log, field));
    const isActive = runs.some(({ status }) => ACTIVE.includes(status));
    setText(empty, host.hidden && (isActive ? 'The first evaluation comes soon after training begins.'
      : 'None of these runs has this metric.'));
    if (!host.clientWidth) return;
    const newest = (log) => log.evals.findLast((row) => Number.isFinite(row[field])) ?? log.newest(field);
    const values = runs.map(({ name, log }) => `${name}: ${written(panel.unit, newest(log)?.[field])}`).join('; ');
    plot.show(curveFigure(panel, runs.map(({ log }) => log), look, payload, plot.shown),
      `${panel.title}, ${panel.about}. ${values}. The numbers are in the data table below.`);
  }

  /** The settings in which runs differ, then what came of them so far. */
  function drawTable() {
    const { settings, unknown, comparable } = payload;
    const lines = [...settings, ...scoreLines(), ['State', runs.map(({ status }) => STATUS[status] ?? status)]];
    rows = [['', ...runs.map(({ name }) => name)], ...lines.map(([name, values]) => [name, ...values])];
    const names = runs.map(({ name, glyph, color: paint }) =>
      h('span', h('span', { style: `color: ${paint}`, 'aria-hidden': 'true' }, `${glyph} `), name));
    const title = settings.length ? 'Differing settings and held-out metrics'
      : unknown.length ? `Held-out metrics; the settings of ${unknown.join(', ')} are not known`
        : runs.length > 1 ? 'Identical settings' : 'Held-out metrics';
    table.replaceChildren(makeTable(['', ...names], lines.map(drawLine), title));
    note.hidden = comparable || runs.length < 2;
    shipped.hidden = runs.every(({ id }) => id);
  }

  /** Scores as [name, a value for each run, how it is written, whether more is better: 1, -1 or 0]. */
  function scoreLines() {
    const valuesOf = (read) => runs.map(({ log }) => read(log) ?? null);
    const newest = (field) => valuesOf(({ evals, last }) => evals.at(-1)?.[field] ?? last?.[field]);
    return [
      ...payload.panels.filter((one) => one.held_out).map(({ id, title, unit, better }) =>
        [title, valuesOf(({ evals }) => evals.at(-1)?.[id]), (value) => written(unit, value), better]),
      ['Parameters', valuesOf(({ started }) => started?.parameters), whole, 0],
      ['Steps done', newest('step'), whole, 0],
      ['Tokens seen', newest('tokens'), whole, 0],
      ['Training time', newest('seconds'), duration, 0],
    ].filter(([, values]) => values.some(Number.isFinite));
  }

  /** A line with its values in words, the best one marked where there is something to choose from. */
  function drawLine([name, values, write, sign]) {
    if (!write) return [name, ...values];
    const known = values.filter(Number.isFinite);
    const isTold = payload.comparable && sign && new Set(known.map(write)).size > 1;
    const best = isTold ? write(sign * Math.max(...known.map((value) => sign * value))) : undefined;
    const cells = values.map((value) => (Number.isFinite(value) ? write(value) : '–'));
    return [name, ...cells.map((cell) => (cell === best ? h('b', cell, h('span.hush', ' (best)')) : cell))];
  }

  return show;
}
