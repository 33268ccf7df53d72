// Saves a file as a download.
export function saveFile(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // By then the browser has started the download.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A file name that is valid on every system. */
export function fileName(title: string, ending: string): string {
  const plain = title.trim().replaceAll(/[\\/:*?"<>|\s]+/g, '-').replaceAll(/^[-.]+|-+$/g, '').slice(0, 80);
  return `${plain === '' ? 'conversation' : plain}.${ending}`;
}
