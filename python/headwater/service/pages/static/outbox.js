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
    this.pause = 0;
    addEventListener("online", () => this.send());
  }

  get waiting() {
    return this.acts.length;
  }

  add(act) {
    act.key = crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("-");
    this.acts.push(act);
    this.#write();
    this.send();
  }

  // Takes the last act out again, if it has not left yet.
  takeBack() {
    const last = this.acts.at(-1);
    if (!last || this.flying.has(last.key)) return null;
    this.acts.pop();
    this.#write();
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
      this.acts = this.acts.filter((act) => !dealt.has(act.key));
      this.flying.clear();
      this.pause = 0;
      this.failed(null);
      this.done(said, acts);
      this.#write();
    } catch (error) {
      this.flying.clear();
      this.pause = Math.min(15, this.pause * 2 || 0.5);
      this.timer = setTimeout(() => this.send(), this.pause * 1000);
      this.failed(error);
      return;
    }
    this.send();
  }

  #read() {
    try {
      return JSON.parse(localStorage.getItem(this.name)) ?? [];
    } catch {
      return [];
    }
  }

  #write() {
    this.counted(this.acts.length);
    try {
      if (this.acts.length) localStorage.setItem(this.name, JSON.stringify(this.acts));
      else localStorage.removeItem(this.name);
    } catch {
      // storage is full or switched off: they wait in memory
    }
  }
}
