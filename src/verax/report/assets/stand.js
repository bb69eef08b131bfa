/* The stand: documents whose words can be taken out of the attention, answered in the page.
   With an affine head the logits are the weighted mean of the items' own logits, so all that is
   needed is weights and item logits. Text reaches the page as textContent only. */
"use strict";
(() => {
  const TIE = 1e-9; // a smaller gap of logits is a tie, as in the erasure exam
  const ROW = 62; // height of a row of the gallery in pixels, as in stand.css
  const ORDERS = { attention: "by attention", gradient: "by gradient", minimal: "minimal set" };
  const SURPRISES = [ // what it is by, in words, which way, its sign; the first is the order given
    ["excess", "most surprising", 0, "excess "],
    ["excess", "largest excess", -1, "excess "],
    ["jsd", "most divergent adversary", -1, "JSD "],
    ["tau", "attention far from gradient", 1, "τ "],
  ];

  // -- arithmetic: no page in it ---------------------------------------------------------------

  function numbers(base64) {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    return Float64Array.from(new Float32Array(bytes.buffer));
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

    /** How many of an order, first to last, must go before the decision first is another; or null. */
    flip(order, held) {
      const inside = new Set(order);
      const sums = new Float64Array(this.classes);
      let weight = 0;
      for (let i = 0; i < this.weights.length; i++) if (!inside.has(i)) weight += this.add(sums, i);
      let fewest = null;
      for (let k = order.length; k > 0; k--) {
        if (decided(this.mean(sums, weight)) !== held) fewest = k;
        weight += this.add(sums, order[k - 1]);
      }
      return fewest;
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

  const largest = (values) => values.reduce((top, v) => Math.max(top, Math.abs(v)), 0);

  // -- words for the eye -------------------------------------------------------------------------

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  const button = (text, attributes) => make("button", { type: "button", ...attributes }, text);
  const press = (element, on) => element.setAttribute("aria-pressed", String(on));
  const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(4);
  const short = (value) => String(Number(value.toPrecision(3))).replace("-", "−");

  /** Control characters would be invisible, or turn the text around: they are written out. */
  function visible(token) {
    const shown = token
      .replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`)
      .replace(/[\u200b\u200c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
    return shown.trim() === "" ? "\u2423" : shown;
  }

  // -- one document under one model ----------------------------------------------------------------

  class Reading {
    constructor(model, about, stand) {
      Object.assign(this, { model, about, stand });
      this.item = model.attended === "sentences" ? "sentence" : "word";
      const logits = numbers(about.logits);
      const own = new Attention(numbers(about.weights), logits, model.bias);
      this.own = { attention: own, orders: about.orders };
      this.adversary = null;
      if (about.adversary) {
        const attention = new Attention(numbers(about.adversary.weights), logits, model.bias);
        this.adversary = { attention, orders: null };
      }
      this.used = this.own;
      this.count = own.weights.length;
      this.erased = new Uint8Array(this.count);
      this.deleted = about.deleted ? numbers(about.deleted) : null;
      this.heats = Object.fromEntries(
        Object.entries(about.heats).map(([name, heat]) => [name, { ...heat, values: numbers(heat.values) }]),
      );
      this.before = own.after(this.erased);
      this.order = "attention";
      this.crowded = model.classes.length > 6;
      this.element = make("article", { class: "stand-reading", "aria-label": `${model.name}, document ${about.id}` });
      this.build();
      this.show();
    }

    build() {
      const { model, about } = this;
      const name = (c) => visible(model.classes[c]);
      const known = about.label === null ? "" : ` · labelled ${name(about.label)}`;
      const title = make("h3", {}, `Document ${about.id}`);
      if (this.stand.models.length > 1) title.append(make("span", { class: "stand-model" }, ` ${model.name}`));
      title.append(make("small", {}, ` decided ${name(about.decision)}${known}`));

      this.bars = model.classes.map((_, c) => {
        const bar = make("span", { class: "stand-bar", "aria-hidden": "true" }, make("i"), make("b"));
        bar.lastChild.style.left = `${100 * this.before.probabilities[c]}%`;
        const number = make("span", { class: "stand-number" });
        const row = make("li", { "data-class": c }, make("span", { class: "stand-class", dir: "auto" }, name(c)), bar, number);
        return { row, fill: bar.firstChild, number };
      });
      this.decision = make("strong", { class: "stand-decision" });
      this.mass = make("span", { class: "stand-mass" });
      const status = make("p", { class: "stand-status", role: "status" }, make("span", {}, "decision ", this.decision), " ", this.mass);
      const probabilities = make("ul", { class: "stand-probabilities", "aria-label": "probability of each class" });
      const likely = this.bars.map((_, c) => c);
      if (this.crowded) likely.sort((a, b) => this.before.probabilities[b] - this.before.probabilities[a]);
      probabilities.append(...likely.map((c) => this.bars[c].row));
      this.truth = make("p", { class: "stand-truth" });
      const label = `computed in this page: the ${this.item}’s state is taken out of the attention; the text is not read again`;
      const outcome = make("div", { class: "stand-outcome" }, status, probabilities);
      const caveat = make("div", { class: "stand-caveat" }, make("p", { class: "stand-label" }, label), this.truth);

      this.orderButtons = Object.entries(ORDERS).map(([order, text]) => button(text, { "data-order": order }));
      const acts = [["back", "← back"], ["step", "step →"], ["flip", "to the flip"], ["reset", "reset"]];
      this.actButtons = Object.fromEntries(acts.map(([act, text]) => [act, button(text, { "data-act": act })]));
      const group = (words, ...inside) => make("div", { role: "group", "aria-label": words }, ...inside);
      const controls = make(
        "div", { class: "stand-controls" },
        group("order of erasing", ...this.orderButtons), group("erase", ...Object.values(this.actButtons)),
      );
      this.swap = button("show the adversary", { "data-adversary": "", "aria-pressed": "false" });
      if (this.adversary) controls.append(group("attention", this.swap));
      this.progress = make("p", { class: "stand-progress", role: "status" });
      this.said = make("p", { class: "stand-said" });
      const pointed = this.stand.unique("pointed");
      this.pointed = make("p", { class: "stand-pointed", id: pointed });
      this.text = make("div", { class: "stand-text", role: "group", "aria-label": `${this.item}s: Enter erases, arrows move` });
      this.fill();
      this.element.append(title, outcome, caveat, controls, this.progress, this.said, this.text, this.pointed);
      this.listen();
    }

    fill() {
      const { tokens, items } = this.about;
      const spans = items || tokens.map((_, i) => [i, i + 1]);
      const whole = document.createDocumentFragment();
      this.words = new Array(this.count);
      let read = 0;
      const unattended = (until) => {
        if (read < until) whole.append(make("span", { class: "stand-unread" }, tokens.slice(read, until).map(visible).join(" ")), " ");
      };
      spans.forEach(([first, last], i) => {
        unattended(first);
        const word = document.createElement("span");
        word.className = "stand-word";
        word.setAttribute("role", "button");
        word.setAttribute("aria-pressed", "false");
        word.dataset.item = i;
        word.tabIndex = i ? -1 : 0;
        word.textContent = tokens.slice(first, last).map(visible).join(" ");
        this.words[i] = word;
        whole.append(word, " ");
        read = last;
      });
      unattended(tokens.length);
      this.text.append(whole);
      this.current = 0;
    }

    listen() {
      const itemOf = (event) => {
        const word = event.target.closest(".stand-word");
        return word ? Number(word.dataset.item) : null;
      };
      this.text.addEventListener("click", (event) => {
        const item = itemOf(event);
        if (item === null) return;
        this.focus(item);
        this.toggle(item);
      });
      this.text.addEventListener("keydown", (event) => {
        const item = itemOf(event);
        if (item === null || event.altKey || event.ctrlKey || event.metaKey) return;
        if (event.key === "Enter" || event.key === " ") this.toggle(item);
        else {
          const to = this.reached(event.key, item);
          if (to === null) return;
          this.focus(to);
        }
        event.preventDefault();
      });
      for (const kind of ["pointerover", "focusin"]) {
        this.text.addEventListener(kind, (event) => {
          const item = itemOf(event);
          if (item === null) return;
          this.point(item);
          if (kind === "focusin") this.words[item].setAttribute("aria-describedby", this.pointed.id);
        });
      }
      this.element.addEventListener("click", (event) => {
        const pressed = event.target.closest("button");
        if (!pressed) return;
        if (pressed.dataset.order) this.follow(pressed.dataset.order);
        else if (pressed.dataset.act) this.act(pressed.dataset.act);
        else if (pressed === this.swap) this.exchange();
      });
    }

    reached(key, item) {
      const last = this.count - 1;
      const steps = { ArrowLeft: item - 1, ArrowRight: item + 1, Home: 0, End: last };
      if (key in steps) return Math.min(Math.max(steps[key], 0), last);
      if (key !== "ArrowUp" && key !== "ArrowDown") return null;
      const way = key === "ArrowUp" ? -1 : 1;
      const from = this.words[item].getBoundingClientRect();
      let best = null;
      let line = null;
      for (let i = item + way; i >= 0 && i <= last; i += way) {
        const box = this.words[i].getBoundingClientRect();
        if (Math.abs(box.top - from.top) < 4) continue;
        if (line !== null && Math.abs(box.top - line) >= 4) break;
        line = box.top;
        const distance = Math.abs(box.left - from.left);
        if (best === null || distance < best.distance) best = { i, distance };
      }
      return best === null ? item : best.i;
    }

    focus(item) {
      this.words[this.current].tabIndex = -1;
      this.current = item;
      this.words[item].tabIndex = 0;
      this.words[item].focus();
    }

    point(item) {
      const parts = Object.entries(this.heats).map(([name, heat]) => {
        const values = name === "attention" ? this.used.attention.weights : heat.values;
        return `${name} ${short(values[item])}`;
      });
      if (this.deleted) parts.push(`deleted ${signed(this.deleted[item])}`);
      const text = this.words[item].textContent;
      const cut = text.length > 40 ? `${text.slice(0, 39)}…` : text;
      this.pointed.replaceChildren(make("bdi", {}, cut), ` ${parts.join(" · ")}`);
    }

    // -- erasing

    mark(item, on) {
      if (Boolean(this.erased[item]) === on) return;
      this.erased[item] = on ? 1 : 0;
      this.words[item].setAttribute("aria-pressed", String(on));
    }

    toggle(item) {
      this.mark(item, !this.erased[item]);
      this.show();
    }

    ordered() {
      if (!this.used.orders) this.used.orders = this.used.attention.orders(this.about.decision);
      return this.used.orders[this.order] || [];
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
        if (next !== undefined) this.mark(next, true);
      }
      if (act === "back") {
        const last = order.findLast((i) => this.erased[i]);
        if (last !== undefined) this.mark(last, false);
      }
      if (act === "flip") {
        this.clear();
        const size = this.used.attention.flip(order, this.about.decision);
        order.slice(0, size ?? order.length).forEach((i) => this.mark(i, true));
      }
      this.show();
    }

    exchange() {
      this.used = this.used === this.own ? this.adversary : this.own;
      press(this.swap, this.used !== this.own);
      this.clear();
      this.show();
      this.stand.paint();
    }

    // -- showing

    show() {
      const { about, model } = this;
      const now = this.used.attention.after(this.erased);
      const flipped = now.decision !== about.decision;
      const name = (c) => visible(model.classes[c]);
      this.bars.forEach((bar, c) => {
        bar.row.dataset.probability = now.probabilities[c];
        bar.row.classList.toggle("stand-decided", c === now.decision);
        bar.fill.style.transform = `scaleX(${now.probabilities[c]})`;
        bar.number.textContent = now.probabilities[c].toFixed(4);
        // of many classes the one decided for, now and before, stay in sight
        if (this.crowded) bar.row.style.order = c === now.decision ? -2 : c === about.decision ? -1 : 0;
      });
      this.decision.dataset.decision = now.decision;
      this.decision.dataset.flipped = flipped;
      this.decision.textContent = flipped ? `⇄ ${name(now.decision)}, flipped` : name(now.decision);
      const gone = this.erased.reduce((sum, e) => sum + e, 0);
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
      this.actButtons.flip.setAttribute("aria-disabled", String(order.length === 0));
      this.actButtons.reset.setAttribute("aria-disabled", String(gone === 0));
    }

    deletion(now, gone) {
      if (!this.deleted) return "";
      const held = this.about.decision;
      const word = this.item;
      if (gone !== 1) return `Erase one ${word} to see beside it what truly deleting it from the text does.`;
      if (this.used !== this.own) return `What deleting a ${word} truly does is known for the model’s own attention.`;
      const here = now.probabilities[held] - this.before.probabilities[held];
      const truly = this.deleted[this.erased.indexOf(1)];
      if (!Number.isFinite(truly)) return `This ${word} cannot be deleted: nothing else would be left to read.`;
      const what = `P(${visible(this.model.classes[held])})`;
      return `${what} changes by ${signed(here)} here; by ${signed(truly)} when the ${word} is deleted from the text and all is read again.`;
    }

    follows() {
      const order = this.ordered();
      const own = this.used === this.own;
      if (this.order === "minimal") {
        if (order.length === 0) return "No erasure changes this decision.";
        const all = own ? this.about.everything : order.length === this.used.attention.weights.filter((w) => w > 0).length;
        if (all) return "Only erasing everything changes this decision: then the bias alone decides.";
      }
      const size = this.used.attention.flip(order, this.about.decision);
      const some = (n) => `${n} ${this.item}${n === 1 ? "" : "s"}`;
      if (size === null) return `Erasing ${ORDERS[this.order]}, the decision never changes.`;
      if (this.order === "minimal") return `The smallest set that changes the decision: ${some(size)}.`;
      const least = this.used.orders.minimal.length;
      return `Erasing ${ORDERS[this.order]}, the decision changes after ${some(size)}; at least ${least} must go.`;
    }

    paint(heat, top) {
      const values = heat === "attention" ? this.used.attention.weights : this.heats[heat]?.values;
      this.words.forEach((word, i) => {
        const value = values ? values[i] / (top || 1) : 0;
        word.style.setProperty("--heat", Math.min(Math.abs(value), 1).toFixed(3));
        word.classList.toggle("stand-negative", value < 0);
      });
      const adversary = this.about.adversary;
      if (this.used === this.own || !adversary) this.said.textContent = "";
      else {
        const sure = adversary.certified ? "certified: none that keeps the prediction diverges more" : "found by search: another may diverge more";
        this.said.textContent =
          `The adversary’s attention: Jensen–Shannon divergence ${adversary.jsd.toFixed(4)} from the model’s own (at most ln 2 = 0.6931), ` +
          `prediction kept within ε = ${short(adversary.epsilon)}; ${sure}.`;
      }
    }
  }

  // -- the gallery -----------------------------------------------------------------------------------

  class Stand {
    constructor(root, models) {
      Object.assign(this, { root, models, model: models[0], made: 0, readings: [], heat: "attention", beside: false });
      this.ordering = SURPRISES[0];
      this.build();
      this.list();
    }

    unique(word) {
      this.made += 1;
      return `stand-${word}-${this.made}`;
    }

    build() {
      this.tabs = this.models.map((model, m) => button(model.name, { "data-model": m }));
      const together = make("input", { type: "checkbox", "data-beside": "" });
      const tabs = make("div", { class: "stand-models", role: "group", "aria-label": "model" }, ...this.tabs);
      tabs.append(make("label", {}, together, " side by side"));
      this.search = make("input", { type: "search", placeholder: "word, number or class", "aria-label": "search documents" });
      this.sort = make("select", { "aria-label": "order of documents" });
      this.sort.append(...SURPRISES.map(([key, text]) => make("option", { value: key }, text)));
      this.found = make("p", { class: "stand-found", role: "status" });
      this.tall = make("div", { class: "stand-tall" });
      this.rows = make("div", { class: "stand-rows", role: "listbox", tabindex: "0", "aria-label": "documents" }, this.tall);
      this.heatButtons = make("div", { class: "stand-heats", role: "group", "aria-label": "heat" });
      this.legend = make("p", { class: "stand-legend" });
      this.readingsRoot = make("div", { class: "stand-readings" });
      const gallery = make("div", { class: "stand-gallery" }, this.search, this.sort, this.found, this.rows);
      const view = make("div", { class: "stand-view" }, make("div", { class: "stand-heading" }, this.heatButtons, this.legend), this.readingsRoot);
      this.root.classList.add("stand");
      if (this.models.length > 1) this.root.append(tabs);
      this.root.append(make("div", { class: "stand-columns" }, gallery, view));

      tabs.addEventListener("click", (event) => {
        const pressed = event.target.closest("button");
        if (!pressed) return;
        this.model = this.models[Number(pressed.dataset.model)];
        this.list();
      });
      together.addEventListener("change", () => {
        this.beside = together.checked;
        this.open(this.document);
      });
      this.search.addEventListener("input", () => this.list());
      this.sort.addEventListener("change", () => {
        this.ordering = SURPRISES[this.sort.selectedIndex];
        this.list();
      });
      this.heatButtons.addEventListener("click", (event) => {
        const pressed = event.target.closest("button");
        if (!pressed) return;
        this.heat = pressed.dataset.heat;
        this.paint();
      });
      this.rows.addEventListener("scroll", () => this.window());
      this.rows.addEventListener("click", (event) => {
        const row = event.target.closest("[data-document]");
        if (row) this.open(this.listed[Number(row.dataset.place)]);
      });
      this.rows.addEventListener("keydown", (event) => {
        const at = this.listed.indexOf(this.document);
        const last = this.listed.length - 1;
        const to = { ArrowUp: at - 1, ArrowDown: at + 1, PageUp: at - 5, PageDown: at + 5, Home: 0, End: last }[event.key];
        if (to === undefined || last < 0) return;
        event.preventDefault();
        this.open(this.listed[Math.min(Math.max(to, 0), last)]);
        this.reveal();
      });
    }

    /** Each search term must be in a word, be the number, or be in a class decided for or labelled. */
    matching() {
      const terms = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const classes = this.model.classes.map((c) => c.toLowerCase());
      return this.model.documents.filter((d) => {
        if (terms.length === 0) return true;
        const words = d.tokens.join(" ").toLowerCase();
        const named = [classes[d.decision], d.label === null ? "" : classes[d.label]];
        return terms.every((t) => t.replace(/^#/, "") === String(d.id) || words.includes(t) || named.some((n) => n.includes(t)));
      });
    }

    list() {
      const [key, , way] = this.ordering;
      const worth = (d) => d.surprise[key];
      // among equals the order given stands
      this.listed = this.matching().sort((a, b) => {
        if (way && (worth(a) === null || worth(b) === null)) return (worth(a) === null) - (worth(b) === null);
        return way * (worth(a) - worth(b));
      });
      this.tabs.forEach((tab, m) => press(tab, this.models[m] === this.model));
      const all = this.model.documents.length;
      const some = this.listed.length === all ? "" : `${this.listed.length} of `;
      this.found.textContent = `${some}${all} document${all === 1 ? "" : "s"}`;
      this.rows.style.setProperty("--rows", `${Math.max(this.listed.length, 1) * ROW}px`);
      const same = this.document && this.listed.find((d) => d.id === this.document.id);
      const next = same || this.listed[0];
      if (next && next !== this.document) this.open(next);
      this.reveal();
    }

    reveal() {
      const top = Math.max(this.listed.indexOf(this.document), 0) * ROW;
      const height = this.rows.clientHeight;
      if (top < this.rows.scrollTop) this.rows.scrollTop = top;
      else if (top + ROW > this.rows.scrollTop + height) this.rows.scrollTop = top + ROW - height;
      this.window();
    }

    /** Only the rows in sight are in the page. */
    window() {
      const first = Math.max(Math.floor(this.rows.scrollTop / ROW) - 2, 0);
      const last = Math.min(first + Math.ceil(this.rows.clientHeight / ROW) + 5, this.listed.length);
      const [key, , , word] = this.ordering;
      this.rows.removeAttribute("aria-activedescendant");
      const shown = [];
      for (let place = first; place < last; place++) {
        const d = this.listed[place];
        const chosen = d === this.document;
        const row = make("div", {
          role: "option", id: `stand-option-${place}`, class: "stand-row", "data-document": d.id, "data-place": place,
          "aria-selected": String(chosen), "aria-posinset": place + 1, "aria-setsize": this.listed.length,
        });
        row.style.top = `${place * ROW}px`;
        const classes = this.model.classes;
        const wrong = d.label !== null && d.label !== d.decision ? ` ≠ ${visible(classes[d.label])}` : "";
        const value = d.surprise[key];
        row.append(
          make("span", { class: "stand-row-head" },
            make("bdi", {}, `${d.id} · ${visible(classes[d.decision])}${wrong}`),
            make("span", {}, value === null ? "–" : word + short(value))),
          make("span", { class: "stand-row-text", dir: "auto" }, visible(d.tokens.slice(0, 24).join(" ").slice(0, 120))),
        );
        if (chosen) this.rows.setAttribute("aria-activedescendant", row.id);
        shown.push(row);
      }
      this.tall.replaceChildren(...shown);
    }

    /** The same document under every model: numbers alone could be those of another corpus. */
    twins(about) {
      const text = about.tokens.join(" ");
      return this.models.flatMap((model) =>
        model.documents.filter((d) => d.id === about.id && d.tokens.join(" ") === text).map((d) => [model, d]));
    }

    open(about) {
      if (!about) return;
      const twins = this.twins(about);
      const left = this.readings.find((reading) => reading.about === this.document);
      this.document = about;
      const shown = this.beside ? twins : twins.filter(([, d]) => d === about);
      this.readings = shown.map(([model, d]) => new Reading(model, d, this));
      // under another model the same words stay erased
      if (left && twins.some(([, d]) => d === left.about)) this.readings.forEach((reading) => reading.carry(left));
      // models not shown count for the scale, so that turning from one to another compares them
      this.scaled = twins.map(([, d]) => d);
      this.readingsRoot.replaceChildren(...this.readings.map((reading) => reading.element));
      const heats = [...new Set(this.readings.flatMap((reading) => Object.keys(reading.heats)))];
      if (!heats.includes(this.heat)) this.heat = heats[0];
      this.heatButtons.replaceChildren(...heats.map((heat) => button(heat, { "data-heat": heat })));
      this.paint();
      this.window();
    }

    /** One scale for all models of a document; an adversary is put on it too, and may go beyond. */
    paint() {
      const held = this.scaled.map((d) => d.heats[this.heat]).filter(Boolean);
      if (!held.length) return;
      const top = this.heat === "alone" ? 1 : Math.max(...held.map((heat) => largest(numbers(heat.values))));
      for (const reading of this.readings) reading.paint(this.heat, top);
      for (const b of this.heatButtons.children) press(b, b.dataset.heat === this.heat);
      const { signed: both, about } = held[0];
      const beyond = this.heat === "attention" && this.readings.some((reading) => largest(reading.used.attention.weights) > top);
      const ramp = make("span", { class: both ? "stand-ramp stand-two" : "stand-ramp", "aria-hidden": "true" });
      const end = short(top) + (beyond ? " and more" : "");
      this.legend.replaceChildren(both ? short(-top) : "0", ramp, end, make("span", { class: "stand-about" }, about));
    }
  }

  const source = document.getElementById("stand-data");
  const root = document.getElementById("stand-root");
  if (!source || !root) return;
  const models = JSON.parse(source.textContent).models.filter((model) => model.documents.length);
  if (models.length) new Stand(root, models);
  else root.textContent = "No documents were kept to look at.";
})();
