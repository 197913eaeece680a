// Run: the curves of one run, what can be done with it, and the results of a fine-tuning. In Runs it is the run that
// was chosen there; a tab that trains shows the newest of its kind (`mountProgress` in client/main.js).

import { elements, h, makeTabs, setText, whileBusy } from 'lab/client/dom.js';
import { ACTIVE, dateTime } from 'lab/client/format.js';
import { saveText } from 'lab/client/saving.js';

export function mount(panel) {
  const { page } = panel;
  const id = (name) => `${panel.prefix}-${name}`;
  const drawing = (name, kind, label, options) => panel.drawing(kind, label,
    { id: id(name), about: () => [`Run: ${run.name}`], ...options });
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
  const say = (words) => { said.textContent = words; };
  const ofRun = (more = {}) => ({ run_id: run.id, ...more });
  const show = (view, setting) => page.open({ space: 'runs', settings: { [setting]: run.id }, show: view });
  const openInExplore = () => page.open({ space: 'explore', input: { model: run.id }, show: 'predictions' });
  // Button or link, and whether the run allows it.
  const ACTIONS = [
    ['stop', 'button.plain', 'Stop', () => run.can_stop, { onclick: () => change('stop') }],
    ['resume', 'button.action', 'Resume training', () => run.can_resume, { onclick: () => change('resume') }],
    ['explore', 'button.action', 'Open in Explore', () => run.saved, { onclick: openInExplore }],
    ['dynamics', 'button.plain', 'Training dynamics', () => run.snapshots,
      { onclick: () => show('dynamics', 'dynamics.run') }],
    ['compare', 'button.plain', 'Compare', () => run.pretraining, { onclick: () => show('compare', 'compare.runs') }],
    ['batch', 'button.plain', 'Predict a file', () => run.saved && !run.pretraining && run.task,
      { onclick: () => page.open({ space: 'explore', input: { model: run.id }, show: 'batch' }) }],
    ['report', 'button.plain', 'Save as a page', () => run.mine || run.shipped, { onclick: saveReport }],
    ['download', 'a.plain', 'Download the model', () => run.saved && (run.mine || run.shipped), { download: true }],
  ].map(([key, tag, words, can, options]) => ({ can, node: h(tag, { id: id(key), hidden: true, ...options }, words) }));
  const [stop, download] = [ACTIONS[0].node, ACTIONS.at(-1).node];
  const all = h('button.plain', { hidden: !kind, onclick: () => page.open({ space: 'runs', show: 'runs' }) },
    'All runs');
  const buttons = h('div.buttons.line', ...ACTIONS.map(({ node }) => node), all);
  const bringProbes = () => panel.showAny(probes, 'probes', ofRun());
  const chart = drawing('chart', 'loss', 'Learning curves', {
    events: { run_changed: statusChanged, probes_done: bringProbes },
    server: { async poll(run_id, start) {
      await panel.whenSeen(); // nothing is asked while nobody can see the curves
      return panel.ask('follow', { run_id, start }).catch(() => undefined);
    } } });
  chart.say('Loading …'); // whether there is a run is not known yet
  const probes = drawing('probes', 'chart', 'Minimal-pair probes');
  probes.host.hidden = true;
  const main = panel.part([h('div.head.line', name, status, tags, buttons), note, said], draw);
  page.on('starting', (form) => { if (form === kind) leave({ message: 'Starting …' }); });

  // ---- its curves, its results, its settings and where its model goes, a tab each

  const TABS = ['Curves', 'Results', 'Settings and files'];
  const [curves, results, settings] = TABS.map((title) =>
    h('div', { id: id(`tab-${title.toLowerCase().split(' ')[0]}`), role: 'tabpanel', 'aria-label': title }));
  const hosts = [curves, results, settings];
  const heads = hosts.map((host, place) => h('button', { role: 'tab', 'aria-controls': host.id }, TABS[place]));
  panel.body.append(h('div.tab-wrapper', { role: 'tablist', 'aria-label': 'Parts of the run' }, ...heads), ...hosts);
  curves.append(chart.host, probes.host);
  for (const node of [name, results, settings, ...heads]) node.hidden = true; // until it is known what the run has
  /** The tab that says most of this run. */
  const usual = () => hosts.indexOf(run?.results && !run.active ? results : curves);
  const tabs = makeTabs(heads, (place) => {
    panel.keep('open', place === usual() ? '' : place);
    panel.look();
  });

  /** Show the tabs that have something; the selected one stays while it has, and as long as the run is the same. */
  function showTabs(isOther) {
    const has = (host) => host === curves || parts.some(({ node }) => !node.hidden && host?.contains(node));
    heads.forEach((head, place) => { head.hidden = !has(hosts[place]); });
    const selected = heads.findIndex((head) => head.ariaSelected === 'true');
    const kept = Number(panel.kept('open', usual()));
    if (isOther || !has(hosts[selected])) tabs.select(has(hosts[kept]) ? kept : 0, false);
  }

  async function draw() {
    const chosen = (!kind && panel.kept('id')) || await panel.ask('current', { kind });
    if (chosen === undefined) return undefined;
    if (!chosen) return chart.show(null);
    const now = await panel.ask('about', { run_id: chosen }).catch(leave);
    if (!now) return undefined;
    main.say('');
    const isOther = run?.id !== now.id;
    if (isOther) example = cell = null;
    run = now;
    if (drawnCurves !== run.id || (run.active && !ACTIVE.includes(curvesStatus))) {
      [drawnCurves, curvesStatus] = [run.id, run.status];
      await panel.show(chart, 'curves', ofRun());
      bringProbes();
    }
    showHead(); // with its curves, not above those of the run before
    for (const part of parts) part.node.hidden = !part.needs();
    showTabs(isOther);
    const newest = `${run.id} ${run.results} ${run.gained}`;
    if (drawnResults === newest) return undefined;
    drawnResults = newest;
    return parts.forEach((part) => part.redraw());
  }

  /** The run is gone, or makes room for one that is about to start. */
  function leave({ message }) {
    run = null;
    drawnCurves = drawnResults = '';
    chart.say(message);
    for (const node of [...buttons.children, probes.host, note, ...parts.map((part) => part.node)]) node.hidden = true;
    for (const node of [status, said, tags]) node.textContent = '';
    setText(name, '');
    showTabs(true);
  }

  function showHead() {
    const pressed = document.activeElement;
    setText(name, run.name);
    const end = run.deleted_at && `kept until ${dateTime(run.deleted_at)}`;
    status.textContent = [run.task, run.status, end].filter(Boolean).join(' · ');
    tags.replaceChildren(...run.tags.map((tag) => h('span.tag.card.small', tag)));
    setText(note, run.note);
    markStopping(run.can_stop ? stopping : '');
    for (const { node, can } of ACTIONS) node.hidden = !can();
    all.hidden = !kind;
    if (pressed.hidden) buttons.querySelector(':not([hidden])')?.focus();
    download.href = `lab-model/${encodeURIComponent(run.id)}.zip`;
    said.textContent = run.shipped && !kind ? '' : run.said;
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
      say(await page.change('runs', 'change', { action, run_id: run.id }));
      if (action === 'resume') page.emit('follow', run.id);
      if (action === 'stop') return;
      drawnCurves = '';
      main.redraw();
    } catch (error) {
      markStopping('');
      say(error.message);
    }
  }

  /** Save its curves, results, predictions and settings as one HTML file, which takes some seconds. */
  async function saveReport({ target }) {
    const { id: run_id, name: of } = run;
    say('The page of this run is being written …');
    const report = () => page.ask('publish', 'report', { run_id }, id('report'));
    const html = await whileBusy(target, report, say);
    if (!html) return;
    saveText(`${of}.html`, 'text/html', html);
    say(`${of}.html is among your downloads. It opens in any browser, without a network.`);
  }

  function statusChanged({ status: to, first }) {
    curvesStatus = to;
    if (!first) main.redraw();
  }

  // ---- what is in the tabs besides the curves: each part is shown where its `needs()` is met

  const parts = [];
  function add(part, needs, host = results) {
    part.node.hidden = true;
    host.append(part.node);
    parts.push(Object.assign(part, { needs }));
    return part;
  }

  // ---- results of a fine-tuning

  const summary = drawing('summary', 'facts', 'Metrics on the held-out set');
  const trials = drawing('trials', 'chart', 'Trials of this run');
  const confusion = drawing('confusion', 'chart', 'Confusion matrix', { events: { item_select: pickCell } });
  const everything = h('button.plain', { id: id('all'), hidden: true, onclick: () => showExamples(null) },
    'Show all examples');
  const list = drawing('list', 'examples', 'Held-out examples, errors first',
    { events: { example_select: pickExample }, server: { rows: () => panel.ask('table', ofRun(cell ?? {})) } });
  const bring = h('button.action', { id: id('bring'), hidden: true, onclick: bringExample },
    'Open this example in Explore');
  const tokens = drawing('attribution', 'tokens', 'Attribution: what each token contributes');
  add(panel.part([summary.host, trials.host,
    h('div.beside.tiles', h('div', confusion.host, everything), list.host), tokens.host, bring], drawResults),
  () => run.results);

  async function drawResults() {
    await panel.show(summary, 'summary', ofRun());
    const isDone = !summary.payload.message; // else no trial has ended yet
    trials.host.hidden = confusion.host.hidden = !isDone;
    list.host.hidden = tokens.host.hidden = !isDone || !run.mine;
    if (isDone) await panel.showAny(trials, 'trials', ofRun());
    if (isDone) await panel.show(confusion, 'confusion', ofRun());
    if (list.host.hidden) return;
    await showExamples(cell);
    bring.hidden = example === null;
    if (example === null) tokens.say('Choose an example above to see the attribution of its prediction.');
  }

  async function pickCell({ row, column }) {
    if (!run.mine) return;
    await showExamples({ row, column });
    list.host.scrollIntoView({ block: 'nearest' });
  }

  /** Those of a cell, which stays chosen when newer results come, or all. */
  async function showExamples(chosen) {
    cell = chosen;
    everything.hidden = cell === null;
    await panel.show(list, 'examples', ofRun(cell ?? {}));
  }

  async function bringExample() {
    const [text_a, text_b] = await panel.ask('texts', ofRun({ example }));
    page.open({ space: 'explore', input: { model: run.id, text_a, text_b }, show: 'predictions' });
  }

  async function pickExample({ index }) {
    example = index;
    bring.hidden = false;
    attention.redraw();
    await panel.show(tokens, 'attribution', ofRun({ example }));
    tokens.host.scrollIntoView({ block: 'nearest' });
  }

  /** A fold with one drawing of the run. */
  const fold = (key, title, label) => add(panel.foldOf(key, title, ['chart', label, { id: id(`${key}-chart`) }], key,
    { more: ofRun }), () => run.results && run.charts.includes(key));

  const difference = drawing('attention-grid', 'attention', 'Attention difference');
  const attention = add(panel.fold('attention', 'Attention before and after fine-tuning', (host) => {
    host.append(difference.host);
    return () => (example === null ? difference.say('Choose an example above first.')
      : panel.show(difference, 'attention', ofRun({ example })));
  }), () => run.results && run.mine);
  const gained = drawing('gained', 'chart', 'Words that the vocabulary has gained');
  add(panel.part([gained.host], () => panel.show(gained, 'gained', ofRun())), () => run.gained);
  fold('labels', 'Per-label metrics', 'Precision, recall and F1 per label');
  fold('calibration', 'Calibration', 'Reliability diagram');
  fold('slices', 'Slice analysis', 'Metrics by length and label');
  const facts = drawing('settings-facts', 'facts', 'Settings of the run');
  add(panel.part([facts.host], () => panel.show(facts, 'settings', ofRun())), () => !run.shipped, settings);

  add(panel.fold('use', 'Use it in Python or a terminal', (host) => {
    const code = h('pre.mono.small', { tabindex: 0 });
    host.append(code);
    return async () => { code.textContent = await panel.ask('use', ofRun()) ?? ''; };
  }), () => run.saved || run.shipped, settings);

  // ---- as a web page

  add(panel.fold('publish', 'Publish as a web page', async (host) => {
    const { makePublisher } = await import('lab/views/publish/publish.js');
    const publisher = makePublisher(panel.prefix);
    host.append(publisher.node);
    return () => publisher.refresh(run.id);
  }), () => run.saved && (run.mine || run.shipped) && !page.start.shared, settings);

  // ---- to the hub: first the files that would be sent, then a press

  const files = drawing('hub-files', 'facts', 'Files that are sent');
  add(panel.fold('hub', 'Push to hub', (host) => {
    const repo = panel.field('text', 'Repository on the Hugging Face hub', '', check, { placeholder: 'your-name/model',
      id: id('hub-repo') });
    const open = panel.field('checkbox', 'Public: anybody can download it', false, check);
    const push = h('button.action', { id: id('hub-push'), onclick: send }, 'Push to hub');
    const target = (dry_run) => ofRun({ repo: repo.value, public: open.value, dry_run });
    async function check() {
      [push.disabled, push.dataset.run] = [true, run.id];
      if (!repo.value) return files.say('Name a repository to see what would be sent.');
      await panel.show(files, 'publish', target(true));
      push.disabled = Boolean(files.payload.message);
    }
    async function send() {
      push.disabled = true;
      files.say('Sending …');
      files.show(await page.change('run', 'publish', target(false))
        .catch(({ message }) => { push.disabled = false; return { message }; }));
    }
    host.append(h('div.fields', repo.node, open.node), files.host, push);
    return () => (push.dataset.run === run.id ? undefined : check()); // what was said of it stays
  }), () => run.can_push, settings);
}
