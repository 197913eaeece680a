// Pretrain: a text, its health report, the options of a run, what it costs, and Train.

import { h, makeField } from 'lab/client/dom.js';
import { followStarts, keepForm, makeFields, makeSource, makeStart } from 'lab/client/form.js';
import { recall, remember } from 'lab/client/saving.js';

const PAUSE = 800; // milliseconds after the last key until a typed text is uploaded
const TYPED = 'typed-text.txt';
const TAB = 'sessionStorage'; // keeps the text as long as `keepForm` its file

export async function mount(panel) {
  const form = await panel.ask('form');
  const source = makeSource(form, { id: 'text', label: 'Corpus', accept: form.accept }, chooseText);
  const typed = makeField('textarea', 'Text', recall(TYPED, TAB).text ?? '', upload,
    { rest: PAUSE, rows: 8, dir: 'auto' });
  const fold = h('details.fold', { id: 'text-typed', open: Boolean(typed.value) },
    h('summary', 'Type or paste a text'), typed.node);
  const about = h('p.quiet', { id: 'text-about' });
  const health = panel.drawing('health', 'Health report of the text', { id: 'text-health' });
  const forecast = panel.drawing('facts', 'Estimated cost', { id: 'forecast' });
  const fields = makeFields(form.groups, 'option', changed);
  const sent = () => ({ ...source.sent(), values: fields.values() });
  keepForm('pretrain', source, fields);
  const report = panel.part([h('h2', '2. Check the corpus'), health.host], check);
  report.node.before(h('h2', '1. Choose a corpus'), h('div.fields', ...source.nodes), fold, about);
  panel.body.append(h('h2', '3. Train'), fields.main, fields.drawer(), forecast.host,
    ...makeStart(panel, form, { id: 'train', label: 'Train', fields, sent, ready: source.ready }));

  async function advise() {
    const { recipe, init_from } = fields.values();
    const advice = await panel.ask('advise', { ...source.sent(), recipe, start: init_from })
      .catch(({ message }) => { about.textContent = message; }); // such as a file that a restarted server lacks
    if (!advice) return null;
    about.textContent = advice.about;
    fields.disable(advice.disabled);
    if (Number(fields.get('seq_len').value) > advice.longest) fields.set({ seq_len: advice.longest });
    return advice.values;
  }

  function upload(text) {
    remember(TYPED, { text }, TAB);
    if (text.trim()) source.put(new File([text], TYPED, { type: 'text/plain' }));
    else source.remove(TYPED);
  }

  async function chooseText() {
    const values = await advise();
    if (!values) return;
    fields.recommend(values, form.by_text);
    await report.redraw();
  }

  async function changed(name) {
    const values = ['recipe', 'init_from'].includes(name) ? await advise() : null;
    if (name === 'recipe' && values) {
      fields.set(values);
      fields.recommend(values, []);
    }
    if (form.reading.includes(name) || name === 'recipe') report.redraw();
    else if (form.forecast.includes(name)) estimate();
  }

  const ask = (question) => panel.ask(question, sent()).catch(({ message }) => {
    fields.complain(message);
    return { message, tone: 'error' };
  });

  async function check() {
    health.say('Reading the text …');
    forecast.show(null);
    const payload = await ask('check');
    if (payload) health.show(payload);
    if (payload && !health.payload.message) estimate(); // nothing waits for it
  }

  async function estimate() {
    forecast.say('Measuring how fast this machine trains …');
    const payload = await ask('forecast');
    if (payload && !health.payload.message) forecast.show(payload); // it may be another text by now
  }

  followStarts(panel, fields.get('init_from'));
  fields.recommend(await advise() ?? {}, []);
}
