// What Attribution asks, as far as forward passes carry it: occlusion, head ablation and other interventions on one
// prediction (interpret/causes/attribution.py).

import { range } from './numeric.js';
import { explained, listed, mostProbable, rankAmong, readPosition, scoreOf, scoresOf } from './targets.js';

export { targets } from './targets.js';

/** The loss in a target's score when each token alone is hidden, and `change` when all are. */
export async function occlusion(model, encoding, target, progress = () => {}) {
  const mask = model.tokenizer.mask_id;
  const score = await scoreOf(model, encoding, target);
  const scores = encoding.ids.map(() => 0);
  const places = model.tokenizer.unmaskedPositions(encoding);
  for (const [done, place] of places.entries()) {
    await progress(done / places.length);
    scores[place] = score - await scoreOf(model, encoding, target, { ids: encoding.ids.with(place, mask) });
  }
  const hidden = encoding.ids.map((id, at) => (encoding.special_tokens_mask[at] ? id : mask));
  return { scores, change: score - await scoreOf(model, encoding, target, { ids: hidden }) };
}

export async function attribution({ model, site, progress }, args) {
  const { encoding, target } = await explained(model, args);
  const { scores, change } = await occlusion(model, encoding, target, progress);
  const chances = await scoresOf(model, encoding, target);
  const read = readPosition(model, target);
  let attention = null;
  if (read !== null) {
    const { attentions } = await model.run(encoding);
    const heads = range(model.facts.layers * model.facts.heads_each);
    const length = encoding.ids.length;
    attention = range(length).map((at) => heads.reduce((total, head) => total
      + attentions.data[(head * length + read) * length + at] / heads.length, 0));
  }
  return {
    facts: { picture: 'explained', target, value: chances[target.index], rank: rankAmong(target, chances) },
    tokens: { picture: 'attribution', encoding, target, methods: [{ method: 'occlusion', scores }], change, attention,
      note: site.no_gradients },
  };
}

export async function head_effects({ model, progress }, args) {
  const { encoding, target } = await explained(model, args);
  const { layers, heads_each: heads, notes } = model.facts;
  const baseline = await scoreOf(model, encoding, target);
  const [withoutHead, withoutLayer] = [[], []];
  for (const layer of range(layers)) {
    const scores = [];
    for (const head of range(heads + 1)) { // the last one is all of them
      await progress((layer * (heads + 1) + head) / (layers * (heads + 1)));
      const without = head < heads ? [[layer, head]] : range(heads).map((one) => [layer, one]);
      scores.push(await scoreOf(model, encoding, target, { without }));
    }
    withoutLayer.push(scores.pop());
    withoutHead.push(scores);
  }
  return { picture: 'head_ablation', target, baseline, without_head: withoutHead, without_layer: withoutLayer,
    off: args.ablated, sharing_note: notes.sharing };
}

export async function intervention({ model }, args) {
  const { encoding, target } = await explained(model, args);
  const { layers, heads_each: heads, has_segments: hasSegments } = model.facts;
  const without = args.ablated.filter(([layer, head]) => layer < layers && head < heads)
    .sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  const { causal } = args;
  const segments = args.text_b && hasSegments ? args.segments : '';
  const types = encoding.token_type_ids.map((type) => (segments === 'zero' ? 0 : 1 - type));
  const before = await scoresOf(model, encoding, target);
  const after = await scoresOf(model, encoding, target, { without, causal, ...(segments && { types }) });
  const classes = [...new Set([...mostProbable([before, after]), target.index])];
  const change = { ablated: without, causal, segments };
  return {
    facts: { picture: 'changes', change, lacks_segments: Boolean(args.segments) && !hasSegments },
    chart: { picture: 'intervention', names: listed(model, encoding, target, classes), change,
      before: classes.map((index) => before[index]), after: classes.map((index) => after[index]),
      is_regression: target.is_regression },
  };
}
