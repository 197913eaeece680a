// Runs side by side: asks each for what is new, and draws the table and the curves of all.

import { poll } from 'lab/client/ask.js';
import { choices, h, payloadView, setOptions, setText } from 'lab/client/dom.js';
import { ACTIVE } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/picture.js';
import { curveFigure, smoothingSlider, written } from 'lab/components/charts/curve_figure.js';
import { makeDataTable, makePlot, makeTurns } from 'lab/components/charts/plot.js';
import { NEWEST, entriesOf, hasMeasure, makeLog, rowsOf, statusOf, tableOf } from 'lab/components/runs/run_log.js';
import { makeRunTable } from 'lab/components/runs/run_table.js';

export default function runCompare(root, first, { label, events = {}, server } = {}) {
  const view = payloadView(root, label, 'Choose runs above to compare them here.', show);
  const look = { axis: 'step', smoothing: 0.6, logX: false, logY: false, heldOutOnly: false };
  let [payload, runs, follower] = [null, [], 0];
  let panel = null; // of the chosen metric
  let touched = false; // whether a person has chosen the scale of the x-axis

  // ---- furniture
  const tablePart = h('div', { class: 'part' });
  const table = makeRunTable(tablePart);
  const curvesPart = h('div', { class: 'part' });
  const host = h('div');
  const plot = makePlot(host, () => {}, { plotly_relayout: () => turns.want() });
  const empty = h('p', { class: 'empty' });
  const about = h('span', {});
  const metric = h('select', { onchange: () => choose(metric.value) });
  const tick = (text, checked, act) => {
    const box = h('input', { type: 'checkbox', onchange: () => { act(box.checked); turns.want(); } });
    box.checked = checked;
    return { box, node: h('label', { class: 'tick' }, box, text) };
  };
  const logX = tick('log x-axis', false, (on) => { [look.logX, touched] = [on, true]; });
  const knobs = h('div', { class: 'bar', 'data-noexport': '' }, h('label', { class: 'tick' }, 'Metric', metric),
    choices('X-axis', [['step', 'steps'], ['tokens', 'tokens'], ['seconds', 'time']], look.axis,
      (axis) => { look.axis = axis; turns.want(); }).node,
    logX.node, tick('log y-axis', false, (on) => { look.logY = on; }).node,
    tick('training curves', true, (on) => { look.heldOutOnly = !on; }).node, smoothingSlider(look, () => turns.want()));
  const numbers = makeDataTable(() => tableOf(entries(NEWEST), payload.panels));
  numbers.node.setAttribute('data-noexport', '');
  const pictures = (what, part, rows, name) => saveDrawing(what, () => name, { picture: () => pictureOf(part), rows,
    body: rows });
  const heading = (text, buttons) => h('div', { class: 'bar' }, h('p', { class: 'heading' }, text), buttons);
  curvesPart.append(heading('Curves', pictures('the curves', curvesPart, () => rowsOf(entries()), 'curves')), knobs,
    empty, host,
    h('p', { class: 'quiet small' }, 'Marks: held-out set. Thin lines: training, smoothed. ', about), numbers.node);
  tablePart.prepend(heading('The runs', pictures('the table', tablePart, table.rows, 'runs')));
  view.content.append(curvesPart, tablePart);
  const turns = makeTurns(() => (panel ? [panel] : []), draw);
  new ResizeObserver(() => turns.want()).observe(curvesPart);

  const entries = (most) => runs.flatMap((run) => entriesOf(run.log, most)
    .map((entry) => ({ run: run.name, ...entry })));

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
    choose(panel?.id ?? body.panels[0].id);
    refresh();
    runs.filter((run) => run.id).forEach((run) => follow(run, follower));
  }

  function choose(id) {
    panel = payload.panels.find((one) => one.id === id) ?? payload.panels[0];
    metric.value = panel.id;
    about.textContent = `${panel.title}: ${panel.about}.`;
    turns.want();
  }

  function refresh() {
    // Runs of very different lengths are seen together on a logarithmic axis only.
    const lengths = runs.map((run) => run.log.last?.step ?? 0).filter((step) => step > 0);
    if (!touched && lengths.length) look.logX = logX.box.checked = Math.max(...lengths) > 8 * Math.min(...lengths);
    table.show(runs, payload);
    numbers.fill();
    turns.want();
  }

  function draw() {
    const logs = runs.map((run) => run.log);
    const [{ field }] = panel.series;
    host.hidden = !logs.some((log) => hasMeasure(log, field));
    const running = runs.some((run) => ACTIVE.includes(run.status));
    setText(empty, host.hidden && (running ? 'The first evaluation comes soon after training begins.'
      : 'None of these runs has this metric.'));
    if (!host.clientWidth) return undefined;
    const newest = ({ log }) => log.evals.findLast((row) => Number.isFinite(row[field]))?.[field] ?? log.newest(field);
    return plot.show(curveFigure(panel, logs, look, payload, plot.shown), `${panel.title}, ${panel.about}. ${
      runs.map((run) => `${run.name}: ${written(panel.unit, newest(run))}`)
        .join('; ')}. The numbers are in the data table below.`);
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

  return view.start(first);
}
