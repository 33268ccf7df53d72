// Whether whoever looks has a keyboard of their own. On a phone the focus would bring up the one on its glass, unasked.
export const HAS_KEYS = !matchMedia('(hover: none)').matches;
