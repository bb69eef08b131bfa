/* What attention makes of its items once some are erased: arithmetic, with no page in it.
   With an affine head the logits are the weighted mean of the items' own logits, so all that is
   needed is weights and item logits. */

const TIE = 1e-9; // a smaller gap of logits is a tie, as in the erasure exam

/** Numbers as the page holds them (see explorer.py): deflated, all first bytes before all second ones. */
async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / 4;
  const whole = new Uint8Array(planes.length);
  for (let k = 0; k < 4; k++) for (let i = 0; i < count; i++) whole[4 * i + k] = planes[k * count + i];
  return new Float32Array(whole.buffer);
}

function softmax(logits) {
  const top = Math.max(...logits);
  const raised = Array.from(logits, (z) => Math.exp(z - top));
  const total = raised.reduce((sum, r) => sum + r, 0);
  return raised.map((r) => r / total);
}

function decided(logits) {
  let best = 0;
  for (let c = 1; c < logits.length; c++) if (logits[c] > logits[best] + TIE) best = c;
  return best;
}

/** What attention makes of its items: their weights, their logits, and what is left of them. */
class Attention {
  constructor(weights, logits, bias) {
    Object.assign(this, { weights, logits, bias, classes: bias.length });
  }

  add(sums, item) {
    const weight = this.weights[item];
    for (let c = 0; c < this.classes; c++) sums[c] += weight * this.logits[item * this.classes + c];
    return weight;
  }

  mean(sums, weight) {
    return weight > 0 ? sums.map((sum) => sum / weight) : this.bias;
  }

  /** Sums are of what remains, never a total less what went: that would leave rounding behind.
      A sum over thousands of items is far below a millisecond. */
  after(erased) {
    const sums = new Float64Array(this.classes);
    let weight = 0;
    let gone = 0;
    for (let i = 0; i < this.weights.length; i++) {
      if (erased[i]) gone += this.weights[i];
      else if (this.weights[i] > 0) weight += this.add(sums, i);
    }
    const logits = this.mean(sums, weight);
    return { probabilities: softmax(logits), decision: decided(logits), gone };
  }

  /** How many of an order, first to last, must go before the decision first is another; or null.
      None need go where these weights decide otherwise by themselves, as another attention may. */
  flip(order, held) {
    const inside = new Set(order);
    const sums = new Float64Array(this.classes);
    let weight = 0;
    for (let i = 0; i < this.weights.length; i++) if (!inside.has(i)) weight += this.add(sums, i);
    let fewest = null;
    for (let k = order.length; k >= 0; k--) {
      if (decided(this.mean(sums, weight)) !== held) fewest = k;
      if (k > 0) weight += this.add(sums, order[k - 1]);
    }
    return fewest;
  }

  /** The items by these weights, the largest first; of equals the one before. */
  order() {
    return [...this.weights.keys()].sort((a, b) => this.weights[b] - this.weights[a] || a - b);
  }

  /** The orders of other weights than the model's own, as the erasure exam has them. */
  orders(held) {
    const { weights, logits, classes } = this;
    const items = [...weights.keys()].filter((i) => weights[i] > 0);
    const by = (score) => {
      const scores = Float64Array.from(weights, (_, i) => score(i));
      return [...items].sort((a, b) => scores[b] - scores[a] || a - b);
    };
    const p = this.after(new Uint8Array(weights.length)).probabilities;
    const slope = (i) => {
      let mean = 0;
      for (let c = 0; c < classes; c++) mean += p[c] * (logits[i * classes + c] - this.bias[c]);
      return p[held] * (logits[i * classes + held] - this.bias[held] - mean);
    };
    // for each rival the terms that speak most against it go first; the shortest flip is the smallest set
    let minimal = [];
    let fewest = Infinity;
    for (let rival = 0; rival < classes; rival++) {
      if (rival === held) continue;
      const order = by((i) => weights[i] * (logits[i * classes + held] - logits[i * classes + rival]));
      const size = this.flip(order, held);
      if (size !== null && size < fewest) [fewest, minimal] = [size, order.slice(0, size)];
    }
    return { attention: by((i) => weights[i]), gradient: by(slope), minimal };
  }
}

/** What each item shows in a heat. All but the gradient follows from what erasing needs. */
function heated(heat, document, classes) {
  const { weights, logits, gradient, deleted, decision } = document;
  if (heat === "attention") return weights;
  if (heat === "gradient") return gradient;
  if (heat === "leave-one-out") return deleted.map((change) => -change); // above 0 it supports the decision
  const alone = (_, i) => softmax(logits.subarray(i * classes, (i + 1) * classes))[decision];
  return Float64Array.from(weights, alone);
}

const largest = (values) => values.reduce((top, v) => Math.max(top, Math.abs(v)), 0);
