// Acts on their way to the service. They wait in the browser's storage, so that a lost connection
// or a closed page loses none; each has a key of its own, so that one sent twice counts once.
"use strict";

class Outbox {
  constructor(address, name, { done, failed, extra, counted }) {
    this.address = address;
    this.name = name;
    this.done = done; // called with each reply
    this.failed = failed; // called with the error, or null when all is well again
    this.extra = extra; // what else goes with each request
    this.counted = counted; // called with how many acts wait
    this.acts = this.#read();
    counted(this.acts.length);
    this.flying = new Set(); // keys of acts whose reply has not come yet
    this.number = 0; // of the last act: they are sent in this order
    this.pause = 0;
    addEventListener("online", () => this.send());
  }

  get waiting() {
    return this.acts.length;
  }

  add(act) {
    act.key = crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("-");
    this.acts.push(act);
    this.#keep(act);
    this.send();
  }

  // Takes the last act out again, if it has not left yet.
  takeBack() {
    const last = this.acts.at(-1);
    if (!last || this.flying.has(last.key)) return null;
    this.acts.pop();
    this.#drop(last);
    this.counted(this.acts.length);
    return last;
  }

  async send() {
    if (this.flying.size || !this.acts.length) return;
    clearTimeout(this.timer);
    const acts = this.acts.slice(0, 100);
    for (const act of acts) this.flying.add(act.key);
    try {
      const said = await post(this.address, { acts, ...this.extra() });
      const dealt = new Set(said.done.map((one) => one.key));
      for (const act of acts) if (dealt.has(act.key)) this.#drop(act);
      this.acts = this.acts.filter((act) => !dealt.has(act.key));
      this.flying.clear();
      this.pause = 0;
      this.failed(null);
      this.done(said, acts);
      this.counted(this.acts.length);
    } catch (error) {
      this.flying.clear();
      this.pause = Math.min(15, this.pause * 2 || 0.5);
      this.timer = setTimeout(() => this.send(), this.pause * 1000);
      this.failed(error);
      return;
    }
    this.send();
  }

  // Each act has an entry of its own in the storage, so that two tabs do not overwrite each other.
  #read() {
    try {
      const names = Object.keys(localStorage).filter((name) => name.startsWith(`${this.name}/`));
      const acts = names.map((name) => JSON.parse(localStorage.getItem(name)));
      return acts.sort((a, b) => a.number - b.number);
    } catch {
      return [];
    }
  }

  #keep(act) {
    this.counted(this.acts.length);
    act.number = Math.max(Date.now(), this.number + 1);
    this.number = act.number;
    try {
      localStorage.setItem(`${this.name}/${act.key}`, JSON.stringify(act));
    } catch {
      // storage is full or switched off: it waits in memory
    }
  }

  #drop(act) {
    try {
      localStorage.removeItem(`${this.name}/${act.key}`);
    } catch {
      // it was never kept
    }
  }
}
