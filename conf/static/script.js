/** 사이트의 스크립트를 더 읽습니다. 파일로 연 쪽도 스크립트는 읽을 수 있습니다. */
const notesScript = (name) => new Promise((resolve, reject) => {
  const made = document.createElement("script");
  made.src = `${document.documentElement.dataset.content_root}_static/${name}`;
  made.onload = () => resolve(made);
  made.onerror = () => reject(new Error(`_static/${name}를 읽지 못했습니다.`));
  document.head.append(made);
});
