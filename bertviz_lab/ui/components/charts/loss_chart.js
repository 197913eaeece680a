// Curves of a training run: fetches new rows once a second, draws them, and says in words how far it is.

import { choices, elements, h, payloadView, setText } from 'lab/client/dom.js';
import { ACTIVE, whole } from 'lab/client/format.js';
import { pictureOf, rowsOf, saveDrawing } from 'lab/client/saving.js';
import { inTurn, makeDataTable, makePlot } from 'lab/components/charts/chart.js';
import { HEIGHT, curveFigure, lookControls } from 'lab/components/charts/curve_figure.js';
import { referenceWords, referencesOf } from 'lab/components/charts/reference_curves.js';
import {
  NEWEST, baselinesOf, entriesOf, followRun, makeLog, panelsOf, severalTrials, statusOf, tableOf, written,
} from 'lab/components/runs/run_log.js';
import {
  currentSeries, detailWords, newestWords, progressOf, scorePanel, soFarWords, stageWords, trialWords,
} from 'lab/components/runs/run_words.js';

export default payloadView('No run yet. Once one has been started, its curves appear here.', lossChart);

function lossChart(content, { events, server, captionOf }, root) {
  const look = { axis: 'step', smoothing: 0.6, logX: false, logY: false };
  let payload = null;
  let run = { log: makeLog(), panels: [] }; // and its id, state file, status, and the status that was told last
  let boxes = []; // the place of each panel on the page
  let saidAt = 0;

  const [title, stage, detail, change, compared, fill] = elements('p.heading', 'p.heading.stage', 'p.quiet', 'p.quiet',
    'p.quiet.compared', 'div.fill');
  const [notes, main, folded] = elements('ul.quiet.small.notes', 'div.panels.tiles', 'div.panels.tiles');
  const progress = h('div.progress.track',
    { role: 'progressbar', 'aria-label': 'Progress of the run', 'aria-valuemin': '0', 'aria-valuemax': '100' }, fill);
  const spoken = h('p.hush', { role: 'status' });
  const want = () => boxes.forEach((box) => box.want());
  const more = h('details.more', { 'data-noexport': true, ontoggle() {
    more.toggleAttribute('data-noexport', !more.open); // a picture has what is seen, and no folds
    want();
  } },
    h('summary.quiet', 'Perplexity, learning rate, gradient norm and throughput'), folded);
  const controls = lookControls(look, want);
  const scale = choices('Y-axis', [['linear', 'linear', 'Linear vertical axis'],
    ['log', 'log', 'Logarithmic vertical axis']], 'linear', (kind) => controls.change({ logY: kind === 'log' })).node;
  const buttons = saveDrawing('the curves', () => 'training', {
    picture: () => pictureOf(drawing, [title.textContent, stage.textContent].filter(Boolean).join(' · ')),
    words: () => [title, stage, detail].map((node) => node.textContent).filter(Boolean).join('. '),
    captionOf,
    rows: () => rowsOf(entriesOf(run.log)),
    body: () => ({ started: run.log.started, finished: run.log.finished, rows: entriesOf(run.log) }),
  });
  const legend = h('p.quiet.small.legend');
  const why = h('p.quiet.small.why', 'Shaded: causal-LM warm-up. The model first predicts each next token from those '
    + 'before it: there every token contributes to the loss, in MLM only the masked ones do. A few batches are masked '
    + 'even then. Held-out examples have full length throughout; those of training may be shorter at first.');
  const trialList = h('details', h('summary.quiet', 'The trials'), h('ol'));
  const numbers = makeDataTable(() => tableOf(entriesOf(run.log, NEWEST), run.panels));
  const drawing = h('div', main, more, legend, why);
  const curves = h('div', h('div.bar.knobs', controls.axis, scale, controls.slider, buttons), drawing, trialList,
    numbers.node);
  content.append(title, h('div.state', stage, progress, detail, change, compared, notes), spoken, curves);
  for (const group of [main, folded]) new ResizeObserver(want).observe(group);

  /** A place for each panel, made again only where a run has others. */
  function place() {
    if (String(run.panels.map(({ title: name }) => name)) !== String(boxes.map(({ panel }) => panel.title))) {
      boxes = run.panels.map(makeBox);
      for (const [group, isFolded] of [[main, false], [folded, true]])
        group.replaceChildren(...boxes.filter(({ panel }) => panel.folded === isFolded).map(({ node }) => node));
    }
    boxes.forEach((box, at) => {
      box.panel = run.panels[at];
      box.node.hidden = !box.panel.series.length;
    });
  }

  function makeBox(panel, at) {
    const [host, values] = elements('div.curves', 'span.now.line.small');
    host.style.minHeight = `${HEIGHT}px`; // nothing jumps when it is drawn
    const node = h('div.panel', { 'data-panel': panel.id },
      h('div.panel-head.line', h('p.heading', { title: panel.about }, panel.title), values), host);
    const box = { panel, host, values, node };
    const pointAt = (event, x) => { // the others show their values there too
      if (!(event instanceof Event)) return;
      for (const other of boxes) if (other !== box && isOpen(other)) other.plot.pointAt(x);
    };
    box.want = inTurn(() => drawPanel(box), at);
    box.plot = makePlot(host, { plotly_relayout: want, plotly_hover: ({ event, xvals }) => pointAt(event, xvals[0]),
      plotly_unhover: ({ event }) => pointAt(event, null) });
    return box;
  }

  const isOpen = ({ host, panel }) => host.clientWidth && panel.series.length && (more.open || !panel.folded);

  function drawPanel(box) {
    if (!isOpen(box)) return;
    const { panel, values, plot } = box;
    const { log } = run;
    const words = currentSeries(log, panel).map(({ field, name, color: paint }) => {
      const [trained, held] = [log.newest(field)?.[field], log.evals.at(-1)?.[field]];
      return { name, paint, text: written(panel.unit, panel.id === 'score' ? held ?? trained : trained ?? held) };
    });
    values.hidden = Boolean(payload.result); // which says it for more text than these
    values.replaceChildren(panel.id === 'score' ? 'last evaluation:' : '', ...words.map(({ name, paint, text }) =>
      h('span', { style: `color: ${paint}` }, words.length > 1 ? `${name} ${text}` : text)));
    const baselines = baselinesOf(panel, log).map(({ name, value }) => `${name} ${written(panel.unit, value)}`)
      .join(', ');
    const end = log.newest('causal_loss');
    plot.show(curveFigure(panel, [log], look, payload, plot.shown, run.references), [`${panel.title}, ${panel.about}.`,
      `Now: ${words.map(({ name, text }) => `${name} ${text}`).join(', ')}.`, baselines && `Baselines: ${baselines}.`,
      end && `Up to step ${whole(end.step)} is causal-LM warm-up.`,
      'The numbers are in the data table below.'].filter(Boolean).join(' '));
  }

  function show(body) {
    payload = body;
    const mine = { id: body.run_id, log: makeLog(), state: null, said: null };
    run = mine;
    notes.replaceChildren();
    setText(title, body.title);
    boxes.forEach(({ plot }) => plot.forget());
    body.rows?.forEach(run.log.fold);
    refresh();
    const lost = () => { detail.textContent = 'Connection to the server lost; retrying …'; };
    if (run.id) followRun(run, told, () => run === mine && root.isConnected, { server, events, pause: 1000, lost });
  }

  function told() {
    refresh();
    const { id: run_id, status, said } = run;
    if (status !== said) events.run_changed?.({ run_id, status, first: said === null });
    run.said = status;
  }

  // ---- words

  function refresh() {
    const { log } = run;
    run.status = statusOf(run);
    run.panels = panelsOf(log, payload);
    run.references = referencesOf(log, payload);
    place();
    const [judged, share, isActive] = [scorePanel(run), progressOf(run), ACTIVE.includes(run.status)];
    stage.textContent = stageWords(run);
    detail.textContent = payload.result || detailWords(run);
    setText(change, isActive ? soFarWords(run) : ''); // then it is in the result
    setText(compared, referenceWords(log, run.references, payload.references?.preset));
    progress.hidden = share === null;
    progress.setAttribute('aria-valuenow', String(Math.round(100 * share)));
    fill.style.width = `${100 * share}%`;
    const sentences = log.started?.notes ?? [];
    if (notes.children.length !== sentences.length) notes.replaceChildren(...sentences.map((note) => h('li', note)));
    curves.hidden = !log.steps.length && !log.evals.length;
    why.hidden = !log.newest('causal_loss');
    trialList.hidden = !severalTrials(log);
    if (!trialList.hidden) trialList.lastChild.replaceChildren(...trialWords(run).map((words) => h('li', words)));
    const read = judged ? 'examples' : 'text';
    legend.textContent =
      [`Lines: training ${read}, smoothed; faint: not smoothed; circles: held-out ${read}; dashed: baselines`,
      run.references?.length ? '; gray: reference runs of the lab' : '',
      why.hidden ? '' : '; shaded: next token (causal-LM warm-up)',
      trialList.hidden ? '' : '; upright: a new trial begins', '.'].join('');
    numbers.fill();
    want();
    speak();
  }

  /** The same for a screen reader, at most every 15 seconds unless the state changes. */
  function speak() {
    const { status, log } = run;
    if (spoken.dataset.status === status && performance.now() - saidAt < 15000) return;
    saidAt = performance.now();
    spoken.dataset.status = status;
    spoken.textContent = status === 'training' && log.last ? `${stage.textContent}; ${newestWords(run)}`
      : `${stage.textContent}. ${detail.textContent}`;
  }

  return show;
}
