// The frames of a training: fetched once, those nearest to the slider first. `scene` is what all
// parts of the scrubber share: see scrubber.js; `scene.opening` is the payload of figures/training/dynamics.py.

import { decodeBase64 } from 'lab/client/saving.js';
import { readAttention } from 'lab/components/attention/attention_data.js';

/** `onNews(step)` is called when a frame has come; `where()` returns the index of the slider. */
export function makeFrames(scene, where, onNews) {
  const known = new Map(); // step -> frame
  const [failed, underWay] = [new Set(), new Set()];
  let work = 0; // the fetching that is in charge
  let trouble = '';

  function begin() {
    work += 1;
    trouble = '';
    for (const steps of [known, failed, underWay]) steps.clear();
    for (const frame of [scene.opening.first, ...Object.values(scene.opening.frames ?? {})]) if (frame) known.set(
      frame.step, frame);
    more();
  }

  const missing = () => scene.opening.steps.filter((step) => !known.has(step) && !failed.has(step));

  /** Two at a time: one is on its way while the other is computed. */
  function more() {
    while (scene.server?.frame && underWay.size < 2) {
      const wanted = missing().filter((step) => !underWay.has(step));
      if (!wanted.length) return;
      const distance = (step) => Math.abs(scene.opening.steps.indexOf(step) - where());
      fetchOne(wanted.reduce((one, other) => (distance(other) < distance(one) ? other : one)), work);
    }
  }

  async function fetchOne(step, mine) {
    underWay.add(step);
    const frame = await scene.server.frame(scene.opening.question, step).catch((error) => ({ message: error.message }));
    if (mine !== work || !scene.root.isConnected || !frame) return;
    underWay.delete(step);
    if (frame.message) {
      failed.add(step);
      trouble = frame.message;
    } else known.set(step, frame);
    onNews(step);
    more();
  }

  return { begin, missing,
    trouble: () => trouble,
    /** Steps have come or gone; what failed before is tried again. */
    renew() { failed.clear(); trouble = ''; more(); },
    at: (step) => known.get(step) ?? null,
    /** All frames that are here, in order. */
    all: () => scene.opening.steps.filter((step) => known.has(step)).map((step) => known.get(step)),
    /** The known frame that is nearest to a snapshot, by their places on the slider. */
    nearest(index) {
      const { steps } = scene.opening;
      for (let far = 0; far < steps.length; far += 1) {
        for (const place of [index - far, index + far]) if (known.has(steps[place])) return known.get(steps[place]);
      }
      return null;
    },
    /** What frames say of every step that is known, in order: [[step, value]]. */
    over(read) {
      return this.all().map((frame) => [frame.step, read(frame)]).filter(([, value]) => Number.isFinite(value));
    } };
}

/** The attention of a frame in the form in which the other views of attention read it. */
export function attentionOf(scene, frame) {
  frame.data ??= readAttention({ tokens: scene.opening.tokens, segments: scene.opening.segments,
    special: scene.opening.special, layers: scene.opening.layers,
    heads: scene.opening.heads, windows: scene.opening.windows, sent: Array.from({ length: scene.opening.layers },
      (_, layer) => layer), bits: 8, cells: frame.cells });
  return frame.data;
}

/** Where the mapped words of a frame lie on the plane: [[x, y]]. */
export function pointsOf(frame, plane) {
  if (frame.plane !== plane) {
    const codes = new Int16Array(decodeBase64(frame.vectors).buffer);
    const size = plane.middle.length;
    frame.plane = plane;
    frame.points = Array.from({ length: codes.length / size }, (_, word) => [0, 1].map((way) => {
      let sum = 0;
      for (let at = 0; at < size; at += 1) sum += (codes[word * size + at] / 32767 - plane.middle[at])
        * plane.axes[way * size + at];
      return sum;
    }));
  }
  return frame.points;
}

export const readPlane = (body) => (body?.middle ? { middle: new Float32Array(decodeBase64(body.middle).buffer),
  axes: new Float32Array(decodeBase64(body.axes).buffer), explained: body.explained } : null);
