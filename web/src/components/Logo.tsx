// The logo as inline SVG, shown without a request. `public/favicon.svg` is the browser's copy.
export function Logo({ size }: { size: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden>
      <rect width="32" height="32" rx="7" fill="#0f766e" />
      <path d="M9 7v18M23 7v18M9 16h14" stroke="#fff" strokeWidth="3.6" strokeLinecap="round" />
    </svg>
  );
}
