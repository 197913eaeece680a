// Text to tokens with their places in the text. The library normalizes and finds the words; how a word is split is
// written out here, step by step, because the page shows the steps. Offsets count code points, as Python's do.

import { whole } from './numeric.js';

const WHITE_SPACE = '\\t\\n\\v\\f\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const SPACE = new RegExp(`^[${WHITE_SPACE}]+$`);
const LONGEST_MERGED_WORD = 1000;
const UNKNOWN_PENALTY = 10; // of `tokenizers`, models/unigram: K_UNK_PENALTY

/** The printable characters that byte-level BPE has for bytes (Radford et al. 2019, encoder.py). */
const BYTES = (() => {
  const isPlain = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let others = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPlain(byte) ? byte : 256 + others++));
})();
const BYTE_OF = new Map(BYTES.map((character, byte) => [character, byte]));
const utf8 = new TextEncoder();
const fromBytes = (token) => new TextDecoder().decode(Uint8Array.from([...token], (one) => BYTE_OF.get(one) ?? 63));

const isSpace = (text) => SPACE.test(text);
const escapeRegExp = (text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

/** The span without white space at its ends; the whole span where there is nothing else in it. */
function trimSpan(characters, start, end) {
  let [from, to] = [start, end];
  while (from < to && isSpace(characters[from])) from += 1;
  while (to > from && isSpace(characters[to - 1])) to -= 1;
  return from === to ? [start, end] : [from, to];
}

/** Punctuation as in BERT. */
const isPunctuation = (character) => /\p{P}/u.test(character) || /[!-/:-@[-`{-~]/.test(character);

/** WordPiece: the longest token that a word begins with, then the longest continuation, and so on. */
function longestMatch({ has, unknown, prefix, longestWord }, word) {
  const whole = { pieces: [{ token: unknown, length: word.length }], steps: [] };
  if (longestWord !== null && word.length > longestWord) return whole;
  const [pieces, steps] = [[], []];
  for (let start = 0; start < word.length;) {
    const candidates = [];
    let end = word.length;
    for (; end > start; end -= 1) {
      candidates.push((start ? prefix : '') + word.slice(start, end).join(''));
      if (has(candidates.at(-1))) break;
    }
    if (end === start) return { ...whole, steps: [...steps, { candidates, match: null }] };
    steps.push({ candidates, match: candidates.at(-1) });
    pieces.push({ token: candidates.at(-1), length: end - start });
    start = end;
  }
  return { pieces, steps };
}

/** BPE: merge the pair that was learned first, leftmost on ties, until none is left (Sennrich et al. 2016). */
function merge({ ranks }, word, wantsSteps) {
  let pieces = word;
  const steps = [];
  for (;;) {
    let best = { rank: Infinity };
    for (let at = 0; at + 1 < pieces.length; at += 1) {
      const rank = ranks.get(`${pieces[at]} ${pieces[at + 1]}`);
      if (rank < best.rank) best = { rank, at };
    }
    if (best.rank === Infinity) break;
    const pair = pieces.slice(best.at, best.at + 2);
    if (wantsSteps) steps.push({ pieces_before: pieces, pair, rank: best.rank });
    pieces = [...pieces.slice(0, best.at), pair.join(''), ...pieces.slice(best.at + 2)];
  }
  return { pieces: pieces.map((token) => ({ token, length: [...token].length })), steps };
}

/** Unigram: of all splits the one with the largest sum of log-probabilities (Kudo 2018, section 3.2). */
function bestPath({ scores, longestPiece, leastScore, unknown }, word) {
  const totals = [0];
  const ending = [[]]; // at each offset the pieces that end there, [piece, its score, the total], the best first
  for (let end = 1; end <= word.length; end += 1) {
    const here = [];
    const add = (piece, start, score) => here.push([piece, score, totals[start] + score]);
    for (let start = Math.max(0, end - longestPiece); start < end; start += 1) {
      const piece = word.slice(start, end).join('');
      if (scores.has(piece)) add(piece, start, scores.get(piece));
    }
    if (!scores.has(word[end - 1])) add(word[end - 1], end - 1, leastScore - UNKNOWN_PENALTY);
    here.sort((one, other) => other[2] - one[2]);
    ending.push(here);
    totals.push(here[0][2]);
  }
  const [pieces, steps] = [[], []];
  for (let end = word.length; end; end -= pieces[0].length) {
    steps.unshift({ candidates: ending[end] });
    const [[piece]] = ending[end];
    pieces.unshift({ token: scores.has(piece) ? piece : unknown, length: [...piece].length });
  }
  for (let at = pieces.length - 1; at > 0; at -= 1) {
    if (pieces[at].token !== unknown || pieces[at - 1].token !== unknown) continue;
    pieces[at - 1].length += pieces[at].length; // unknown characters in a row are one token
    pieces.splice(at, 1);
  }
  return { pieces, steps };
}

const SPLITS = { wordpiece: longestMatch, bpe: merge, unigram: bestPath };

/** Lengths of A and B in `room` tokens: one token at a time goes from the end of the longer text, from B if equal
 * (google-research/bert, run_classifier.py, _truncate_seq_pair). */
function truncatedLengths(a, b, room) {
  const excess = Math.max(0, a + b - room);
  const difference = Math.min(excess, Math.abs(a - b));
  const [longA, longB] = a > b ? [a - difference, b] : [a, b - difference];
  const rest = excess - difference;
  return [longA - Math.floor(rest / 2), longB - (rest - Math.floor(rest / 2))];
}

/** A tokenizer from `tokenizer.json` by the library's class, and `facts` that Python knows of it. */
export function makeTokenizer(Library, json, facts) {
  const backend = new Library(json, {});
  const { algorithm, special } = facts;
  const { model } = json;
  const added = new Map(json.added_tokens.map((token) => [token.content, token]));
  const idOf = (token) => added.get(token)?.id ?? backend.token_to_id(token);
  const names = [];
  for (const [token, id] of backend.get_vocab()) names[id] = token;
  for (const { content, id } of json.added_tokens) names[id] = content;
  const scores = new Map(algorithm === 'unigram' ? model.vocab : []);
  const rules = {
    has: (token) => backend.token_to_id(token) !== undefined,
    unknown: special.unk,
    prefix: facts.prefix,
    longestWord: facts.longest_word,
    ranks: new Map((model.merges ?? []).map((pair, rank) => [Array.isArray(pair) ? pair.join(' ') : pair, rank])),
    scores,
    longestPiece: Math.max(1, ...[...scores.keys()].map((piece) => piece.length)),
    leastScore: [...scores.values()].reduce((least, score) => Math.min(least, score), 0),
  };
  const isByteLevel = algorithm === 'bpe';
  const stages = json.pre_tokenizer?.pretokenizers ?? [json.pre_tokenizer];
  const leavesSpaces = stages.every((stage) => stage?.type !== 'WhitespaceSplit');
  const marksSpaces = stages.some((stage) => stage?.type === 'Metaspace');
  // The library leaves this to its model.
  const isSplitAtMarks = stages.some((stage) => stage?.type === 'Metaspace' && stage.split !== false);
  const literal = json.added_tokens.filter(({ normalized }) => !normalized)
    .sort((one, other) => other.content.length - one.content.length);
  const pattern = new RegExp(literal.map(({ content, lstrip, rstrip }) => {
    const space = `[${WHITE_SPACE}]*`;
    return `${lstrip ? space : ''}${escapeRegExp(content)}${rstrip ? space : ''}`;
  }).join('|') || '(?!)', 'gu');

  /** Normalize; `origins` has for each character of the result the place of the one that it came from. */
  function normalize(characters) {
    if (!backend.normalizer) return { normalized: characters, origins: characters.map((_, at) => at) };
    const whole = [...backend.normalizer(characters.join(''))];
    const byParts = (parts) => {
      const [normalized, origins] = [[], []];
      let at = 0;
      for (const part of parts) {
        const size = [...part].length;
        [...backend.normalizer(part)].forEach((character, place) => {
          normalized.push(character);
          origins.push(at + Math.min(place, size - 1));
        });
        at += size;
      }
      return { normalized, origins };
    };
    const plain = (list) => list.join('').replaceAll('ς', 'σ');
    const isSame = ({ normalized }) => plain(normalized) === plain(whole);
    let aligned = byParts(characters); // in the library that a model was trained with, Σ is σ at a word's end, too
    if (isSame(aligned)) return aligned;
    const clusters = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(characters.join(''));
    aligned = byParts([...clusters].map(({ segment }) => segment));
    if (isSame(aligned)) return aligned;
    // Rules for a whole text take away or put in: each character is the next one of its kind, else it follows.
    let [place, last] = [0, -1];
    const origins = whole.map((character) => {
      const next = aligned.normalized.indexOf(character, place);
      const isNear = next >= 0 && next < place + 64;
      if (isNear) place = next + 1;
      last = isNear ? aligned.origins[next] : Math.min(last + 1, characters.length - 1);
      return last;
    });
    whole.forEach((character, at) => { // a space stands for the last of several
      const before = origins[at + 1] - 1;
      if (isSpace(character) && before > origins[at] && isSpace(characters[before])) origins[at] = before;
    });
    return { normalized: whole, origins };
  }

  /** The words of a part of a text: {word: characters, places: for each the place in the text, null if put in}. */
  function wordsOf(characters) {
    const { normalized, origins } = normalize(characters);
    if (!normalized.length) return [];
    const words = backend.pre_tokenizer ? backend.pre_tokenizer(normalized.join(''), { section_index: 0 })
      : [normalized.join('')];
    let units = normalized.map((character, at) => [character, origins[at]]);
    if (isByteLevel) {
      units = units.flatMap(([character, at]) => [...utf8.encode(character)].map((byte) => [BYTES[byte], at]));
    }
    let next = 0;
    const isMark = (character) => marksSpaces && character === '▁';
    const matches = (unit, character) => unit === character || (isMark(character) && isSpace(unit));
    return words.flatMap((text) => (isSplitAtMarks ? text.split(/(?=▁)/u) : [text])).map((text) => {
      const word = [...text];
      const places = word.map((character) => {
        let at = next;
        const canSkip = !isByteLevel && !isMark(character);
        while (canSkip && at < units.length && !matches(units[at][0], character) && isSpace(units[at][0])) at += 1;
        if (at >= units.length || !matches(units[at][0], character)) return null;
        if (isMark(character) && !leavesSpaces) while (isSpace(units[at + 1]?.[0] ?? '')) at += 1;
        next = at + 1;
        return units[at][1];
      });
      return { word, places };
    });
  }

  /** The words of a text with their tokens: {word, normalized, start, end, isAdded, pieces, steps}. */
  function split(text, { wantsSteps = false, isPlain = false } = {}) {
    const well = text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd');
    const result = [];
    const characters = [...well];
    const addPlain = (from, to) => {
      for (const { word, places } of wordsOf(characters.slice(from, to))) {
        const { pieces, steps } = SPLITS[algorithm](rules, word, wantsSteps);
        const known = (list) => list.filter((place) => place !== null).map((place) => place + from);
        let at = 0;
        const tokens = pieces.map(({ token, length }) => {
          const of = known(places.slice(at, at + length));
          const before = known(places.slice(0, at)).at(-1);
          at += length;
          const none = before === undefined ? known(places)[0] ?? from : before + 1;
          return { token, id: idOf(token) ?? facts.unk_id, start: of[0] ?? none,
            end: of.length ? of.at(-1) + 1 : none };
        });
        const all = known(places);
        const [start, end] = trimSpan(characters, all[0] ?? from, all.length ? all.at(-1) + 1 : from);
        result.push({ word: characters.slice(start, end).join(''), normalized: word.join(''), start, end,
          isAdded: false, pieces: tokens, steps });
      }
    };
    let done = 0;
    let [units, points] = [0, 0]; // a place in the text in units of 16 bits, and in code points
    const pointsTo = (index) => {
      points += [...well.slice(units, index)].length;
      units = index;
      return points;
    };
    for (const match of isPlain ? [] : well.matchAll(pattern)) {
      const from = pointsTo(match.index);
      const to = pointsTo(match.index + match[0].length);
      addPlain(done, from);
      const [start, end] = trimSpan(characters, from, to);
      const token = characters.slice(start, end).join('');
      result.push({ word: token, normalized: token, start, end, isAdded: true, steps: [],
        pieces: [{ token, id: idOf(token), start: from, end: to }] });
      done = to;
    }
    addPlain(done, characters.length);
    return result;
  }

  /** The tokens of one text: {token, id, offsets, word}; `isPlain` reads names of special tokens as any text. */
  function tokensOf(text, isPlain = false) {
    const characters = [...text];
    let tokens = split(text, { isPlain }).flatMap(({ pieces }, word) => pieces.map((piece) => {
      const { token, id, start, end } = piece;
      let span = trimSpan(characters, start, end);
      if (!characters.slice(start, end).some((character) => !isSpace(character))) span = [end, end];
      else if (token === '▁') span = [start, start];
      return { token: names[id] ?? token, id, offsets: span, word };
    }));
    if (algorithm === 'unigram') tokens = splitAtPunctuation(tokens, characters);
    return tokens;
  }

  /** Encode one text or a pair as [CLS] A [SEP] B [SEP], truncated to `longest` tokens; the fields are those of
   * Python's `Encoding`. */
  function encode(textA, textB, longest) {
    const texts = [textA, textB || null];
    const [a, b] = texts.map((text) => (text === null ? [] : tokensOf(text)));
    const layout = facts.layout[texts[1] === null ? 'single' : 'pair'];
    const room = longest - layout.filter((item) => Array.isArray(item)).length;
    const [keptA, keptB] = truncatedLengths(a.length, b.length, room);
    const kept = { A: a.slice(0, keptA), B: b.slice(0, keptB) };
    const columns = layout.flatMap((item) => (Array.isArray(item)
      ? [{ token: names[item[0]], id: item[0], type: item[1], isSpecial: 1, offsets: [0, 0], word: null }]
      : kept[item].map((token) => ({ ...token, type: item === 'B' ? 1 : 0, isSpecial: 0 }))));
    const column = (name) => columns.map((one) => one[name]);
    const dropped = (tokens) => tokens.map(({ token }) => token);
    return { text_a: textA, text_b: texts[1], ids: column('id'), tokens: column('token'),
      token_type_ids: column('type'), attention_mask: columns.map(() => 1), special_tokens_mask: column('isSpecial'),
      offsets: column('offsets'), word_ids: column('word'), dropped_a: dropped(a.slice(keptA)),
      dropped_b: dropped(b.slice(keptB)) };
  }

  /** A token as it stands in a text: "café" for BPE's "ĠcafÃ©", "ing" for WordPiece's "##ing". */
  function textOf(id) {
    const token = names[id] ?? '';
    if (added.has(token)) return token.trim();
    if (isByteLevel) return fromBytes(token).trim();
    if (algorithm === 'unigram') return token.replaceAll('▁', ' ').trim();
    return facts.prefix && token.startsWith(facts.prefix) ? token.slice(facts.prefix.length) || token : token;
  }

  /** What to call a token: its text, or its spelling in the vocabulary where the text says less. */
  function nameOf(id) {
    const text = textOf(id);
    const isReadable = text && !/[\p{C}\ufffd]/u.test(text) && !/(?! )\p{Z}/u.test(text);
    return isReadable && algorithm !== 'wordpiece' ? text : token(id);
  }

  /** The ids of the tokens with a name: the one after a space first, then the one without. */
  function idsNamed(name) {
    const bytes = (text) => [...utf8.encode(text)].map((byte) => BYTES[byte]).join('');
    let spellings = algorithm === 'wordpiece' ? [name] : [`▁${name}`, name];
    if (algorithm === 'bpe') spellings = [bytes(` ${name}`), `▁${name}`, bytes(name), name];
    return [...new Set(spellings.map(idOf).filter((id) => id !== undefined))];
  }

  const token = (id) => names[id] ?? (id < names.length ? '' : `[id ${id}]`);

  /** The id of a word that is one token. Throws an error where it is several. */
  function singleToken(word) {
    const name = word.trim();
    if (!name) throw new Error('Name a word.');
    const ids = tokensOf(` ${name}`, true).map(({ id }) => id);
    if (ids.length === 1 && ids[0] !== facts.unk_id) return ids[0];
    const named = idsNamed(name);
    if (named.length) return named[0];
    const pieces = ids.map(token).join(' ');
    throw new Error(`${name} is not one token of this model's vocabulary, but ${pieces}: name a shorter word.`);
  }

  /** Advice on how to write the mask token where a text has a misspelled one, else "". */
  function maskAdvice(text) {
    const { mask } = special;
    const rest = text.replaceAll(mask, ' '.repeat(mask.length));
    const isUpper = text === text.toUpperCase() && text !== text.toLowerCase();
    const attempt = new RegExp(facts.attempts, 'iu').exec(rest) ?? (isUpper ? null : /\bMASK\b/.exec(rest));
    return attempt ? `To let the model fill in a word, write ${mask} in place of "${attempt[0].trim()}".` : '';
  }

  /** The steps of the words of a text. */
  function explain(text) {
    const words = split(text, { wantsSteps: true });
    const most = Math.max(0, ...words.map(({ normalized }) => [...normalized].length));
    if (algorithm !== 'wordpiece' && most > LONGEST_MERGED_WORD) {
      const size = `${whole(most)} ${isByteLevel ? 'bytes' : 'characters'}`;
      throw new Error(`A word of ${size} is too long to show how it is split: shorten it to `
        + `${whole(LONGEST_MERGED_WORD)}.`);
    }
    return words;
  }

  return { ...facts, encode, explain, tokensOf, textOf, nameOf, idsNamed, singleToken, maskAdvice, token,
    size: names.length, idOf: (name) => idOf(name),
    maskPositions: ({ ids }) => ids.flatMap((id, at) => (id === facts.mask_id ? [at] : [])),
    /** The positions of the texts' own tokens but the mask token. */
    unmaskedPositions: ({ ids, special_tokens_mask: special }) =>
      ids.flatMap((id, at) => (special[at] || id === facts.mask_id ? [] : [at])) };
}

/** Unigram splits a text at white space alone; every punctuation mark becomes a word of its own, as in BERT. */
function splitAtPunctuation(tokens, characters) {
  let [before, number, lastCharacter] = [null, -1, ''];
  return tokens.map((one) => {
    const inside = characters.slice(...one.offsets);
    const isBoundary = lastCharacter && inside.length && (isPunctuation(lastCharacter) || isPunctuation(inside[0]));
    if (one.word !== before || isBoundary) [number, lastCharacter] = [number + 1, ''];
    lastCharacter = inside.at(-1) ?? lastCharacter;
    before = one.word;
    return { ...one, word: number };
  });
}

/** The positions of each word's tokens, word after word. */
export function wordsIn({ token_type_ids: types, word_ids: words }) {
  const result = [];
  words.forEach((word, at) => {
    const isSame = at > 0 && word === words[at - 1] && types[at] === types[at - 1];
    if (word === null) return;
    if (isSame) result.at(-1).push(at);
    else result.push([at]);
  });
  return result;
}

/** The positions of the word that a position is part of; none for an added token. */
export const wordAt = (encoding, position) => wordsIn(encoding).find((word) => word.includes(position)) ?? [];
