// Types of preact.js, for `tsc` in the tests: those of the packages. No browser asks for this file.
export { h, render, Fragment } from "preact";
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { signal, computed, effect, batch, Signal, ReadonlySignal } from "@preact/signals";
import { VNode } from "preact";
export function html(strings: TemplateStringsArray, ...values: unknown[]): VNode;
