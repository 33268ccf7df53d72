// Combines requests to act: all requests within a pause cause one act at its end.
export class Batch {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isBusy = false;
  private isRequested = false;

  constructor(
    private readonly act: () => unknown,
    /** The pause in milliseconds. Called for each pause, so that it can depend on the present state. */
    private readonly pause: () => number,
  ) {}

  /** Requests an act. During an act the request is remembered, so that acts never overlap. */
  readonly request = (): void => {
    this.isRequested = true;
    if (this.timer !== undefined || this.isBusy) return;
    this.timer = setTimeout(() => void this.run(), this.pause());
  };

  readonly stop = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isRequested = false;
  };

  private async run(): Promise<void> {
    this.timer = undefined;
    this.isRequested = false;
    this.isBusy = true;
    try {
      await this.act();
    } catch {
      // `act` reports its own errors; the next request tries again.
    } finally {
      this.isBusy = false;
    }
    this.again();
  }

  private again(): void {
    if (this.isRequested) this.request();
  }
}
