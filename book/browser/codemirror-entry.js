// What try.js uses of CodeMirror: README.md says how codemirror.js is made from this.
export { EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine } from "@codemirror/view";
export { EditorState } from "@codemirror/state";
export { history, historyKeymap, defaultKeymap, indentWithTab } from "@codemirror/commands";
export { indentUnit, bracketMatching, syntaxHighlighting, HighlightStyle } from "@codemirror/language";
export { tags } from "@lezer/highlight";
export { python } from "@codemirror/lang-python";
