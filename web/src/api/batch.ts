// Many wishes, one act: whatever is wished for within a pause is done once at its end.
export class Batch {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isBusy = false;
  private isWished = false;

  constructor(
    private readonly act: () => unknown,
    /** In milliseconds; asked each time, so that it may follow what goes on. */
    private readonly pause: () => number,
  ) {}

  /** While the act goes on the wish waits, so that there are never two at once. */
  readonly wish = (): void => {
    this.isWished = true;
    if (this.timer !== undefined || this.isBusy) return;
    this.timer = setTimeout(() => void this.run(), this.pause());
  };

  readonly stop = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isWished = false;
  };

  private async run(): Promise<void> {
    this.timer = undefined;
    this.isWished = false;
    this.isBusy = true;
    try {
      await this.act();
    } catch {
      // Whoever acts says what went wrong; the next wish tries again.
    } finally {
      this.isBusy = false;
    }
    this.again();
  }

  private again(): void {
    if (this.isWished) this.wish();
  }
}
