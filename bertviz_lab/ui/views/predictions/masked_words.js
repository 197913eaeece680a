// Words of the input that a click masks, and another one brings back.

import { range } from 'lab/components/figures/numbers.js';

/** Put a word in the place of adjacent tokens of a text; returns what was there. */
function replace(texts, { token_type_ids: sides, offsets }, positions, word) {
  const side = sides[positions[0]];
  const start = offsets[positions[0]][0];
  const characters = [...texts[side]];
  const old = characters.splice(start, offsets[positions.at(-1)][1] - start, word);
  texts[side] = characters.join('');
  return old.join('');
}

/** {toggle, filled} of the input of `page`. */
export function makeMaskedWords(page) {
  let known = []; // the word behind each masked token of both texts, "" where nobody's click has made one

  /** Ask about the input, in no line. */
  function ask(view, question) {
    const { model, text_a, text_b } = page.input;
    return page.ask(view, question, { model, text_a, text_b }, Symbol(question));
  }

  /** Resolves to the first prediction for each masked token, as it is written in a text. */
  const guess = () => ask('predictions', 'guesses');

  async function read() {
    const texts = [page.input.text_a, page.input.text_b];
    const { encoding, mask } = await ask('explore', 'encode');
    const masks = range(encoding.tokens.length).filter((at) => encoding.tokens[at] === mask);
    // Where the texts have been edited since, no word is known.
    const words = known.length === masks.length ? [...known] : masks.map(() => '');
    return { texts, encoding, mask, masks, words };
  }

  return {
    /** Mask the word at a position of the input, or bring back the word behind the masked token there, which is the
     * first prediction where none is known. */
    async toggle(position) {
      const { texts, encoding, mask, masks, words } = await read();
      const { special_tokens_mask: special, token_type_ids: sides, word_ids: ids } = encoding;
      if (special[position] !== 0) throw new Error('That word is no longer there.');
      const place = masks.indexOf(position);
      if (place >= 0) {
        const [word] = words.splice(place, 1);
        replace(texts, encoding, [position], word || (await guess())[place]);
      } else {
        const pieces = range(ids.length).filter((at) => ids[at] === ids[position] && sides[at] === sides[position]);
        const before = masks.filter((other) => other < position).length;
        words.splice(before, 0, replace(texts, encoding, pieces, mask));
      }
      known = words;
      page.set({ text_a: texts[0], text_b: texts[1] });
    },
    /** The texts with a word for each masked token, the first prediction where none is known, and how many `positions`
     * the input has without. */
    async filled() {
      const { texts, encoding, masks, words } = await read();
      const guessed = words.every(Boolean) ? [] : await guess();
      for (const place of range(masks.length).reverse()) // from the end, so that the places before stay where they are
        replace(texts, encoding, [masks[place]], words[place] || guessed[place]);
      return { text_a: texts[0], text_b: texts[1], positions: encoding.ids.length };
    },
  };
}
