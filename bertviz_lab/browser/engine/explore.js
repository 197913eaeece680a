// What the input bar of Explore asks. What depends on a model alone, Python has recorded.

import { whole } from './numeric.js';

const BEFORE = 'before'; // the name that the page has for the untrained copy of a model

export const models = async ({ site }) =>
  [['Models of this page', Object.values(site.models).map(({ name }) => [name, name])]];

export const about = async ({ site }, { model }) =>
  (site.models[model || site.model]?.about ?? { message: missingModel(site, model) });

export const examples = async ({ site }, { model }) => site.models[model || site.model]?.examples ?? [];

export const missing = async () => [];

export async function encode({ model }, { text_a: a, text_b: b }) {
  const encoding = model.encode(a, b);
  const cut = encoding.dropped_a.length + encoding.dropped_b.length;
  const note = cut ? `${model.facts.name} reads up to ${whole(encoding.ids.length)} tokens and this text has `
    + `${whole(cut)} more, which are cut off.` : lengthWarning(model, encoding) || unknownWarning(model, encoding);
  return { encoding, note, mask: model.tokenizer.special.mask };
}

/** What is said of a text that is longer than those that a model was trained on; "" of others. */
export function lengthWarning({ facts: { name, trained_length: trained } }, { ids }) {
  if (trained === null || ids.length <= trained) return '';
  return `${name} was trained on up to ${trained} tokens and this input has ${ids.length}: its output is unreliable `
    + 'beyond that length.';
}

/** What is said of a text with words that a model's vocabulary cannot represent; "" of others. */
function unknownWarning({ facts: { name }, tokenizer: { special: { unk } } }, encoding) {
  const words = encoding.tokens.filter((token, at) => token === unk && !encoding.special_tokens_mask[at]).length;
  const counted = words === 1 ? '1 word' : `${whole(words)} words`;
  const cannot = `The vocabulary of ${name} cannot represent ${counted} of this text`;
  return words ? `${cannot}: the model reads ${unk} there.` : '';
}

export async function random_text({ site }, { model, texts }) {
  const others = (site.models[model || site.model]?.others ?? []).filter((text) => !texts.includes(text));
  return others[Math.floor(Math.random() * others.length)] ?? '';
}

/** A page that shows one drawing, without this one; a single file has none. */
export async function standalone_page({ site, load }, { drawing, label }) {
  const page = await load(`${site.files.drawings}${drawing}.html`).catch(() => {
    throw new Error('This page cannot save a drawing as a page: save it as a picture.');
  });
  const escaped = label.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return new TextDecoder().decode(page).replace('<title></title>', () => `<title>${escaped}</title>`);
}

/** The sentence for a model that is not part of the page. */
export function missingModel(site, name) {
  const names = Object.keys(site.models).join(', ');
  return name === BEFORE ? `The weights before training are not part of this page: compare with one of ${names}.`
    : `This page has no model ${name}: it has ${names}.`;
}
