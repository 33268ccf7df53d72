// Where the console begins.
import './styles/base.css';

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { App } from './app/App';

const place = document.getElementById('root');
if (place !== null) createRoot(place).render(<StrictMode><App /></StrictMode>);
