// Curves of a training run: fetches new rows once a second, draws them, and says in words how far it is.

import { poll } from 'lab/client/ask.js';
import { choices, elements, h, payloadView, setText } from 'lab/client/dom.js';
import { whole } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';
import { baselinesOf, curveFigure, smoothingSlider, written } from 'lab/components/charts/curve_figure.js';
import { makeDataTable, makePlot, makeTurns } from 'lab/components/charts/plot.js';
import {
  ENDED, NEWEST, changeWords, currentSeries, detailWords, entriesOf, makeLog, newestWords, panelsOf, progressOf,
  rowsOf, scorePanel, severalTrials, stageWords, statusOf, tableOf, taskWords, trialWords,
} from 'lab/components/runs/run_log.js';

export default payloadView('No run yet. Choose a text and press Train: the curves appear here.', lossChart);

function lossChart(content, { events, server }, root) {
  const look = { axis: 'step', smoothing: 0.6, logX: false, logY: false };
  let log = makeLog();
  let payload = null;
  let panels = []; // of this run, as they are declared in figures/training/panels.py
  let boxes = []; // the place of each on the page
  let [state, status] = [null, null]; // what the run's own state file says, and what it comes to
  let follower = 0; // number of the polling loop that is in charge
  let saidAt = 0;

  const [title, stage, detail, change, fill] = elements('p.heading', 'p.heading.stage', 'p.quiet', 'p.quiet',
    'div.fill');
  const [notes, main, folded] = elements('ul.quiet.small.notes', 'div.panels.tiles', 'div.panels.tiles');
  const progress = h('div.progress.track',
    { role: 'progressbar', 'aria-label': 'Progress of the run', 'aria-valuemin': '0', 'aria-valuemax': '100' }, fill);
  const spoken = h('p.hush', { role: 'status' });
  const turns = makeTurns(() => boxes.filter(({ panel }) => panel.series.length), drawPanel);
  const choose = (some) => {
    Object.assign(look, some);
    turns.want();
  };
  const more = h('details.more', { ontoggle: turns.want },
    h('summary.quiet', 'Perplexity, learning rate, gradient norm and throughput'), folded);
  const knobs = h('div.bar.knobs', choices('X-axis', [['step', 'step'], ['seconds', 'time'], ['tokens', 'tokens seen']],
    look.axis, (axis) => choose({ axis })).node, choices('Y-axis',
    [['linear', 'linear', 'Linear vertical axis, from 0'], ['log', 'log', 'Logarithmic vertical axis']], 'linear',
    (kind) => choose({ logY: kind === 'log' })).node, smoothingSlider(look, turns.want),
    saveDrawing('the curves', () => 'training', {
      picture: () => pictureOf(drawing, [title.textContent, stage.textContent].filter(Boolean).join(' · ')),
      rows: () => rowsOf(entriesOf(log)),
      body: () => ({ started: log.started, finished: log.finished, rows: entriesOf(log) }),
    }));
  const legend = h('p.quiet.small.legend');
  const why = h('p.quiet.small.why', 'Shaded: causal-LM warm-up. The model first predicts each next token from those '
    + 'before it: there every token contributes to the loss, in MLM only the masked ones do. A few batches are masked '
    + 'even then. Held-out examples have full length throughout; those of training may be shorter at first.');
  const trialList = h('details', h('summary.quiet', 'The trials'), h('ol'));
  const numbers = makeDataTable(() => tableOf(entriesOf(log, NEWEST), panels));
  const drawing = h('div', main, more, legend, why);
  const curves = h('div', knobs, drawing, trialList, numbers.node);
  content.append(title, h('div.state', stage, progress, detail, change, notes), spoken, curves);
  for (const group of [main, folded]) new ResizeObserver(turns.want).observe(group);

  /** A place for each panel, made again only where a run has others. */
  function place() {
    const now = panelsOf(log, payload);
    const titles = (some) => some.map((panel) => panel.title).join();
    if (titles(now) !== titles(panels)) {
      boxes = now.map(makeBox);
      main.replaceChildren(...boxes.filter((_, at) => !now[at].folded).map(({ node }) => node));
      folded.replaceChildren(...boxes.filter((_, at) => now[at].folded).map(({ node }) => node));
    }
    panels = now;
    boxes.forEach((box, at) => {
      box.panel = panels[at];
      box.node.hidden = !box.panel.series.length;
    });
  }

  function makeBox(panel) {
    const [host, values] = elements('div.curves', 'span.now.line.small');
    const node = h('div.panel', { 'data-panel': panel.id },
      h('div.panel-head.line', h('p.heading', { title: panel.about }, panel.title), values), host);
    const box = { panel, host, values, node };
    const pointAt = (event, x) => { // the others show their values there too
      if (!(event instanceof Event)) return;
      for (const other of boxes) if (other !== box && isOpen(other)) other.plot.pointAt(x);
    };
    box.plot = makePlot(host, () => {}, { plotly_relayout: turns.want, plotly_hover: ({ event, xvals }) =>
      pointAt(event, xvals[0]), plotly_unhover: ({ event }) => pointAt(event, null) });
    return box;
  }

  const isOpen = ({ host, panel }) => host.clientWidth && (more.open || !panel.folded);

  function drawPanel(box) {
    if (!isOpen(box)) return undefined;
    const { panel, values, plot } = box;
    const words = currentSeries(log, panel).map(({ field, name, colour: paint }) => {
      const [trained, held] = [log.newest(field), log.evals.at(-1)?.[field]];
      const value = panel.id === 'score' ? held ?? trained : Number.isFinite(trained) ? trained : held;
      return { name, paint, text: written(panel.unit, value) };
    });
    values.hidden = Boolean(payload.result); // which says it for more text than these
    values.replaceChildren(...words.map(({ name, paint, text }) =>
      h('span', { style: `color: ${paint}` }, words.length > 1 ? `${name} ${text}` : text)));
    const baselines = baselinesOf(panel, log).map(({ name, value }) => `${name} ${written(panel.unit, value)}`)
      .join(', ');
    const end = log.lastPlace('causal_loss');
    return plot.show(curveFigure(panel, [log], look, payload, plot.shown), [`${panel.title}, ${panel.about}.`,
      `Now: ${words.map(({ name, text }) => `${name} ${text}`).join(', ')}.`, baselines && `Baselines: ${baselines}.`,
      end >= 0 && `Up to step ${whole(log.columns.step[end])} is causal-LM warm-up.`,
      'The numbers are in the data table below.'].filter(Boolean).join(' '));
  }

  // ---- following a run

  function show(body) {
    follower += 1; // whatever loop is still waiting for an answer finds that it is no longer in charge
    payload = body;
    log = makeLog();
    [state, status] = [null, null];
    notes.replaceChildren();
    setText(title, body.title);
    boxes.forEach(({ plot }) => plot.forget());
    body.rows?.forEach(log.fold);
    if (body.rows || body.run_id) refresh();
    if (!body.rows && body.run_id) follow(body.run_id, follower);
  }

  /** Ask for new rows until the run has ended, another run is shown, or this component has left the page. */
  function follow(runId, mine) {
    let [line, told] = [0, null];
    poll(() => server.poll(runId, line), (answer) => { // null: a run that nobody knows
      const rows = answer?.rows ?? [];
      rows.forEach(log.fold);
      line = answer?.next ?? line;
      state = answer ? answer.state ?? state : { status: 'missing', message: 'This run is no longer here.' };
      refresh();
      if (told !== null && rows.some(({ event }) => event === 'ProbesDone')) events.probes_done?.({ run_id: runId });
      if (status !== told) {
        const message = log.finished?.message ?? state?.message ?? '';
        events.run_changed?.({ run_id: runId, status, first: told === null, step: log.last?.step ?? 0, message });
      }
      told = status;
      // Rows that were written after the last word are still fetched before the loop ends.
      return ENDED.includes(status) && rows.length === 0 ? null : rows.length >= 500 ? 0 : 1000;
    }, () => mine === follower && root.isConnected,
      { lost: () => { detail.textContent = 'Connection to the server lost; retrying …'; } });
  }

  // ---- words

  function refresh() {
    status = statusOf(log, state);
    place();
    const judged = scorePanel(panels);
    const share = progressOf(log, status);
    const ended = ENDED.includes(status);
    stage.textContent = stageWords(log, status, judged);
    detail.textContent = payload.result || detailWords(log, state, status, panels);
    setText(change, ended ? '' : judged ? taskWords(log, panels, false) : changeWords(log, panels)); // then the result
    progress.hidden = ended || share === null;
    progress.setAttribute('aria-valuenow', String(Math.round(100 * share)));
    fill.style.width = `${100 * share}%`;
    const sentences = log.started?.notes ?? [];
    if (notes.children.length !== sentences.length) notes.replaceChildren(...sentences.map((note) => h('li', note)));
    curves.hidden = log.count === 0 && log.evals.length === 0;
    why.hidden = log.lastPlace('causal_loss') < 0;
    trialList.hidden = !severalTrials(log);
    if (!trialList.hidden)
      trialList.lastChild.replaceChildren(...trialWords(log, judged).map((words) => h('li', words)));
    const read = judged ? 'examples' : 'text';
    legend.textContent =
      [`Lines: training ${read}, smoothed; faint: not smoothed; circles: held-out ${read}; dashed: baselines`,
      why.hidden ? '' : '; shaded: next token (causal-LM warm-up)',
      trialList.hidden ? '' : '; upright: a new trial begins', '.'].join('');
    numbers.fill();
    turns.want();
    speak();
  }

  /** The same for a screen reader, at most every 15 seconds unless the state changes. */
  function speak() {
    if (spoken.dataset.status === status && performance.now() - saidAt < 15000) return;
    saidAt = performance.now();
    spoken.dataset.status = status;
    spoken.textContent = status === 'training' && log.last ? `${stage.textContent}; ${newestWords(log, panels)}`
      : `${stage.textContent}. ${detail.textContent}`;
  }

  return show;
}
