// On a phone the list of conversations is a drawer, opened from the head of each page.
import { createContext } from 'react';

export const Drawer = createContext<{ open: () => void }>({ open: () => undefined });
