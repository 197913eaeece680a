// Pretrain: a text, its health report, the options of a run, what it costs, and Train.

import { h } from 'lab/client/dom.js';
import { followStarts, makeFields, makeFiles, makeSources, makeStart } from 'lab/client/form.js';

export async function mount(panel) {
  const form = await panel.ask('form');
  const source = makeSources('text-source', 'Corpus', form.sources, () => chooseText());
  const files = makeFiles({ id: 'text-files', label: form.upload, accept: form.accept, onChange: uploaded });
  const about = h('p', { class: 'quiet', id: 'text-about' });
  const health = panel.drawing('health', 'Health report of the text', { id: 'text-health' });
  const forecast = panel.drawing('facts', 'Estimated cost', { id: 'forecast' });
  const fields = makeFields(form.groups, 'option', changed);
  let advised = {}; // what was recommended last

  const chosen = () => ({ source: source.value, files: source.value === form.own ? files.tokens : [] });
  const sent = () => ({ ...chosen(), values: fields.values() });
  const report = panel.part([h('h2', {}, '2. Check the corpus'), health.host], () => check());
  const start = makeStart(panel, { id: 'train', label: 'Train', fields, async sent() {
    await files.ready();
    return sent();
  } });
  const sources = h('div', { class: 'fields' }, source.node, files.node);
  report.node.before(h('h2', {}, '1. Choose a corpus'), sources, about);
  panel.body.append(h('h2', {}, '3. Choose a model and train it'), fields.main, ...fields.folds.values(), forecast.host,
    ...(form.limits ? [h('p', { class: 'quiet', id: 'train-limits' }, form.limits)] : []),
    ...(form.training ? [start] : []));

  async function advise() {
    const { recipe, init_from } = fields.values();
    const advice = await panel.ask('advise', { ...chosen(), recipe, start: init_from });
    if (!advice) return null;
    about.textContent = advice.about;
    fields.disable(advice.disabled);
    const length = Number(fields.get('seq_len').value);
    if (length > advice.longest) fields.set({ seq_len: advice.longest });
    return advice.values;
  }

  /** Another text: what it recommends replaces what was recommended before; what a person has set stays. */
  async function chooseText() {
    const values = await advise();
    if (!values) return;
    const now = fields.values();
    const untouched = form.by_text.filter((name) => String(now[name]) === String(advised[name] ?? ''));
    fields.set(Object.fromEntries(untouched.map((name) => [name, values[name]])));
    advised = values;
    await report.redraw();
  }

  async function changed(name) {
    if (name === 'recipe') {
      const values = await advise();
      if (values) fields.set(values);
      advised = values ?? advised;
    } else if (name === 'init_from') await advise();
    if (form.reading.includes(name) || name === 'recipe') report.redraw();
    else if (form.forecast.includes(name)) estimate();
  }

  function uploaded(early = false) {
    source.set(files.tokens.length || early ? form.own : source.value);
    if (!early) chooseText();
  }

  async function check() {
    health.say('Reading the text …');
    forecast.show(null);
    try {
      const payload = await panel.ask('check', sent());
      if (payload === undefined) return;
      health.show(payload);
      await estimate();
    } catch (error) {
      fields.complain(error.message);
      health.say(error.message);
    }
  }

  async function estimate() {
    try {
      const payload = await panel.ask('forecast', sent());
      if (payload) forecast.show(payload);
    } catch (error) {
      fields.complain(error.message);
      forecast.show({ items: [], note: error.message, tone: 'error' });
    }
  }

  followStarts(panel, fields.get('init_from'));
  advised = await advise() ?? {};
}
