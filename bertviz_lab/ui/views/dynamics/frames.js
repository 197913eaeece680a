// The frames of a training: fetched once, those nearest to the slider first. `scene` is what all parts of the scrubber
// share: see scrubber.js; `scene.opening` is the payload of figures/training/dynamics.py.

/** `onNews(step)` is called when a frame has come. */
export function makeFrames(scene, onNews) {
  let known = new Map(); // step -> frame
  let [failed, underWay] = [new Set(), new Set()];
  let trouble = '';

  function begin() {
    const { first, frames = {} } = scene.opening;
    known = new Map([first, ...Object.values(frames)].filter(Boolean).map((frame) => [frame.step, frame]));
    [failed, underWay, trouble] = [new Set(), new Set(), ''];
    more();
  }

  const missing = () => scene.opening.steps.filter((step) => !known.has(step) && !failed.has(step));
  /** All frames that are here, in order. */
  const all = () => scene.opening.steps.filter((step) => known.has(step)).map((step) => known.get(step));

  const nearestFirst = (steps, index) => {
    const distance = (step) => Math.abs(scene.opening.steps.indexOf(step) - index);
    return steps.sort((one, other) => distance(one) - distance(other));
  };

  /** Two at a time: one is on its way while the other is computed. */
  function more() {
    if (!scene.server?.frame) return;
    const wanted = missing().filter((step) => !underWay.has(step));
    for (const step of nearestFirst(wanted, scene.current.index).slice(0, 2 - underWay.size)) fetchOne(step);
  }

  async function fetchOne(step) {
    const mine = underWay.add(step);
    const frame = await scene.server.frame(scene.opening.question, step).catch((error) => ({ message: error.message }));
    if (mine !== underWay || !scene.root.isConnected || !frame) return;
    underWay.delete(step);
    if (frame.message) {
      failed.add(step);
      trouble = frame.message;
    } else known.set(step, frame);
    onNews(step);
    more();
  }

  return { begin, missing, all, trouble: () => trouble,
    /** Steps have come or gone; what failed before is tried again. */
    renew() {
      failed.clear();
      trouble = '';
      more();
    },
    at: (step) => known.get(step) ?? null,
    /** The known frame that is nearest to a snapshot, by their places on the slider. */
    nearest: (index) => known.get(nearestFirst(all().map(({ step }) => step), index)[0]) ?? null,
    /** What frames say of every step that is known, in order: [[step, value]]. */
    over: (read) => all().map((frame) => [frame.step, read(frame)]).filter(([, value]) => Number.isFinite(value)) };
}
