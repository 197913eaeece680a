// What Layers and Embeddings ask: a prediction at every layer, norms, the embedding sum, similar sentences and words
// (interpret/layers.py and embeddings.py).

import { cosine, joined, largest, longest, mean, norm, productsOf, range, rankOf, softmax } from './numeric.js';
import { escapeRegExp, wordsIn } from './tokenizer.js';

const MOST_SENTENCES = 20;
const NEIGHBOURS = 10;
const SHOWN = 80; // characters of a text in a sentence

// ---- layers

export async function lens({ model }, { text_a: a, text_b: b, position }, isTuned = false) {
  const { facts, tokenizer } = model;
  const encoding = model.encode(a, b);
  model.requireHead('token');
  const masks = tokenizer.maskPositions(encoding);
  if (!masks.length) throw new Error(`Put ${tokenizer.special.mask} in place of a word to predict it.`);
  const place = masks.includes(position) ? position : masks[0];
  const layers = range(facts.layers + 1);
  const first = isTuned ? layers.length : 0; // the layers of the lens come after all others
  const { token } = await model.run(encoding, { rows: layers.map((layer) => [first + layer, place]) });
  const shares = layers.map((layer) => softmax(model.rowOf(token, layer)));
  const [id] = largest(shares.at(-1), 1);
  return { picture: 'logit_lens', masks, is_prenorm: facts.is_prenorm, is_tuned: isTuned,
    target: { position: place, name: tokenizer.token(id) },
    layers: shares.map((row) => ({ candidates: model.candidates(row, 5), probability: row[id],
      rank: rankOf(row, id) })) };
}

export async function tuned(context, args) {
  const { tuned_lens: known } = context.model.facts;
  const byLens = await lens(context, args, Boolean(known));
  return known ? { lens: byLens, fit: known.fit } : { lens: null, fit: null };
}

/** Norms by layer and token. */
async function normsOf(model, a, b) {
  const encoding = model.encode(a, b);
  const { hidden, updates } = await model.run(encoding);
  const rowsOf = (which) => range(model.facts.layers).map((layer) => [...model.rowOf(updates, which, layer)]);
  return { encoding, attention: rowsOf(0), feed_forward: rowsOf(1), norm_note: model.facts.notes.norm,
    hidden: range(model.facts.layers + 1).map((layer) => model.rowsOf(hidden, layer).map(norm)) };
}

export const norms = async ({ model }, { text_a: a, text_b: b, position }) =>
  ({ picture: 'norms', ...await normsOf(model, a, b), position: position ?? null });

export const token_norms = async ({ model }, { text_a: a, text_b: b, of: kind }) =>
  ({ picture: 'token_norms', ...await normsOf(model, a, b), kind });

export async function embedding_sum({ model }, { text_a: a, text_b: b }) {
  const { notes } = model.facts;
  const encoding = model.encode(a, b);
  const { summands } = await model.run(encoding);
  const parts = Object.fromEntries(['token', 'segment', 'position']
    .map((name, part) => [name, model.rowsOf(summands, part)]));
  const total = parts.token.map((_, at) =>
    parts.token[at].map((value, place) => value + parts.segment[at][place] + parts.position[at][place]));
  return { picture: 'embedding_sum', encoding,
    norms: Object.fromEntries(Object.entries({ ...parts, sum: total }).map(([name, rows]) => [name, rows.map(norm)])),
    cosines: Object.fromEntries(Object.entries(parts)
      .map(([name, rows]) => [name, rows.map((row, at) => cosine(row, total[at]))])),
    note: joined(notes.segments, notes.positions, notes.factorization) };
}

// ---- sentences

export async function sentences({ model }, { text_a: a, text_b: b }) {
  const own = [a, b].map((text) => text.split(/\s+/).filter(Boolean).join(' '));
  return [...new Set([...own, ...model.facts.singles].filter(Boolean))].join('\n');
}

/** The sentences that are compared, and the products of their vectors. */
async function pooled(context, args) {
  const { model, progress } = context;
  const { facts } = model;
  const texts = (args.lines || await sentences(context, args)).split('\n').map((line) => line.trim()).filter(Boolean);
  if (!texts.length) throw new Error('Type some sentences, one per line.');
  if (texts.length > MOST_SENTENCES)
    throw new Error(`${texts.length} sentences are too many: keep ${MOST_SENTENCES}.`);
  const pooling = args.pooling === 'auto' ? facts.pooling || 'mean' : args.pooling;
  if (args.pooling === 'auto' && facts.unsupported_modules)
    throw new Error(`${facts.name} computes sentence embeddings with ${facts.unsupported_modules}, which the lab does `
      + 'not have: choose a pooling, or use sentence-transformers.');
  const vectors = [];
  for (const text of texts) {
    await progress(vectors.length / texts.length);
    const encoding = model.encode(text);
    const { hidden } = await model.run(encoding, { types: encoding.ids.map(() => 0) });
    const rows = model.rowsOf(hidden, facts.layers);
    const reduce = { cls: (_, at) => rows[0][at], mean: (_, at) => mean(rows.map((row) => row[at])),
      max: (_, at) => Math.max(...rows.map((row) => row[at])) }[pooling];
    vectors.push(Float64Array.from(rows[0], reduce));
  }
  return { texts, products: productsOf(vectors) };
}

export const similarity = async (context, args) => ({ picture: 'similarity', ...await pooled(context, args) });

export const sentence_map = async (context, args) => ({ picture: 'sentence_map', ...await pooled(context, args) });

// ---- words

export async function token_at({ model }, { text_a: a, text_b: b, position }) {
  const { ids } = model.encode(a, b);
  if (position >= ids.length) throw new Error('That token is no longer there.');
  return model.tokenizer.nameOf(ids[position]);
}

export async function neighbours({ model }, { text_a: a, text_b: b, word: typed }) {
  const { tokenizer } = model;
  let word = typed.trim();
  if (!word) {
    const own = model.encode(a, b).ids.filter((id) => !tokenizer.special_ids.includes(id)).map(tokenizer.nameOf);
    word = longest(own).trim();
  }
  const near = model.nearest(tokenizer.singleToken(word), NEIGHBOURS);
  return { picture: 'neighbours', word, neighbours: near };
}

/** The positions of the first occurrence of a word that begins and ends where a word does. */
function tokensOf(encoding, word) {
  const text = encoding.text_a;
  const spans = wordsIn(encoding).map((at) => [encoding.offsets[at[0]][0], encoding.offsets[at.at(-1)][1]]);
  const parts = word.trim().split(/\s+/).filter(Boolean).map(escapeRegExp);
  if (!parts.length) return [];
  for (const match of text.matchAll(new RegExp(parts.join('\\s+'), 'giu'))) {
    const first = [...text.slice(0, match.index)].length;
    const last = first + [...match[0]].length;
    if (spans.some(([start]) => start === first) && spans.some(([, end]) => end === last)) {
      return range(encoding.ids.length).filter((at) => {
        const [start, end] = encoding.offsets[at];
        return first <= start && start < end && end <= last;
      });
    }
  }
  return [];
}

/** A word's vector at every layer. */
async function pathOf(model, text, word) {
  const encoding = model.encode(text);
  const positions = tokensOf(encoding, word);
  if (!positions.length) {
    const characters = [...text];
    const shown = characters.length <= SHOWN ? text : `${characters.slice(0, SHOWN).join('')}…`;
    throw new Error(`The word ${word.trim() || '(none)'} is not in the sentence “${shown}”${encoding.dropped_a.length
      ? ' (what is left of it: the text is longer than the model reads)' : ''}: name a whole word as it is there.`);
  }
  const { hidden } = await model.run(encoding);
  return range(model.facts.layers + 1).map((layer) => {
    const rows = positions.map((at) => model.rowOf(hidden, layer, at));
    return Float64Array.from(rows[0], (_, at) => mean(rows.map((row) => row[at])));
  });
}

function longestCommonWord(a, b) {
  const wordsOf = (text) => text.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const inB = new Set(wordsOf(b).map((word) => word.toLowerCase()));
  const common = wordsOf(a).filter((word) => inB.has(word.toLowerCase()));
  if (!common.length) throw new Error('Texts A and B have no word in common.');
  return longest(common);
}

export async function contexts({ model }, args) {
  let { text_a: a, text_b: b, word } = args;
  if (!(a.trim() && b.trim())) {
    const [first, second, example] = model.facts.contrast;
    [a, b, word] = [first, second, word.trim() || example];
  }
  const { mask } = model.tokenizer.special;
  word = word.trim() || longestCommonWord(a.replaceAll(mask, ' '), b.replaceAll(mask, ' '));
  const products = productsOf([...await pathOf(model, a, word), ...await pathOf(model, b, word)]);
  return { text_a: a, text_b: b, word,
    similarity: { picture: 'context_similarity', word, products, norm_note: model.facts.notes.norm },
    path: { picture: 'context_paths', word, products } };
}
