/* One document under one model: erase its words, follow an order, and see what becomes of it. */

const ORDERS = { attention: "by attention", gradient: "by gradient", minimal: "minimal set" };

class Reading {
  constructor(model, about, explorer) {
    Object.assign(this, { model, about, explorer });
    this.item = model.attended === "sentences" ? "sentence" : "word";
    const own = new Attention(about.weights, about.logits, model.bias);
    this.own = { attention: own, orders: { ...about.orders, attention: own.order() } };
    this.adversary = null;
    if (about.adversary) {
      const attention = new Attention(about.adversary.weights, about.logits, model.bias);
      this.adversary = { attention, orders: null };
    }
    this.used = this.own;
    this.count = own.weights.length;
    this.erased = new Uint8Array(this.count);
    this.heats = Object.fromEntries(Object.keys(model.heats).map((heat) => [heat, heated(heat, about, model.classes.length)]));
    this.before = own.after(this.erased);
    this.order = "attention";
    this.crowded = model.classes.length > 6;
    this.element = make("article", { class: "explorer-reading", "aria-label": `${model.name}, document ${about.id}` });
    this.build();
    this.show();
  }

  build() {
    const { model, about } = this;
    const name = (c) => classed(model.classes[c]);
    const known = about.label === null ? "" : ` · labelled ${name(about.label)}`;
    const title = make("h3", {}, `Document ${about.id}`);
    if (this.explorer.models.length > 1) title.append(make("span", { class: "explorer-model" }, " · ", make("bdi", {}, model.name)));
    title.append(make("small", {}, ` · decided ${name(about.decision)}${known}`));

    this.bars = model.classes.map((_, c) => {
      const bar = make("span", { class: "explorer-bar", "aria-hidden": "true" }, make("i"), make("b"));
      bar.lastChild.style.left = `${100 * this.before.probabilities[c]}%`;
      const number = make("span", { class: "explorer-number" });
      const row = make("li", { "data-class": c }, make("span", { class: "explorer-class", dir: "auto", title: name(c) }, name(c)), bar, number);
      return { row, fill: bar.firstChild, number };
    });
    this.decision = make("strong", { class: "explorer-decision" });
    this.mass = make("span", { class: "explorer-mass" });
    const status = make("p", { class: "explorer-status", role: "status" }, make("span", {}, "decision ", this.decision), " ", this.mass);
    const probabilities = make("ul", { class: "explorer-probabilities", "aria-label": "probability of each class" });
    const likely = this.bars.map((_, c) => c);
    if (this.crowded) likely.sort((a, b) => this.before.probabilities[b] - this.before.probabilities[a]);
    probabilities.append(...likely.map((c) => this.bars[c].row));
    this.truth = make("p", { class: "explorer-truth" });
    const label = `computed in this page: the ${this.item}’s state is taken out of the attention; the text is not read again`;
    // what the numbers are stays in sight with them
    this.outcome = make("div", { class: "explorer-outcome" }, status, probabilities, make("p", { class: "explorer-label" }, label));

    this.orderButtons = Object.entries(ORDERS).map(([order, text]) => button(text, { "data-order": order }));
    const acts = [["back", "← back"], ["step", "step →"], ["flip", "to the flip"], ["reset", "reset"]];
    this.actButtons = Object.fromEntries(acts.map(([act, text]) => [act, button(text, { "data-act": act })]));
    const group = (words, ...inside) => make("div", { role: "group", "aria-label": words }, ...inside);
    const controls = make(
      "div", { class: "explorer-controls" },
      group("order of erasing", ...this.orderButtons), group("erase", ...Object.values(this.actButtons)),
    );
    this.swap = button("show the adversary", { "data-adversary": "", "aria-pressed": "false" });
    if (this.adversary) controls.append(group("attention", this.swap));
    this.progress = make("p", { class: "explorer-progress", role: "status" });
    this.said = make("p", { class: "explorer-said" });
    const pointed = this.explorer.unique("pointed");
    this.pointed = make("p", { class: "explorer-pointed", id: pointed });
    const told = { erase: (item) => this.toggle(item), point: (item) => this.point(item) };
    this.words = new Words(about, this.item, told);
    this.element.append(title, this.outcome, this.truth, controls, this.progress, this.said, this.words.element, this.pointed);
    this.element.addEventListener("click", (event) => {
      const pressed = event.target.closest("button");
      if (!pressed) return;
      if (pressed.dataset.order) this.follow(pressed.dataset.order);
      else if (pressed.dataset.act) this.act(pressed.dataset.act);
      else if (pressed === this.swap) this.exchange();
    });
  }

  /** What is known of an item, and the id of where that is shown. */
  point(item) {
    const parts = Object.entries(this.heats).map(([heat, own]) => {
      const values = heat === "attention" ? this.used.attention.weights : own;
      return `${this.model.heats[heat].label} ${short(values[item])}`;
    });
    if (Number.isFinite(this.about.deleted[item])) parts.push(`P ${signed(this.about.deleted[item])} when it is deleted`);
    if (this.model.marks) parts.push(this.words.told(item, this.item, this.about.marks));
    this.pointed.replaceChildren(make("bdi", {}, this.cut(item, 40)), ` ${parts.join(" · ")}`);
    return this.pointed.id;
  }

  cut(item, most) {
    const text = this.words.text(item);
    return text.length > most ? `${text.slice(0, most - 1)}…` : text;
  }

  // -- erasing

  mark(item, on) {
    if (Boolean(this.erased[item]) === on) return;
    this.erased[item] = on ? 1 : 0;
    this.words.press(item, on);
  }

  toggle(item) {
    this.mark(item, !this.erased[item]);
    this.show();
  }

  ordered() {
    if (!this.used.orders) this.used.orders = this.used.attention.orders(this.about.decision);
    return this.used.orders[this.order] || [];
  }

  size(order) {
    return this.used.attention.flip(order, this.about.decision);
  }

  clear() {
    for (let i = 0; i < this.count; i++) this.mark(i, false);
  }

  carry(other) {
    this.order = other.order;
    if (other.count === this.count) other.erased.forEach((e, i) => this.mark(i, Boolean(e)));
    this.show();
  }

  follow(order) {
    this.order = order;
    this.clear();
    this.show();
  }

  act(act) {
    const order = this.ordered();
    if (act === "reset") this.clear();
    if (act === "step") {
      const next = order.find((i) => !this.erased[i]);
      if (next !== undefined) {
        this.mark(next, true);
        this.words.reveal(next);
      }
    }
    if (act === "back") {
      const last = order.findLast((i) => this.erased[i]);
      if (last !== undefined) this.mark(last, false);
    }
    if (act === "flip") {
      this.clear();
      const size = this.size(order);
      order.slice(0, size ?? order.length).forEach((i) => this.mark(i, true));
    }
    this.show();
    const first = this.erased.indexOf(1);
    if (act === "flip" && first >= 0) {
      this.words.reveal(first);
      this.words.bringIntoSight(first, this.outcome.getBoundingClientRect().bottom);
    }
  }

  exchange() {
    this.used = this.used === this.own ? this.adversary : this.own;
    press(this.swap, this.used !== this.own);
    this.clear();
    this.show();
    this.explorer.paint();
  }

  // -- showing

  show() {
    const { about, model } = this;
    const now = this.used.attention.after(this.erased);
    const flipped = now.decision !== about.decision;
    const name = (c) => classed(model.classes[c]);
    this.bars.forEach((bar, c) => {
      bar.row.dataset.probability = now.probabilities[c];
      bar.row.classList.toggle("explorer-decided", c === now.decision);
      bar.fill.style.transform = `scaleX(${now.probabilities[c]})`;
      bar.number.textContent = now.probabilities[c].toFixed(4);
      // of many classes the one decided for, now and before, stay in sight
      if (this.crowded) bar.row.style.order = c === now.decision ? -2 : c === about.decision ? -1 : 0;
    });
    this.decision.dataset.decision = now.decision;
    this.decision.dataset.flipped = flipped;
    const gone = this.erased.reduce((sum, e) => sum + e, 0);
    const how = gone ? "flipped" : "another than the model’s";
    this.decision.textContent = flipped ? `⇄ ${name(now.decision)}, ${how}` : name(now.decision);
    this.mass.dataset.mass = now.gone;
    this.mass.dataset.erased = gone;
    const all = `${this.count} ${this.item}${this.count === 1 ? "" : "s"}`;
    this.mass.textContent = `${gone} of ${all} erased, ${(100 * now.gone).toFixed(1)}% of attention`;
    this.truth.textContent = this.deletion(now, gone);
    this.progress.textContent = this.follows(gone);
    this.orderButtons.forEach((b) => press(b, b.dataset.order === this.order));
    const order = this.ordered();
    // not `disabled`, which would throw the keyboard's focus away
    this.actButtons.step.setAttribute("aria-disabled", String(!order.some((i) => !this.erased[i])));
    this.actButtons.back.setAttribute("aria-disabled", String(!order.some((i) => this.erased[i])));
    this.actButtons.flip.setAttribute("aria-disabled", String(order.length === 0 || this.size(order) === 0));
    this.actButtons.reset.setAttribute("aria-disabled", String(gone === 0));
  }

  deletion(now, gone) {
    const held = this.about.decision;
    const word = this.item;
    if (this.used !== this.own) return `What deleting a ${word} truly does is known for the model’s own attention.`;
    if (gone === 0) return `Erase a ${word} to see beside it what truly deleting it from the text does.`;
    const here = now.probabilities[held] - this.before.probabilities[held];
    const change = `P(${classed(this.model.classes[held])}) changes by ${signed(here)} here`;
    const items = [...this.erased.keys()].filter((i) => this.erased[i]);
    const truly = (i) => this.about.deleted[i];
    if (gone === 1) {
      if (!Number.isFinite(truly(items[0]))) return `This ${word} cannot be deleted: nothing else would be left to read.`;
      return `${change}; by ${signed(truly(items[0]))} when the ${word} is deleted from the text and all is read again.`;
    }
    // deleted together was not measured, and is not the sum
    const strongest = items.filter((i) => Number.isFinite(truly(i))).sort((a, b) => Math.abs(truly(b)) - Math.abs(truly(a)) || a - b);
    const named = strongest.slice(0, 3).map((i) => `${signed(truly(i))} (\u2068${this.cut(i, 20)}\u2069)`).join(", ");
    const others = gone > 3 ? ` and ${gone - 3} more` : "";
    return `${change}. Deleted from the text one at a time: ${named}${others}; what deleting them together does was not measured.`;
  }

  follows() {
    const order = this.ordered();
    const own = this.used === this.own;
    const size = this.size(order);
    if (size === 0) return "With nothing erased the decision is another already.";
    if (this.order === "minimal") {
      if (order.length === 0) return "No erasure changes this decision.";
      const all = own ? this.about.everything : order.length === this.used.attention.weights.filter((w) => w > 0).length;
      if (all) return "Only erasing everything changes this decision: then the bias alone decides.";
    }
    const some = (n) => `${n} ${this.item}${n === 1 ? "" : "s"}`;
    if (size === null) return `Erasing ${ORDERS[this.order]}, the decision never changes.`;
    if (this.order === "minimal") return `The smallest set that changes the decision: ${some(size)}.`;
    const least = this.used.orders.minimal.length;
    return `Erasing ${ORDERS[this.order]}, the decision changes after ${some(size)}; at least ${least} must go.`;
  }

  paint(heat, top) {
    const values = heat === "attention" ? this.used.attention.weights : this.heats[heat];
    this.words.warm(values.map((value) => value / (top || 1)));
    this.said.textContent = this.used === this.own ? "" : this.told();
  }

  /** ε bounds how far the probability of the model's decision moves, not what is decided: where the
      model is not sure, another attention within ε may decide otherwise. The certificate is of ε. */
  told() {
    const { about, model } = this;
    const { jsd, epsilon, certified } = about.adversary;
    const { decision } = this.adversary.attention.after(new Uint8Array(this.count));
    const name = (c) => classed(model.classes[c]);
    const kept = decision === about.decision
      ? "the decision is the same"
      : `the decision is another: ${name(decision)}, not ${name(about.decision)}`;
    const sure = certified
      ? "Certified: no attention that keeps this probability within ε diverges more."
      : "Found by search: another may diverge more.";
    return (
      `The adversary’s attention: Jensen–Shannon divergence ${jsd.toFixed(4)} from the model’s own (at most ln 2 = 0.6931). ` +
      `Probability of ${name(about.decision)} kept within ε = ${short(epsilon)}; ${kept}. ${sure}`
    );
  }
}
