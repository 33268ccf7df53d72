// A queue of uploads, processed one at a time.
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';

import { errorText } from '@/api/client';

import { upload } from './upload';

export interface Upload {
  id: number;
  name: string;
  fraction: number;
  /** The error message of a failed upload. */
  error?: string;
}

export interface Uploads {
  all: Upload[];
  add: (files: readonly File[]) => void;
  /** Removes a failed upload from the list. */
  dismiss: (id: number) => void;
}

export function useUploads(): Uploads {
  const queries = useQueryClient();
  const [all, setAll] = useState<Upload[]>([]);
  const next = useRef(0);
  const last = useRef(Promise.resolve());
  const dismiss = (id: number) => setAll((before) => before.filter((one) => one.id !== id));
  const change = (id: number, fields: Partial<Upload>) => (
    setAll((before) => before.map((one) => (one.id === id ? { ...one, ...fields } : one)))
  );
  const send = async (id: number, file: File) => {
    try {
      await upload(file, (fraction) => change(id, { fraction }));
      await queries.invalidateQueries({ queryKey: ['artifacts'] });
      dismiss(id);
    } catch (error) {
      change(id, { error: errorText(error) });
    }
  };
  const add = (files: readonly File[]) => {
    for (const file of files) {
      const id = next.current++;
      setAll((before) => [...before, { id, name: file.name, fraction: 0 }]);
      last.current = last.current.then(() => send(id, file));
    }
  };
  return { all, add, dismiss };
}
