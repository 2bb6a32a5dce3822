/** 쪽에서 파이썬을 적는 칸. `make runtime`이 묶어 `conf/static/editor.js`로 둡니다. */
import { defaultKeymap, history, historyKeymap, indentLess, indentMore }
  from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting }
  from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, highlightActiveLine, keymap, lineNumbers }
  from "@codemirror/view";
import { tags } from "@lezer/highlight";

const setWrong = StateEffect.define();

/** 예외가 난 줄의 표시. 글을 고치면 사라집니다. */
const wrongLine = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    for (const effect of change.effects) {
      if (!effect.is(setWrong)) continue;
      const line = effect.value;
      if (!line || line > change.state.doc.lines) return Decoration.none;
      const mark = Decoration.line({ class: "cm-wrong" });
      return Decoration.set([mark.range(change.state.doc.line(line).from)]);
    }
    return change.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const kinds = [
  ["keyword", [tags.keyword, tags.bool, tags.null, tags.operatorKeyword]],
  ["string", [tags.string, tags.special(tags.string)]],
  ["comment", [tags.comment]],
  ["number", [tags.number]],
  ["name", [tags.function(tags.definition(tags.variableName)),
    tags.definition(tags.className), tags.className]],
];
const colours = HighlightStyle.define(
  kinds.map(([name, tag]) => ({ tag, class: `cm-${name}` })));

/**
 * `parent`에 편집기를 놓습니다. `changed`는 글이 달라질 때마다 불립니다.
 * Tab은 들여 쓰고, Esc를 누른 다음의 Tab은 다음 자리로 갑니다.
 */
globalThis.notesEditor = (parent, text, label, changed) => {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), indentOnInput(), bracketMatching(),
        highlightActiveLine(), indentUnit.of("    "), wrongLine,
        pythonLanguage, syntaxHighlighting(colours), EditorView.lineWrapping,
        keymap.of([
          { key: "Tab", run: indentMore, shift: indentLess },
          ...historyKeymap, ...defaultKeymap,
        ]),
        EditorView.contentAttributes.of({
          "aria-label": label, spellcheck: "false", autocapitalize: "off",
        }),
        EditorView.updateListener.of((update) => update.docChanged && changed()),
      ],
    }),
  });
  view.contentDOM.addEventListener("keydown", (event) => {
    if (event.key === "Escape") view.setTabFocusMode(2000);
  });
  return {
    get text() { return view.state.doc.toString(); },
    set text(value) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
    },
    focus() { view.focus(); },
    /** 그 줄을 틀린 줄로 표시하고 보입니다. 0이면 표시를 지웁니다. */
    mark(line) {
      const effects = [setWrong.of(line)];
      if (line && line <= view.state.doc.lines) {
        const at = view.state.doc.line(line).from;
        effects.push(EditorView.scrollIntoView(at, { y: "nearest" }));
      }
      view.dispatch({ effects });
    },
  };
};
