// Runs beside each other: asks each for what is new, and draws table, curves and probes of all.

const RUNS_ON = ['waiting', 'starting', 'preparing', 'training'];
const view = onPayload('Choose runs above to compare them here.', show);
const legend = h('div', { class: 'keys' });
const tablePart = h('div', { class: 'part' });
const table = makeRunTable(tablePart);
const curvesPart = h('div', { class: 'part' });
const probesPart = h('div', { class: 'part' });
const probesHost = h('div');
const readout = h('p', { class: 'readout', 'aria-live': 'polite', 'data-noexport': '' });
let [payload, runs, follower, probeRows, dirty] = [null, [], 0, null, false];

const plotHost = h('div');
const curves = makeRunCurves(plotHost, (text) => { readout.textContent = text; });
const tick = (text, field) => {
  const box = h('input', { type: 'checkbox', onchange: () => {
    curves.look[field] = box.checked;
    touched ||= field === 'log';
    curves.redraw();
  } });
  box.checked = curves.look[field];
  return { box, node: h('label', { class: 'tick' }, box, text) };
};
const says = h('span', { class: 'quiet small' });
const pick = (field) => (value) => {
  curves.look[field] = value;
  says.textContent = MEASURES[curves.look.measure].says;
  curves.redraw();
};
const named = (kinds) => Object.entries(kinds).map(([name, one]) => [name, one.label, one.says ?? '']);
let touched = false; // whether a person has chosen the axis
const logTick = tick('logarithmic', 'log');
const knobs = h('div', { class: 'bar', 'data-noexport': '' },
  choices('Metric', named(MEASURES), curves.look.measure, pick('measure')).node,
  choices('X-axis', named(ACROSS), curves.look.across, pick('across')).node,
  logTick.node, tick('training curves', 'training').node);
const pictures = (what, part, rows, name) => saveButtons(what, {
  PNG: () => savePng(`${name}.png`, pictureOf(part)),
  SVG: () => saveSvg(`${name}.svg`, pictureOf(part)),
  CSV: () => saveCsv(`${name}.csv`, rows()),
});
const heading = (text, buttons) => h('div', { class: 'bar' }, h('p', { class: 'heading' }, text), buttons);
const curveKeys = legend.cloneNode();
curvesPart.append(heading('Curves', pictures('the curves', curvesPart, curves.rows, 'curves')), knobs, curveKeys, plotHost, h('p', { class: 'quiet small' },
  'Marks: held-out set. Thin lines: training, smoothed. ', says), readout);
probesPart.append(heading('Minimal-pair probes', pictures('the probes', probesPart, () => probeRows ?? [], 'probes')),
  h('p', { class: 'quiet small' }, 'Minimal pairs: how often the model prefers the correct sentence.'), legend, probesHost);
tablePart.prepend(heading('The runs', pictures('the table', tablePart, table.rows, 'runs')));
view.content.append(curvesPart, tablePart, probesPart);
new ResizeObserver(() => drawProbes(probesHost, runs, payload?.kinds ?? {})).observe(probesPart);

function show(body) {
  payload = body;
  follower += 1;
  runs = body.runs.map(({ id, name, rows }) => {
    const run = { id, name, log: makeLog(), probes: [], status: id ? 'starting' : 'finished', next: 0 };
    fold(run, rows ?? []);
    return run;
  });
  readout.replaceChildren(h('span', { class: 'quiet' }, 'Point at the curves, or use the arrow keys on them, to read their values.'));
  says.textContent = MEASURES[curves.look.measure].says;
  for (const host of [legend, curveKeys]) host.replaceChildren(...runs.map((run, place) => h('span', { class: 'key' }, runName(run, place))));
  refresh();
  runs.filter((run) => run.id).forEach((run) => follow(run, follower));
}

function fold(run, rows) {
  for (const row of rows) {
    if (row.event === 'ProbesDone') {
      while (run.probes.length && run.probes.at(-1).step >= row.step) run.probes.pop();
      run.probes.push(row);
    } else run.log.fold(row);
  }
}

/** Runs of very different lengths are seen together on a logarithmic axis only. */
function chooseAxis() {
  const lengths = runs.map((run) => run.log.last?.step ?? 0).filter((step) => step > 0);
  if (touched || !lengths.length) return;
  curves.look.log = Math.max(...lengths) > 8 * Math.min(...lengths);
  logTick.box.checked = curves.look.log;
}

/** Draw once for a burst of answers. */
function refresh() {
  if (dirty) return;
  dirty = true;
  requestAnimationFrame(() => {
    dirty = false;
    chooseAxis();
    table.show(runs, payload.settings, payload.comparable);
    curves.show(runs);
    probeRows = drawProbes(probesHost, runs, payload.kinds);
    probesPart.hidden = probeRows === null;
  });
}

/** Ask for a run's new rows until it has ended or other runs are shown. */
async function follow(run, mine) {
  let failures = 0;
  while (mine === follower && element.isConnected && server) {
    const answer = await server.poll(run.id, run.next).catch(() => undefined);
    if (mine !== follower) return;
    if (answer === undefined) {
      failures += 1;
      await pause(Math.min(10000, 1000 * 2 ** failures), element);
      continue;
    }
    failures = 0;
    const rows = answer?.rows ?? [];
    // A run that was stopped begins again at its last checkpoint: what came after it is folded out.
    fold(run, rows);
    run.next = answer?.next ?? run.next;
    const before = run.status;
    run.status = statusOf(run.log, answer ? answer.state : { status: 'missing' });
    if (rows.length || run.status !== before) refresh();
    if (!RUNS_ON.includes(run.status) && rows.length === 0) return;
    await pause(rows.length >= 500 ? 0 : 2000, element);
  }
}

view.start();
