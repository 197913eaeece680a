// Run: the curves of one run, what can be done with it, and the results of a fine-tuning. In Runs it is the run that
// was chosen there; a tab that trains shows the newest of its kind (`mountProgress` in client/main.js).

import { elements, h, setText } from 'lab/client/dom.js';
import { ACTIVE, dateTime } from 'lab/client/format.js';

export function mount(panel) {
  const { page } = panel;
  const id = (name) => `${panel.prefix}-${name}`;
  const kind = panel.kind ?? '';
  let run = null; // what it is: see `about` in view.py
  let [drawnCurves, curvesStatus] = ['', '']; // id and status of the run whose curves are drawn
  let drawnResults = ''; // which results of which run are drawn
  let example = null; // the one that is looked into
  let stopping = ''; // the run that was told to stop, until it has
  let cell = null; // of the confusion matrix: {row, column}

  // ---- what it is and what can be done with it

  const [name, status, tags, note] = elements('h3.name', 'span.status', 'span.tags', 'p.quiet.note');
  const said = h('p.said.small', { role: 'status', id: id('message') });
  const button = (key, kind, words, onclick) => h('button', { class: kind, id: id(key), onclick, hidden: true }, words);
  const show = (view, setting) => page.open({ space: 'runs', settings: { [setting]: run.id }, show: view });
  const stop = button('stop', 'plain', 'Stop', () => change('stop'));
  const resume = button('resume', 'action', 'Resume training', () => change('resume'));
  const explore = button('explore', 'action', 'Open in Explore',
    () => page.open({ space: 'explore', input: { model: run.id }, show: 'predictions' }));
  const dynamics = button('dynamics', 'plain', 'Training dynamics', () => show('dynamics', 'dynamics.run'));
  const compare = button('compare', 'plain', 'Compare', () => show('compare', 'compare.runs'));
  const download = h('a.plain', { id: id('download'), download: true, hidden: true }, 'Download the model');
  const showAll = () => page.open({ space: 'runs', show: 'runs' });
  const all = h('button.plain', { hidden: !kind, onclick: showAll }, 'All runs');
  const buttons = h('div.buttons.line', stop, resume, explore, dynamics, compare, download, all);
  const head = h('div.head.line', name, status, tags, buttons);
  const bringProbes = () => panel.showAny(probes, 'probes', ofRun());
  const chart = panel.drawing('loss', 'Learning curves', { id: id('chart'),
    events: { run_changed: statusChanged, probes_done: bringProbes },
    server: { async poll(run_id, start) {
      await panel.whenSeen(); // nothing is asked while nobody can see the curves
      return panel.ask('follow', { run_id, start }).catch(() => undefined);
    } } });
  const probes = panel.drawing('chart', 'Minimal-pair probes', { id: id('probes') });
  probes.host.hidden = true;
  const NO_RUN = {
    pretrain: 'No run yet. Choose a corpus and press Train: the curves appear here.',
    finetune: 'No run yet. Choose a labeled data set and press Fine-tune: the curves appear here.',
  }[kind] ?? 'No run yet. Train one, or choose a shipped model in the table above.';
  chart.say(NO_RUN);
  const main = panel.part([head, note, said, chart.host, probes.host], draw);

  async function draw() {
    const chosen = (!kind && panel.kept('id')) || await panel.ask('current', { kind });
    if (chosen === undefined) return undefined;
    if (!chosen) return chart.say(NO_RUN);
    const now = await panel.ask('about', { run_id: chosen }).catch(leave);
    if (!now) return;
    main.say('');
    if (run?.id !== now.id) example = cell = null;
    run = now;
    showHead();
    if (drawnCurves !== run.id || (run.active && !ACTIVE.includes(curvesStatus))) {
      [drawnCurves, curvesStatus] = [run.id, run.status];
      await panel.show(chart, 'curves', { run_id: run.id });
      bringProbes();
    }
    results.node.hidden = !run.results;
    for (const fold of folds) fold.node.hidden = !fold.needs();
    if (drawnResults === `${run.id} ${run.results}`) return;
    drawnResults = `${run.id} ${run.results}`;
    if (run.results) results.redraw();
    for (const fold of folds) fold.redraw();
  }

  /** The run is gone. */
  function leave(error) {
    run = null;
    drawnCurves = drawnResults = '';
    chart.say(error.message);
    for (const node of [...buttons.children, probes.host, results.node, note,
      ...folds.map((fold) => fold.node)]) node.hidden = true;
    for (const node of [name, status, said, tags]) node.textContent = '';
  }

  function showHead() {
    const pressed = document.activeElement;
    name.textContent = run.name;
    const end = run.deleted_at && `kept until ${dateTime(run.deleted_at)}`;
    status.textContent = [run.task, run.status, end].filter(Boolean).join(' · ');
    tags.replaceChildren(...run.tags.map((tag) => h('span.tag.card.small', tag)));
    setText(note, run.note);
    markStopping(run.can_stop ? stopping : '');
    for (const [node, can] of [[stop, run.can_stop], [resume, run.can_resume], [explore, run.saved],
      [dynamics, run.snapshots], [compare, run.pretraining],
      [download, run.saved && (run.mine || run.shipped)]]) node.hidden = !can;
    if (pressed.hidden) buttons.querySelector(':not([hidden])')?.focus();
    download.href = `lab-model/${encodeURIComponent(run.id)}.zip`;
    const place = run.path ? ` It is in ${run.path}.` : '';
    said.textContent = run.shipped && kind
      ? `There is no run of yours yet: this is how ${run.name}, which ships with the lab, was trained.`
      : !run.saved || run.shipped ? ''
      : run.active ? `The newest checkpoint of ${run.name} can be opened in Explore; it is updated during training.`
        : `The model of ${run.name} can be opened in Explore.${place}`;
  }

  function markStopping(which) {
    stopping = which;
    const isThis = stopping === run?.id;
    stop.ariaDisabled = String(isThis);
    stop.textContent = isThis ? 'Stopping …' : 'Stop';
  }

  async function change(action) {
    if (action === 'stop') markStopping(run.id);
    try {
      said.textContent = await page.changeRun({ action, run_id: run.id });
      if (action === 'stop') return;
      drawnCurves = '';
      main.redraw();
    } catch (error) {
      markStopping('');
      said.textContent = error.message;
    }
  }

  // ---- curves

  function statusChanged({ status: to, first }) {
    curvesStatus = to;
    if (!first) main.redraw();
  }

  // ---- results of a fine-tuning

  const ofRun = (more = {}) => ({ run_id: run.id, ...more });
  const summary = panel.drawing('facts', 'Metrics on the held-out set', { id: id('summary') });
  const trials = panel.drawing('chart', 'Trials of this run', { id: id('trials') });
  const confusion = panel.drawing('chart', 'Confusion matrix',
    { id: id('confusion'), events: { item_select: pickCell } });
  const everything = button('all', 'plain', 'Show all examples', () => showExamples(null));
  const list = panel.drawing('examples', 'Held-out examples, errors first',
    { id: id('list'), events: { example_select: pickExample } });
  const tokens = panel.drawing('tokens', 'Attribution: what each token contributes', { id: id('attribution') });
  const results = panel.part([h('h3', 'Results'), summary.host, trials.host,
    h('div.beside.tiles', h('div', confusion.host, everything), list.host), tokens.host], drawResults);
  results.node.hidden = true;

  async function drawResults() {
    await panel.show(summary, 'summary', ofRun());
    if (summary.payload.message) { // no trial has ended yet
      for (const { host } of [trials, confusion, list, tokens]) host.hidden = true;
      return;
    }
    for (const { host } of [confusion, list, tokens]) host.hidden = host !== confusion.host && !run.mine;
    await panel.showAny(trials, 'trials', ofRun());
    await panel.show(confusion, 'confusion', ofRun());
    if (!run.mine) return;
    await showExamples(cell);
    if (example === null) tokens.say('Choose an example above to see the attribution of its prediction.');
  }

  async function pickCell({ row, column }) {
    if (!run.mine || row === undefined || column === undefined) return; // a bar, where the task has no matrix
    await showExamples({ row, column });
    list.host.scrollIntoView({ block: 'nearest' });
  }

  /** Those of a cell, which stays chosen when newer results come, or all. */
  async function showExamples(chosen) {
    cell = chosen;
    everything.hidden = cell === null;
    await panel.show(list, 'examples', ofRun(cell ?? {}));
  }

  async function pickExample({ index }) {
    example = index;
    attention.redraw();
    await panel.show(tokens, 'attribution', ofRun({ example }));
    tokens.host.scrollIntoView({ block: 'nearest' });
  }

  const folds = []; // parts that are shown where their `needs()` is met
  function add(part, needs) {
    part.node.hidden = true;
    folds.push(Object.assign(part, { needs }));
  }

  /** A fold with one drawing of the run. */
  const fold = (key, title, label, kind = 'chart', needs = () => run.results && run.charts.includes(key)) =>
    add(panel.foldOf(key, title, [kind, label, { id: id(`${key}-${kind}`) }], key, { more: ofRun }), needs);

  const difference = panel.drawing('attention', 'Attention difference', { id: id('attention-grid') });
  const attention = panel.fold('attention', 'Attention before and after fine-tuning', (host) => {
    host.append(difference.host);
    return () => (example === null ? difference.say('Choose an example above first.')
      : panel.show(difference, 'attention', ofRun({ example })));
  });
  add(attention, () => run.results && run.mine);
  fold('labels', 'Per-label metrics', 'Precision, recall and F1 per label');
  fold('calibration', 'Calibration', 'Reliability diagram');
  fold('slices', 'Slice analysis', 'Metrics by length and label');
  fold('settings', 'Settings', 'Settings of the run', 'facts', () => !run.shipped);

  // ---- to the hub: first the files that would be sent, then a press

  const files = panel.drawing('facts', 'Files that are sent', { id: id('hub-files') });
  const hub = panel.fold('hub', 'Push to hub', (host) => {
    const repo = panel.field('text', 'Repository on the Hugging Face hub', '', check, { placeholder: 'your-name/model',
      id: id('hub-repo') });
    const open = panel.field('checkbox', 'Public: anybody can download it', false, check);
    const push = h('button.action', { id: id('hub-push'), onclick: send }, 'Push to hub');
    const target = () => ofRun({ repo: repo.value, public: open.value });
    async function check() {
      [push.disabled, push.dataset.run] = [true, run.id];
      if (!repo.value) return files.say('Name a repository to see what would be sent.');
      await panel.show(files, 'hub', target());
      push.disabled = Boolean(files.payload.message);
    }
    async function send() {
      push.disabled = true;
      files.say('Sending …');
      files.say(await page.changeRun({ action: 'push', ...target() })
        .catch((error) => { push.disabled = false; return error.message; }));
    }
    host.append(h('div.fields', repo.node, open.node), files.host, push);
    return () => (push.dataset.run === run.id ? undefined : check()); // what was said of it stays
  });
  add(hub, () => run.can_push);
}
