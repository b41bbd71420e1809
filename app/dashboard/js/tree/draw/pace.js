// How many points of a map are drawn while it moves: as many as the machine keeps up with.

const SLOW_MS = 24;
const MOST_SKIPPED = 64;
/** Frames in time after which more points are tried, at first and at most. */
const PATIENCE = 8;
const MOST_PATIENCE = 512;

export class Pace {
  /** One point in this many is drawn. */
  every = 1;
  /** What the last movement ended with. */
  #moving = 1;
  #patience = PATIENCE;
  #inTime = 0;
  /** When the last frame of this movement was requested; 0 at rest. */
  #last = 0;

  /**
   * A frame of a movement is requested: the time since the one before says whether that was in time.
   *
   * @param {number} now in ms
   */
  frame(now) {
    if (!this.#last) this.every = this.#moving;
    else if (now - this.#last > SLOW_MS) {
      this.every = Math.min(MOST_SKIPPED, this.every * 2);
      // What was too much is not tried again soon.
      this.#patience = Math.min(MOST_PATIENCE, this.#patience * 2);
      this.#inTime = 0;
    } else {
      this.#inTime += 1;
      if (this.#inTime >= this.#patience && this.every > 1) {
        this.every /= 2;
        this.#inTime = 0;
      }
    }
    this.#moving = this.every;
    this.#last = now;
  }

  /** The map is at rest: all points are drawn. */
  end() {
    this.every = 1;
    this.#last = 0;
  }
}
