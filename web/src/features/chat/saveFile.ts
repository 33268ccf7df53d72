// Puts a file where the browser keeps what is downloaded.
export function saveFile(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A name that every system takes. */
export function fileName(title: string, ending: string): string {
  const plain = title.trim().replaceAll(/[\\/:*?"<>|\s]+/g, '-').replaceAll(/^[-.]+|-+$/g, '').slice(0, 80);
  return `${plain === '' ? 'conversation' : plain}.${ending}`;
}
