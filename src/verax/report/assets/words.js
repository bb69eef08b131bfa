/* The words of a text, or its sentences: Tab reaches one of them, arrows the others. */

class Words {
  /** `one` is what an item is called; `erase` and `point` are told which item was meant. */
  constructor({ tokens, items, marks }, one, { erase, point }) {
    this.shares = sharesOf(marks, tokens.length);
    this.element = make("div", { class: "explorer-text", dir: "auto", role: "group", "aria-label": `${one}s: Enter erases, arrows move` });
    this.current = 0;
    this.fill(tokens, items || tokens.map((_, i) => [i, i + 1]));
    this.listen(erase, point);
  }

  fill(tokens, spans) {
    const whole = document.createDocumentFragment();
    this.items = new Array(spans.length);
    this.spans = spans;
    let read = 0;
    const unattended = (until) => {
      if (read < until) whole.append(make("span", { class: "explorer-unread" }, ...underlined(tokens, read, until, this.shares)), " ");
    };
    spans.forEach(([first, last], i) => {
      unattended(first);
      const word = document.createElement("span");
      word.className = "explorer-word";
      word.setAttribute("role", "button");
      word.setAttribute("aria-pressed", "false");
      word.dataset.item = i;
      word.tabIndex = i ? -1 : 0;
      word.append(...underlined(tokens, first, last, this.shares));
      this.items[i] = word;
      whole.append(word, " ");
      read = last;
    });
    unattended(tokens.length);
    this.element.append(whole);
  }

  listen(erase, point) {
    const itemOf = (event) => {
      const word = event.target.closest(".explorer-word");
      return word ? Number(word.dataset.item) : null;
    };
    this.element.addEventListener("click", (event) => {
      const item = itemOf(event);
      if (item === null) return;
      this.focus(item);
      erase(item);
    });
    this.element.addEventListener("keydown", (event) => {
      const item = itemOf(event);
      if (item === null || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Enter" || event.key === " ") erase(item);
      else {
        const to = this.reached(event.key, item);
        if (to === null) return;
        this.focus(to);
      }
      event.preventDefault();
    });
    for (const kind of ["pointerover", "focusin"]) {
      this.element.addEventListener(kind, (event) => {
        const item = itemOf(event);
        if (item === null) return;
        const told = point(item);
        if (kind === "focusin") this.items[item].setAttribute("aria-describedby", told);
      });
    }
  }

  reached(key, item) {
    const last = this.items.length - 1;
    const next = getComputedStyle(this.element).direction === "rtl" ? -1 : 1;
    const steps = { ArrowLeft: item - next, ArrowRight: item + next, Home: 0, End: last };
    if (key in steps) return Math.min(Math.max(steps[key], 0), last);
    if (key !== "ArrowUp" && key !== "ArrowDown") return null;
    const way = key === "ArrowUp" ? -1 : 1;
    const from = this.items[item].getBoundingClientRect();
    let best = null;
    let line = null;
    for (let i = item + way; i >= 0 && i <= last; i += way) {
      const box = this.items[i].getBoundingClientRect();
      if (Math.abs(box.top - from.top) < 4) continue;
      if (line !== null && Math.abs(box.top - line) >= 4) break;
      line = box.top;
      const distance = Math.abs(box.left - from.left);
      if (best === null || distance < best.distance) best = { i, distance };
    }
    return best === null ? item : best.i;
  }

  focus(item) {
    this.items[this.current].tabIndex = -1;
    this.current = item;
    this.items[item].tabIndex = 0;
    this.items[item].focus();
  }

  /** Scroll the text, and nothing else, until an item can be seen in it. */
  reveal(item) {
    const box = this.element.getBoundingClientRect();
    const word = this.items[item].getBoundingClientRect();
    if (word.top < box.top || Math.min(word.bottom, word.top + 40) > box.bottom) this.element.scrollTop += word.top - box.top - 40;
  }

  /** Scroll the page until an item can be seen below `top`, which something covers it down to. */
  bringIntoSight(item, top) {
    const word = this.items[item].getBoundingClientRect();
    const covered = Math.min(Math.max(top, 0), innerHeight / 2);
    if (word.top < covered || word.top + 40 > innerHeight) scrollBy({ top: word.top - (covered + innerHeight) / 2 });
  }

  press(item, on) {
    press(this.items[item], on);
  }

  /** What people marked of an item, in words. */
  told(item, one, marks) {
    if (!marks) return "nobody looked for marks here";
    const [first, last] = this.spans[item];
    const shares = this.shares.slice(first, last);
    if (one === "word") {
      if (shares[0] === 0) return "not marked";
      return shares[0] === 1 ? "marked" : `marked by ${Math.round(100 * shares[0])}% of annotators`;
    }
    const many = shares.filter((share) => share > 0.5).length;
    return `${many} word${many === 1 ? "" : "s"} marked`;
  }

  text(item) {
    return this.items[item].textContent;
  }

  /** Warmth of every item, `shares` of the strongest; the sign picks the colour. */
  warm(shares) {
    this.items.forEach((word, i) => {
      word.style.setProperty("--heat", Math.min(Math.abs(shares[i]), 1).toFixed(3));
      word.classList.toggle("explorer-negative", shares[i] < 0);
    });
  }
}
