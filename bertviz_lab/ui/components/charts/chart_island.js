// A chart as an island of its own.

const view = onPayload('Nothing has been computed yet.', (payload) => drawn.show(payload));
const drawn = makeChart(view.content, { onPick: (pick) => trigger('item_select', pick), alone: true });
view.start();
