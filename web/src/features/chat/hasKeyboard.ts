// True if the device has a physical keyboard. On a phone, focusing a field would open the on-screen keyboard
// unasked.
export const HAS_KEYBOARD = !matchMedia('(hover: none)').matches;
