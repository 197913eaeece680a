// Runs side by side: asks each for what is new, and draws the table and the curves of all.

import { poll } from 'lab/client/ask.js';
import { choices, elements, h, makeTable, payloadView, setOptions, setText, tickBox } from 'lab/client/dom.js';
import { ACTIVE, STATUS, duration, whole } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';
import { curveFigure, smoothingSlider, written } from 'lab/components/charts/curve_figure.js';
import { makeDataTable, makePlot, makeTurns } from 'lab/components/charts/plot.js';
import { NEWEST, entriesOf, hasMeasure, makeLog, rowsOf, statusOf, tableOf } from 'lab/components/runs/run_log.js';

export default payloadView('Choose runs above to compare them here.', (content, { events, server }, root) => {
  const look = { axis: 'step', smoothing: 0.6, logX: false, logY: false, heldOutOnly: false };
  let [payload, runs, follower] = [null, [], 0];
  let panel = null; // of the chosen metric
  let touched = false; // whether a person has chosen the scale of the x-axis

  const turns = makeTurns(() => (panel ? [panel] : []), draw);
  const choose = (some) => {
    Object.assign(look, some);
    turns.want();
  };
  const [tablePart, curvesPart, host, empty, about] = elements('div.part', 'div.part', 'div', 'p.empty', 'span');
  const table = makeRunTable(tablePart);
  const plot = makePlot(host, () => {}, { plotly_relayout: turns.want });
  const metric = h('select', { onchange: () => setMetric(metric.value) });
  const logX = tickBox('log x-axis', false, (on) => {
    touched = true;
    choose({ logX: on });
  });
  const knobs = h('div.bar', { 'data-noexport': '' }, h('label.tick', 'Metric', metric), choices('X-axis',
    [['step', 'steps'], ['tokens', 'tokens'], ['seconds', 'time']], look.axis, (axis) => choose({ axis })).node,
    logX.node, tickBox('log y-axis', false, (logY) => choose({ logY })).node,
    tickBox('training curves', true, (on) => choose({ heldOutOnly: !on })).node, smoothingSlider(look, turns.want));
  const numbers = makeDataTable(() => tableOf(entries(NEWEST), payload.panels));
  numbers.node.setAttribute('data-noexport', '');
  const heading = (text, what, name, part, rows) => h('div.bar', h('p.heading', text),
    saveDrawing(what, () => name, { picture: () => pictureOf(part), rows, body: rows }));
  curvesPart.append(heading('Curves', 'the curves', 'curves', curvesPart, () => rowsOf(entries())), knobs, empty, host,
    h('p.quiet.small', 'Marks: held-out set. Thin lines: training, smoothed. ', about), numbers.node);
  tablePart.prepend(heading('The runs', 'the table', 'runs', tablePart, table.rows));
  content.append(curvesPart, tablePart);
  new ResizeObserver(turns.want).observe(curvesPart);

  const entries = (most) =>
    runs.flatMap(({ log, name }) => entriesOf(log, most).map((entry) => ({ run: name, ...entry })));

  function show(body) {
    payload = body;
    follower += 1;
    plot.forget();
    runs = body.runs.map(({ rows, ...run }) => {
      const log = makeLog();
      rows?.forEach(log.fold);
      return { ...run, log, status: run.id ? 'starting' : 'finished', next: 0 };
    });
    setOptions(metric, body.panels.map(({ id, title }) => [id, title]));
    setMetric(panel?.id);
    refresh();
    runs.filter((run) => run.id).forEach((run) => follow(run, follower));
  }

  function setMetric(id) {
    panel = payload.panels.find((one) => one.id === id) ?? payload.panels[0];
    metric.value = panel.id;
    about.textContent = `${panel.title}: ${panel.about}.`;
    turns.want();
  }

  function refresh() {
    // Runs of very different lengths are seen together on a logarithmic axis only.
    const lengths = runs.map(({ log }) => log.last?.step ?? 0).filter((step) => step > 0);
    if (!touched && lengths.length) look.logX = logX.box.checked = Math.max(...lengths) > 8 * Math.min(...lengths);
    table.show(runs, payload);
    numbers.fill();
    turns.want();
  }

  function draw() {
    const [{ field }] = panel.series;
    host.hidden = !runs.some(({ log }) => hasMeasure(log, field));
    const isActive = runs.some(({ status }) => ACTIVE.includes(status));
    setText(empty, host.hidden && (isActive ? 'The first evaluation comes soon after training begins.'
      : 'None of these runs has this metric.'));
    if (!host.clientWidth) return undefined;
    const newest = ({ log }) => log.evals.findLast((row) => Number.isFinite(row[field]))?.[field] ?? log.newest(field);
    const values = runs.map((run) => `${run.name}: ${written(panel.unit, newest(run))}`).join('; ');
    return plot.show(curveFigure(panel, runs.map(({ log }) => log), look, payload, plot.shown),
      `${panel.title}, ${panel.about}. ${values}. The numbers are in the data table below.`);
  }

  /** Ask for a run's new rows until it has ended or other runs are shown. */
  function follow(run, mine) {
    poll(() => server.poll(run.id, run.next), (answer) => {
      const rows = answer?.rows ?? [];
      // A run that was stopped begins again at its last checkpoint: what came after it is folded out.
      rows.forEach(run.log.fold);
      run.next = answer?.next ?? run.next;
      const before = run.status;
      run.status = statusOf(run.log, answer ? answer.state : { status: 'missing' });
      if (rows.length || run.status !== before) refresh();
      if (rows.some(({ event }) => event === 'ProbesDone')) events.probes_done?.({ run_id: run.id });
      return !ACTIVE.includes(run.status) && rows.length === 0 ? null : rows.length >= 500 ? 0 : 2000;
    }, () => mine === follower && root.isConnected && server, { node: root });
  }

  return show;
});

/** Rows of scores: [name, a value for each run, how it is written, whether more is better]. */
function scoreRows(runs, panels) {
  const newest = (field) => runs.map(({ log }) => log.evals.at(-1)?.[field] ?? log.last?.[field] ?? null);
  return [
    ...panels.filter((panel) => panel.held_out).map(({ id, title, unit, better }) =>
      [title, runs.map(({ log }) => log.evals.at(-1)?.[id] ?? null), (value) => written(unit, value), better]),
    ['Parameters', runs.map(({ log }) => log.started?.parameters ?? null), whole, 0],
    ['Steps done', newest('step'), whole, 0],
    ['Tokens seen', newest('tokens'), whole, 0],
    ['Training time', newest('seconds'), duration, 0],
  ].filter(([, values]) => values.some(Number.isFinite));
}

/** The place of the best value, -1 where there is none or nothing to choose from. */
function bestOf(values, sign) {
  const known = values.filter(Number.isFinite);
  if (!sign || known.length < 2 || known.every((value) => value === known[0])) return -1;
  return values.indexOf(sign > 0 ? Math.max(...known) : Math.min(...known));
}

/** The settings in which runs differ, then what came of them so far: `show(runs, payload)`, `rows()` for a file. */
function makeRunTable(host) {
  const place = h('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Table of runs' });
  const note = h('p.quiet.small',
    'These runs were not evaluated on the same examples and tokens: their metrics are not comparable.');
  host.append(place, note);
  let rows = [];
  return {
    show(runs, { settings, comparable, panels }) {
      const scores = scoreRows(runs, panels);
      const scored = scores.map(([name, values, write, sign]) => {
        const best = comparable ? bestOf(values, sign) : -1;
        const cell = (value, at) =>
          (at === best ? h('b', write(value), h('span.hush', ' (best)')) : Number.isFinite(value) ? write(value) : '–');
        return [name, ...values.map(cell)];
      });
      const title = settings.length ? 'Differing settings and held-out metrics' : runs.length > 1
        ? 'Identical settings, as far as they are known' : 'Held-out metrics';
      const names = runs.map(({ name, glyph, colour: paint }) =>
        h('span', h('span', { style: `color: ${paint}`, 'aria-hidden': 'true' }, `${glyph} `), name));
      const differing = settings.map(([name, values]) => [name, ...values]);
      const states = ['State', ...runs.map(({ status }) => STATUS[status] ?? status)];
      place.replaceChildren(makeTable(['', ...names], [...differing, ...scored, states], title));
      note.hidden = comparable || runs.length < 2;
      rows = [['', ...runs.map((run) => run.name)], ...differing, ...scores.map(([name, values]) => [name, ...values]),
        states];
    },
    rows: () => rows,
  };
}
