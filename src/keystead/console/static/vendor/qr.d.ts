// Types of qr.js, for `tsc` in the tests. No browser asks for this file.
export { encode } from "uqr";
