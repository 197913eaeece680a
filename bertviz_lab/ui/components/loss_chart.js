// Curves of a training run: fetches new rows once a second, draws them, and says in words how far it is.

const view = onPayload('No run yet. Choose a text and press Train: the curves appear here.', show);
const look = { axis: 'step', logY: false, smooth: true };
let log = makeLog();
let state = null; // what the run's own state file says
let status = null;
let follower = 0; // number of the polling loop that is in charge
let cursor = null; // index of the step under the pointer
let plans = [];
let titles = {}; // of what it may be able to do, by the name of the questions
let drawWanted = false;
let saidAt = 0;

// ---- furniture
const title = h('p', { class: 'heading' });
const stage = h('p', { class: 'heading stage' });
const detail = h('p', { class: 'quiet' });
const change = h('p', { class: 'quiet' });
const fill = h('div', { class: 'fill' });
const progress = h('div', { class: 'progress', role: 'progressbar', 'aria-label': 'Progress of the run',
  'aria-valuemin': '0', 'aria-valuemax': '100' }, fill);
const notes = h('ul', { class: 'quiet notes' });
const spoken = h('p', { class: 'hush', role: 'status' });
const readout = h('p', { class: 'readout' });
const panels = h('div', { class: 'panels' });
const optimization = h('div', { class: 'optimization' });
const more = h('details', { ontoggle: want }, h('summary', { class: 'quiet' }, 'Learning rate, gradient norm and throughput'), optimization);
// No run has more panels of losses and scores; those of the optimization come after them.
const boxes = [...PANELS.map(() => panels), ...OPTIMIZATION.map(() => optimization)].map((group) => {
  const base = h('canvas', { class: 'base', 'aria-hidden': 'true' });
  const top = h('canvas', { class: 'top', tabindex: '0', role: 'application', 'aria-roledescription': 'line chart' });
  const name = h('p', { class: 'heading' });
  const now = h('span', { class: 'now' });
  const host = h('div', { class: 'curves' }, base, top);
  const node = h('div', { class: 'panel' },
    h('div', { class: 'panel-head' }, name, now), host);
  group.append(node);
  const box = { group, name, base, top, now, host, node };
  top.addEventListener('pointermove', (event) => pointAt(box, event.clientX));
  top.addEventListener('pointerleave', () => setCursor(null));
  top.addEventListener('keydown', (event) => keyMove(event));
  top.addEventListener('blur', () => setCursor(null));
  return box;
});
const smoothBox = h('input', { type: 'checkbox', onchange: () => { look.smooth = smoothBox.checked; want(); } });
smoothBox.checked = true;
const knobs = h('div', { class: 'bar knobs' },
  choices('X-axis', Object.entries(X_AXES).map(([name, axis]) => [name, axis.label, `Horizontal axis: ${axis.label}`]), look.axis,
    (axis) => { look.axis = axis; want(); }).node,
  choices('Losses', [['even', 'linear', 'Linear vertical axis, from 0'], ['log', 'log', 'Logarithmic vertical axis']], 'even',
    (kind) => { look.logY = kind === 'log'; want(); }).node,
  h('label', { class: 'tick' }, smoothBox, 'smooth'),
  saveButtons('the curves', {
    PNG: () => saveCanvas('training.png', picture()),
    CSV: () => saveCsv('training.csv', lossRows(log)),
    JSON: () => {
      const [names, ...rows] = lossRows(log);
      saveJson('training.json', { started: log.started, finished: log.finished,
        rows: rows.map((row) => Object.fromEntries(row.map((value, index) => [names[index], value]))) });
    },
  }));
const forwardsKey = h('span', { style: 'color: var(--lab-kept)' }, h('i', { class: 'line thin' }),
  'next token (causal-LM warm-up)');
const trialKey = h('span', {}, h('i', { class: 'upright' }), 'a new trial begins');
const trainedKey = h('span', {}, h('i', { class: 'line' }), '');
const heldKey = h('span', {}, h('i', { class: 'dot' }), '');
const keys = h('p', { class: 'quiet legend' }, forwardsKey, trainedKey, h('span', {}, h('i', { class: 'line faint' }), 'not smoothed'),
  heldKey, trialKey, h('span', {}, h('i', { class: 'line dashed' }), 'baselines'));
const why = h('p', { class: 'quiet why' }, 'Shaded: causal-LM warm-up. The model first predicts each next token from those '
  + 'before it. In causal LM every token gives a training signal, in MLM only one in seven. The model learns '
  + 'faster, and when it switches to bidirectional MLM the MLM loss drops suddenly.');
const trialList = h('details', {}, h('summary', { class: 'quiet' }, 'The trials'), h('ol'));
const abilities = abilityList();
const curves = h('div', {}, knobs, panels, more, readout, keys, why, trialList, abilities.node);
view.content.append(title, h('div', { class: 'state' }, stage, progress, detail, change, notes), spoken, curves);
[panels, optimization].forEach((group) => new ResizeObserver(want).observe(group));
onThemeChange(want);

// ---- following a run

function show(payload) {
  follower += 1; // whatever loop is still waiting for an answer finds that it is no longer in charge
  log = makeLog();
  [state, status, cursor] = [null, null, null];
  notes.replaceChildren();
  titles = payload.probes ?? {};
  title.textContent = payload.title ?? '';
  title.hidden = !payload.title;
  if (payload.rows) {
    payload.rows.forEach(log.fold);
    refresh();
  } else if (payload.run_id) {
    refresh();
    follow(payload.run_id, follower);
  }
}

/** Ask for new rows until the run has ended, another run is shown, or this component has left the page. */
async function follow(runId, mine) {
  let [line, failures, told] = [0, 0, null];
  while (mine === follower && element.isConnected) {
    // Gradio answers undefined when the call failed; null is our own word for a run that nobody knows.
    const answer = await server.poll(runId, line);
    if (answer === undefined) {
      failures += 1;
      if (mine === follower) detail.textContent = 'Connection to the server lost; retrying …';
      await pause(Math.min(10000, 1000 * 2 ** failures));
      continue;
    }
    if (mine !== follower) return;
    failures = 0;
    const rows = answer?.rows ?? [];
    rows.forEach(log.fold);
    line = answer?.next ?? line;
    state = answer ? answer.state ?? state : { status: 'missing', message: 'This run is no longer here.' };
    refresh();
    if (status !== told) {
      trigger('run_changed', { run_id: runId, status, first: told === null, step: log.last?.step ?? 0,
        message: log.finished?.message ?? state?.message ?? '' });
    }
    told = status;
    // Rows that were written after the last word are still fetched before the loop ends.
    if (ENDED.includes(status) && rows.length === 0) return;
    await pause(rows.length >= 500 ? 0 : 1000);
  }
}

// ---- words

function refresh() {
  status = statusOf(log, state);
  const share = progressOf(log, status);
  stage.textContent = stageWords(log, status);
  detail.textContent = detailWords(log, state, status);
  const ended = ENDED.includes(status);
  change.textContent = ended ? '' : changeWords(log); // in the end it is the result
  change.hidden = !change.textContent;
  progress.hidden = ended || share === null;
  if (share !== null) {
    progress.setAttribute('aria-valuenow', String(Math.round(100 * share)));
    fill.style.width = `${100 * share}%`;
  }
  const sentences = log.started?.notes ?? [];
  if (notes.children.length !== sentences.length) notes.replaceChildren(...sentences.map((note) => h('li', {}, note)));
  curves.hidden = log.count === 0 && log.evals.length === 0;
  why.hidden = forwardsKey.hidden = log.forwardsUntil() < 0;
  trialKey.hidden = trialList.hidden = !severalTrials(log);
  if (!trialList.hidden) trialList.lastChild.replaceChildren(...trialWords(log).map((words) => h('li', {}, words)));
  const read = taskOf(log) ? 'examples' : 'text';
  trainedKey.lastChild.data = `training ${read}, smoothed`;
  heldKey.lastChild.data = `held-out ${read}`;
  const panelsNow = panelsOf(log);
  boxes.forEach((box, place) => {
    box.panel = (place < PANELS.length ? panelsNow[place] : OPTIMIZATION[place - PANELS.length]) ?? null;
    box.node.dataset.panel = box.panel?.id ?? '';
  });
  abilities.show(log, titles);
  want();
  speak();
}

/** The same for a screen reader, at most every 15 seconds unless the state changes. */
function speak() {
  if (spoken.dataset.status === status && performance.now() - saidAt < 15000) return;
  saidAt = performance.now();
  spoken.dataset.status = status;
  spoken.textContent = status === 'training' && log.last ? `${stage.textContent}; ${newestWords(log)}${abilityWords(log)}`
    : `${stage.textContent}. ${detail.textContent}`;
}

// ---- drawing

/** Draw once before the next frame, however often it is asked for. */
function want() {
  if (drawWanted) return;
  drawWanted = true;
  requestAnimationFrame(() => {
    drawWanted = false;
    draw();
  });
}

function paintbox() {
  const paints = { page: colour('--lab-page'), quiet: colour('--lab-quiet'), edge: colour('--lab-edge'), text: colour('--lab-text') };
  for (const name of ['--lab-a', '--lab-b', '--lab-kept']) paints[name] = colour(name);
  paints.font = getComputedStyle(element).fontFamily || 'sans-serif';
  return paints;
}

function draw() {
  if (curves.hidden || panels.clientWidth === 0) return;
  const paints = paintbox();
  const hasNsp = log.hasNsp();
  plans = boxes.map((box) => {
    box.node.hidden = !box.panel || (box.panel.nsp && !hasNsp);
    if (box.node.hidden || (box.group === optimization && !more.open)) return null;
    const plan = planPanel(box.panel, log, look, box.host.clientWidth, 230);
    paintPanel(sharpContext(box.base, plan.width, plan.height), plan, paints);
    box.name.textContent = inWordsOf(log, box.panel.title);
    box.name.title = inWordsOf(log, box.panel.about);
    const told = plan.series.filter((one) => !one.forwards || log.readsForwards());
    const words = told.map((one) => {
      const trained = one.line[lastPlace(one.line, log.count)];
      const held = log.evals.at(-1)?.[one.field];
      const value = box.panel.heldOut ? held ?? trained : trained ?? held;
      return [one, Number.isFinite(value) ? valueWords(box.panel, value, told.length > 2 ? 0 : 1) : '–'];
    });
    box.now.replaceChildren(...words.map(([one, text]) => h('span', { style: `color: var(${one.paint})` },
      words.length > 1 ? `${one.name} ${text}` : text)));
    const chance = plan.chances.map(([value, name]) => `${name} ${valueWords(box.panel, value)}`).join(', ');
    const forwards = log.forwardsUntil() < 0 ? ''
      : ` Up to step ${whole(log.columns.step[log.forwardsUntil()])} is causal-LM warm-up.`;
    box.top.setAttribute('aria-label', `${box.name.textContent}, ${box.name.title}. Now: ${
      words.map(([one, text]) => `${one.name} ${text}`).join(', ')}.${box.panel.show ? '' : ` Baselines: ${chance || 'unknown'}.`}${forwards} Arrow keys read the steps.`);
    return plan;
  });
  drawCursor(paints);
}

function drawCursor(paints = paintbox()) {
  boxes.forEach((box, place) => {
    const plan = plans[place];
    if (!plan) return;
    const context = sharpContext(box.top, plan.width, plan.height);
    if (cursor !== null && cursor < plan.count) paintCursor(context, plan, cursor, paints);
  });
  tell();
}

function tell() {
  if (cursor === null || cursor >= log.count) {
    readout.replaceChildren(h('span', { class: 'quiet' }, 'Point at a curve, or use the arrow keys on it, to read its values.'));
    return;
  }
  readout.textContent = stepWords(log, cursor, more.open);
}

function setCursor(index) {
  if (index === cursor) return;
  cursor = index;
  drawCursor();
}

function pointAt(box, clientX) {
  const plan = plans[boxes.indexOf(box)];
  if (!plan || !log.count) return;
  const { left, right } = plan.frame;
  const share = (clientX - box.top.getBoundingClientRect().left - left) / (right - left);
  setCursor(indexNear(plan.xs, log.count, share * plan.right));
}

function keyMove(event) {
  if (!log.count) return;
  const page = Math.max(1, Math.round(log.count / 10));
  const from = cursor ?? log.count - 1;
  const goal = { ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from - page, PageDown: from + page, Home: 0, End: log.count - 1 }[event.key];
  if (goal === undefined) return;
  event.preventDefault();
  setCursor(Math.min(Math.max(goal, 0), log.count - 1));
  spoken.textContent = readout.textContent;
}

/** All panels side by side, as they are drawn now, at twice the size. */
function picture() {
  const [width, height, head] = [460, 260, 58];
  const shown = boxes.filter((_, place) => plans[place]);
  const lines = abilitiesOf(log, titles);
  const below = abilitiesHeight(lines, shown.length);
  const canvas = h('canvas', { width: 2 * (width * shown.length + 20), height: 2 * (height + head + 10 + below) });
  const context = canvas.getContext('2d');
  const paints = paintbox();
  context.scale(2, 2);
  context.fillStyle = paints.page;
  context.fillRect(0, 0, canvas.width, canvas.height);
  shown.forEach((box, place) => {
    context.save();
    context.translate(10 + place * width, 0);
    [context.fillStyle, context.textAlign, context.textBaseline] = [paints.quiet, 'left', 'alphabetic'];
    context.font = `12px ${paints.font}`;
    if (place === 0) context.fillText([title.textContent, stage.textContent].filter(Boolean).join(' · '), 4, 20);
    context.fillStyle = paints.text;
    context.font = `bold 13px ${paints.font}`;
    context.fillText(`${box.name.textContent}  (${X_AXES[look.axis].label})`, 4, 46);
    context.translate(0, head);
    paintPanel(context, planPanel(box.panel, log, look, width - 10, height), paints);
    context.restore();
  });
  context.translate(10, height + head + 14);
  if (lines.length) paintAbilities(context, lines, shown.length, width, paints);
  return canvas;
}

view.start();
