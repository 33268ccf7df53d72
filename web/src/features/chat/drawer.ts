// On a phone the list of conversations is a drawer, which the head of each page opens.
import { createContext } from 'react';

export const Drawer = createContext<{ open: () => void }>({ open: () => undefined });
