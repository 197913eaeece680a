// The prediction that is explained: its kind, its token, its class and a contrast. Attribution and Causes share it.

import { h, setOptions } from 'lab/client/dom.js';

const KIND_NAMES = { token: 'masked token (MLM)', next: 'next sentence (NSP)', label: 'label', word: 'label of a word',
  start: 'start of the answer', end: 'end of the answer' };
const NO_TARGET = { position: '', choice: '', contrast: '' };

/** The fields in `nodes`, the arguments of a question in `question()`. `changed()` is called when another prediction is
 * chosen; `ready()` resolves to whether it is to be explained: not where a large model waits for the button. */
export function makeTarget(panel, changed) {
  const { page } = panel;
  const id = (name) => `${panel.prefix}-${name}`;
  const settings = panel.settings({ kind: '', ...NO_TARGET }, changed);
  let targets = null; // what can be explained, as Python last said
  let explainedLarge = ''; // the last question about a large model that somebody pressed the button for

  const kind = panel.field('select', 'Prediction to explain', '',
    (value) => settings.change({ ...NO_TARGET, kind: value }), { id: id('kind') });
  const position = settings.field('position', 'select', 'Token');
  const classes = h('datalist', { id: id('classes') });
  const choice = settings.field('choice', 'text', 'Predicted token or label',
    { placeholder: 'the top prediction', list: classes.id });
  const contrast = settings.field('contrast', 'text', 'Contrast with',
    { placeholder: 'anything else', list: classes.id });
  const explain = h('button.action', { id: id('explain'), onclick() {
    explainedLarge = asked();
    changed();
  } }, 'Explain');
  const large = h('p.quiet', { hidden: true }, 'This model is large: this takes some seconds. ', explain);

  function question() {
    const { position: place, ...others } = settings.values;
    return { ...others, position: place === '' ? null : Number(place) };
  }

  const asked = () => JSON.stringify([page.input, question()]);

  async function ready() {
    const possible = await panel.ask('targets', { kind: settings.values.kind });
    if (!possible) return false;
    targets = possible;
    setOptions(kind.input, targets.kinds.map((name) => [name, KIND_NAMES[name]]), targets.kind);
    const chosen = targets.positions.find(([place]) => String(place) === settings.values.position);
    setOptions(position.input, targets.positions, (chosen ?? targets.positions[0])?.[0]);
    kind.node.hidden = targets.kinds.length < 2;
    position.node.hidden = targets.positions.length < 2;
    for (const field of [choice, contrast]) field.node.hidden = !targets.choosable;
    classes.replaceChildren(...targets.classes.map((name) => h('option', { value: name })));
    large.hidden = !targets.large || explainedLarge === asked();
    return large.hidden;
  }

  /** Ask with the arguments that `asks()` returns, and show the parts of the answer, none while a large model waits for
   * the button. Resolves to the answer. */
  const show = (name, drawings, asks = question) => panel.showParts(drawings,
    ready().then((isOn) => (isOn ? panel.ask(name, asks()) : large.hidden ? undefined : {})));

  // Classes and tokens that were chosen for one model mean nothing in another.
  page.on('input', (names) => { if (names.includes('model')) settings.change(NO_TARGET); });
  page.on('select', (selected) => {
    const place = String(selected);
    if (targets?.positions.some(([other]) => String(other) === place)
      && place !== position.input.value) settings.change({ position: place });
  });
  return {
    question, ready, show,
    nodes: [h('div.fields', kind.node, position.node, choice.node, contrast.node, classes), large],
    /** Heads in a layer. */
    get heads() { return targets.heads; },
  };
}
